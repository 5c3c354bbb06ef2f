//! The webhook outbox.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{DeliveryId, TxnId, WebhookId};
use pyxis_core::webhook::WebhookEvent;
use pyxis_store::deliveries::{self, Attempt, Claimed, DeliveryFilter, DeliveryStatus, NewDelivery};
use pyxis_store::webhooks::{self, WebhookChange};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at, at_once, tamper};
use crate::webhooks::add_webhook;

fn new_delivery(main: &Workspace, webhook: WebhookId, created_at: UnixMillis) -> NewDelivery {
    let id = DeliveryId::new(created_at, &OsEntropy);
    NewDelivery {
        id,
        workspace_id: main.id,
        webhook_id: webhook,
        event: WebhookEvent::Decided,
        txn_id: Some(TxnId::new(&OsEntropy)),
        sealed_body: main.keyring.seal(&OsEntropy, &deliveries::body_aad(main.id, id), b"{}"),
        created_at,
    }
}

async fn add(main: &Workspace, webhook: WebhookId, count: i64) -> Vec<NewDelivery> {
    let new: Vec<_> = (0..count).map(|n| new_delivery(main, webhook, at(n))).collect();
    let mut tx = main.store.begin().await.unwrap();
    deliveries::insert(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    new
}

async fn claim(main: &Workspace, webhook: WebhookId, now: UnixMillis, limit: u32) -> Vec<Claimed> {
    deliveries::claim(&main.store, webhook, now, UnixMillis(now.0 + 20_000), limit).await.unwrap()
}

fn failed(next_at: Option<UnixMillis>) -> Attempt {
    Attempt {
        status: if next_at.is_some() { DeliveryStatus::Pending } else { DeliveryStatus::Failed },
        next_at,
        at: at(50),
        millis: 7,
        response_status: Some(500),
        response_excerpt: Some("no".to_owned()),
        error: Some("the endpoint responded with 500".to_owned()),
    }
}

fn delivered() -> Attempt {
    Attempt { status: DeliveryStatus::Delivered, response_status: Some(204), error: None, ..failed(None) }
}

engines! {
    async fn a_delivery_is_due_at_once_and_reads_back(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let new = add(main, hook.id, 1).await.remove(0);
        let row = deliveries::find(&main.store, main.id, new.id).await.unwrap().unwrap();
        assert_eq!((row.status, row.attempts, row.resends, row.next_at), (DeliveryStatus::Pending, 0, 0, Some(NOW)));
        assert_eq!((row.event, row.txn_id), (WebhookEvent::Decided, new.txn_id));
        assert_eq!(deliveries::body(&main.store, main.id, new.id).await.unwrap(), Some(new.sealed_body));
        assert_eq!(webhooks::due(&main.store, NOW).await.unwrap(), [(main.id, hook.id)]);
        assert!(webhooks::due(&main.store, at(-1)).await.unwrap().is_empty());
        assert_eq!(deliveries::next_due(&main.store, at(-1)).await.unwrap(), Some(NOW));
        assert_eq!(deliveries::next_due(&main.store, NOW).await.unwrap(), None);
    }

    async fn each_is_claimed_once_by_many_at_once(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        add(main, hook.id, 40).await;
        let taken = at_once(16, |_| {
            let (store, hook) = (main.store.clone(), hook.id);
            async move {
                let mut mine = Vec::new();
                loop {
                    let some = deliveries::claim(&store, hook, at(40), at(20_000), 3).await.unwrap();
                    if some.is_empty() {
                        return mine;
                    }
                    mine.extend(some.into_iter().map(|claimed| claimed.id));
                }
            }
        })
        .await;
        let mut all: Vec<_> = taken.into_iter().flatten().collect();
        assert_eq!(all.len(), 40);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 40);
        assert!(webhooks::due(&main.store, at(40)).await.unwrap().is_empty());
        assert_eq!(claim(main, hook.id, at(20_000), 100).await.len(), 40, "the node that had them counts as lost");
    }

    async fn an_event_of_a_newer_release_holds_up_no_other_delivery(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let new = add(main, hook.id, 3).await;
        tamper(main, &format!("UPDATE deliveries SET event = 'later' WHERE id = '{}'", new[0].id)).await;
        let claimed: Vec<_> = claim(main, hook.id, at(5), 10).await.into_iter().map(|one| one.id).collect();
        assert_eq!(claimed.len(), 2);
        assert!(!claimed.contains(&new[0].id));
        let listed = deliveries::list(&main.store, main.id, &DeliveryFilter::default(), 10).await.unwrap();
        assert_eq!(listed.len(), 2);
    }

    async fn the_longest_due_go_first(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let new = add(main, hook.id, 3).await;
        let first: Vec<_> = claim(main, hook.id, at(2), 2).await.into_iter().map(|claimed| claimed.id).collect();
        assert_eq!(first.len(), 2);
        assert!(first.contains(&new[0].id) && first.contains(&new[1].id));
    }

    async fn an_endpoint_is_told_of_a_request_before_its_decision_unless_that_is_being_retried(main: &Workspace) {
        let (hook, other) =
            (add_webhook(main, "https://a.example/").await, add_webhook(main, "https://b.example/").await);
        let (txn, unrelated) = (TxnId::new(&OsEntropy), TxnId::new(&OsEntropy));
        let new = |hook: WebhookId, event, txn, at| {
            NewDelivery { event, txn_id: Some(txn), ..new_delivery(main, hook, at) }
        };
        // Even if the clock of the node that reports the decision is behind.
        let rows = [
            new(hook.id, WebhookEvent::Requested, txn, at(9)),
            new(hook.id, WebhookEvent::Decided, txn, NOW),
            new(hook.id, WebhookEvent::Decided, unrelated, at(1)),
            new(other.id, WebhookEvent::Decided, txn, at(1)),
        ];
        let mut tx = main.store.begin().await.unwrap();
        deliveries::insert(&mut tx, &rows).await.unwrap();
        tx.commit().await.unwrap();
        let ids = |claimed: &[Claimed]| {
            let mut ids: Vec<_> = claimed.iter().map(|claimed| claimed.id).collect();
            ids.sort();
            ids
        };
        let mut first = claim(main, hook.id, at(10), 9).await;
        let mut expected = vec![rows[0].id, rows[2].id];
        expected.sort();
        assert_eq!(ids(&first), expected, "its decision waits, another one does not");
        assert_eq!(ids(&claim(main, other.id, at(10), 9).await), [rows[3].id], "nor does another endpoint");
        // During the attempt nothing is due, so no node looks for it.
        assert!(claim(main, hook.id, at(10), 9).await.is_empty());
        assert!(webhooks::due(&main.store, at(10)).await.unwrap().is_empty());
        first.retain(|claimed| claimed.id == rows[0].id);
        assert!(deliveries::record(&main.store, &first[0], &failed(Some(at(90_000)))).await.unwrap());
        assert_eq!(webhooks::due(&main.store, at(60)).await.unwrap(), [(main.id, hook.id)]);
        let next = claim(main, hook.id, at(60), 9).await;
        assert_eq!(ids(&next), [rows[1].id], "the request is being retried");
        assert!(deliveries::record(&main.store, &next[0], &delivered()).await.unwrap());
        // After a manual resend, neither waits for the other.
        for row in &rows[..2] {
            assert!(deliveries::resend(&main.store, main.id, row.id, at(70)).await.unwrap());
        }
        assert_eq!(claim(main, hook.id, at(70), 9).await.len(), 2);
    }

    async fn an_attempt_is_noted_once_and_only_by_its_last_holder(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let id = add(main, hook.id, 1).await[0].id;
        let claimed = claim(main, hook.id, NOW, 1).await.remove(0);
        assert!(deliveries::record(&main.store, &claimed, &failed(Some(at(15_000)))).await.unwrap());
        assert!(!deliveries::record(&main.store, &claimed, &delivered()).await.unwrap());
        let row = deliveries::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.attempts, row.next_at, row.last_attempt_at), (1, Some(at(15_000)), Some(at(50))));
        assert_eq!((row.response_status, row.last_millis), (Some(500), Some(7)));
        assert_eq!((row.response_excerpt.as_deref(), row.error.as_deref()), (Some("no"), Some("the endpoint responded with 500")));
        let claimed = claim(main, hook.id, at(15_000), 1).await.remove(0);
        assert!(deliveries::record(&main.store, &claimed, &delivered()).await.unwrap());
        let row = deliveries::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.status, row.attempts, row.next_at), (DeliveryStatus::Delivered, 2, None));
        assert_eq!((row.delivered_at, row.error), (Some(at(50)), None));
        assert!(claim(main, hook.id, at(99_999), 1).await.is_empty());
    }

    async fn sending_again_starts_a_series_of_its_own(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let id = add(main, hook.id, 1).await[0].id;
        let before = claim(main, hook.id, NOW, 1).await.remove(0);
        assert!(deliveries::resend(&main.store, main.id, id, at(5)).await.unwrap());
        assert!(!deliveries::record(&main.store, &before, &delivered()).await.unwrap(), "of the series before");
        let again = claim(main, hook.id, at(5), 1).await.remove(0);
        assert_eq!((again.attempts, again.resends), (0, 1));
        assert!(deliveries::record(&main.store, &again, &failed(None)).await.unwrap());
        let row = deliveries::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.status, row.attempts, row.resends), (DeliveryStatus::Failed, 1, 1));
        assert!(deliveries::resend(&main.store, main.id, id, at(6)).await.unwrap());
        assert_eq!(claim(main, hook.id, at(6), 1).await.len(), 1);
        let other = main.add_workspace("other").await;
        assert!(!deliveries::resend(&main.store, other, id, at(7)).await.unwrap());
    }

    async fn a_disabled_endpoint_has_nothing_due(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        add(main, hook.id, 1).await;
        let change = WebhookChange { disabled_at: Some(Some(NOW)), ..WebhookChange::default() };
        assert!(webhooks::update(&main.store, main.id, hook.id, change, NOW).await.unwrap());
        assert!(webhooks::due(&main.store, at(9)).await.unwrap().is_empty());
        assert_eq!(deliveries::next_due(&main.store, at(-9)).await.unwrap(), None);
    }

    async fn lists_are_narrowed_paged_and_counted(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let second = add_webhook(main, "https://b.example/").await;
        let new = add(main, hook.id, 5).await;
        add(main, second.id, 1).await;
        let claimed = claim(main, hook.id, NOW, 1).await.remove(0);
        assert!(deliveries::record(&main.store, &claimed, &delivered()).await.unwrap());
        let of_hook = DeliveryFilter { webhook: Some(hook.id), ..DeliveryFilter::default() };
        let list = async |filter: DeliveryFilter, limit| {
            let rows = deliveries::list(&main.store, main.id, &filter, limit).await.unwrap();
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(list(DeliveryFilter::default(), 50).await.len(), 6);
        assert_eq!(list(of_hook, 2).await, [new[4].id, new[3].id]);
        assert_eq!(list(DeliveryFilter { before: Some(new[3].id), ..of_hook }, 50).await.len(), 3);
        assert_eq!(list(DeliveryFilter { status: Some(DeliveryStatus::Delivered), ..of_hook }, 50).await, [new[0].id]);
        assert_eq!(list(DeliveryFilter { txn: new[2].txn_id, ..of_hook }, 50).await, [new[2].id]);
        assert!(list(DeliveryFilter { event: Some(WebhookEvent::Expired), ..of_hook }, 50).await.is_empty());
        assert_eq!(deliveries::counts(&main.store, main.id, hook.id).await.unwrap(), [4, 1, 0]);
        let other = main.add_workspace("other").await;
        assert!(deliveries::list(&main.store, other, &of_hook, 50).await.unwrap().is_empty());
        assert!(deliveries::find(&main.store, other, new[0].id).await.unwrap().is_none());
        assert!(deliveries::body(&main.store, other, new[0].id).await.unwrap().is_none());
    }

    async fn what_is_over_is_purged_and_an_endpoint_takes_its_deliveries_along(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let new = add(main, hook.id, 2).await;
        let claimed = claim(main, hook.id, NOW, 1).await.remove(0);
        assert!(deliveries::record(&main.store, &claimed, &delivered()).await.unwrap());
        assert_eq!(deliveries::purge(&main.store, NOW).await.unwrap(), 0);
        assert_eq!(deliveries::purge(&main.store, at(99)).await.unwrap(), 1);
        assert!(deliveries::find(&main.store, main.id, new[1].id).await.unwrap().is_some(), "it still waits");
        assert!(webhooks::remove(&main.store, main.id, hook.id).await.unwrap());
        assert!(deliveries::find(&main.store, main.id, new[1].id).await.unwrap().is_none());
    }
}
