//! Attempts that have no end in the store (`docs/reference/behavior/proxy.md#at-most-once`).
//!
//! The proxy runs in this process, so that a test can leave an attempt recorded as a failing store would.

use std::time::Duration;

use pyxis_core::approval_mode::ForwardState;
use pyxis_core::grant::DecisionSurface;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::{Config, workers};
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::races::proxy::Proxy;

async fn row(proxy: &Proxy, txn: pyxis_core::id::TxnId) -> ApprovalRow {
    approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap()
}

async fn approved(proxy: &Proxy, round: usize) -> pyxis_core::id::TxnId {
    let txn = proxy.pause(round).await;
    decide(&proxy.state, &proxy.approver(0, DecisionSurface::Dashboard), txn, Decision::Approve(None))
        .await
        .unwrap();
    txn
}

engines! {
    async fn what_this_process_began_and_does_not_carry_out_becomes_unknown(proxy: &Proxy) {
        let txn = approved(proxy, 0).await;
        let (store, workspace, node, now) = (&proxy.state.store, proxy.workspace, proxy.state.node, proxy.clock_now());
        let until = now.plus(Duration::from_secs(30));
        assert!(approvals::claim(store, workspace, txn, node, now, until).await.unwrap());
        assert!(approvals::begin_attempt(store, workspace, txn, node, "d", now).await.unwrap());
        workers::give_up_tick(&proxy.state).await.unwrap();
        let end = row(proxy, txn).await;
        assert_eq!((end.forward_state, end.error.as_deref()), (ForwardState::Done, Some("outcome_unknown")));
        workers::send_all(&proxy.state).await.unwrap();
        assert_eq!(proxy.upstream.requests().len(), 0);
    }
}

engines! {
    async fn an_answer_that_never_ends_is_kept_as_far_as_it_came(database: TestDatabase) {
        let config = Config { response_time: Duration::from_secs(2), ..Config::default() };
        let proxy = Proxy::with_config(database, config).await;
        let (reply, chunks) = Reply::streaming();
        proxy.upstream.reply(reply);
        chunks.send("one, two");
        let txn = approved(&proxy, 0).await;
        workers::send_all(&proxy.state).await.unwrap();
        let told = proxy.poll(txn).await.into_body();
        assert_eq!((&told["response"]["body"], &told["response"]["truncated"]), (&json!("one, two"), &json!(true)));
        drop(chunks);
    }
}

engines! {
    async fn what_is_carried_out_is_left_alone(proxy: &Proxy) {
        let (reply, release) = Reply::ok("late").hold();
        proxy.upstream.reply(reply);
        let txn = approved(proxy, 0).await;
        let state = proxy.state.clone();
        let sending = tokio::spawn(async move { workers::send_all(&state).await });
        proxy.upstream.received(1).await;
        workers::give_up_tick(&proxy.state).await.unwrap();
        assert_eq!(row(proxy, txn).await.forward_state, ForwardState::Sending);
        release.send();
        sending.await.unwrap().unwrap();
        let end = row(proxy, txn).await;
        assert_eq!((end.forward_state, end.upstream_status, end.error), (ForwardState::Done, Some(200), None));
    }
}
