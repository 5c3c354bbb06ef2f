//! Messages written for endpoints.

use std::sync::Arc;

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::WebhookId;
use pyxis_core::webhook::WebhookEvent;
use pyxis_store::deliveries::{self, DeliveryFilter};
use pyxis_store::outbox::{self, Message, Outbox};
use pyxis_store::webhooks::{self, WebhookChange, WebhookRow};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_workspace, at};
use crate::webhooks::new_webhook;

async fn endpoint(world: &World, events: &str) -> WebhookRow {
    let new = WebhookRow { events: events.to_owned(), ..new_webhook(world, "https://a.example/") };
    webhooks::insert(&world.store, &new).await.unwrap();
    new
}

engines! {
    async fn an_event_goes_to_the_endpoints_that_want_it(world: &World) {
        let all = endpoint(world, "[]").await;
        let scores = endpoint(world, r#"["score.changed"]"#).await;
        let both = endpoint(world, r#"["score.changed","approval.expired"]"#).await;
        let off = endpoint(world, "[]").await;
        let change = WebhookChange { disabled_at: Some(Some(at(1))), ..WebhookChange::default() };
        webhooks::update(&world.store, world.ws, off.id, change, at(1)).await.unwrap();
        let wanting = async |event, mut expected: Vec<WebhookId>| {
            expected.sort_unstable();
            assert_eq!(outbox::wanting(&world.store, world.ws, event).await.unwrap(), expected, "{event:?}");
        };
        wanting(WebhookEvent::ScoreChanged, vec![scores.id, both.id]).await;
        wanting(WebhookEvent::Expired, vec![all.id, both.id]).await;
        wanting(WebhookEvent::Decided, vec![all.id]).await;
        let other = add_workspace(&world.store, "other").await;
        assert!(outbox::wanting(&world.store, other, WebhookEvent::Expired).await.unwrap().is_empty());
    }

    async fn a_message_is_one_sealed_delivery_for_each_endpoint_and_goes_with_its_transaction(world: &World) {
        let (one, two) = (endpoint(world, "[]").await, endpoint(world, "[]").await);
        let outbox = Outbox::new(world.keyring.clone(), Arc::new(OsEntropy));
        let message = Message { event: WebhookEvent::ScoreChanged, txn: None, body: b"{}" };
        for keep in [false, true] {
            let mut tx = world.store.begin().await.unwrap();
            outbox.write(&mut tx, world.ws, &[one.id, two.id], message, NOW).await.unwrap();
            outbox.write(&mut tx, world.ws, &[], message, NOW).await.unwrap();
            if keep {
                tx.commit().await.unwrap();
            }
        }
        let rows = deliveries::list(&world.store, world.ws, &DeliveryFilter::default(), 9).await.unwrap();
        assert_eq!(rows.len(), 2, "what was rolled back left nothing");
        for row in rows {
            assert_eq!((row.event, row.txn_id, row.next_at), (WebhookEvent::ScoreChanged, None, Some(NOW)));
            let sealed = deliveries::body(&world.store, world.ws, row.id).await.unwrap().unwrap();
            let opened = world.keyring.open(&deliveries::body_aad(world.ws, row.id), &sealed).unwrap();
            assert_eq!(opened.expose(), b"{}");
        }
    }
}
