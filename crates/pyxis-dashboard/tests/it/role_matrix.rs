//! The whole matrix: person × page, and person × action × state of the credential, in one table for the pages and the
//! API. `docs/reference/behavior/proxy.md#approvers`.

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::policy::Policy;
use pyxis_dashboard::view::routes::ROUTES;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{grants, policies};
use pyxis_gateway::approvals::view;
use pyxis_testkit::engines;
use pyxis_testkit::rights::{Action, ActionOutcome, Terms, Who, outcome};

use crate::support::{Browser, ORIGIN_URL, Server, Team};

const OWNER: &str = "ana@example.com";

/// One browser per kind of person; grants are on `billing`.
async fn everybody(server: &Server) -> (Team, Vec<(Who, Browser)>) {
    let (team, owner) = server.with_owner().await;
    let mut people = vec![(Who::Owner, owner)];
    for (who, email) in Who::ADDED {
        let role = if who == Who::Admin { Role::Admin } else { Role::Member };
        people.push((who, server.with_person(&team, email, role).await));
        if matches!(who, Who::Approver | Who::Editor) {
            server.grant(&team, email, who == Who::Approver, who == Who::Editor).await;
        }
    }
    for email in Who::OTHERS {
        server.with_person(&team, email, Role::Admin).await;
    }
    (team, people)
}

/// Routes that a member reaches. All others under `/app` are for owners and admins.
const FOR_MEMBERS: &[(&str, &str)] = &[
    ("GET", "/app"),
    ("POST", "/app/setup/skip"),
    ("GET", "/app/events"),
    ("GET", "/app/inbox"),
    ("POST", "/app/inbox/begin"),
    ("POST", "/app/inbox/decide"),
    ("GET", "/app/decided"),
    ("GET", "/approve/{txn_id}"),
    ("GET", "/app/approvals/{txn_id}"),
    ("GET", "/app/approvals/{txn_id}/receipt"),
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
    ("POST", "/app/account/quiet-hours"),
    ("POST", "/app/account/quiet-hours/remove"),
    ("POST", "/app/account/passkeys"),
    ("POST", "/app/account/passkeys/begin"),
    ("POST", "/app/account/passkeys/{id}/rename"),
    ("POST", "/app/account/passkeys/{id}/remove"),
    ("POST", "/app/account/tokens"),
    ("POST", "/app/account/tokens/{id}/revoke"),
    ("GET", "/app/tasks"),
    ("GET", "/app/tasks/{id}"),
    ("POST", "/app/tasks/{id}/approve"),
    ("POST", "/app/tasks/{id}/begin"),
    ("POST", "/app/tasks/{id}/deny"),
    ("POST", "/app/tasks/{id}/stop"),
    ("GET", "/app/notifications"),
    ("POST", "/app/notifications/link"),
    ("POST", "/app/notifications/unlink"),
    ("POST", "/app/push/subscribe"),
    ("POST", "/app/push/{id}/unsubscribe"),
];

/// True if `who` is refused for `billing` and one of its pending requests. A member without the grant is refused what
/// exists, and learns nothing about what does not.
fn is_refused(method: &str, route: &str, who: Who) -> bool {
    match route {
        _ if who.is_manager() => false,
        _ if !FOR_MEMBERS.contains(&(method, route)) => true,
        // A decision by someone who may not decide is redirected to the request's page.
        "/approve/{txn_id}" | "/app/approvals/{txn_id}" | "/app/approvals/{txn_id}/receipt" => {
            who != Who::Approver
        }
        _ => route.contains("{credential}") && who != Who::Editor,
    }
}

/// The path of a route with its variables filled in.
fn path(route: &str, credential: &str, txn: &str) -> String {
    route
        .replace("{credential}", credential)
        .replace("{name}", credential)
        .replace("{txn_id}", txn)
        .replace("{id}", "0190a2b4-0000-7000-8000-000000000001")
        .replace("{digest}", "none")
        .replace("{did}", "none")
}

engines! {
    async fn every_page_asks_for_the_role_it_needs(server: Server) {
        let (team, people) = everybody(&server).await;
        let txn = server.post_pending(&team, "/v1/items", "", "{}").await;
        let mut checked = 0;
        for (method, route) in ROUTES {
            if *route != "/app" && !route.starts_with("/app/") && !route.starts_with("/approve/") {
                continue;
            }
            let here = path(route, "billing", &txn);
            let nowhere = path(route, "none", "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11");
            for (who, browser) in &people {
                let mut browser = browser.clone();
                let decides = *who == Who::Approver && route.starts_with("/app/approvals/");
                let status = match *method {
                    // Not read to its end: the events go on as long as someone listens.
                    "GET" => browser.open(&here).await.status(),
                    // Forms with a different encoding, which would not be read.
                    _ if who.is_manager() && ["/app/brand/logo", "/app/score-jobs"].contains(route) => continue,
                    // A form without its fields, about something that does not exist: anyone who may send it is told
                    // about its errors.
                    _ => {
                        let to = if who.is_manager() || decides { &nowhere } else { &here };
                        browser.submit("/app/account", to, &[]).await.status
                    }
                };
                assert!(!status.is_server_error(), "{who:?} {method} {here}: {status}");
                let refused = status == StatusCode::FORBIDDEN;
                assert_eq!(refused, is_refused(method, route, *who), "{who:?} {method} {here}: {status}");
                checked += 1;
            }
            let mut stranger = server.browser();
            if *method == "GET" {
                let page = stranger.get(&here).await;
                assert!(page.location().starts_with("/sign-in"), "{here}: {}", page.status);
            } else {
                let page = stranger.post(&here, &[("origin", ORIGIN_URL)], &[]).await;
                assert_eq!(page.location(), "/sign-in?ended=1", "{here}: {}", page.status);
            }
        }
        assert!(checked > 550, "{checked}");
        let state = view::load_view(&server.gateway, team.id, txn.parse().unwrap()).await.unwrap().row.state;
        assert_eq!(state, ApprovalState::Pending, "nothing of all that decided anything");
    }
}

/// Performs the action as the page would; returns its status, and the notice of the next page. The policy written is
/// the one in force.
async fn act(browser: &mut Browser, txn: &str, action: Action, terms: Terms) -> (StatusCode, String) {
    let (page, link) = (format!("/app/approvals/{txn}"), format!("/approve/{txn}"));
    let approve = format!("{page}/approve");
    let (approvers, needed) = (terms.approvers(OWNER).join("\n"), terms.min_approvals.to_string());
    let (to, fields) = match action {
        Action::Show => {
            let (page, link) = (browser.get(&page).await.status, browser.get(&link).await.status);
            assert_eq!(page, link, "{txn}");
            return (page, String::new());
        }
        Action::Approve => (approve, vec![("from", "inbox")]),
        Action::Grant => (approve, vec![("from", "standalone"), ("grant_seconds", "1800")]),
        Action::DashboardGrant => (approve, vec![("from", "inbox"), ("grant_seconds", "900")]),
        Action::Deny => (format!("{page}/deny"), vec![("from", "inbox")]),
        Action::Edit => {
            let passkey = if terms.passkey { "on" } else { "" };
            let form = [("allowed_approvers", &*approvers), ("min_approvals", &needed)];
            let rest = [("channel", "dashboard"), ("passkey_required", passkey)];
            ("/app/policies/billing".to_owned(), [form, rest].concat())
        }
    };
    let status = browser.submit("/app/account", &to, &fields).await.status;
    (status, browser.jar.get("px_notice").cloned().unwrap_or_default())
}

/// The expected response.
fn expected_response(action: Action, outcome: ActionOutcome) -> (StatusCode, String) {
    let notice = match outcome {
        ActionOutcome::Shown => return (StatusCode::OK, String::new()),
        ActionOutcome::Forbidden => return (StatusCode::FORBIDDEN, String::new()),
        ActionOutcome::NotEligible if action == Action::Show => {
            return (StatusCode::FORBIDDEN, String::new());
        }
        ActionOutcome::Approved => "approved",
        ActionOutcome::Granted => "approved-grant",
        ActionOutcome::Counted => "one-approval",
        ActionOutcome::Denied => "denied",
        ActionOutcome::Applied => "policy-saved",
        ActionOutcome::Staged => "policy-staged",
        ActionOutcome::NotEligible => "not-eligible",
        ActionOutcome::PasskeyRequired => "passkey",
        ActionOutcome::NoGrant => "bad-grant",
    };
    (StatusCode::SEE_OTHER, notice.to_owned())
}

/// The expected state of the request.
fn state(outcome: ActionOutcome) -> ApprovalState {
    match outcome {
        ActionOutcome::Approved | ActionOutcome::Granted => ApprovalState::Approved,
        ActionOutcome::Denied => ApprovalState::Denied,
        _ => ApprovalState::Pending,
    }
}

engines! {
    async fn every_action_in_every_state_of_the_credential_asks_for_the_right_it_needs(server: Server) {
        let (team, mut people) = everybody(&server).await;
        let mut granted = 0;
        for terms in Terms::all() {
            let policy = Policy::from_json(terms.policy(OWNER).to_string().as_bytes()).unwrap();
            policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
            for (who, browser) in &mut people {
                for action in Action::ALL {
                    let expected = outcome(*who, action, terms);
                    let cell = format!("/{who:?}/{action:?}/{terms}");
                    let txn = server.post_pending(&team, &cell, "", "{}").await;
                    assert_eq!(act(browser, &txn, action, terms).await, expected_response(action, expected), "{cell}");
                    let row = view::load_view(&server.gateway, team.id, txn.parse().unwrap()).await.unwrap().row;
                    assert_eq!(row.state, state(expected), "{cell}");
                    granted += usize::from(expected == ActionOutcome::Granted);
                }
            }
        }
        assert_eq!(grants::list(&server.gateway.store, team.id, true, server.gateway.now()).await.unwrap().len(), granted);
    }
}
