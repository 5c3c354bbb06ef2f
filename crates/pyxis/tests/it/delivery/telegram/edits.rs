//! Messages about requests that a person edits.

use pyxis_testkit::engines;

use super::*;
use crate::delivery::edited_requests::edit_body;

engines! {
    async fn a_message_tells_of_an_edit_and_the_edited_request_is_approved_on_its_page(scene: &mut Scene) {
        let policy = r#"{"channel": "chat_primary", "telegram_chat": "-100200", "min_approvals": 2}"#;
        scene.proxy.policy(policy).await;
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        edit_body(&scene.proxy, txn).await;
        let edited = scene.edited(&message, "Edited by b@example.com (body)").await;
        assert!(edited.text.contains("│ smaller") && edited.text.contains("Approvals: 1 of 2"), "{}", edited.text);
        assert_eq!(edited.labels(), ["Read and approve", "Deny"]);
        // The button of the message before the edit.
        scene.telegram.press_with(&edited, message.button("Approve"), ADA);
        scene.heard("Read and approve it here", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        scene.telegram.press(&edited, "Deny", ADA);
        scene.edited(&message, "Denied by a@example.com").await;
        assert!(scene.proxy.upstream.requests().is_empty());
    }
}
