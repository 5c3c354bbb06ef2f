//! WebSockets of Socket Mode: acknowledged envelopes, and connections that end.

use super::*;

/// Makes the database refuse decisions.
const HOLD_SQLITE: &str =
    "CREATE TRIGGER hold BEFORE UPDATE ON approvals BEGIN SELECT RAISE(ABORT, 'held'); END";
const HOLD_POSTGRES: &str = "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''held''; END'; \
     CREATE TRIGGER hold BEFORE UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION hold()";

/// Waits until an envelope was acknowledged.
async fn acknowledged(scene: &Scene, envelope: &str) {
    let taken = |slack: &Slack| {
        slack.envelopes().iter().any(|sent| sent.id == envelope && sent.acknowledged.is_some()).then_some(())
    };
    scene.slack.until(taken).await;
}

engines! {
    async fn pings_of_slack_are_answered(scene: &mut Scene) {
        scene.slack.until(|slack| (slack.pongs() > 0).then_some(())).await;
    }

    async fn before_slack_ends_a_connection_another_one_is_open_and_both_are_read(scene: &mut Scene) {
        scene.link(ADA).await;
        let (denied, message) = scene.announce(1).await;
        let old = scene.slack.announce_end("refresh_requested");
        scene.slack.until(|slack| (slack.open_sockets() == [old, old + 1]).then_some(())).await;
        // The old one is read to its end.
        let press = scene.slack.press_payload(&message, message.button("Deny"), ADA);
        let late = scene.slack.send_over(old, "interactive", &press);
        acknowledged(scene, &late).await;
        scene.window(ADA).await;
        scene.slack.close_socket(old);
        scene.slack.until(|slack| (slack.open_sockets() == [old + 1]).then_some(())).await;
        let sent = scene.slack.submit(ADA, Some("no"));
        scene.edited(&message, "Denied by a@example.com").await;
        acknowledged(scene, &sent).await;
        assert_eq!(scene.slack.envelopes().last().unwrap().socket, old + 1);
        assert_eq!(scene.state(denied).await, ApprovalState::Denied);
        assert_eq!(scene.slack.sockets(), 2, "one connection is replaced by one");
    }

    async fn a_connection_that_ends_without_notice_is_replaced(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let only = scene.slack.open_sockets()[0];
        scene.slack.close_socket(only);
        scene.slack.until(|slack| slack.open_sockets().is_empty().then_some(())).await;
        scene.slack.press(&message, "Approve", ADA);
        scene.edited(&message, "Approved by a@example.com").await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        assert_eq!(scene.slack.sockets(), 2);
    }

    async fn a_report_whose_outcome_cannot_be_recorded_is_not_acknowledged(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let is_postgres = scene.proxy.database.as_postgres().is_some();
        scene.proxy.database.run(if is_postgres { HOLD_POSTGRES } else { HOLD_SQLITE }).await;
        let refused = scene.slack.press(&message, "Approve", ADA);
        scene.until_ephemeral(ADA, "Pyxis cannot record this right now.", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        scene.proxy.database.run(if is_postgres { "DROP TRIGGER hold ON approvals" } else { "DROP TRIGGER hold" }).await;
        let taken = scene.slack.press(&message, "Approve", ADA);
        acknowledged(scene, &taken).await;
        assert_ne!(scene.state(txn).await, ApprovalState::Pending, "what is acknowledged is recorded");
        let all = scene.slack.envelopes();
        assert!(all.iter().any(|sent| sent.id == refused && sent.acknowledged.is_none()), "{all:?}");
    }

    async fn reports_that_cannot_be_read_are_acknowledged_and_end_nothing(scene: &mut Scene) {
        for payload in [json!(null), json!({ "type": 7 }), json!({ "type": "block_actions", "user": { "id": ADA } })] {
            let envelope = scene.slack.send("interactive", payload);
            acknowledged(scene, &envelope).await;
        }
        scene.link(ADA).await;
        assert_eq!(scene.slack.sockets(), 1);
    }

    async fn at_a_stop_the_connection_ends_and_what_was_taken_is_finished(scene: Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let envelope = scene.slack.press(&message, "Approve", ADA);
        acknowledged(&scene, &envelope).await;
        let Scene { proxy, slack, workers } = scene;
        workers.end().await;
        slack.until(|slack| slack.open_sockets().is_empty().then_some(())).await;
        let row = approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap();
        assert_ne!(row.state, ApprovalState::Pending);
    }
}
