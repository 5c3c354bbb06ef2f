//! Requests for signatures: the payload in a message, and the place to approve it.

use super::*;
use crate::delivery::payloads;

/// The message that asks about a signature.
async fn asks(scene: &Scene, txn: TxnId) -> SlackMessage {
    let link = format!("https://px.example.com/approve/{txn}");
    let is_linked =
        |message: &SlackMessage| message.buttons.iter().any(|(_, button)| button["url"] == link.as_str());
    scene.slack.until(|slack| slack.messages().into_iter().find(is_linked)).await
}

engines! {
    async fn a_signature_is_approved_by_button_where_the_message_shows_every_field(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.signing_key(POLICY).await;
        let txn = scene.proxy.pause_signature(&payloads::whole()).await;
        let message = asks(scene, txn).await;
        let lines: Vec<&str> = message.text.lines().collect();
        for field in payloads::FIELDS {
            assert!(lines.contains(&field), "{field}: {}", message.text);
        }
        assert_eq!(message.labels(), ["Approve", "Deny", "Details"], "a signature opens no grant");
        scene.slack.press(&message, "Approve", ADA);
        scene.edited(&message, "Approved by a@example.com").await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn a_signature_that_a_message_cannot_show_or_warns_of_is_approved_elsewhere(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.signing_key(POLICY).await;
        for (body, says) in payloads::hard_to_tell() {
            let txn = scene.proxy.pause_signature(&body).await;
            let message = asks(scene, txn).await;
            assert!(message.text.contains(says), "{says}: {}", message.text);
            assert_eq!(message.labels(), ["Read and approve", "Deny"], "{says}");
            // Buttons that an older message still has.
            let nonce = message.button("Deny")["value"].as_str().unwrap();
            for action in ["approve", "approve_with_grant"] {
                scene.slack.press_with(&message, action, nonce, ADA);
            }
            scene.until_ephemeral(ADA, &format!("Read and approve it here: https://px.example.com/approve/{txn}"), 2).await;
            assert_eq!(scene.state(txn).await, ApprovalState::Pending, "{says}");
            assert!(votes::list(&scene.proxy.state.store, scene.proxy.workspace, txn).await.unwrap().is_empty());
        }
    }
}
