//! Requests for signatures: what a message shows of the payload, and where it is approved.

use super::*;
use crate::delivery::payloads;

impl Scene {
    /// A request for a signature, and the message that asks about it.
    async fn asked_to_sign(&self, body: &str) -> (TxnId, Shown) {
        let txn = self.world.pause_signature(body).await;
        let link = format!("https://px.example.com/approve/{txn}");
        let asks =
            |telegram: &Telegram| telegram.messages().into_iter().find(|shown| shown.text.contains(&link));
        (txn, self.telegram.until(asks).await)
    }
}

both_engines! {
    async fn a_signature_is_approved_by_button_where_the_message_shows_every_field(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.world.signing_key(POLICY).await;
        let (txn, message) = scene.asked_to_sign(&payloads::whole()).await;
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
        scene.world.signing_key(POLICY).await;
        let owner = scene.world.approver(0, Surface::Standalone);
        for (number, (body, says)) in payloads::hard_to_tell().into_iter().enumerate() {
            let (txn, message) = scene.asked_to_sign(&body).await;
            let link = format!("https://px.example.com/approve/{txn}");
            let way = format!("Read it all and approve there: {link}");
            assert!(message.text.contains(says) && message.text.contains(&way), "{says}: {}", message.text);
            assert_eq!(message.labels(), ["Read and approve", "Deny"], "{says}");
            assert_eq!(message.buttons[0].1["url"], link);
            // Buttons that a message of before still has.
            let nonce = message.button("Deny").split_once(':').unwrap().1;
            scene.telegram.press_with(&message, &format!("a:{nonce}"), ADA);
            scene.telegram.press_with(&message, &format!("g:{nonce}"), ADA);
            scene.heard(&format!("A chat does not show enough of this. Approve it there: {link}"), 2).await;
            assert_eq!(scene.state(txn).await, ApprovalState::Pending, "{says}");
            let given = votes::list(&scene.world.state.store, scene.world.workspace, txn).await.unwrap();
            assert!(given.is_empty(), "{says}");
            if number % 2 == 0 {
                scene.telegram.press(&message, "Deny", ADA);
                scene.edited(&message, "Denied by a@example.com").await;
            } else {
                decide(&scene.world.state, &owner, txn, Word::Approve(None)).await.unwrap();
                scene.edited(&message, "Approved by a@example.com").await;
                // What is over is told as for any other request.
                scene.telegram.press_with(&message, &format!("a:{nonce}"), ADA);
                scene.heard("Too late: it is approved.", number / 2 + 1).await;
            }
        }
    }
}
