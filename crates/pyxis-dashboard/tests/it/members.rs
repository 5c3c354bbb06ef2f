//! What a member sees and may do in the dashboard, and how people are managed there.

use http::StatusCode;
use pyxis_core::id::TxnId;
use pyxis_core::mode::{ApprovalState, Role};
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::approvals::view;
use pyxis_gateway::service::{people, policies};

use crate::support::{Browser, World, both_engines};

both_engines! {
    async fn a_member_sees_and_decides_only_what_was_granted() {
        let world = World::new().await;
        let (team, _) = world.with_owner().await;
        let txn = world.ask(&team, "/v1/items", "", "{}").await;
        let mut member = world.with_person(&team, "mem@example.com", Role::Member).await;
        let (page, link) = (format!("/app/approvals/{txn}"), format!("/approve/{txn}"));
        assert!(!member.get("/app/inbox").await.text.contains(&txn));
        for path in [&page, &link] {
            assert_eq!(member.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
        }
        member.submit("/app/account", &format!("{page}/approve"), &[]).await;
        let state = async || {
            let txn: TxnId = txn.parse().unwrap();
            view::one(&world.gateway, team.id, txn).await.unwrap().row.state
        };
        assert_eq!(state().await, ApprovalState::Pending);
        world.grant(&team, "mem@example.com", true, false).await;
        assert!(member.get("/app/inbox").await.text.contains(&txn));
        assert_eq!(member.get(&page).await.status, StatusCode::OK);
        assert!(member.get(&link).await.text.contains("Also allow identical requests"));
        assert_eq!(member.get("/app/policies/billing").await.status, StatusCode::FORBIDDEN);
        member.submit(&link, &format!("{page}/approve"), &[("from", "standalone")]).await;
        assert_eq!(state().await, ApprovalState::Approved);
    }

    async fn grants_are_set_on_a_members_page_and_invitations_withdrawn() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        let fields = [("email", "mem@example.com"), ("role", "member")];
        assert!(owner.submit("/app/new/person", "/app/people", &fields).await.text.contains("/link/"));
        let user = people::by_email(&world.gateway, team.id, "mem@example.com").await.unwrap();
        let page = format!("/app/people/{}", user.id);
        assert!(owner.get(&page).await.text.contains("billing"));
        let ticked = [("credential", "billing"), ("approve", "billing")];
        owner.submit(&page, &format!("{page}/grants"), &ticked).await;
        assert!(owner.get("/app/people").await.text.contains("1 credential"));
        owner.submit(&page, &format!("{page}/withdraw"), &[]).await;
        assert!(people::by_email(&world.gateway, team.id, "mem@example.com").await.is_err());
    }

    async fn people_are_searched_and_an_empty_result_says_so() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        world.with_person(&team, "bo@example.com", Role::Admin).await;
        let found = owner.get("/app/people?q=BO%40").await.text;
        assert!(found.contains("bo@example.com") && !found.contains("ana@example.com</th>"));
        assert!(owner.get("/app/people?q=nobody").await.text.contains("Nothing here contains"));
    }

    async fn deny_all_stops_the_agent_and_settles_what_it_waits_for() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        let waiting = [world.ask(&team, "/a", "", "{}").await, world.ask(&team, "/b", "", "{}").await];
        let agent = pyxis_gateway::service::agents::list(&world.gateway, team.id).await.unwrap().remove(0);
        let page = format!("/app/agents/{}", agent.row.id);
        owner.submit(&page, &format!("{page}/deny-all"), &[]).await;
        for txn in waiting {
            let txn: TxnId = txn.parse().unwrap();
            let row = view::one(&world.gateway, team.id, txn).await.unwrap().row;
            assert_eq!(row.state, ApprovalState::Denied);
        }
        assert!(owner.get(&page).await.text.contains("Disabled"));
    }

    async fn the_inbox_says_how_often_somebody_was_asked_and_a_grant_what_it_would_have_covered() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        for n in 0..21 {
            world.ask(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await;
        }
        let inbox = owner.get("/app/inbox").await.text;
        assert!(inbox.contains("21 requests asked for you in the last hour"), "{inbox}");
        assert!(inbox.contains("more than anybody reads with care"));
        assert!(inbox.contains("Of the last 21 requests, 21 were like this, by default-agent."));
    }

    async fn what_others_alone_may_decide_is_not_counted_as_asked_of_somebody() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        let mut bo = world.with_person(&team, "bo@example.com", Role::Admin).await;
        let mut member = world.with_person(&team, "mem@example.com", Role::Member).await;
        world.grant(&team, "mem@example.com", true, false).await;
        let policy = Policy::from_json(br#"{"allowed_approvers":["bo@example.com"]}"#).unwrap();
        policies::put(&world.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
        for n in 0..3 {
            world.ask(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await;
        }
        let asked = "requests asked for you in the last hour";
        assert!(bo.get("/app/inbox").await.text.contains(&format!("3 {asked}")));
        for other in [&mut owner, &mut member] {
            assert!(!other.get("/app/inbox").await.text.contains(asked));
        }
    }

    async fn a_token_is_made_shown_once_and_revoked() {
        let world = World::new().await;
        let (_, mut owner) = world.with_owner().await;
        let fields = [("name", "ci"), ("scope", "px:approve"), ("expires_in_days", "90")];
        let made = owner.submit("/app/account", "/app/account/tokens", &fields).await.text;
        assert!(made.contains("px_pat_"));
        let page = owner.get("/app/account").await.text;
        assert!(page.contains("ci") && page.matches("px_pat_").count() == 1, "only the hint");
        let nothing = [("name", "none"), ("expires_in_days", "90")];
        let refused = owner.submit("/app/account", "/app/account/tokens", &nothing).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.text.contains("Name at least one"), "{}", refused.text);
        let id = page.split("/app/account/tokens/").nth(1).unwrap().split('/').next().unwrap().to_owned();
        owner.submit("/app/account", &format!("/app/account/tokens/{id}/revoke"), &[]).await;
        assert!(owner.get("/app/account").await.text.contains("None yet"));
    }
}

/// What a member reaches. Everything else of `/app` is for owners and admins.
const FOR_MEMBERS: &[(&str, &str)] = &[
    ("GET", "/app/events"),
    ("GET", "/app/inbox"),
    ("GET", "/app/decided"),
    ("GET", "/app/approvals/{txn_id}"),
    ("POST", "/app/approvals/{txn_id}/approve"),
    ("POST", "/app/approvals/{txn_id}/begin"),
    ("POST", "/app/approvals/{txn_id}/deny"),
    ("GET", "/app/policies"),
    ("GET", "/app/policies/{credential}"),
    ("POST", "/app/policies/{credential}"),
    ("POST", "/app/policies/{credential}/explain"),
    ("POST", "/app/policies/{credential}/replay"),
    ("GET", "/app/staged/{id}"),
    ("POST", "/app/staged/{id}/begin"),
    ("POST", "/app/staged/{id}/apply"),
    ("POST", "/app/staged/{id}/withdraw"),
    ("GET", "/app/account"),
    ("POST", "/app/account/password"),
    ("POST", "/app/account/passkeys"),
    ("POST", "/app/account/passkeys/begin"),
    ("POST", "/app/account/passkeys/{id}/rename"),
    ("POST", "/app/account/passkeys/{id}/remove"),
    ("POST", "/app/account/tokens"),
    ("POST", "/app/account/tokens/{id}/revoke"),
    ("GET", "/app/notifications"),
    ("POST", "/app/notifications/link"),
    ("POST", "/app/notifications/unlink"),
    ("POST", "/app/push/subscribe"),
    ("POST", "/app/push/{id}/unsubscribe"),
];

/// A path of things that are not there.
fn nothing(route: &str) -> String {
    route
        .replace("{credential}", "none")
        .replace("{name}", "none")
        .replace("{txn_id}", "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11")
        .replace("{id}", "0190a2b4-0000-7000-8000-000000000001")
        .replace("{digest}", "none")
        .replace("{did}", "none")
}

// Where each role gets on every page, with names of nothing and of what is there. A member without a
// grant is refused what is there, and told nothing of what is not.
both_engines! {
    async fn every_page_asks_for_the_role_it_needs() {
        let world = World::new().await;
        let (team, owner) = world.with_owner().await;
        let txn = world.ask(&team, "/v1/items", "", "{}").await;
        let member = world.with_person(&team, "mem@example.com", Role::Member).await;
        let admin = world.with_person(&team, "adm@example.com", Role::Admin).await;
        // Policy on the credential, without Approve.
        let editor = world.with_person(&team, "edi@example.com", Role::Member).await;
        world.grant(&team, "edi@example.com", false, true).await;
        let mut checked = 0;
        for (method, route) in pyxis_dashboard::view::routes::ROUTES {
            if !route.starts_with("/app/") || *route == "/app/events" {
                continue;
            }
            let path = route
                .replace("{credential}", "billing")
                .replace("{txn_id}", &txn)
                .replace("{name}", "billing")
                .replace("{id}", "0190a2b4-0000-7000-8000-000000000001")
                .replace("{digest}", "none")
                .replace("{did}", "none");
            let ours = FOR_MEMBERS.contains(&(method, route));
            for (who, browser, manager, edits) in [
                ("owner", &owner, true, false),
                ("admin", &admin, true, false),
                ("member", &member, false, false),
                ("editor", &editor, false, true),
            ] {
                let mut browser = browser.clone();
                let page = match *method {
                    "GET" => browser.get(&path).await,
                    // The one form that is no usual one, and so would not be read.
                    _ if manager && *route == "/app/brand/logo" => continue,
                    // A form without its fields, about nothing that is there: whoever may send it gets as far
                    // as to be told what is wrong.
                    _ if manager => browser.submit("/app/account", &nothing(route), &[]).await,
                    _ => browser.submit("/app/account", &path, &[]).await,
                };
                let refused = page.status == StatusCode::FORBIDDEN;
                assert!(!page.status.is_server_error(), "{who} {method} {path}: {}", page.status);
                // Of a credential's things a member needs the grant; the words are sent back to the page.
                let needs_grant =
                    (route.contains("{credential}") && !edits) || *route == "/app/approvals/{txn_id}";
                let expected = !manager && (!ours || needs_grant);
                assert_eq!(refused, expected, "{who} {method} {path}: {}", page.status);
                checked += 1;
            }
            let mut stranger = world.browser();
            if *method == "GET" {
                let page = stranger.get(&path).await;
                assert!(page.location().starts_with("/sign-in"), "{path}: {}", page.status);
            }
        }
        assert!(checked > 250, "{checked}");
        let state = view::one(&world.gateway, team.id, txn.parse().unwrap()).await.unwrap().row.state;
        assert_eq!(state, ApprovalState::Pending, "nothing of all that decided anything");
    }
}

/// One state of the credential, as its policy has it.
#[derive(Clone, Copy, Debug)]
struct Terms {
    /// Whether `allowed_approvers` is empty, lists everybody of the test, or somebody else.
    listed: Option<bool>,
    passkey: bool,
    min_approvals: u32,
}

impl Terms {
    fn document(self) -> String {
        let approvers = match self.listed {
            None => "",
            Some(true) => {
                r#""ana@example.com","adm@example.com","mem@example.com","granted@example.com","edi@example.com""#
            }
            Some(false) => r#""nobody@example.com""#,
        };
        let Self { passkey, min_approvals, .. } = self;
        format!(
            r#"{{"allowed_approvers":[{approvers}],"passkey_required":{passkey},"min_approvals":{min_approvals}}}"#
        )
    }

    /// What becomes of a request. `eligible` is of the role and the grant alone; nobody here has a passkey.
    fn outcome(self, eligible: bool, manager: bool, action: &str) -> ApprovalState {
        if !eligible || self.listed == Some(false) {
            return ApprovalState::Pending;
        }
        let granted = match action {
            // From the dashboard only managers open grants.
            "grant" => manager && self.min_approvals == 1,
            "standalone grant" => self.min_approvals == 1,
            "deny" => return ApprovalState::Denied,
            _ => true,
        };
        if self.passkey || !granted || self.min_approvals > 1 {
            ApprovalState::Pending
        } else {
            ApprovalState::Approved
        }
    }
}

/// Answers a request as the form of a page would.
async fn act(browser: &mut Browser, txn: &str, action: &str) {
    let page = format!("/app/approvals/{txn}");
    let approve = format!("{page}/approve");
    let (to, fields): (_, &[(&str, &str)]) = match action {
        "grant" => (approve, &[("from", "inbox"), ("grant_seconds", "900")]),
        "standalone grant" => (approve, &[("from", "standalone"), ("grant_seconds", "1800")]),
        "deny" => (format!("{page}/deny"), &[("from", "inbox")]),
        _ => (approve, &[("from", "inbox")]),
    };
    browser.submit("/app/account", &to, fields).await;
}

both_engines! {
    async fn every_answer_on_a_page_in_every_state_of_the_credential_asks_for_the_right_it_needs() {
        let world = World::new().await;
        let (team, owner) = world.with_owner().await;
        let admin = world.with_person(&team, "adm@example.com", Role::Admin).await;
        let member = world.with_person(&team, "mem@example.com", Role::Member).await;
        let granted = world.with_person(&team, "granted@example.com", Role::Member).await;
        world.grant(&team, "granted@example.com", true, false).await;
        let editor = world.with_person(&team, "edi@example.com", Role::Member).await;
        world.grant(&team, "edi@example.com", false, true).await;
        let mut people = [
            ("owner", owner, true, true),
            ("admin", admin, true, true),
            ("member", member, false, false),
            ("granted", granted, true, false),
            ("editor", editor, false, false),
        ];
        for listed in [None, Some(true), Some(false)] {
            for (passkey, min_approvals) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
                let terms = Terms { listed, passkey, min_approvals };
                let policy = Policy::from_json(terms.document().as_bytes()).unwrap();
                policies::put(&world.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
                for (who, browser, eligible, manager) in &mut people {
                    for action in ["approve", "grant", "standalone grant", "deny"] {
                        let path = format!("/{who}/{action}/{listed:?}/{passkey}/{min_approvals}");
                        let path = path.replace(['(', ')', ' '], "-");
                        let txn = world.ask(&team, &path, "", "{}").await;
                        act(browser, &txn, action).await;
                        let row = view::one(&world.gateway, team.id, txn.parse().unwrap()).await.unwrap().row;
                        assert_eq!(row.state, terms.outcome(*eligible, *manager, action), "{path}");
                    }
                }
            }
        }
        let grants = pyxis_gateway::service::grants::list(&world.gateway, team.id, true).await.unwrap();
        // Without a passkey and with one approver: two managers and three people, twice.
        assert_eq!(grants.len(), (2 + 3) * 2);
    }
}
