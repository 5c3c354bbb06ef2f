//! Approved work is durable and done at most once; without a store nothing is sent
//! (`docs/reference/behavior/proxy.md#at-most-once`).

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use crate::support::{Call, Setup, Site};

/// Makes the database refuse to record that a request is about to be sent.
fn hold_attempts(site: &Site) {
    site.app.sql(if site.app.is_postgres() {
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''held''; END'; \
         CREATE TRIGGER hold BEFORE UPDATE OF attempt_at ON approvals FOR EACH ROW EXECUTE FUNCTION hold()"
    } else {
        "CREATE TRIGGER hold BEFORE UPDATE OF attempt_at ON approvals BEGIN SELECT RAISE(ABORT, 'held'); END"
    });
}

fn release_attempts(site: &Site) {
    site.app.sql(if site.app.is_postgres() { "DROP TRIGGER hold ON approvals" } else { "DROP TRIGGER hold" });
}

/// Keeps all others from writing until it is released.
enum WriteBlocker {
    Sqlite(pyxis_testkit::sqlite::WriteLock),
    Postgres(pyxis_testkit::postgres::OpenTransaction),
}

impl WriteBlocker {
    async fn release(self) {
        match self {
            Self::Sqlite(held) => drop(held),
            Self::Postgres(held) => held.release().await,
        }
    }
}

async fn hold_writes(site: &Site) -> WriteBlocker {
    if site.app.is_postgres() {
        return WriteBlocker::Postgres(
            site.app.postgres().hold("LOCK TABLE audit_records IN EXCLUSIVE MODE").await,
        );
    }
    WriteBlocker::Sqlite(pyxis_testkit::sqlite::lock_writes(&site.app.data().join("pyxis.db")))
}

engines! {
    async fn a_pending_request_survives_a_restart(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.app.restart().await;
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["response"]["body"], "ok");
        assert_eq!(site.upstream.received(1).await[0].text(), "a body to approve");
    }

    async fn a_pending_request_survives_kill_9(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.app.kill().await;
        site.app.serve();
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["response"]["status"], 200);
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn an_answer_survives_a_restart(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.owner.approve(&txn).await;
        let before = site.agent.outcome(&txn).await;
        site.app.restart().await;
        assert_eq!(site.agent.poll(&txn).await, before);
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn killed_between_approval_and_forward_it_is_sent_once_after_the_restart(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        // The attempt cannot be recorded, so the approved request stops right before it.
        hold_attempts(&site);
        site.owner.approve(&txn).await;
        crate::support::until("the attempt", async || site.app.logs().contains("cannot execute").then_some(()))
            .await;
        site.app.kill().await;
        assert_eq!(site.upstream.requests().len(), 0);
        release_attempts(&site);
        site.app.serve();
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!((&outcome["status"], &outcome["response"]["body"]), (&json!("approved"), &json!("ok")));
        site.app.restart().await;
        assert_eq!(site.agent.poll(&txn).await, outcome);
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn killed_during_the_forward_it_is_never_sent_again(setup: Setup) {
        let mut site = Site::with(setup).await;
        let (reply, _release) = Reply::ok("late").hold();
        site.upstream.reply(reply);
        let txn = site.pause("/x").await;
        site.owner.approve(&txn).await;
        site.upstream.received(1).await;
        let call = site.agent.client.get(&format!("/agent/approvals/{txn}"));
        let under_way = call.send().await.expect(200);
        assert_eq!(under_way.header("retry-after"), Some("2"));
        let told = under_way.json();
        let seen = (&told["status"], &told["response"], &told["error"]);
        assert_eq!(seen, (&json!("approved"), &Value::Null, &Value::Null));
        site.app.kill().await;
        site.app.serve();
        // Immediately: a start settles dead nodes of its own data directory.
        let outcome = site.agent.poll(&txn).await;
        let seen = (&outcome["status"], &outcome["error"], &outcome["response"]);
        assert_eq!(seen, (&json!("approved"), &json!("outcome_unknown"), &Value::Null));
        site.app.kill().await;
        site.app.serve();
        assert_eq!(site.agent.outcome(&txn).await, outcome);
        assert_eq!(site.upstream.requests().len(), 1);
        let records = site.app.audit().await;
        let unknown = |record: &&Value| record["kind"] == "approval.outcome_lost";
        assert_eq!(records.iter().filter(unknown).count(), 1);
    }

    async fn an_answer_that_cannot_be_stored_at_once_is_stored_later(setup: Setup) {
        let site = Site::with(setup).await;
        let (reply, release) = Reply::ok("late").hold();
        site.upstream.reply(reply);
        let txn = site.pause("/x").await;
        site.owner.approve(&txn).await;
        site.upstream.received(1).await;
        site.app.sql("ALTER TABLE audit_records RENAME TO audit_records_away");
        release.send();
        crate::support::until("the first try", async || {
            site.app.logs().contains("cannot store the outcome").then_some(())
        })
        .await;
        site.app.sql("ALTER TABLE audit_records_away RENAME TO audit_records");
        assert_eq!(site.agent.outcome(&txn).await["response"]["body"], "late");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn without_the_audit_trail_nothing_is_sent(setup: Setup) {
        let site = Site::with(setup).await;
        site.forward("GET", "/before").send().await.forwarded(200);
        site.app.sql("ALTER TABLE audit_records RENAME TO audit_records_away");
        for method in ["GET", "POST"] {
            site.forward(method, "/x").send().await.problem(503, "unavailable");
        }
        assert_eq!(site.upstream.requests().len(), 1);
        site.app.sql("ALTER TABLE audit_records_away RENAME TO audit_records");
        site.forward("GET", "/after").send().await.forwarded(200);
        assert_eq!(site.upstream.requests().len(), 2);
    }

    async fn while_somebody_else_keeps_the_database_busy_every_request_is_refused_in_time(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/pending").await;
        let held = hold_writes(&site).await;
        // More than could wait one after another within a client's timeout.
        let refused = async |call: Call| {
            let answer = call.send().await;
            assert_eq!(answer.header("retry-after"), Some("5"));
            answer.problem(503, "unavailable");
        };
        let approve = || site.owner.client.post(&format!("/approvals/{txn}/approve"), &json!({}));
        let calls = (0..12).map(|number| match number % 3 {
            0 => site.forward("GET", "/x"),
            1 => site.forward("POST", "/x"),
            _ => approve(),
        });
        futures_util::future::join_all(calls.map(refused)).await;
        assert_eq!(site.upstream.requests().len(), 0);
        held.release().await;
        assert_eq!(site.agent.poll(&txn).await["status"], "pending", "nothing of it was done later");
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["response"]["body"], "ok");
        site.forward("GET", "/after").send().await.forwarded(200);
        assert_eq!(site.upstream.requests().len(), 2);
    }

    async fn readiness_follows_the_audit_trail_and_health_does_not(setup: Setup) {
        let site = Site::with(setup).await;
        let anonymous = site.app.anonymous();
        anonymous.get("/readyz").send().await.expect(200);
        site.app.sql("ALTER TABLE audit_records RENAME TO audit_records_away");
        let unready = anonymous.get("/readyz").send().await;
        assert_eq!((unready.status, unready.header("retry-after")), (503, Some("5")));
        anonymous.get("/healthz").send().await.expect(200);
        site.app.sql("ALTER TABLE audit_records_away RENAME TO audit_records");
        let ready = anonymous.get("/readyz").send().await.expect(200);
        assert_eq!(ready.header("retry-after"), None);
    }

    async fn without_the_store_a_paused_request_is_not_acknowledged(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.sql("ALTER TABLE approvals RENAME TO approvals_away");
        site.forward("POST", "/x").send().await.problem(503, "unavailable");
        site.app.sql("ALTER TABLE approvals_away RENAME TO approvals");
        site.forward("POST", "/x").send().await.txn();
        assert_eq!(site.upstream.requests().len(), 0);
    }
}
