//! Messages about requests that a person edits.

use super::*;
use crate::delivery::edited_requests::edit_body;

engines! {
    async fn a_message_tells_of_an_edit_and_the_edited_request_is_approved_on_its_page(scene: &mut Scene) {
        scene.proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "min_approvals": 2}"#).await;
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        edit_body(&scene.proxy, txn).await;
        let edited = scene.edited(&message, "Edited by b@example.com (body)").await;
        assert!(edited.text.contains("│ smaller") && edited.text.contains("Approvals: 1 of 2"), "{}", edited.text);
        assert_eq!(edited.labels(), ["Read and approve", "Deny"]);
        // The button of the message before the edit.
        scene.slack.press(&message, "Approve", ADA);
        scene.until_ephemeral(ADA, "Read and approve it here", 1).await;
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert!(scene.proxy.upstream.requests().is_empty());
    }
}
