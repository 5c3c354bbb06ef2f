//! Passkeys, from registration to approval, with an authenticator that lies when told to. Web Authentication Level 2,
//! section 7.2; `docs/reference/behavior/proxy.md#passkeys`.

use std::time::Duration;

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::{grants, people, policies};
use pyxis_gateway::approvals::view;
use pyxis_gateway::{Actor, receipts, workers};
use pyxis_signing::receipt;
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use serde_json::Value;

use crate::support::{ACCOUNT, Browser, ORIGIN_URL, PASSWORD, Page, Server, Team, begin, finish, register};

/// Makes an authenticator lie about something.
type Lie = fn(&mut Authenticator);

/// Fields of a form.
type Fields = &'static [(&'static str, &'static str)];

/// Client data of ceremonies that ran in a frame of another site, or that can be read in two ways.
const FRAMED: [&str; 6] = [
    r#""crossOrigin":true"#,
    r#""crossOrigin":false,"topOrigin":"https://evil.example""#,
    r#""topOrigin":"https://evil.example""#,
    r#""crossOrigin":true,"crossOrigin":false"#,
    r#""crossOrigin":"true""#,
    r#""crossOrigin":null"#,
];

const EDITOR: &str = "/app/policies/billing";

/// A member who may propose policies of `billing`, and their passkey.
async fn proposer(server: &Server, team: &Team) -> (Browser, Authenticator) {
    let mut member = server.with_person(team, "mem@example.com", Role::Member).await;
    server.grant(team, "mem@example.com", false, true).await;
    // The proposal needs a second person who may approve.
    server.with_person(team, "admin@example.com", Role::Admin).await;
    let mut key = Authenticator::new(ORIGIN_URL, 4);
    register(&mut member, &mut key, "mem").await;
    (member, key)
}

/// Proposes that two people approve; returns the proposal's path.
async fn propose(member: &mut Browser) -> String {
    let fields = [("method_GET", "auto"), ("min_approvals", "2"), ("channel", "dashboard")];
    member.submit(EDITOR, EDITOR, &fields).await.location().to_owned()
}

/// A server with a team whose credential requires a passkey, and its owner with a registered one.
pub(crate) async fn passkey_team(database: TestDatabase) -> (Server, Team, Browser, Authenticator) {
    let server = Server::start(database).await;
    let (team, mut owner) = server.with_owner().await;
    set_policy(&server, &team, r#"{"passkey_required":true}"#).await;
    let mut key = Authenticator::new(ORIGIN_URL, 1);
    register(&mut owner, &mut key, "laptop").await;
    (server, team, owner, key)
}

/// A team whose credential requires a passkey, its owner with a registered one, and a pending request.
struct Scene {
    server: Server,
    team: Team,
    owner: Browser,
    key: Authenticator,
    txn: String,
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let (server, team, owner, key) = passkey_team(database).await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        Self { server, team, owner, key, txn }
    }
}

impl Scene {
    fn page(&self) -> String {
        format!("/app/approvals/{}", self.txn)
    }

    async fn begin(&mut self, fields: &[(&str, &str)]) -> Value {
        let page = self.page();
        begin(&mut self.owner, &page, &format!("{page}/begin"), fields).await
    }

    async fn approve(&mut self, begun: &Value, credential: &Value, fields: &[(&str, &str)]) -> Page {
        let page = self.page();
        finish(&mut self.owner, &page, &format!("{page}/approve"), begun, credential, fields).await
    }

    async fn state(&self) -> ApprovalState {
        state(&self.server, &self.team, &self.txn).await
    }

    /// Answers a fresh challenge after `lie`, which must not approve.
    async fn refuses(&mut self, what: &str, lie: impl FnOnce(&mut Authenticator)) {
        let begun = self.begin(&[]).await;
        let mut liar = self.key.clone();
        lie(&mut liar);
        let given = liar.get(&begun["options"]);
        self.approve(&begun, &given, &[]).await;
        assert_eq!(self.state().await, ApprovalState::Pending, "{what}");
    }
}

pub(crate) async fn set_policy(server: &Server, team: &Team, document: &str) {
    let policy = Policy::from_json(document.as_bytes()).unwrap();
    policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
}

pub(crate) async fn state(server: &Server, team: &Team, txn: &str) -> ApprovalState {
    let txn: TxnId = txn.parse().unwrap();
    view::load_view(&server.gateway, team.id, txn).await.unwrap().row.state
}

engines! {
    async fn a_passkey_is_registered_named_used_and_removed(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let (mut laptop, mut phone) = (Authenticator::new(ORIGIN_URL, 1), Authenticator::new(ORIGIN_URL, 2));
        assert_eq!(register(&mut owner, &mut laptop, "laptop").await.location(), ACCOUNT);
        // Passkeys are listed in the order of their registration.
        server.later(Duration::from_secs(1));
        let mut owner = server.browser();
        owner.sign_in("ana@example.com", PASSWORD).await;
        register(&mut owner, &mut phone, "phone").await;
        let page = owner.get(ACCOUNT).await.text;
        assert!(page.contains("value=\"laptop\"") && page.contains("value=\"phone\""), "{page}");
        let id = page.split("/app/account/passkeys/").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let path = format!("/app/account/passkeys/{id}");
        owner.submit(ACCOUNT, &format!("{path}/rename"), &[("name", "work laptop")]).await;
        assert!(owner.get(ACCOUNT).await.text.contains("value=\"work laptop\""));
        owner.submit(ACCOUNT, &format!("{path}/remove"), &[]).await;
        let page = owner.get(ACCOUNT).await.text;
        assert!(!page.contains("work laptop") && page.contains("value=\"phone\""));
        // The authenticator's own passkey is known already: it is not registered twice.
        register(&mut owner, &mut phone, "again").await;
        assert!(!owner.get(ACCOUNT).await.text.contains("value=\"again\""));
    }

    async fn an_old_session_neither_adds_a_further_passkey_nor_removes_one(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        server.later(Duration::from_mins(10));
        let (mut laptop, mut phone) = (Authenticator::new(ORIGIN_URL, 1), Authenticator::new(ORIGIN_URL, 2));
        register(&mut owner, &mut laptop, "laptop").await;
        let page = owner.get(ACCOUNT).await.text;
        assert!(page.contains("value=\"laptop\""), "the first needs no more than a session");
        let refused = owner.submit(ACCOUNT, "/app/account/passkeys/begin", &[("name", "phone")]).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert!(refused.text.contains("sign out and in again first"), "{}", refused.text);
        let id = page.split("/app/account/passkeys/").nth(1).unwrap().split('/').next().unwrap();
        let path = format!("/app/account/passkeys/{id}/remove");
        assert_eq!(owner.submit(ACCOUNT, &path, &[]).await.status, StatusCode::CONFLICT);
        assert!(owner.get(ACCOUNT).await.text.contains("value=\"laptop\""));
        let mut owner = server.browser();
        owner.sign_in("ana@example.com", PASSWORD).await;
        register(&mut owner, &mut phone, "phone").await;
        owner.submit(ACCOUNT, &path, &[]).await;
        let page = owner.get(ACCOUNT).await.text;
        assert!(page.contains("value=\"phone\"") && !page.contains("value=\"laptop\""));
    }

    async fn registration_refuses_whatever_does_not_hold(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let lies: [(&str, Lie); 6] = [
            ("another origin", |key| key.origin = "https://evil.example".into()),
            ("another site", |key| key.rp_id = "evil.example".into()),
            ("another kind", |key| key.kind = Some("webauthn.get".to_owned())),
            ("nobody there", |key| key.present = false),
            ("nobody verified", |key| key.verified = false),
            ("another challenge", |key| {
                key.challenge = Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned());
            }),
        ];
        for (what, lie) in lies {
            let mut key = Authenticator::new(ORIGIN_URL, 3);
            lie(&mut key);
            register(&mut owner, &mut key, "liar").await;
            assert!(!owner.get(ACCOUNT).await.text.contains("value=\"liar\""), "{what}");
        }
        for members in FRAMED {
            let mut key = Authenticator::new(ORIGIN_URL, 3);
            key.members = members;
            register(&mut owner, &mut key, "liar").await;
            assert!(!owner.get(ACCOUNT).await.text.contains("value=\"liar\""), "{members}");
        }
    }

    async fn a_passkey_signs_its_person_in_and_nobody_else(scene: Scene) {
        let (server, mut key) = (scene.server, scene.key);
        server.later(Duration::from_mins(30));
        let mut fresh = server.browser();
        let begun = begin(&mut fresh, "/sign-in", "/sign-in/passkey/begin", &[]).await;
        assert_eq!(begun["options"]["allowCredentials"], serde_json::json!([]));
        assert_eq!(begun["options"]["userVerification"], "required");
        let given = key.get(&begun["options"]);
        let entered = finish(&mut fresh, "/sign-in", "/sign-in/passkey", &begun, &given, &[]).await;
        assert_eq!((entered.status, entered.location()), (StatusCode::SEE_OTHER, "/app"));
        assert!(fresh.get(ACCOUNT).await.text.contains("ana@example.com"));
        assert!(fresh.get(ACCOUNT).await.text.contains("just now"), "when it was last used");
        // Neither again, nor by an unregistered passkey, nor when the person is disabled.
        let mut thief = server.browser();
        let again = finish(&mut thief, "/sign-in", "/sign-in/passkey", &begun, &given, &[]).await;
        assert_eq!(again.status, StatusCode::UNAUTHORIZED);
        let begun = begin(&mut thief, "/sign-in", "/sign-in/passkey/begin", &[]).await;
        let unknown = Authenticator::new(ORIGIN_URL, 9).get(&begun["options"]);
        let unknown = finish(&mut thief, "/sign-in", "/sign-in/passkey", &begun, &unknown, &[]).await;
        assert_eq!(unknown.status, StatusCode::UNAUTHORIZED);
        let (mut bo, mut theirs) =
            (server.with_person(&scene.team, "bo@example.com", Role::Admin).await, Authenticator::new(ORIGIN_URL, 5));
        register(&mut bo, &mut theirs, "bo").await;
        assert!(bo.get(ACCOUNT).await.text.contains("never"), "not used yet");
        let id = people::by_email(&server.gateway.store, scene.team.id, "bo@example.com").await.unwrap().id;
        people::set_enabled(&server.gateway.audited, &Actor::cli(scene.team.id), id, false).await.unwrap();
        let begun = begin(&mut thief, "/sign-in", "/sign-in/passkey/begin", &[]).await;
        let given = theirs.get(&begun["options"]);
        let shut_out = finish(&mut thief, "/sign-in", "/sign-in/passkey", &begun, &given, &[]).await;
        assert_eq!(shut_out.status, StatusCode::UNAUTHORIZED);
        assert_eq!(thief.get(ACCOUNT).await.status, StatusCode::SEE_OTHER);
    }

    async fn only_the_ceremony_approves_what_asks_for_a_passkey(scene: &mut Scene) {
        let page = scene.page();
        scene.owner.submit(&page, &format!("{page}/approve"), &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Pending, "a session alone");
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.approve(&begun, &given, &[("from", "standalone")]).await;
        assert_eq!(scene.state().await, ApprovalState::Approved);
        let audit = scene.owner.get("/app/audit/export.jsonl").await.text;
        let approved = audit.lines().find(|line| line.contains("approval.approved")).unwrap();
        for known in ["authenticator_data", "laptop", "standalone"] {
            assert!(approved.contains(known), "{known}: {approved}");
        }
    }

    async fn the_receipt_names_the_passkey_that_confirmed_the_approval(scene: &mut Scene) {
        let page = scene.page();
        assert!(!scene.owner.get(&page).await.text.contains("Download receipt"));
        assert_eq!(scene.owner.get(&format!("{page}/receipt")).await.status, StatusCode::CONFLICT);
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Approved);
        // Sent to an address that refuses connections.
        workers::send_all(&scene.server.gateway).await.unwrap();
        assert!(scene.owner.get(&page).await.text.contains("Download receipt"));
        let receipt = scene.owner.get(&format!("{page}/receipt")).await;
        assert_eq!(receipt.status, StatusCode::OK, "{}", receipt.text);
        let keys = receipts::keys::published(&scene.server.gateway).await.unwrap();
        let claims = receipt::verify(&receipt.text, &keys).unwrap().claims;
        let [vote] = &claims.votes[..] else { panic!("{claims:?}") };
        assert_eq!((vote.ceremony.as_str(), vote.passkey.as_ref().unwrap().name.as_str()), ("passkey", "laptop"));
        assert_eq!(vote.by.name, "ana@example.com");
    }

    async fn every_check_of_an_assertion_refuses_its_lie(scene: &mut Scene) {
        scene.refuses("another origin", |key| key.origin = "http://localhost:8701".into()).await;
        scene.refuses("another site", |key| key.rp_id = "evil.example".into()).await;
        scene.refuses("another kind", |key| key.kind = Some("webauthn.create".to_owned())).await;
        scene.refuses("nobody there", |key| key.present = false).await;
        scene.refuses("nobody verified", |key| key.verified = false).await;
        scene.refuses("a spoiled signature", |key| key.spoiled = true).await;
        scene
            .refuses("another challenge", |key| {
                key.challenge = Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".to_owned());
            })
            .await;
        scene.refuses("somebody else's handle", |key| key.user_handle = Some(vec![7; 16])).await;
        let audit = scene.owner.get("/app/audit/export.jsonl").await.text;
        assert_eq!(audit.lines().filter(|line| line.contains("passkey.refused")).count(), 8);
        // The truth still works after all those lies.
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Approved);
    }

    async fn no_ceremony_in_a_frame_of_another_site_counts(scene: &mut Scene) {
        for members in FRAMED {
            scene.refuses(members, |key| key.members = members).await;
            // Signing in.
            let mut thief = scene.server.browser();
            let begun = begin(&mut thief, "/sign-in", "/sign-in/passkey/begin", &[]).await;
            let mut liar = scene.key.clone();
            liar.members = members;
            let given = liar.get(&begun["options"]);
            let refused = finish(&mut thief, "/sign-in", "/sign-in/passkey", &begun, &given, &[]).await;
            assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{members}");
            assert_eq!(thief.get(ACCOUNT).await.status, StatusCode::SEE_OTHER, "{members}");
        }
        let audit = scene.owner.get("/app/audit/export.jsonl").await.text;
        let refused = audit.lines().filter(|line| line.contains("passkey.refused"));
        assert_eq!(refused.clone().count(), 2 * FRAMED.len(), "approvals and sign-ins");
        assert!(refused.clone().any(|line| line.contains("frame of another site")), "{audit}");
        // A browser that writes no crossOrigin at all still approves.
        scene.key.members = "";
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Approved);
    }

    async fn a_proposal_is_not_applied_from_a_frame_of_another_site(scene: Scene) {
        let (server, team) = (scene.server, scene.team);
        let (mut member, mut key) = proposer(&server, &team).await;
        let staged = propose(&mut member).await;
        let stored = async || policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap().1;
        for members in FRAMED {
            key.members = members;
            let begun = begin(&mut member, &staged, &format!("{staged}/begin"), &[]).await;
            let given = key.get(&begun["options"]);
            finish(&mut member, &staged, &format!("{staged}/apply"), &begun, &given, &[]).await;
            assert_eq!(stored().await.min_approvals, 1, "{members}");
        }
        key.members = r#""crossOrigin":false"#;
        let begun = begin(&mut member, &staged, &format!("{staged}/begin"), &[]).await;
        let given = key.get(&begun["options"]);
        finish(&mut member, &staged, &format!("{staged}/apply"), &begun, &given, &[]).await;
        assert_eq!(stored().await.min_approvals, 2);
    }

    async fn a_counter_that_does_not_rise_is_refused(scene: &mut Scene) {
        let mut copy = scene.key.clone();
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Approved);
        scene.txn = scene.server.post_pending(&scene.team, "/v1/pay", "", "{\"again\":1}").await;
        let begun = scene.begin(&[]).await;
        let given = copy.get(&begun["options"]);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Pending, "a copy with an old counter");
    }

    async fn an_answer_works_once_and_for_two_minutes(scene: &mut Scene) {
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.server.later(Duration::from_mins(2));
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Pending, "too late");
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.server.later(Duration::from_secs(119));
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Approved, "in time");
        scene.txn = scene.server.post_pending(&scene.team, "/v1/pay", "", "{\"again\":1}").await;
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Pending, "replayed");
    }

    async fn an_answer_is_for_one_request_one_action_and_one_person(scene: &mut Scene) {
        let other = scene.server.post_pending(&scene.team, "/v1/other", "", "{}").await;
        // For another request.
        let begun = scene.begin(&[]).await;
        let given = scene.key.get(&begun["options"]);
        let here = std::mem::replace(&mut scene.txn, other);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Pending, "another request");
        scene.txn = here;
        // For an approval without a grant, or with another one.
        let pairs: [(Fields, Fields); 3] = [
            (&[], &[("grant_seconds", "1800")]),
            (&[("grant_seconds", "900")], &[("grant_seconds", "14400")]),
            (&[("grant_seconds", "900"), ("agent_only", "on")], &[("grant_seconds", "900")]),
        ];
        for (asked, sent) in pairs {
            let begun = scene.begin(asked).await;
            let given = scene.key.get(&begun["options"]);
            scene.approve(&begun, &given, sent).await;
            assert_eq!(scene.state().await, ApprovalState::Pending, "{asked:?} {sent:?}");
        }
        // By another person, with the first one's response, and with their own passkey for the first one's challenge.
        let mut bo = scene.server.with_person(&scene.team, "bo@example.com", Role::Admin).await;
        let mut theirs = Authenticator::new(ORIGIN_URL, 2);
        register(&mut bo, &mut theirs, "bo").await;
        let (page, to) = (scene.page(), format!("{}/approve", scene.page()));
        for own in [false, true] {
            let begun = scene.begin(&[]).await;
            let given = if own { theirs.get(&begun["options"]) } else { scene.key.get(&begun["options"]) };
            finish(&mut bo, &page, &to, &begun, &given, &[]).await;
            assert_eq!(scene.state().await, ApprovalState::Pending, "another person, own {own}");
        }
        // By the right person, with someone else's passkey, and with an unregistered one.
        let unknown = Authenticator::new(ORIGIN_URL, 9);
        for (whose, mut key) in [("somebody else", theirs), ("nobody", unknown)] {
            let begun = scene.begin(&[]).await;
            let given = key.get(&begun["options"]);
            scene.approve(&begun, &given, &[]).await;
            assert_eq!(scene.state().await, ApprovalState::Pending, "a passkey of {whose}");
        }
        // A sign-in challenge approves nothing.
        let mut fresh = scene.server.browser();
        let begun = begin(&mut fresh, "/sign-in", "/sign-in/passkey/begin", &[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.approve(&begun, &given, &[]).await;
        assert_eq!(scene.state().await, ApprovalState::Pending, "a sign-in");
    }

    async fn only_the_ceremony_opens_a_grant_and_tightening_ends_what_was_opened_before(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        let page = format!("/app/approvals/{txn}");
        owner.submit(&page, &format!("{page}/approve"), &[("grant_seconds", "900")]).await;
        let alive = async || grants::list(&server.gateway.store, team.id, false, server.gateway.now()).await.unwrap().len();
        assert_eq!(alive().await, 1);
        set_policy(&server, &team, r#"{"passkey_required":true}"#).await;
        assert_eq!(alive().await, 0, "tightened");
        let mut key = Authenticator::new(ORIGIN_URL, 1);
        register(&mut owner, &mut key, "laptop").await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        let page = format!("/app/approvals/{txn}");
        let fields = [("grant_seconds", "900")];
        let begun = begin(&mut owner, &page, &format!("{page}/begin"), &fields).await;
        let given = key.get(&begun["options"]);
        finish(&mut owner, &page, &format!("{page}/approve"), &begun, &given, &fields).await;
        assert_eq!((state(&server, &team, &txn).await, alive().await), (ApprovalState::Approved, 1));
    }

    async fn an_approval_from_before_a_passkey_was_needed_counts_only_once_it_is_given_again_with_one(server: Server) {
        let (team, mut ana) = server.with_owner().await;
        let mut bo = server.with_person(&team, "bo@example.com", Role::Admin).await;
        let (mut anas, mut bos) = (Authenticator::new(ORIGIN_URL, 1), Authenticator::new(ORIGIN_URL, 2));
        register(&mut ana, &mut anas, "ana").await;
        register(&mut bo, &mut bos, "bo").await;
        set_policy(&server, &team, r#"{"min_approvals":2}"#).await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        let page = format!("/app/approvals/{txn}");
        let approve = format!("{page}/approve");
        ana.submit(&page, &approve, &[]).await;
        assert!(ana.get(&page).await.text.contains("One more person must approve"));
        // The policy became stricter in between: an approval without a passkey no longer counts.
        set_policy(&server, &team, r#"{"min_approvals":2,"passkey_required":true}"#).await;
        let asks = ana.get(&page).await.text;
        assert!(asks.contains("data-ceremony") && !asks.contains("You approved this"), "she is asked again");
        let begun = begin(&mut bo, &page, &format!("{page}/begin"), &[]).await;
        let given = bos.get(&begun["options"]);
        finish(&mut bo, &page, &approve, &begun, &given, &[]).await;
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending, "one of two");
        ana.submit(&page, &approve, &[]).await;
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending, "a session is not enough");
        let begun = begin(&mut ana, &page, &format!("{page}/begin"), &[]).await;
        let given = anas.get(&begun["options"]);
        finish(&mut ana, &page, &approve, &begun, &given, &[]).await;
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Approved);
    }

    async fn without_a_passkey_the_page_says_what_to_do(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        set_policy(&server, &team, r#"{"passkey_required":true}"#).await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        let page = format!("/app/approvals/{txn}");
        assert!(owner.get(&page).await.text.contains("Register one under Account"));
        let refused = owner.submit(ACCOUNT, &format!("{page}/begin"), &[]).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert!(refused.text.contains("no passkey yet"), "{}", refused.text);
    }

    async fn a_proposed_policy_applies_by_its_makers_passkey_only(scene: Scene) {
        let (server, team, mut owner, owners) = (scene.server, scene.team, scene.owner, scene.key);
        let (mut member, mut key) = proposer(&server, &team).await;
        let staged = propose(&mut member).await;
        assert!(staged.starts_with("/app/staged/"), "{staged}");
        let stored = async || policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap().1;
        assert_eq!(stored().await.min_approvals, 1, "nothing before the passkey");
        let page = member.get(&staged).await.text;
        assert!(page.contains("Approvals needed") && page.contains("Confirm with passkey"), "{page}");
        // A manager sees it and cannot confirm it in the maker's place.
        assert!(!owner.get(&staged).await.text.contains("Confirm with passkey"));
        assert_eq!(owner.submit(&staged, &format!("{staged}/begin"), &[]).await.status, StatusCode::NOT_FOUND);
        let mut liar = key.clone();
        liar.spoiled = true;
        for (what, mut other) in [("a spoiled signature", liar), ("the owner's passkey", owners)] {
            let begun = begin(&mut member, &staged, &format!("{staged}/begin"), &[]).await;
            let given = other.get(&begun["options"]);
            finish(&mut member, &staged, &format!("{staged}/apply"), &begun, &given, &[]).await;
            assert_eq!(stored().await.min_approvals, 1, "{what}");
        }
        let begun = begin(&mut member, &staged, &format!("{staged}/begin"), &[]).await;
        let given = key.get(&begun["options"]);
        let applied = finish(&mut member, &staged, &format!("{staged}/apply"), &begun, &given, &[]).await;
        assert_eq!(applied.location(), EDITOR);
        assert_eq!(stored().await.min_approvals, 2);
        assert_eq!(member.get(&staged).await.status, StatusCode::NOT_FOUND, "it is gone");
    }

    async fn a_proposal_is_not_applied_once_the_right_is_gone_or_a_day_has_passed(scene: Scene) {
        let (server, team) = (scene.server, scene.team);
        let (mut member, mut key) = proposer(&server, &team).await;
        let staged = propose(&mut member).await;
        let begun = begin(&mut member, &staged, &format!("{staged}/begin"), &[]).await;
        let given = key.get(&begun["options"]);
        server.grant(&team, "mem@example.com", true, false).await;
        finish(&mut member, ACCOUNT, &format!("{staged}/apply"), &begun, &given, &[]).await;
        let stored = async || policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap().1;
        assert_eq!(stored().await.min_approvals, 1, "the right is gone");
        server.grant(&team, "mem@example.com", false, true).await;
        let staged = propose(&mut member).await;
        server.later(Duration::from_hours(24));
        member.sign_in("mem@example.com", PASSWORD).await;
        assert_eq!(member.get(&staged).await.status, StatusCode::NOT_FOUND, "a day has passed");
        let begun = member.submit(ACCOUNT, &format!("{staged}/begin"), &[]).await;
        assert_eq!(begun.status, StatusCode::NOT_FOUND);
        assert_eq!(stored().await.min_approvals, 1);
    }

    async fn a_proposal_over_a_policy_that_changed_meanwhile_is_not_applied(scene: Scene) {
        let (server, team) = (scene.server, scene.team);
        let (mut member, mut key) = proposer(&server, &team).await;
        let staged = propose(&mut member).await;
        let begun = begin(&mut member, &staged, &format!("{staged}/begin"), &[]).await;
        set_policy(&server, &team, r#"{"require_reason":true}"#).await;
        let given = key.get(&begun["options"]);
        finish(&mut member, &staged, &format!("{staged}/apply"), &begun, &given, &[]).await;
        let stored = policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap().1;
        assert!(stored.require_reason && stored.min_approvals == 1);
        assert!(member.get(&staged).await.text.contains("has changed since"));
    }

    async fn an_account_that_somebody_else_opened_counts_with_them_until_its_passkey_signs_in(server: Server) {
        let (team, mut ana) = server.with_owner().await;
        let mut bo = server.with_person(&team, "bo@example.com", Role::Admin).await;
        set_policy(&server, &team, r#"{"min_approvals":2}"#).await;
        let mut key = Authenticator::new(ORIGIN_URL, 2);
        register(&mut bo, &mut key, "bo").await;
        server.later(Duration::from_secs(1));
        // Ana creates a link to Bo's account and uses it herself.
        let id = people::by_email(&server.gateway.store, team.id, "bo@example.com").await.unwrap().id;
        let made = ana.submit("/app/people", &format!("/app/people/{id}/link"), &[]).await.text;
        let token = made.split("/link/").nth(1).unwrap();
        let link = format!("/link/{}", token.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap());
        let mut puppet = server.browser();
        puppet.submit(&link, &link, &[]).await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        let to = format!("/app/approvals/{txn}/approve");
        ana.submit("/app/account", &to, &[]).await;
        puppet.submit("/app/account", &to, &[]).await;
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending, "one person, two accounts");
        // Bo signs in with the earlier passkey: the account is Bo's again.
        let mut real = server.browser();
        let begun = begin(&mut real, "/sign-in", "/sign-in/passkey/begin", &[]).await;
        let given = key.get(&begun["options"]);
        finish(&mut real, "/sign-in", "/sign-in/passkey", &begun, &given, &[]).await;
        real.submit("/app/account", &to, &[]).await;
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Approved);
    }
}
