//! One message instead of a flood (`docs/reference/notifications.md#floods`).

use pyxis_core::chat::ChatPlatform;
use pyxis_gateway::channels::ntfy::NtfyConfig;
use pyxis_testkit::engines;
use pyxis_testkit::ntfy::Ntfy;
use serde_json::Value;

use super::*;

const POLICY: &str = r#"{"channel": "ntfy"}"#;

/// A proxy that announces two requests one by one.
async fn started(database: TestDatabase) -> (Proxy, Ntfy) {
    let server = Ntfy::start().await;
    let mut chats = ChatSettings::default().with_platform(NtfyConfig { server: server.url(), token: None });
    chats.set_room(ChatPlatform::NTFY, Some("approvals".to_owned()));
    chats.set_digest_after(2);
    (quiet(database, chats, POLICY).await, server)
}

async fn pause_many(proxy: &Proxy, rounds: std::ops::Range<usize>) -> Vec<TxnId> {
    let mut all = Vec::new();
    for round in rounds {
        all.push(proxy.pause(round).await);
        proxy.advance(Duration::from_secs(1));
    }
    all
}

fn titles(server: &Ntfy) -> Vec<String> {
    server.messages().iter().map(|message| message["title"].as_str().unwrap().to_owned()).collect()
}

engines! {
    async fn after_a_few_requests_within_a_minute_the_others_are_announced_together(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        let all = pause_many(&proxy, 0..10).await;
        deliver(&proxy).await;
        assert_eq!(titles(&server), ["Pyxis · Approval needed"; 2]);
        // One of the others is decided meanwhile.
        decide_on_page(&proxy, all[5], Decision::Approve(None)).await;
        proxy.advance(Duration::from_secs(51));
        deliver(&proxy).await;
        assert_eq!(server.messages().len(), 2, "the oldest of the others has waited for less than a minute");
        proxy.advance(Duration::from_secs(1));
        deliver(&proxy).await;
        assert_eq!(titles(&server)[2..], ["Pyxis · 7 requests need approval"]);
        let digest: Value = server.messages().pop().unwrap();
        assert_eq!(digest["click"], "https://px.example.com/app/inbox");
        assert!(digest["message"].as_str().unwrap().contains("7 more requests are waiting for approval."), "{digest}");
        for txn in &all {
            assert!(message(&proxy, *txn).await.next_at.is_none());
        }
        // Later ones are announced one by one again, and decisions post nothing.
        decide_on_page(&proxy, all[9], Decision::Deny(None)).await;
        proxy.advance(Duration::from_mins(2));
        deliver(&proxy).await;
        proxy.pause(10).await;
        deliver(&proxy).await;
        assert_eq!(titles(&server)[3..], ["Pyxis · Approval needed"]);
    }

    async fn a_single_request_after_the_limit_is_announced_as_itself(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        pause_many(&proxy, 0..3).await;
        deliver(&proxy).await;
        assert_eq!(server.messages().len(), 2);
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        assert_eq!(titles(&server), ["Pyxis · Approval needed"; 3]);
    }

    async fn many_requests_that_wait_are_announced_once(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        // All are due at once, and more than one round claims.
        for round in 0..50 {
            proxy.pause(round).await;
        }
        deliver(&proxy).await;
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        assert_eq!(titles(&server)[2..], ["Pyxis · 48 requests need approval"]);
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        assert_eq!(server.messages().len(), 3);
    }

    async fn rooms_are_counted_apart(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        pause_many(&proxy, 0..2).await;
        proxy.policy(r#"{"channel": "ntfy", "ntfy_topic": "payments"}"#).await;
        pause_many(&proxy, 2..4).await;
        deliver(&proxy).await;
        assert_eq!((server.topic("approvals").len(), server.topic("payments").len()), (2, 2));
    }

    async fn a_digest_that_failed_is_tried_again_whole(database: TestDatabase) {
        let (proxy, server) = started(database).await;
        pause_many(&proxy, 0..5).await;
        deliver(&proxy).await;
        server.set_down(true);
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        server.set_down(false);
        proxy.advance(Duration::from_secs(5));
        deliver(&proxy).await;
        assert_eq!(titles(&server)[2..], ["Pyxis · 3 requests need approval"]);
        proxy.advance(Duration::from_mins(1));
        deliver(&proxy).await;
        assert_eq!(server.messages().len(), 3);
    }
}
