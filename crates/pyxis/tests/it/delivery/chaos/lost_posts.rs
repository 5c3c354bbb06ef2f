//! Messages that were posted while nobody recorded it.

use super::*;

/// Deliveries until a message shows the outcome.
const DELIVERIES: usize = 200;

/// As if the node had been killed between the platform's answer and its record.
const FORGET: &str = "UPDATE chat_messages SET message_ref = NULL, shown = NULL, next_at = 9999999999999 WHERE message_ref IS NOT NULL";

async fn lost_posts(database: TestDatabase) {
    let peers = peers::start(&Arc::new(Mutex::new(Dice::new()))).await;
    let base_url = "https://px.example.com".to_owned();
    let config = Config { base_url, chats: peers::settings(&peers), sole_node: false, ..Config::default() };
    let proxy = Proxy::with_config(database, config.clone()).await;
    let lives = Lives::begin(&proxy, config).await;
    for (round, peer) in peers.iter().map(|peer| &**peer).enumerate() {
        // A reaction on Matrix does not say which request the message is about.
        if peer.account().is_none() || peer.platform() == ChatPlatform::MATRIX {
            continue;
        }
        link(&proxy, peer).await;
        proxy.policy(&policy(peer)).await;
        let asked = PlannedRequest { round, txn: proxy.pause(round).await, approve: true };
        for _ in 0..DELIVERIES {
            if row(&proxy, asked).await.message_ref.is_some() {
                break;
            }
            lives.deliver().await;
        }
        assert!(row(&proxy, asked).await.message_ref.is_some(), "{:?} has no post", peer.platform());
        proxy.database.run(FORGET).await;
        assert_eq!(peer.click(&lives, asked).await, Click::Acknowledged, "{:?}", peer.platform());
        let mut shows_end = false;
        for _ in 0..DELIVERIES {
            lives.deliver().await;
            let mut shown = peer.announcements().into_iter();
            shows_end = shown.any(|one| asked.is_in(&one.text) && one.text.contains("Approved by"));
            if shows_end {
                break;
            }
        }
        assert!(shows_end, "{:?}: {:?}", peer.platform(), row(&proxy, asked).await);
        assert_eq!(peer.announcements().iter().filter(|one| asked.is_in(&one.text)).count(), 1);
    }
    lives.end().await;
}

engines! {
    async fn a_message_whose_post_was_not_recorded_shows_the_outcome_of_its_own_button(database: TestDatabase) {
        lost_posts(database).await;
    }
}
