//! Receivers of webhooks that work, fail, reset or answer nonsense, in turns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pyxis_core::clock::Clock;
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_gateway::notifications;
use pyxis_store::deliveries::{self, DeliveryFilter, DeliveryRow, DeliveryStatus};
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::Value;

use crate::races::proxy::Proxy;

/// Acknowledged deliveries, and the events by transaction.
#[derive(Default)]
struct DeliveryLog {
    deliveries: BTreeSet<String>,
    events: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Two receivers.
pub(super) struct Receivers([(Upstream, Arc<Mutex<DeliveryLog>>); 2]);

async fn receiver(proxy: &Proxy, host: &str) -> (Upstream, Arc<Mutex<DeliveryLog>>) {
    let receiver = Upstream::https(&proxy.authority, &[host]).await;
    let (log, turn) = (Arc::new(Mutex::new(DeliveryLog::default())), AtomicUsize::new(0));
    let kept = Arc::clone(&log);
    receiver.reply_with(move |request: &Received| match turn.fetch_add(1, Ordering::Relaxed) % 10 {
        3 => Reply::new(500),
        5 => Reply::abort(),
        7 => Reply::new(302).header("location", "https://elsewhere.example/"),
        _ => {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let text = |name: &str| body[name].as_str().unwrap().to_owned();
            let delivery = request.header("px-delivery").unwrap().to_owned();
            let mut log = kept.lock().unwrap();
            log.deliveries.insert(delivery.clone());
            log.events.entry((text("txn_id"), text("event"))).or_default().insert(delivery);
            Reply::new(204)
        }
    });
    let input = WebhookInput { url: receiver.url_at(host, "/in"), ..WebhookInput::default() };
    webhooks::create(&proxy.state, &proxy.actor(), input).await.unwrap();
    (receiver, log)
}

impl Receivers {
    pub(super) async fn start(proxy: &Proxy) -> Self {
        Self([receiver(proxy, "one.example.com").await, receiver(proxy, "two.example.com").await])
    }

    /// Ends the connections to one of them.
    pub(super) fn hang_up(&self) {
        self.0[0].0.hang_up();
    }

    /// Lets time pass until no delivery is pending. Then each is acknowledged, or failed and says why; no event is
    /// two deliveries to the same receiver; and each of `requests` requests was announced and decided once.
    pub(super) async fn check(&self, proxy: &Proxy, requests: usize) {
        deliver_all(proxy).await;
        let rows = every_delivery(proxy).await;
        // Two events each, for each of two endpoints.
        assert_eq!(rows.len(), requests * 2 * 2);
        let mut acknowledged = BTreeSet::new();
        for (_, log) in &self.0 {
            let log = log.lock().unwrap();
            acknowledged.extend(log.deliveries.iter().cloned());
            for ((txn, event), deliveries) in &log.events {
                assert_eq!(deliveries.len(), 1, "{event} of {txn} is one delivery");
            }
        }
        for row in &rows {
            match row.status {
                DeliveryStatus::Delivered => assert!(acknowledged.contains(&row.id.to_string()), "{row:?}"),
                DeliveryStatus::Failed => {
                    assert!(row.error.is_some() && row.attempts == 5, "a failure says why: {row:?}");
                }
                DeliveryStatus::Pending => panic!("nothing is left: {row:?}"),
            }
        }
    }
}

async fn deliver_all(proxy: &Proxy) {
    let (state, store) = (&proxy.state, &proxy.state.store);
    for _ in 0..1000 {
        notifications::webhooks::deliver_due(state).await.unwrap();
        let now = proxy.clock().now();
        let Some(next) = deliveries::next_due(store, now).await.unwrap() else { return };
        proxy.advance(next.since(now));
    }
    panic!("deliveries do not come to an end");
}

async fn every_delivery(proxy: &Proxy) -> Vec<DeliveryRow> {
    let mut all: Vec<DeliveryRow> = Vec::new();
    loop {
        let filter = DeliveryFilter { before: all.last().map(|row| row.id), ..DeliveryFilter::default() };
        let page = deliveries::list(&proxy.state.store, proxy.workspace, &filter, 500).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}
