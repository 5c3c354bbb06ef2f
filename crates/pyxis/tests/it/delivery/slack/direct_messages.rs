//! One request, and a direct message to each person who may decide it.

use pyxis_gateway::workers;

use super::*;

const BEN: &str = "U0BEN";

/// A request about which both owners got a direct message.
async fn asked_both(scene: &Scene, round: usize) -> (TxnId, [SlackMessage; 2]) {
    let txn = scene.proxy.pause(round).await;
    let text = format!("│ round {round}");
    let both = |slack: &Slack| {
        let mut all: Vec<_> =
            slack.messages().into_iter().filter(|found| found.text.contains(&text)).collect();
        all.sort_by(|one, other| one.channel.cmp(&other.channel));
        <[SlackMessage; 2]>::try_from(all).ok()
    };
    (txn, scene.slack.until(both).await)
}

engines! {
    async fn every_direct_message_about_a_request_tells_how_it_ended(scene: &mut Scene) {
        scene.link(ADA).await;
        let second = scene.proxy.approver(1, DecisionSurface::Dashboard);
        scene.link_to(BEN, second.user, &second.email).await;
        scene.proxy.policy(r#"{"channel": "slack"}"#).await;
        let (approved, messages) = asked_both(scene, 1).await;
        assert_eq!(messages.each_ref().map(|message| message.channel.as_str()), ["D0ADA", "D0BEN"]);
        scene.slack.press(&messages[0], "Approve", ADA);
        for message in &messages {
            assert!(scene.edited(message, "Approved by a@example.com").await.buttons.is_empty());
        }
        assert_eq!(scene.state(approved).await, ApprovalState::Approved);
        let (withdrawn, messages) = asked_both(scene, 2).await;
        scene.proxy.withdraw(withdrawn).await;
        for message in &messages {
            assert!(scene.edited(message, "The agent withdrew the request.").await.buttons.is_empty());
        }
        let (_, messages) = asked_both(scene, 3).await;
        scene.proxy.advance(Duration::from_hours(1));
        workers::expire_tick(&scene.proxy.state).await.unwrap();
        for message in &messages {
            assert!(scene.edited(message, "No one decided in time.").await.buttons.is_empty());
        }
    }
}
