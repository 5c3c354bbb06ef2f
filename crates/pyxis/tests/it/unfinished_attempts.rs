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

use crate::races::world::World;

async fn row(world: &World, txn: pyxis_core::id::TxnId) -> ApprovalRow {
    approvals::find(&world.state.store, world.workspace, txn).await.unwrap().unwrap()
}

async fn approved(world: &World, round: usize) -> pyxis_core::id::TxnId {
    let txn = world.pause(round).await;
    decide(&world.state, &world.approver(0, DecisionSurface::Dashboard), txn, Decision::Approve(None))
        .await
        .unwrap();
    txn
}

engines! {
    async fn what_this_process_began_and_does_not_carry_out_becomes_unknown(world: &World) {
        let txn = approved(world, 0).await;
        let (store, workspace, node, now) = (&world.state.store, world.workspace, world.state.node, world.clock_now());
        let until = now.plus(Duration::from_secs(30));
        assert!(approvals::claim(store, workspace, txn, node, now, until).await.unwrap());
        assert!(approvals::begin_attempt(store, workspace, txn, node, now).await.unwrap());
        workers::give_up_tick(&world.state).await.unwrap();
        let end = row(world, txn).await;
        assert_eq!((end.forward_state, end.error.as_deref()), (ForwardState::Done, Some("outcome_unknown")));
        workers::send_all(&world.state).await.unwrap();
        assert_eq!(world.upstream.requests().len(), 0);
    }
}

engines! {
    async fn an_answer_that_never_ends_is_kept_as_far_as_it_came(database: TestDatabase) {
        let config = Config { response_time: Duration::from_secs(2), ..Config::default() };
        let world = World::with_config(database, config).await;
        let (reply, chunks) = Reply::streaming();
        world.upstream.reply(reply);
        chunks.send("one, two");
        let txn = approved(&world, 0).await;
        workers::send_all(&world.state).await.unwrap();
        let told = world.poll(txn).await.into_body();
        assert_eq!((&told["response"]["body"], &told["response"]["truncated"]), (&json!("one, two"), &json!(true)));
        drop(chunks);
    }
}

engines! {
    async fn what_is_carried_out_is_left_alone(world: &World) {
        let (reply, release) = Reply::ok("late").held();
        world.upstream.reply(reply);
        let txn = approved(world, 0).await;
        let state = world.state.clone();
        let sending = tokio::spawn(async move { workers::send_all(&state).await });
        world.upstream.received(1).await;
        workers::give_up_tick(&world.state).await.unwrap();
        assert_eq!(row(world, txn).await.forward_state, ForwardState::Sending);
        release.go();
        sending.await.unwrap().unwrap();
        let end = row(world, txn).await;
        assert_eq!((end.forward_state, end.upstream_status, end.error), (ForwardState::Done, Some(200), None));
    }
}
