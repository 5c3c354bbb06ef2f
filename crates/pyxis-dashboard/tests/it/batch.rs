//! Deciding several requests of the inbox, alone or with one passkey ceremony.
//! `docs/reference/behavior/proxy.md#passkeys`.

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use serde_json::Value;

use crate::passkeys::{passkey_team, set_policy, state};
use crate::support::{Browser, ORIGIN_URL, Page, Server, Team, begin, finish, register};

const INBOX: &str = "/app/inbox";
const BEGIN: &str = "/app/inbox/begin";
const DECIDE: &str = "/app/inbox/decide";

/// A team whose credential requires a passkey, its owner with a registered one, and three pending requests.
struct Scene {
    server: Server,
    team: Team,
    owner: Browser,
    key: Authenticator,
    txns: Vec<String>,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let (server, team, owner, key) = passkey_team(database).await;
        let mut txns = Vec::new();
        for n in 0..3 {
            txns.push(server.post_pending(&team, "/v1/pay", "", &format!("{{\"amount\":{n}}}")).await);
        }
        Self { server, team, owner, key, txns }
    }
}

/// The fields of the form with these requests selected.
fn selected<'a>(verdict: &'a str, txns: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let txns = txns.iter().map(|txn| ("txn", *txn));
    [("verdict", verdict)].into_iter().chain(txns).collect()
}

impl Scene {
    async fn begin(&mut self, verdict: &str, txns: &[&str]) -> (Value, Value) {
        let begun = begin(&mut self.owner, INBOX, BEGIN, &selected(verdict, txns)).await;
        let given = self.key.get(&begun["options"]);
        (begun, given)
    }

    async fn decide(&mut self, answer: &(Value, Value), verdict: &str, txns: &[&str]) -> Page {
        let (begun, given) = answer;
        finish(&mut self.owner, INBOX, DECIDE, begun, given, &selected(verdict, txns)).await
    }

    async fn states(&self) -> Vec<ApprovalState> {
        let mut states = Vec::new();
        for txn in &self.txns {
            states.push(state(&self.server, &self.team, txn).await);
        }
        states
    }

    async fn audit(&mut self) -> String {
        self.owner.get("/app/audit/export.jsonl").await.text
    }
}

const PENDING: ApprovalState = ApprovalState::Pending;
const APPROVED: ApprovalState = ApprovalState::Approved;

engines! {
    async fn one_ceremony_serves_each_selected_request_once(scene: &mut Scene) {
        let txns = scene.txns.clone();
        let (one, two) = (txns[0].as_str(), txns[1].as_str());
        let answer = scene.begin("approve", &[one, two]).await;
        // The order of the list does not matter.
        let page = scene.decide(&answer, "approve", &[two, one]).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.text.contains("2 of 2 requests decided"), "{}", page.text);
        assert_eq!(scene.states().await, [APPROVED, APPROVED, PENDING]);
        let audit = scene.audit().await;
        let approved: Vec<_> = audit.lines().filter(|line| line.contains("approval.approved")).collect();
        assert_eq!(approved.len(), 2);
        assert!(approved.iter().all(|line| line.contains("list_sha256") && line.contains("authenticator_data")));
    }

    async fn an_answer_for_a_list_works_once(scene: &mut Scene) {
        let txns = scene.txns.clone();
        let (one, two) = (txns[0].as_str(), txns[1].as_str());
        let answer = scene.begin("approve", &[one]).await;
        scene.decide(&answer, "approve", &[one]).await;
        for txns in [&[one][..], &[two], &[one, two]] {
            let page = scene.decide(&answer, "approve", txns).await;
            assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, INBOX));
        }
        assert_eq!(scene.states().await, [APPROVED, PENDING, PENDING]);
        // Nor does a list that was refused leave an answer to use.
        let answer = scene.begin("approve", &[two]).await;
        scene.decide(&answer, "approve", &[one, two]).await;
        scene.decide(&answer, "approve", &[two]).await;
        assert_eq!(scene.states().await, [APPROVED, PENDING, PENDING]);
        let notice = scene.owner.get(INBOX).await.text;
        assert!(notice.contains("The passkey was not accepted"), "{notice}");
    }

    async fn a_list_that_changed_after_the_ceremony_is_refused_as_a_whole(scene: &mut Scene) {
        let txns = scene.txns.clone();
        let (one, two, three) = (txns[0].as_str(), txns[1].as_str(), txns[2].as_str());
        for changed in [&[one][..], &[one, three], &[one, two, three], &[three]] {
            let answer = scene.begin("approve", &[one, two]).await;
            scene.decide(&answer, "approve", changed).await;
            assert_eq!(scene.states().await, [PENDING; 3], "{changed:?}");
        }
        let answer = scene.begin("approve", &[one, two]).await;
        scene.decide(&answer, "deny", &[one, two]).await;
        assert_eq!(scene.states().await, [PENDING; 3], "another verdict");
        // A digest that changed under the list.
        let answer = scene.begin("approve", &[one, two]).await;
        let change = format!("UPDATE approvals SET digest = 'another' WHERE txn_id = '{two}'");
        scene.server.database.run(&change).await;
        scene.decide(&answer, "approve", &[one, two]).await;
        assert_eq!(scene.states().await, [PENDING; 3], "another digest");
    }

    async fn an_answer_for_a_list_is_for_no_single_request_and_the_other_way_round(scene: &mut Scene) {
        let txn = scene.txns[0].clone();
        let page = format!("/app/approvals/{txn}");
        let (begun, given) = scene.begin("approve", &[&txn]).await;
        finish(&mut scene.owner, &page, &format!("{page}/approve"), &begun, &given, &[]).await;
        assert_eq!(scene.states().await, [PENDING; 3]);
        let begun = begin(&mut scene.owner, &page, &format!("{page}/begin"), &[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.decide(&(begun, given), "approve", &[&txn]).await;
        assert_eq!(scene.states().await, [PENDING; 3]);
    }

    async fn an_answer_for_a_list_is_its_persons_own(scene: &mut Scene) {
        let txn = scene.txns[0].clone();
        let mut bo = scene.server.with_person(&scene.team, "bo@example.com", Role::Admin).await;
        let mut theirs = Authenticator::new(ORIGIN_URL, 5);
        register(&mut bo, &mut theirs, "bo").await;
        let (begun, given) = scene.begin("approve", &[&txn]).await;
        finish(&mut bo, INBOX, DECIDE, &begun, &given, &selected("approve", &[&txn])).await;
        let (begun, _) = scene.begin("approve", &[&txn]).await;
        let given = theirs.get(&begun["options"]);
        scene.decide(&(begun, given), "approve", &[&txn]).await;
        assert_eq!(scene.states().await, [PENDING; 3]);
    }

    async fn one_request_that_is_decided_meanwhile_does_not_stop_the_others(scene: &mut Scene) {
        let txns = scene.txns.clone();
        let (one, two) = (txns[0].as_str(), txns[1].as_str());
        let mut bo = scene.server.with_person(&scene.team, "bo@example.com", Role::Admin).await;
        let answer = scene.begin("approve", &[one, two]).await;
        let page = format!("/app/approvals/{one}");
        bo.submit(&page, &format!("{page}/deny"), &[]).await;
        let page = scene.decide(&answer, "approve", &[one, two]).await;
        assert!(page.text.contains("1 of 2 requests decided"), "{}", page.text);
        assert!(page.text.contains("Already denied by bo@example.com"), "{}", page.text);
        assert_eq!(scene.states().await, [ApprovalState::Denied, APPROVED, PENDING]);
        // Nothing is left to ask a passkey for.
        let refused = scene.owner.submit(INBOX, BEGIN, &selected("approve", &[one, two])).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
    }

    async fn a_session_alone_denies_a_selection_and_approves_only_what_needs_no_passkey(scene: &mut Scene) {
        let txns = scene.txns.clone();
        let (one, two) = (txns[0].as_str(), txns[1].as_str());
        let page = scene.owner.submit(INBOX, DECIDE, &selected("approve", &[one, two])).await;
        assert!(page.text.contains("0 of 2 requests decided") && page.text.contains("Needs a passkey"), "{}", page.text);
        let mut fields = selected("deny", &[one, two]);
        fields.push(("reason", "not this month"));
        let page = scene.owner.submit(INBOX, DECIDE, &fields).await;
        assert!(page.text.contains("2 of 2 requests decided"), "{}", page.text);
        assert_eq!(scene.states().await, [ApprovalState::Denied, ApprovalState::Denied, PENDING]);
        assert!(scene.owner.get(&format!("/app/approvals/{one}")).await.text.contains("not this month"));
    }

    async fn the_result_says_what_became_of_each_request(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        server.with_person(&team, "bob@example.com", Role::Admin).await;
        set_policy(&server, &team, r#"{"min_approvals":2}"#).await;
        let voted = server.post_pending(&team, "/v1/a", "", "{}").await;
        set_policy(&server, &team, "{}").await;
        let (plain, denied) = (server.post_pending(&team, "/v1/b", "", "{}").await, server.post_pending(&team, "/v1/c", "", "{}").await);
        let page = format!("/app/approvals/{denied}");
        owner.submit(&page, &format!("{page}/deny"), &[]).await;
        let list = [voted.as_str(), &plain, &denied, "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11", "<b>none</b>"];
        let page = owner.submit(INBOX, DECIDE, &selected("approve", &list)).await.text;
        for shown in [
            "2 of 5 requests decided",
            "Your approval counts. Needs 1 more approval.",
            "Approved.",
            "Already denied by ana@example.com.",
            "There is no such request.",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains("<b>none"));
        // Again: a second voice of the same person does not count.
        let page = owner.submit(INBOX, DECIDE, &selected("approve", &[&voted])).await.text;
        assert!(page.contains("You have already voted."), "{page}");
    }

    async fn a_form_that_selects_nothing_or_one_request_twice_decides_nothing(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let txn = server.post_pending(&team, "/v1/a", "", "{}").await;
        let page = owner.submit(INBOX, DECIDE, &[("verdict", "approve")]).await;
        assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, INBOX));
        assert!(owner.get(INBOX).await.text.contains("Select at least one request first."));
        for fields in [selected("approve", &[&txn, &txn]), selected("all", &[&txn]), selected("", &[&txn])] {
            let page = owner.submit(INBOX, DECIDE, &fields).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
        }
        let unsafe_post = owner.post(DECIDE, &[], &selected("approve", &[&txn])).await;
        assert_eq!(unsafe_post.status, StatusCode::FORBIDDEN, "from elsewhere");
        assert_eq!(state(&server, &team, &txn).await, PENDING);
    }

    async fn a_member_sees_nothing_of_a_request_that_is_not_theirs(server: Server) {
        let (team, _) = server.with_owner().await;
        let txn = server.post_pending(&team, "/v1/hidden", "", "{}").await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let page = member.submit("/app/account", DECIDE, &selected("approve", &[&txn])).await;
        assert!(page.text.contains("You cannot decide this") && !page.text.contains("/v1/hidden"), "{}", page.text);
        assert_eq!(state(&server, &team, &txn).await, PENDING);
    }

    async fn the_inbox_groups_requests_of_one_route_and_shows_what_differs(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let body = |amount: u32| format!(r#"{{"amount":{amount},"currency":"eur"}}"#);
        server.post_pending(&team, "/v1/customers/101/refunds?dry=1", "", &body(5)).await;
        server.post_pending(&team, "/v1/other", "", &body(5)).await;
        let inbox = owner.get(INBOX).await.text;
        assert!(!inbox.contains("Differs in"), "two routes: {inbox}");
        server.post_pending(&team, "/v1/customers/102/refunds", "", &body(7)).await;
        let inbox = owner.get(INBOX).await.text;
        assert!(inbox.contains("2 requests</span> from default-agent"), "{inbox}");
        assert!(inbox.replace("<wbr>", "").contains("/v1/customers/*/refunds"), "{inbox}");
        for column in ["path", "?dry", "amount"] {
            assert!(inbox.contains(&format!("<th scope=\"col\" class=\"mono\">{column}</th>")), "{column}: {inbox}");
        }
        assert!(!inbox.contains("class=\"mono\">currency</th>") && inbox.contains("not set"), "{inbox}");
        assert_eq!(inbox.matches("form=\"several\"").count(), 3);
    }

    async fn a_request_that_the_inbox_does_not_show_in_full_cannot_be_selected(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        server.post_pending(&team, "/v1/long", "", &"x".repeat(9000)).await;
        let inbox = owner.get(INBOX).await.text;
        assert!(!inbox.contains("form=\"several\" data-select"), "{inbox}");
    }
}
