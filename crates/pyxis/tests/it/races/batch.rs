//! Races of two people who decide overlapping lists.

use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_gateway::Error;
use pyxis_gateway::approvals::batch::{BatchItem, decide_each};
use pyxis_gateway::approvals::decide::{Approver, AuthMethod, DecisionOutcome};
use pyxis_store::votes::Verdict;
use pyxis_testkit::engines;
use pyxis_testkit::long_form::rounds;

use super::execute_approved;
use super::proxy::Proxy;

/// Requests of each round.
const REQUESTS: usize = 6;

type Results = Vec<Result<DecisionOutcome, Error>>;

/// Decides a list in a task of its own.
async fn speak(proxy: &Proxy, approver: &Approver, txns: Vec<TxnId>, verdict: Verdict) -> Results {
    let (state, approver) = (proxy.state.clone(), approver.clone());
    let item = |txn: TxnId| BatchItem { id: txn.to_string(), verdict, reason: None, digest: None };
    let items: Vec<_> = txns.into_iter().map(item).collect();
    let spoken =
        tokio::spawn(async move { decide_each(&state, &approver, &items, &AuthMethod::Session).await });
    spoken.await.unwrap().unwrap()
}

engines! {
    async fn race_of_overlapping_lists_decides_each_request_once(proxy: &Proxy) {
        let (one, two) = (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        let mut sent = 0;
        for round in 0..rounds(40, 200) {
            let mut txns = Vec::new();
            for n in 0..REQUESTS {
                txns.push(proxy.pause(round * REQUESTS + n).await);
            }
            // Each has one request of its own; the others are in both lists, in opposite orders.
            let first = txns[1..].to_vec();
            let second: Vec<_> = txns[..REQUESTS - 1].iter().rev().copied().collect();
            let (approved, denied) = tokio::join!(
                speak(proxy, &one, first.clone(), Verdict::Approve),
                speak(proxy, &two, second.clone(), Verdict::Deny),
            );
            for txn in &txns {
                let of = |list: &[TxnId], results: &Results| {
                    let place = list.iter().position(|other| other == txn)?;
                    Some(results[place].as_ref().map(|decided| decided.state).map_err(ToString::to_string))
                };
                let (yes, no) = (of(&first, &approved), of(&second, &denied));
                let end = execute_approved(proxy, *txn).await;
                let lost = |result: &Option<Result<ApprovalState, String>>| match result {
                    None => true,
                    Some(Ok(_)) => false,
                    Some(Err(error)) => error.contains("already decided"),
                };
                match (&yes, &no) {
                    (Some(Ok(ApprovalState::Approved)), other) if lost(other) => {
                        assert_eq!((end.state, end.forward_state), (ApprovalState::Approved, ForwardState::Done));
                        sent += 1;
                    }
                    (other, Some(Ok(ApprovalState::Denied))) if lost(other) => {
                        assert_eq!((end.state, end.forward_state), (ApprovalState::Denied, ForwardState::None));
                    }
                    other => panic!("round {round}: {other:?}"),
                }
            }
        }
        assert_eq!(proxy.upstream.requests().len(), sent);
    }
}
