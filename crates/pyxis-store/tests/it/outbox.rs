//! Messages written for endpoints.

use std::sync::Arc;

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::WebhookId;
use pyxis_core::webhook::WebhookEvent;
use pyxis_store::deliveries::{self, DeliveryFilter};
use pyxis_store::outbox::{self, Message, Outbox};
use pyxis_store::webhooks::{self, WebhookChange, WebhookRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at};
use crate::webhooks::new_webhook;

async fn endpoint(main: &Workspace, events: &str) -> WebhookRow {
    let new = WebhookRow { events: events.to_owned(), ..new_webhook(main, "https://a.example/") };
    webhooks::insert(&main.store, &new).await.unwrap();
    new
}

engines! {
    async fn an_event_goes_to_the_endpoints_that_want_it(main: &Workspace) {
        let all = endpoint(main, "[]").await;
        let scores = endpoint(main, r#"["score.changed"]"#).await;
        let both = endpoint(main, r#"["score.changed","approval.expired"]"#).await;
        let off = endpoint(main, "[]").await;
        let change = WebhookChange { disabled_at: Some(Some(at(1))), ..WebhookChange::default() };
        webhooks::update(&main.store, main.id, off.id, change, at(1)).await.unwrap();
        let wanting = async |event, mut expected: Vec<WebhookId>| {
            expected.sort_unstable();
            assert_eq!(outbox::wanting(&main.store, main.id, event).await.unwrap(), expected, "{event:?}");
        };
        wanting(WebhookEvent::ScoreChanged, vec![scores.id, both.id]).await;
        wanting(WebhookEvent::Expired, vec![all.id, both.id]).await;
        wanting(WebhookEvent::Decided, vec![all.id]).await;
        let other = main.add_workspace("other").await;
        assert!(outbox::wanting(&main.store, other, WebhookEvent::Expired).await.unwrap().is_empty());
    }

    async fn a_message_is_one_sealed_delivery_for_each_endpoint_and_goes_with_its_transaction(main: &Workspace) {
        let (one, two) = (endpoint(main, "[]").await, endpoint(main, "[]").await);
        let outbox = Outbox::new(main.keyring.clone(), Arc::new(OsEntropy));
        let message = Message { event: WebhookEvent::ScoreChanged, txn: None, body: b"{}" };
        for keep in [false, true] {
            let mut tx = main.store.begin().await.unwrap();
            outbox.write(&mut tx, main.id, &[one.id, two.id], message, NOW).await.unwrap();
            outbox.write(&mut tx, main.id, &[], message, NOW).await.unwrap();
            if keep {
                tx.commit().await.unwrap();
            }
        }
        let rows = deliveries::list(&main.store, main.id, &DeliveryFilter::default(), 9).await.unwrap();
        assert_eq!(rows.len(), 2, "what was rolled back left nothing");
        for row in rows {
            assert_eq!((row.event, row.txn_id, row.next_at), (WebhookEvent::ScoreChanged, None, Some(NOW)));
            let sealed = deliveries::body(&main.store, main.id, row.id).await.unwrap().unwrap();
            let opened = main.keyring.open(&deliveries::body_aad(main.id, row.id), &sealed).unwrap();
            assert_eq!(opened.expose(), b"{}");
        }
    }
}
