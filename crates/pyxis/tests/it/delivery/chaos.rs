//! A thousand approvals are decided while the receivers of their notifications fail in turn. Each is decided once, each
//! delivery is acknowledged or visibly failed, and each chat message shows the outcome or says why not. None is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::Clock;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::ChatSettings;
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::channels::matrix::MatrixConfig;
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::{Config, workers};
use pyxis_gateway::{channels, notifications};
use pyxis_store::approvals;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::deliveries::{self, DeliveryFilter, DeliveryStatus};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::long_form::rounds;
use pyxis_testkit::matrix::StandIn;
use pyxis_testkit::telegram::{TOKEN, Telegram};
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::races::proxy::Proxy;

/// Number of approvals.
fn approval_count() -> usize {
    rounds(150, 1000)
}
/// Approvals in progress at once.
const AT_ONCE: u32 = 8;
/// Of each hundred, those that are decided only after their message appears in the chat.
const SEEN: usize = 4;

/// Acknowledged deliveries with their counts, and the events by transaction.
#[derive(Default)]
struct Ledger {
    deliveries: BTreeMap<String, usize>,
    events: BTreeMap<(String, String), BTreeSet<String>>,
}

/// A receiver that works, fails, resets or answers nonsense, in turns.
async fn receiver(proxy: &Proxy, host: &str) -> (Upstream, Arc<Mutex<Ledger>>) {
    let receiver = Upstream::https(&proxy.authority, &[host]).await;
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
    webhooks::create(&proxy.state, &proxy.actor(), input).await.unwrap();
    (receiver, ledger)
}

/// The proxy, both chats, and a receiver that is disconnected now and then.
struct Scene {
    proxy: Proxy,
    telegram: Telegram,
    matrix: StandIn,
    first: Upstream,
}

impl Scene {
    /// The chats take turns by the hundred, and so do their failures.
    async fn trouble(&self, round: usize) {
        let on_telegram = (round / 100).is_multiple_of(2);
        // Time passes, so that pending retries are attempted.
        self.proxy.advance(Duration::from_secs(1));
        match (round % 100, on_telegram) {
            (0, _) => self.announce_on(on_telegram).await,
            (10, true) => self.telegram.set_down(true),
            (40, true) => self.telegram.set_down(false),
            (60, true) => self.telegram.limit(&[1, 1, 1]),
            (10, false) => self.matrix.set_down(true),
            (40, false) => self.matrix.set_down(false),
            (60, false) => self.matrix.limit(&[900, 900, 900]),
            (80, _) => self.first.hang_up(),
            _ => {}
        }
    }

    async fn announce_on(&self, telegram: bool) {
        let channel = if telegram { "chat_primary" } else { "chat_secondary" };
        let policy = json!({ "channel": channel, "telegram_chat": "-1", "matrix_room": "!ops:px.test" });
        self.proxy.policy(&policy.to_string()).await;
    }

    /// Every message as people see it: its id on its platform, and its text.
    fn shown(&self) -> BTreeMap<(&'static str, String), String> {
        let telegram = self.telegram.messages().into_iter();
        let telegram = telegram.map(|one| ((ChatPlatform::TELEGRAM.as_str(), one.id.to_string()), one.text));
        let matrix = self.matrix.messages().into_iter();
        telegram.chain(matrix.map(|one| ((ChatPlatform::MATRIX.as_str(), one.event), one.text))).collect()
    }

    /// A request decided by two people at once: one of them is too late. Waiting to see a message delays no other
    /// request: time passes with the requests, and the message may have to be retried.
    async fn decide_once(&self, slots: &Semaphore, round: usize) -> TxnId {
        let proxy = &self.proxy;
        let slot = slots.acquire().await;
        self.trouble(round).await;
        let txn = proxy.pause(round).await;
        if round % 100 < SEEN {
            drop(slot);
            self.seen(txn, round).await;
        }
        let verdict = || if round.is_multiple_of(2) { Decision::Approve(None) } else { Decision::Deny(None) };
        let (one, two) =
            (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        let (one, two) = tokio::join!(
            decide(&proxy.state, &one, txn, verdict()),
            decide(&proxy.state, &two, txn, verdict())
        );
        assert_eq!([&one, &two].iter().filter(|outcome| outcome.is_ok()).count(), 1, "{one:?} {two:?}");
        txn
    }

    /// Waits until the message about a request appears in its chat.
    async fn seen(&self, txn: TxnId, round: usize) {
        let line = format!("│ round {round}\n");
        let asks = |text: &str| text.contains(&line).then_some(());
        match self.message(txn).await.platform {
            ChatPlatform::TELEGRAM => {
                self.telegram.until(|chat| chat.messages().iter().find_map(|one| asks(&one.text))).await;
            }
            _ => {
                self.matrix.until(|chat| chat.messages().iter().find_map(|one| asks(&one.text))).await;
            }
        }
    }

    /// Lets time pass until every message shows its final text, or was given up.
    async fn show_all(&self) {
        let (state, store) = (&self.proxy.state, &self.proxy.state.store);
        for _ in 0..1000 {
            channels::deliver_due(state).await.unwrap();
            let now = self.proxy.clock().now();
            let next = [
                chat_messages::next_due(store, ChatPlatform::TELEGRAM, now).await.unwrap(),
                chat_messages::next_due(store, ChatPlatform::MATRIX, now).await.unwrap(),
            ];
            let Some(next) = next.into_iter().flatten().min() else { return };
            self.proxy.advance(next.since(now));
        }
        panic!("messages do not come to an end");
    }

    /// Lets time pass until no delivery is pending.
    async fn deliver_all(&self) {
        let (state, store) = (&self.proxy.state, &self.proxy.state.store);
        for _ in 0..1000 {
            notifications::webhooks::deliver_due(state).await.unwrap();
            let now = self.proxy.clock().now();
            let Some(next) = deliveries::next_due(store, now).await.unwrap() else { return };
            self.proxy.advance(next.since(now));
        }
        panic!("deliveries do not come to an end");
    }

    async fn message(&self, txn: TxnId) -> ChatMessageRow {
        let rows = chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap();
        let [row] = rows.try_into().expect("one message about each request");
        row
    }
}

async fn chaos(database: TestDatabase) {
    let (telegram, matrix) = (Telegram::start().await, StandIn::start().await);
    let config = Config {
        chats: ChatSettings::default()
            .with_platform(TelegramConfig {
                token: SecretString::new(TOKEN.to_owned()),
                api_base: telegram.base(),
                webhook_secret: None,
                poll: Duration::from_secs(30),
            })
            .with_platform(MatrixConfig {
                homeserver: matrix.base(),
                token: SecretString::new("canary-token".to_owned()),
            }),
        ..Config::default()
    };
    let proxy = Proxy::with_config(database, config).await;
    let (first, heard) = receiver(&proxy, "one.example.com").await;
    let (_second, heard_too) = receiver(&proxy, "two.example.com").await;
    let workers = proxy.work().await;
    let scene = Scene { proxy, telegram, matrix, first };
    scene.announce_on(true).await;

    let slots = Semaphore::new(AT_ONCE as usize);
    let deciding = join_all((0..approval_count()).map(|round| scene.decide_once(&slots, round)));
    let ending = async {
        // Slots are granted in turn: this one comes after the last request.
        let _all = slots.acquire_many(AT_ONCE).await;
        scene.telegram.set_down(false);
        scene.matrix.set_down(false);
        workers.end().await;
        scene.show_all().await;
    };
    let (txns, ()) = tokio::join!(deciding, ending);
    workers::send_all(&scene.proxy.state).await.unwrap();
    scene.show_all().await;
    scene.deliver_all().await;

    deliveries_are_acknowledged_or_failed(&scene.proxy, [heard, heard_too]).await;
    messages_tell_the_end_or_why_not(&scene, &txns).await;
}

async fn deliveries_are_acknowledged_or_failed(proxy: &Proxy, ledgers: [Arc<Mutex<Ledger>>; 2]) {
    let rows = every_delivery(proxy).await;
    // Two events each, for each of two endpoints.
    assert_eq!(rows.len(), approval_count() * 2 * 2);
    let mut delivered = BTreeSet::new();
    for row in &rows {
        match row.status {
            DeliveryStatus::Delivered => assert!(delivered.insert(row.id.to_string())),
            DeliveryStatus::Failed => assert!(row.error.is_some() && row.attempts == 5, "a failure says why"),
            DeliveryStatus::Pending => panic!("nothing is left: {row:?}"),
        }
    }
    let mut acknowledged = BTreeSet::new();
    for ledger in ledgers {
        let ledger = ledger.lock().unwrap();
        acknowledged.extend(ledger.deliveries.keys().cloned());
        for ((txn, event), deliveries) in &ledger.events {
            assert_eq!(deliveries.len(), 1, "{event} of {txn} is one delivery");
        }
    }
    assert!(delivered.is_subset(&acknowledged), "what counts as delivered was acknowledged");
}

async fn messages_tell_the_end_or_why_not(scene: &Scene, txns: &[TxnId]) {
    let mut shown = scene.shown();
    let mut told = 0;
    for txn in txns {
        let end = state(&scene.proxy, *txn).await;
        assert!(matches!(end, ApprovalState::Approved | ApprovalState::Denied), "{end:?}");
        let row = scene.message(*txn).await;
        assert_eq!((row.wanted, row.next_at), (end, None), "nothing is left: {row:?}");
        // Decided before it could be posted: there is nothing left to ask.
        let Some(name) = &row.message_ref else { continue };
        let text = shown.remove(&(row.platform.as_str(), name.clone())).expect("what was posted is there");
        if row.error.is_none() {
            let word = if end == ApprovalState::Approved { "Approved by" } else { "Denied by" };
            assert!(row.shown == Some(end) && text.contains(word), "{row:?}: {text}");
            told += 1;
        }
    }
    assert!(shown.is_empty(), "nothing is posted twice or without a row: {shown:?}");
    assert!(told >= approval_count() / 100 * SEEN, "{told}");
}

async fn state(proxy: &Proxy, txn: TxnId) -> ApprovalState {
    approvals::find(&proxy.state.store, proxy.workspace, txn).await.unwrap().unwrap().state
}

async fn every_delivery(proxy: &Proxy) -> Vec<deliveries::DeliveryRow> {
    let mut all: Vec<deliveries::DeliveryRow> = Vec::new();
    loop {
        let filter = DeliveryFilter { before: all.last().map(|row| row.id), ..DeliveryFilter::default() };
        let page = deliveries::list(&proxy.state.store, proxy.workspace, &filter, 500).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

engines! {
    async fn a_thousand_decisions_while_receivers_and_chats_fail_in_turn(database: TestDatabase) {
        chaos(database).await;
    }
}
