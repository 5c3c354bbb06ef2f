//! Requests for signatures: the payload in a message, and the place to approve it.

use pyxis_testkit::engines;

use super::*;
use crate::delivery::payloads;

engines! {
    async fn a_signature_is_approved_by_button_where_the_message_shows_every_field(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.signing_key(POLICY).await;
        let txn = scene.proxy.pause_signature(&payloads::whole()).await;
        let message = scene.asks(txn).await;
        let lines: Vec<&str> = message.text.lines().collect();
        for field in payloads::FIELDS {
            assert!(lines.contains(&field), "{field}: {}", message.text);
        }
        assert_eq!(message.labels(), ["Approve", "Deny"], "a signature opens no grant");
        scene.telegram.press(&message, "Approve", ADA);
        scene.edited(&message, "Approved by a@example.com").await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn a_signature_that_a_message_cannot_show_or_warns_of_is_approved_elsewhere(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.signing_key(POLICY).await;
        let mut asked = Vec::new();
        for (body, says) in payloads::hard_to_tell() {
            asked.push((scene.proxy.pause_signature(&body).await, says));
        }
        let mut messages = Vec::new();
        for (txn, says) in asked {
            let message = scene.asks(txn).await;
            scene.sends_elsewhere(txn, &message, says).await;
            messages.push((txn, message));
        }
        // The page approves, and the chat denies.
        let (approved, denied) = messages.split_at(3);
        let owner = scene.proxy.approver(0, DecisionSurface::Standalone);
        for (txn, _) in approved {
            decide(&scene.proxy.state, &owner, *txn, Decision::Approve(None)).await.unwrap();
        }
        for (_, message) in denied {
            scene.telegram.press(message, "Deny", ADA);
        }
        for (messages, end) in [(approved, "Approved by a@example.com"), (denied, "Denied by a@example.com")] {
            for (_, message) in messages {
                scene.edited(message, end).await;
            }
        }
        // The outcome is shown as for any other request.
        let (_, message) = &approved[0];
        let over = message.button("Deny").replacen('d', "a", 1);
        scene.telegram.press_with(message, &over, ADA);
        scene.heard("Too late: the request is already approved.", 1).await;
    }
}
