//! One notification instead of a flood (`docs/reference/notifications.md#floods`).

use pyxis_gateway::{ChatSettings, Config};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::upstream::Received;

use super::*;

/// A proxy that notifies of two requests one by one.
async fn started(database: TestDatabase) -> Proxy {
    let mut chats = ChatSettings::default();
    chats.set_digest_after(2);
    Proxy::with_config(database, Config { chats, ..Config::default() }).await
}

fn push_payload(browser: &Browser, sent: &Received) -> Value {
    serde_json::from_slice(&browser.decrypt(&sent.body)).unwrap()
}

/// Asks at this round, and sends what is due.
async fn send_and_push(proxy: &Proxy, round: usize) {
    proxy.pause(round).await;
    push::send_due(&proxy.state).await.unwrap();
}

engines! {
    async fn after_a_few_requests_within_a_minute_one_notification_counts_the_others(database: TestDatabase) {
        let proxy = &started(database).await;
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        for round in 1..=5 {
            send_and_push(proxy, round).await;
            proxy.advance(Duration::from_secs(1));
        }
        let sent = service.received(5).await;
        let told: Vec<Value> = sent.iter().map(|sent| push_payload(&browser, sent)).collect();
        for single in &told[..2] {
            assert_eq!(single["title"], "Pyxis: approval needed");
            assert!(single["path"].as_str().unwrap().starts_with("/approve/"), "{single}");
        }
        let topic = proxy.workspace.to_string();
        for (digest, count) in told[2..].iter().zip(1..) {
            assert_eq!((&digest["title"], &digest["path"]), (&json!("Pyxis: approvals needed"), &json!("/app/inbox")));
            assert!(digest["body"].as_str().unwrap().starts_with(&format!("{count} more ")), "{digest}");
            assert_eq!(digest["tag"], topic, "it takes the place of the one before");
        }
        assert_eq!(sent[4].header("topic"), Some(topic.replace('-', "").as_str()));
        // Another minute, and those of it one by one again.
        proxy.advance(Duration::from_mins(1));
        send_and_push(proxy, 6).await;
        let sent = service.received(6).await.remove(5);
        assert_eq!(self::push_payload(&browser, &sent)["title"], "Pyxis: approval needed");
    }

    async fn every_browser_has_its_own_number_and_a_notification_that_was_not_accepted_counts_once(database: TestDatabase) {
        let proxy = &started(database).await;
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        service.reply(Reply::new(503));
        send_and_push(proxy, 1).await;
        proxy.advance(Duration::from_secs(5));
        push::send_due(&proxy.state).await.unwrap();
        let second = proxy.approver(1, DecisionSurface::Dashboard).user;
        subscribe_as(proxy, &service, &browser, second, "/second").await;
        for round in 2..=3 {
            send_and_push(proxy, round).await;
        }
        let titles = |path: &str| -> Vec<String> {
            let sent = service.requests().into_iter().filter(|sent| sent.target == path);
            sent.map(|sent| push_payload(&browser, &sent)["title"].as_str().unwrap().to_owned()).collect()
        };
        let (single, digest) = ("Pyxis: approval needed", "Pyxis: approvals needed");
        // The first one was sent twice.
        assert_eq!(titles("/send/abc"), [single, single, single, digest]);
        assert_eq!(titles("/second"), [single, single]);
    }
}
