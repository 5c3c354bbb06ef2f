//! Races and random orders of edits, votes and the end of the window: what was sent is what was last approved.

use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_gateway::approvals::decide::{Approver, AuthMethod, Decision, DecisionOutcome, decide_reviewed};
use pyxis_gateway::approvals::edit::{RequestEdit, Reviewed};
use pyxis_gateway::{Error, workers};
use pyxis_store::votes;
use pyxis_testkit::engines;
use pyxis_testkit::long_form::rounds;

use super::proxy::Proxy;
use super::{execute_approved, row};

/// Approves a request as it was read at `digest`, with another body if there is one.
async fn approve(
    proxy: &Proxy,
    approver: &Approver,
    txn: TxnId,
    digest: &str,
    body: Option<String>,
) -> Result<DecisionOutcome, Error> {
    let (state, approver, digest) = (proxy.state.clone(), approver.clone(), Some(digest.to_owned()));
    let spoken = tokio::spawn(async move {
        let edit = body.map(|body| RequestEdit { body: Some(body), ..RequestEdit::default() });
        let (word, reviewed) = (Decision::Approve(None), Reviewed { digest, edit });
        decide_reviewed(&state, &approver, txn, word, &AuthMethod::Session, None, &reviewed).await
    });
    spoken.await.unwrap()
}

/// Something that happens to a pending request.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A person reads it.
    Read(usize),
    /// A person approves what they read last.
    Vote(usize),
    /// A person approves what they read last with another body.
    Edit(usize),
    /// The window ends.
    Expire,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let person = 0..2_usize;
    let step = prop_oneof![
        4 => person.clone().prop_map(Step::Read),
        4 => person.clone().prop_map(Step::Vote),
        3 => person.prop_map(Step::Edit),
        1 => Just(Step::Expire),
    ];
    proptest::collection::vec(step, 1..12)
}

/// A request, as two people see it.
struct Model {
    /// Body of each version by its digest.
    bodies: Vec<(String, String)>,
    /// Version that each person read last.
    read: [String; 2],
    /// True for each person who approved the present version.
    voters: [bool; 2],
    ended: bool,
}

impl Model {
    fn now(&self) -> &(String, String) {
        self.bodies.last().unwrap()
    }

    /// True if the approval of a person must count.
    fn counts(&self, person: usize, is_edit: bool) -> bool {
        let is_current = self.read[person] == self.now().0;
        !self.ended && is_current && (is_edit || !self.voters[person])
    }
}

/// Takes every step, and compares what happened with the model after each.
async fn play(proxy: &Proxy, round: usize, steps: &[Step]) {
    let people = [proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api)];
    let before = proxy.upstream.requests().len();
    let txn = proxy.pause(round).await;
    let first = row(proxy, txn).await.digest;
    let mut model = Model {
        bodies: vec![(first.clone(), format!("round {round}"))],
        read: [first.clone(), first],
        voters: [false, false],
        ended: false,
    };
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Read(person) => model.read[person].clone_from(&row(proxy, txn).await.digest),
            Step::Expire => {
                let window = row(proxy, txn).await.expires_at.since(proxy.clock_now());
                proxy.advance(window + Duration::from_millis(1));
                workers::expire_tick(&proxy.state).await.unwrap();
                model.ended = true;
            }
            Step::Vote(person) | Step::Edit(person) => {
                let body = matches!(step, Step::Edit(_)).then(|| format!("round {round} edit {number}"));
                let expected = model.counts(person, body.is_some());
                let seen = model.read[person].clone();
                let decided = approve(proxy, &people[person], txn, &seen, body.clone()).await;
                assert_eq!(decided.is_ok(), expected, "{steps:?} at {number}: {decided:?}");
                let Ok(decided) = decided else { continue };
                if let Some(body) = body {
                    model.bodies.push((row(proxy, txn).await.digest, body));
                    model.voters = [false, false];
                }
                model.voters[person] = true;
                assert_eq!(decided.approvals as usize, model.voters.iter().filter(|voted| **voted).count());
                model.ended |= decided.state == ApprovalState::Approved;
            }
        }
    }
    let end = execute_approved(proxy, txn).await;
    let sent = proxy.upstream.requests().split_off(before);
    let (digest, body) = model.now();
    if model.voters == [true, true] {
        assert_eq!(
            (end.state, end.forward_state),
            (ApprovalState::Approved, ForwardState::Done),
            "{steps:?}"
        );
        assert_eq!(
            sent.iter().map(pyxis_testkit::upstream::Received::text).collect::<Vec<_>>(),
            [body.as_str()],
            "{steps:?}"
        );
        assert_eq!((end.decided_digest.as_ref(), end.sent_digest.as_ref()), (Some(digest), Some(digest)));
    } else {
        assert!(sent.is_empty(), "{steps:?}");
        assert_eq!((end.decided_digest, end.sent_digest), (None, None), "{steps:?}");
    }
}

/// Something that ends or changes what may happen to a pending request.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    Step(Step),
    /// A person denies it.
    Deny(usize),
    /// The agent withdraws it.
    Withdraw,
    /// The policy needs this many approvals from now on.
    Approvals(u32),
    /// The policy denies the URL from now on, or no longer.
    DenyUrl(bool),
    /// The policy requires a passkey from now on, or no longer.
    Passkey(bool),
}

fn disturbances() -> impl Strategy<Value = Vec<Disturbance>> {
    let person = 0..2_usize;
    let step = prop_oneof![
        5 => person.clone().prop_map(|person| Disturbance::Step(Step::Read(person))),
        6 => person.clone().prop_map(|person| Disturbance::Step(Step::Vote(person))),
        4 => person.clone().prop_map(|person| Disturbance::Step(Step::Edit(person))),
        1 => person.prop_map(Disturbance::Deny),
        1 => Just(Disturbance::Withdraw),
        2 => (1..3_u32).prop_map(Disturbance::Approvals),
        2 => any::<bool>().prop_map(Disturbance::DenyUrl),
        2 => any::<bool>().prop_map(Disturbance::Passkey),
    ];
    proptest::collection::vec(step, 2..14)
}

/// History of a request, as those who decided were told.
struct DecisionHistory {
    /// Body of each version by its digest.
    bodies: Vec<(String, String)>,
    /// People who approved the present version.
    approved: Vec<usize>,
    /// True after a denial or a withdrawal that succeeded.
    refused: bool,
}

/// Takes every step while the policy changes, and checks what was sent against what people were told.
async fn disturb(proxy: &Proxy, round: usize, steps: &[Disturbance]) {
    let people = [proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api)];
    let mut policy = serde_json::json!({"min_approvals": 2});
    proxy.policy(&policy.to_string()).await;
    let before = proxy.upstream.requests().len();
    let txn = proxy.pause(round).await;
    let first = row(proxy, txn).await.digest;
    let mut read = [first.clone(), first.clone()];
    let mut told = DecisionHistory {
        bodies: vec![(first, format!("round {round}"))],
        approved: Vec::new(),
        refused: false,
    };
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Disturbance::Step(Step::Expire) => {}
            Disturbance::Step(Step::Read(person)) => read[person].clone_from(&row(proxy, txn).await.digest),
            Disturbance::Step(Step::Vote(person) | Step::Edit(person)) => {
                let is_edit = matches!(step, Disturbance::Step(Step::Edit(_)));
                let body = is_edit.then(|| format!("round {round} edit {number}"));
                if approve(proxy, &people[person], txn, &read[person], body.clone()).await.is_err() {
                    continue;
                }
                assert_eq!(
                    read[person],
                    told.bodies.last().unwrap().0,
                    "{steps:?}: only the present version"
                );
                if let Some(body) = body {
                    told.bodies.push((row(proxy, txn).await.digest, body));
                    told.approved.clear();
                }
                told.approved.push(person);
            }
            Disturbance::Deny(person) => {
                let (word, reviewed) = (Decision::Deny(None), Reviewed::default());
                let by = (&people[person], AuthMethod::Session);
                let denied = decide_reviewed(&proxy.state, by.0, txn, word, &by.1, None, &reviewed).await;
                told.refused |= denied.is_ok();
            }
            Disturbance::Withdraw => told.refused |= proxy.withdraw(txn).await.is_success(),
            Disturbance::Approvals(count) => policy["min_approvals"] = count.into(),
            Disturbance::DenyUrl(denied) => {
                policy["deny_urls"] = if denied { serde_json::json!(["/"]) } else { serde_json::json!([]) };
            }
            Disturbance::Passkey(required) => policy["passkey_required"] = required.into(),
        }
        if matches!(step, Disturbance::Approvals(_) | Disturbance::DenyUrl(_) | Disturbance::Passkey(_)) {
            proxy.policy(&policy.to_string()).await;
        }
    }
    let end = execute_approved(proxy, txn).await;
    let sent = proxy.upstream.requests().split_off(before);
    let (digest, body) = told.bodies.last().unwrap();
    assert!(sent.len() <= 1, "{steps:?}");
    if let [request] = &sent[..] {
        let people: std::collections::BTreeSet<_> = told.approved.iter().collect();
        assert!(!told.refused && people.len() == 2, "{steps:?}");
        assert_eq!((request.text(), end.state), (body.as_str(), ApprovalState::Approved), "{steps:?}");
        assert_eq!((end.decided_digest.as_ref(), end.sent_digest.as_ref()), (Some(digest), Some(digest)));
    } else {
        assert_eq!(end.sent_digest, None, "{steps:?}");
    }
}

engines! {
    async fn whatever_policies_denials_and_withdrawals_do_only_what_two_people_approved_last_is_sent(proxy: &Proxy) {
        let mut runner = TestRunner::new(Config::default());
        for round in 0..rounds(30, 400) {
            let drawn = disturbances().new_tree(&mut runner).unwrap().current();
            disturb(proxy, round, &drawn).await;
        }
    }

    async fn an_edit_whose_host_leads_to_a_forbidden_address_is_refused_and_changes_nothing(proxy: &Proxy) {
        let one = proxy.approver(0, DecisionSurface::Dashboard);
        let request = proxy.forward("POST", &proxy.upstream.url_at("api.example.com", "/act"));
        let txn = proxy.send_pending(request.body("first".into()).unwrap()).await;
        let seen = row(proxy, txn).await.digest;
        proxy.gate.moved_to(IpAddr::from([169, 254, 169, 254]));
        let decided = approve(proxy, &one, txn, &seen, Some("second".to_owned())).await;
        assert!(matches!(decided, Err(Error::InvalidField { .. })), "{decided:?}");
        let end = row(proxy, txn).await;
        assert_eq!((end.state, end.edits, end.digest), (ApprovalState::Pending, 0, seen));
        assert!(proxy.upstream.requests().is_empty());
    }

    async fn race_of_an_edit_and_an_approval_sends_what_the_winner_approved(proxy: &Proxy) {
        let (one, two) = (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        let (mut plain, mut edited) = (0, 0);
        for round in 0..rounds(100, 1000) {
            let txn = proxy.pause(round).await;
            let seen = row(proxy, txn).await.digest;
            let body = format!("edited in round {round}");
            let (by_edit, by_vote) = tokio::join!(
                approve(proxy, &one, txn, &seen, Some(body.clone())),
                approve(proxy, &two, txn, &seen, None),
            );
            let end = execute_approved(proxy, txn).await;
            let sent = proxy.upstream.requests().pop().unwrap();
            assert_eq!((end.state, end.forward_state), (ApprovalState::Approved, ForwardState::Done));
            assert_eq!(end.decided_digest, end.sent_digest);
            match (by_edit, by_vote) {
                (Ok(_), Err(Error::AlreadyDecided(_) | Error::RequestChanged)) => {
                    assert_eq!((sent.text(), end.edits), (body.as_str(), 1));
                    edited += 1;
                }
                (Err(Error::AlreadyDecided(_) | Error::RequestChanged), Ok(_)) => {
                    assert_eq!((sent.text(), end.edits), (format!("round {round}").as_str(), 0));
                    plain += 1;
                }
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!(plain + edited, proxy.upstream.requests().len());
    }

    async fn race_of_two_edits_has_one_winner_whose_votes_alone_count(proxy: &Proxy) {
        proxy.policy(r#"{"min_approvals": 2}"#).await;
        let (one, two) = (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        for round in 0..rounds(50, 300) {
            let txn = proxy.pause(round).await;
            let seen = row(proxy, txn).await.digest;
            let (first, second) = tokio::join!(
                approve(proxy, &one, txn, &seen, Some(format!("one {round}"))),
                approve(proxy, &two, txn, &seen, Some(format!("two {round}"))),
            );
            assert!(first.is_ok() != second.is_ok(), "round {round}: {first:?} {second:?}");
            let end = execute_approved(proxy, txn).await;
            assert_eq!((end.state, end.edits), (ApprovalState::Pending, 1));
            let given = votes::list(&proxy.state.store, proxy.workspace, txn).await.unwrap();
            assert_eq!(given.len(), 1, "round {round}");
        }
        assert!(proxy.upstream.requests().is_empty());
    }

    async fn what_was_sent_is_what_was_last_approved_in_any_order_of_edits_votes_and_expiry(proxy: &Proxy) {
        proxy.policy(r#"{"min_approvals": 2}"#).await;
        let mut runner = TestRunner::new(Config::default());
        for round in 0..rounds(40, 400) {
            let drawn = steps().new_tree(&mut runner).unwrap().current();
            play(proxy, round, &drawn).await;
        }
    }

    async fn an_edit_that_a_policy_change_overtakes_is_checked_again(proxy: &Proxy) {
        let one = proxy.approver(0, DecisionSurface::Dashboard);
        let request = proxy.forward("POST", &proxy.upstream.url_at("api.example.com", "/act"));
        let txn = proxy.send_pending(request.body("first".into()).unwrap()).await;
        let seen = row(proxy, txn).await.digest;
        let held = proxy.gate.hold();
        let deciding = approve(proxy, &one, txn, &seen, Some("second".to_owned()));
        let changing = async {
            // The edit passed the policy, and its address is being looked up.
            held.asked.await.unwrap();
            proxy.policy(r#"{"deny_urls": ["/act"]}"#).await;
            drop(held.release);
        };
        let (decided, ()) = tokio::join!(deciding, changing);
        assert!(matches!(decided, Err(Error::InvalidField { .. })), "{decided:?}");
        let end = row(proxy, txn).await;
        assert_eq!((end.state, end.edits, end.digest), (ApprovalState::Pending, 0, seen));
    }
}
