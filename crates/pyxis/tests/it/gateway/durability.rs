//! Decisions: approved work is durable and done at most once; without a store nothing is sent.

use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use crate::support::{Setup, World, both_engines};

both_engines! {
    async fn a_pending_request_survives_a_restart(setup: Setup) {
        let mut world = World::with(setup).await;
        let txn = world.pause("/x").await;
        world.app.restart().await;
        assert_eq!(world.agent.poll(&txn).await["status"], "pending");
        world.owner.approve(&txn).await;
        assert_eq!(world.agent.outcome(&txn).await["response"]["body"], "ok");
        assert_eq!(world.upstream.received(1).await[0].text(), "a body to approve");
    }

    async fn a_pending_request_survives_kill_9(setup: Setup) {
        let mut world = World::with(setup).await;
        let txn = world.pause("/x").await;
        world.app.kill().await;
        world.app.serve();
        world.owner.approve(&txn).await;
        assert_eq!(world.agent.outcome(&txn).await["response"]["status"], 200);
        assert_eq!(world.upstream.requests().len(), 1);
    }

    async fn an_answer_survives_a_restart(setup: Setup) {
        let mut world = World::with(setup).await;
        let txn = world.pause("/x").await;
        world.owner.approve(&txn).await;
        let before = world.agent.outcome(&txn).await;
        world.app.restart().await;
        assert_eq!(world.agent.poll(&txn).await, before);
        assert_eq!(world.upstream.requests().len(), 1);
    }

    async fn killed_during_the_forward_it_is_never_sent_again(setup: Setup) {
        let mut world = World::with(setup).await;
        let (reply, _release) = Reply::ok("late").held();
        world.upstream.reply(reply);
        let txn = world.pause("/x").await;
        world.owner.approve(&txn).await;
        world.upstream.received(1).await;
        world.app.kill().await;
        world.app.serve();
        let outcome = world.agent.outcome(&txn).await;
        let seen = (&outcome["status"], &outcome["error"], &outcome["response"]);
        assert_eq!(seen, (&json!("approved"), &json!("outcome_unknown"), &Value::Null));
        assert_eq!(world.upstream.requests().len(), 1);
    }

    async fn without_the_audit_trail_nothing_is_sent(setup: Setup) {
        let world = World::with(setup).await;
        world.forward("GET", "/before").send().await.forwarded(200);
        world.app.sql("ALTER TABLE audit_records RENAME TO audit_records_away");
        for method in ["GET", "POST"] {
            world.forward(method, "/x").send().await.problem(503, "unavailable");
        }
        assert_eq!(world.upstream.requests().len(), 1);
        world.app.sql("ALTER TABLE audit_records_away RENAME TO audit_records");
        world.forward("GET", "/after").send().await.forwarded(200);
        assert_eq!(world.upstream.requests().len(), 2);
    }

    async fn readiness_follows_the_audit_trail_and_health_does_not(setup: Setup) {
        let world = World::with(setup).await;
        let anonymous = world.app.anonymous();
        anonymous.get("/readyz").send().await.expect(200);
        world.app.sql("ALTER TABLE audit_records RENAME TO audit_records_away");
        assert_eq!(anonymous.get("/readyz").send().await.status, 503);
        anonymous.get("/healthz").send().await.expect(200);
        world.app.sql("ALTER TABLE audit_records_away RENAME TO audit_records");
        anonymous.get("/readyz").send().await.expect(200);
    }

    async fn without_the_store_a_paused_request_is_not_acknowledged(setup: Setup) {
        let world = World::with(setup).await;
        world.app.sql("ALTER TABLE approvals RENAME TO approvals_away");
        world.forward("POST", "/x").send().await.problem(503, "unavailable");
        world.app.sql("ALTER TABLE approvals_away RENAME TO approvals");
        world.forward("POST", "/x").send().await.txn();
        assert_eq!(world.upstream.requests().len(), 0);
    }
}
