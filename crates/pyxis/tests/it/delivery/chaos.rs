//! A thousand approvals are decided while those who should hear of them fail in turn: each is decided once,
//! and each delivery is acknowledged or visibly failed. None is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use pyxis_core::clock::Clock;
use pyxis_core::grant::Surface;
use pyxis_core::id::TxnId;
use pyxis_core::mode::ApprovalState;
use pyxis_core::secret::SecretString;
use pyxis_gateway::Config;
use pyxis_gateway::approvals::decide::{Word, decide};
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::service::webhooks::{self, WebhookInput};
use pyxis_gateway::webhooks::deliver_due;
use pyxis_gateway::workers;
use pyxis_store::deliveries::{self, DeliveryFilter, DeliveryStatus};
use pyxis_store::{DatabaseUrl, approvals};
use pyxis_testkit::telegram::{TOKEN, Telegram};
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::Value;

use crate::races::world::World;

const APPROVALS: usize = 1000;
/// Approvals under way at once.
const AT_ONCE: usize = 8;

/// What a receiver acknowledged: how often, by delivery, and the events by transaction.
#[derive(Default)]
struct Ledger {
    deliveries: BTreeMap<String, usize>,
    events: BTreeMap<(String, String), BTreeSet<String>>,
}

/// A receiver that is well, broken, resets or answers nonsense, in turns, and never the one that hangs.
async fn receiver(world: &World, host: &str) -> (Upstream, Arc<Mutex<Ledger>>) {
    let receiver = Upstream::https(&world.authority, &[host]).await;
    let (ledger, turn) = (Arc::new(Mutex::new(Ledger::default())), AtomicUsize::new(0));
    let kept = Arc::clone(&ledger);
    receiver.reply_with(move |request: &Received| match turn.fetch_add(1, Ordering::Relaxed) % 10 {
        3 => Reply::new(500),
        5 => Reply::abort(),
        7 => Reply::new(302).header("location", "https://elsewhere.example/"),
        _ => {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let text = |name: &str| body[name].as_str().unwrap().to_owned();
            let delivery = request.header("px-delivery").unwrap().to_owned();
            let mut ledger = kept.lock().unwrap();
            *ledger.deliveries.entry(delivery.clone()).or_default() += 1;
            ledger.events.entry((text("txn_id"), text("event"))).or_default().insert(delivery);
            Reply::new(204)
        }
    });
    let input = WebhookInput { url: receiver.url_at(host, "/in"), ..WebhookInput::default() };
    webhooks::create(&world.state, &world.actor(), input).await.unwrap();
    (receiver, ledger)
}

async fn chaos(url: DatabaseUrl) {
    let telegram = Telegram::start().await;
    let bot = TelegramConfig {
        token: SecretString::new(TOKEN.to_owned()),
        api_base: telegram.base(),
        webhook_secret: None,
        poll: Duration::from_secs(30),
    };
    let world = World::with_config(url, Config { telegram: Some(bot), ..Config::default() }).await;
    let policy = r#"{"channel": "chat_primary", "telegram_chat": "-1"}"#;
    world.policy(policy).await;
    let (first, heard) = receiver(&world, "one.example.com").await;
    let (_second, heard_too) = receiver(&world, "two.example.com").await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let mut loops = workers::start(&world.state, &stopping).await.unwrap();

    // Ask and decide, while the chat comes and goes and the first receiver is cut off now and then.
    let deciding = futures_util::stream::iter(0..APPROVALS).for_each_concurrent(AT_ONCE, |round| {
        match round % 100 {
            10 => telegram.set_down(true),
            40 => telegram.set_down(false),
            60 => telegram.limit(&[1, 1, 1]),
            80 => first.hang_up(),
            _ => {}
        }
        decide_once(&world, round)
    });
    deciding.await;
    telegram.set_down(false);

    workers::send_all(&world.state).await.unwrap();
    settle(&world).await;
    stop.send_replace(true);
    while loops.join_next().await.is_some() {}

    let rows = every_delivery(&world).await;
    // Two events each, for each of two endpoints.
    assert_eq!(rows.len(), APPROVALS * 2 * 2);
    let (mut delivered, mut failed) = (0, 0);
    for row in &rows {
        match row.status {
            DeliveryStatus::Delivered => delivered += 1,
            DeliveryStatus::Failed => {
                assert!(row.error.is_some() && row.attempts == 5, "a failure says why");
                failed += 1;
            }
            DeliveryStatus::Pending => panic!("nothing is left: {row:?}"),
        }
    }
    let acknowledged: usize =
        [&heard, &heard_too].map(|ledger| ledger.lock().unwrap().deliveries.len()).iter().sum();
    assert!(acknowledged >= delivered, "what counts as delivered was acknowledged");
    assert_eq!(delivered + failed, rows.len());
    for ledger in [heard, heard_too] {
        for ((txn, event), deliveries) in &ledger.lock().unwrap().events {
            assert_eq!(deliveries.len(), 1, "{event} of {txn} is one delivery");
        }
    }
}

/// A request, decided by two people at once: one of them is too late.
async fn decide_once(world: &World, round: usize) {
    let txn = world.pause(round).await;
    let verdict = || if round.is_multiple_of(2) { Word::Approve(None) } else { Word::Deny(None) };
    let (one, two) = (world.approver(0, Surface::Dashboard), world.approver(1, Surface::Api));
    let (one, two) =
        tokio::join!(decide(&world.state, &one, txn, verdict()), decide(&world.state, &two, txn, verdict()),);
    assert_eq!([&one, &two].iter().filter(|outcome| outcome.is_ok()).count(), 1, "{one:?} {two:?}");
    assert_ne!(state(world, txn).await, ApprovalState::Pending);
}

async fn state(world: &World, txn: TxnId) -> ApprovalState {
    approvals::find(&world.state.store, world.workspace, txn).await.unwrap().unwrap().state
}

/// Lets time pass until every delivery is over.
async fn settle(world: &World) {
    for _ in 0..1000 {
        deliver_due(&world.state).await.unwrap();
        let now = world.clock().now();
        let Some(next) = deliveries::next_due(&world.state.store, now).await.unwrap() else { return };
        world.advance(next.since(now));
    }
    panic!("deliveries do not come to an end");
}

async fn every_delivery(world: &World) -> Vec<deliveries::DeliveryRow> {
    let mut all: Vec<deliveries::DeliveryRow> = Vec::new();
    loop {
        let filter = DeliveryFilter { before: all.last().map(|row| row.id), ..DeliveryFilter::default() };
        let page = deliveries::list(&world.state.store, world.workspace, &filter, 500).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_decisions_while_receivers_fail_in_turn_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    chaos(DatabaseUrl::sqlite(dir.path().join("chaos.db"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_decisions_while_receivers_fail_in_turn_on_postgres() {
    let Some(database) = crate::postgres::Database::create("chaos").await else { return };
    chaos(database.url()).await;
    database.remove().await;
}
