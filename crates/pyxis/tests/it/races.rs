//! Races for one approval: exactly one winner, one terminal state, at most one upstream call.
//!
//! Approval states (`docs/reference/behavior/proxy.md#approval-states`). The rounds run against the real store in
//! this process, with a clock that stands still until a round moves it.

mod batch;
mod edits;
pub(crate) mod proxy;

use std::time::Duration;

use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::grant::DecisionSurface;
use pyxis_gateway::approvals::decide::{Approver, Decision, GrantRequest, decide};
use pyxis_gateway::{Error, workers};
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::{Page, grants};
use pyxis_testkit::engines;
use pyxis_testkit::long_form::rounds;

use proxy::Proxy;

/// Rounds of each race.
fn race_rounds() -> usize {
    rounds(150, 1000)
}

async fn row(proxy: &Proxy, txn: pyxis_core::id::TxnId) -> ApprovalRow {
    approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap()
}

/// After the race: executes approved work and checks the result.
async fn execute_approved(proxy: &Proxy, txn: pyxis_core::id::TxnId) -> ApprovalRow {
    workers::send_all(&proxy.state).await.unwrap();
    row(proxy, txn).await
}

fn lost_to_a_decision(error: &Error) -> bool {
    matches!(error, Error::AlreadyDecided(_))
}

async fn speak(
    proxy: &Proxy,
    approver: &Approver,
    txn: pyxis_core::id::TxnId,
    verdict: Decision,
) -> Result<ApprovalState, Error> {
    let (state, approver) = (proxy.state.clone(), approver.clone());
    let spoken = tokio::spawn(async move { decide(&state, &approver, txn, verdict).await });
    spoken.await.unwrap().map(|decided| decided.state)
}

engines! {
    async fn race_of_an_approver_and_a_denier_has_one_winner(proxy: &Proxy) {
        let (one, two) = (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        let (mut approved, mut denied) = (0, 0);
        for round in 0..race_rounds() {
            let txn = proxy.pause(round).await;
            let (approval, denial) = tokio::join!(
                speak(proxy, &one, txn, Decision::Approve(None)),
                speak(proxy, &two, txn, Decision::Deny(None)),
            );
            let end = execute_approved(proxy, txn).await;
            match (approval, denial) {
                (Ok(ApprovalState::Approved), Err(error)) => {
                    assert!(lost_to_a_decision(&error), "{error}");
                    assert_eq!((end.state, end.forward_state), (ApprovalState::Approved, ForwardState::Done));
                    approved += 1;
                }
                (Err(error), Ok(ApprovalState::Denied)) => {
                    assert!(lost_to_a_decision(&error), "{error}");
                    assert_eq!((end.state, end.forward_state), (ApprovalState::Denied, ForwardState::None));
                    denied += 1;
                }
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!(approved + denied, race_rounds());
        assert_eq!(proxy.upstream.requests().len(), approved);
    }

    async fn race_of_two_approvers_sends_once(proxy: &Proxy) {
        let (one, two) = (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Standalone));
        for round in 0..race_rounds() {
            let txn = proxy.pause(round).await;
            let (first, second) = tokio::join!(
                speak(proxy, &one, txn, Decision::Approve(None)),
                speak(proxy, &two, txn, Decision::Approve(None)),
            );
            assert!(first.is_ok() != second.is_ok(), "round {round}: {first:?} {second:?}");
            let end = execute_approved(proxy, txn).await;
            assert_eq!((end.state, end.forward_state), (ApprovalState::Approved, ForwardState::Done));
        }
        assert_eq!(proxy.upstream.requests().len(), race_rounds());
    }

    async fn race_of_approval_and_expiry_has_one_winner(proxy: &Proxy) {
        let one = proxy.approver(0, DecisionSurface::Dashboard);
        let mut approved = 0;
        for round in 0..race_rounds() {
            let txn = proxy.pause(round).await;
            let window = row(proxy, txn).await.expires_at.since(proxy.clock_now());
            proxy.advance(window.saturating_sub(Duration::from_millis(1)));
            let state = proxy.state.clone();
            let clock = proxy.clock();
            let expire = tokio::spawn(async move {
                clock.advance(Duration::from_millis(1));
                workers::expire_tick(&state).await.map(drop)
            });
            let (yes, expired) = tokio::join!(speak(proxy, &one, txn, Decision::Approve(None)), expire);
            expired.unwrap().unwrap();
            let end = execute_approved(proxy, txn).await;
            match yes {
                Ok(ApprovalState::Approved) => {
                    assert_eq!(end.state, ApprovalState::Approved);
                    approved += 1;
                }
                Err(error) => {
                    assert!(lost_to_a_decision(&error), "{error}");
                    assert_eq!((end.state, end.forward_state), (ApprovalState::Expired, ForwardState::None));
                }
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!(proxy.upstream.requests().len(), approved);
    }

    async fn race_of_approval_and_withdrawal_has_one_winner(proxy: &Proxy) {
        let one = proxy.approver(0, DecisionSurface::Dashboard);
        let mut approved = 0;
        for round in 0..race_rounds() {
            let txn = proxy.pause(round).await;
            let (yes, withdrawn) = tokio::join!(speak(proxy, &one, txn, Decision::Approve(None)), proxy.withdraw(txn));
            let end = execute_approved(proxy, txn).await;
            match (yes, withdrawn.as_u16()) {
                (Ok(ApprovalState::Approved), 409) => {
                    assert_eq!((end.state, end.withdrawn), (ApprovalState::Approved, false));
                    approved += 1;
                }
                (Err(error), 204) => {
                    assert!(lost_to_a_decision(&error), "{error}");
                    assert_eq!((end.state, end.withdrawn), (ApprovalState::Expired, true));
                }
                other => panic!("round {round}: {other:?}"),
            }
        }
        assert_eq!(proxy.upstream.requests().len(), approved);
    }

    async fn race_of_a_grant_and_a_tightened_policy_leaves_no_grant(proxy: &Proxy) {
        let one = proxy.approver(0, DecisionSurface::Dashboard);
        let wish = GrantRequest { seconds: 900, agent_only: false, max_uses: None };
        for round in 0..race_rounds() / 5 {
            proxy.policy("{}").await;
            let txn = proxy.pause(round).await;
            let tightened = proxy.policy(r#"{"passkey_required": true}"#);
            let (_, ()) = tokio::join!(speak(proxy, &one, txn, Decision::Approve(Some(wish))), tightened);
            let live = grants::list(&proxy.state.store, proxy.workspace, false, Page::first(10), proxy.clock_now()).await.unwrap();
            assert!(live.is_empty(), "round {round}: {live:?}");
        }
    }

    async fn race_of_two_votes_of_a_quorum_of_two_approves_exactly_once(proxy: &Proxy) {
        proxy.policy(r#"{"min_approvals": 2}"#).await;
        let (one, two) = (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        for round in 0..race_rounds() {
            let txn = proxy.pause(round).await;
            let (first, second) = tokio::join!(
                speak(proxy, &one, txn, Decision::Approve(None)),
                speak(proxy, &two, txn, Decision::Approve(None)),
            );
            let mut states = [first.unwrap(), second.unwrap()];
            states.sort_by_key(|state| state.as_str());
            assert_eq!(states, [ApprovalState::Approved, ApprovalState::Pending], "round {round}");
            assert_eq!(execute_approved(proxy, txn).await.forward_state, ForwardState::Done);
        }
        assert_eq!(proxy.upstream.requests().len(), race_rounds());
    }
}
