//! Benchmark of webhook deliveries: throughput of a durable outbox, and the cost of a hanging endpoint for the others.
//!
//! `deliveries COUNT WAITING`: sends COUNT deliveries to one loopback receiver over TLS, then again next to an endpoint
//! that never answers and has COUNT pending deliveries. After that, WAITING approval requests are announced to an
//! endpoint that answers and, in a second run, also to one that never does. Each run measures the time from the 202 of
//! the next request until the responsive endpoint has received it. Prints one JSON line for each measurement.
//! `bench/deliveries.sh` runs it.

#![expect(clippy::print_stdout, reason = "this is where it reports")]

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use http::{Request, StatusCode};
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::auth::{Auth, BearerToken};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{DeliveryId, NodeId, WebhookId, WorkspaceId};
use pyxis_core::webhook::WebhookEvent;
use pyxis_gateway::admin::agents::AgentPatch;
use pyxis_gateway::admin::credentials::CredentialInput;
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_gateway::admin::{agents, credentials, workspaces};
use pyxis_gateway::{Actor, Config, GatewayDependencies, SecretValue, State, workers};
use pyxis_net::resolve::{Resolve, Resolving};
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_store::audit::{Appender, AuditKeys};
use pyxis_store::cipher::{Keyring, MasterKey};
use pyxis_store::deliveries::{self, NewDelivery};
use pyxis_store::{DatabaseUrl, OpenOptions, Store};
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// Resolves every name to this machine.
struct Loopback;

impl Resolve for Loopback {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

async fn state(url: DatabaseUrl, authority: &Authority) -> State {
    let clock = Arc::new(SystemClock);
    let store = Store::open(&OpenOptions::new(url)).expect("a database");
    store.migrate().await.expect("a schema");
    let master = MasterKey::generate(&OsEntropy);
    let keyring = Keyring::load(&store, &master, &OsEntropy, clock.now()).await.expect("keys");
    let audit_keys = AuditKeys::new(&keyring);
    let guard = Guard::new(vec!["127.0.0.0/8".parse().expect("a network")], Vec::new());
    let net = ClientConfig {
        resolver: Arc::new(Loopback),
        extra_roots: vec![authority.root()],
        ..ClientConfig::new(guard)
    };
    State::new(GatewayDependencies {
        audit: Appender::start(store.clone(), audit_keys.clone()),
        store,
        keyring,
        audit_keys,
        net: Client::new(&net).expect("a client"),
        node: NodeId::new(clock.now(), &OsEntropy),
        clock,
        entropy: Arc::new(OsEntropy),
        config: Config::default(),
    })
}

async fn endpoint(state: &State, workspace: WorkspaceId, receiver: &Upstream, host: &str) -> WebhookId {
    let input = WebhookInput { url: receiver.url_at(host, "/in"), ..WebhookInput::default() };
    let (made, _) = webhooks::create(state, &Actor::cli(workspace), input).await.expect("an endpoint");
    made.row.id
}

async fn enqueue(state: &State, workspace: WorkspaceId, webhook: WebhookId, count: usize) {
    let mut left = count;
    while left > 0 {
        let now = state.now();
        let batch: Vec<_> = (0..left.min(1000))
            .map(|_| {
                let id = DeliveryId::new(now, &OsEntropy);
                let aad = deliveries::body_aad(workspace, id);
                NewDelivery {
                    id,
                    workspace_id: workspace,
                    webhook_id: webhook,
                    event: WebhookEvent::Expired,
                    txn_id: None,
                    sealed_body: state.keyring.seal(&OsEntropy, &aad, &[b'x'; 400]),
                    created_at: now,
                }
            })
            .collect();
        left -= batch.len();
        let mut tx = state.store.begin().await.expect("a transaction");
        deliveries::insert(&mut tx, &batch).await.expect("rows");
        tx.commit().await.expect("a commit");
    }
}

/// A receiver that counts deliveries and reports when it has received `count`.
async fn counting(authority: &Authority, host: &str, count: usize) -> (Upstream, Arc<Notify>) {
    let receiver = Upstream::https(authority, &[host]).await;
    let (heard, all) = (AtomicUsize::new(0), Arc::new(Notify::new()));
    let told = Arc::clone(&all);
    receiver.reply_with(move |_| {
        if heard.fetch_add(1, Ordering::Relaxed) + 1 == count {
            told.notify_one();
        }
        Reply::new(204)
    });
    (receiver, all)
}

#[expect(clippy::cast_precision_loss, reason = "a rate, not an amount of money")]
async fn measure(url: DatabaseUrl, count: usize, next_to_hanging: bool) {
    let authority = Authority::new();
    let state = state(url, &authority).await;
    let made = workspaces::create(&state, "bench", ApprovalMode::Gated, None).await.expect("a workspace");
    let workspace = made.workspace.id;
    let stuck = never_answering(&authority).await;
    if next_to_hanging {
        let id = endpoint(&state, workspace, &stuck, "stuck.example.com").await;
        enqueue(&state, workspace, id, count).await;
    }
    let (receiver, all) = counting(&authority, "quick.example.com", count).await;
    let id = endpoint(&state, workspace, &receiver, "quick.example.com").await;
    enqueue(&state, workspace, id, count).await;
    let started = Instant::now();
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let loops = workers::start(&state, &stopping).await.expect("workers");
    all.notified().await;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{{\"deliveries\":{count},\"hanging\":{next_to_hanging},\"seconds\":{seconds:.3},\"per_second\":{:.0}}}",
        count as f64 / seconds
    );
    stop.send_replace(true);
    drop(loops);
}

/// Number of requests measured.
const PROBES: usize = 300;

/// Sends a request that needs approval. Each number makes a different one.
async fn pause(state: &State, key: &str, number: usize) {
    let request = Request::post("/forward")
        .header("x-px-key", key)
        .header("x-px-credential", "bench")
        .header("x-px-target", format!("https://api.example.com/items/{number}"))
        .header("x-px-method", "POST")
        .body(Body::from("{}"))
        .expect("a request");
    let answer = pyxis_gateway::forward(state, request).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
}

/// Delays from a 202 until the responsive endpoint has the event.
async fn delays(url: DatabaseUrl, waiting: usize, next_to_hanging: bool) {
    let authority = Authority::new();
    let state = state(url, &authority).await;
    let made = workspaces::create(&state, "bench", ApprovalMode::Gated, None).await.expect("a workspace");
    let (workspace, key) = (made.workspace.id, made.agent_key.expose().clone());
    let credential = CredentialInput {
        name: "bench".to_owned(),
        auth: Some(Auth::Bearer(BearerToken {})),
        allowed_hosts: vec!["api.example.com".to_owned()],
        secret: Some(SecretValue::Text("bench-only-secret".to_owned())),
        ..CredentialInput::default()
    };
    credentials::create(&state, &Actor::cli(workspace), credential).await.expect("a credential");
    let agent = agents::list(&state.store, workspace).await.expect("agents").remove(0).row.id;
    let room = u32::try_from(waiting + PROBES).expect("a number of requests");
    let roomy = AgentPatch { max_pending: Some(Some(room)), ..AgentPatch::default() };
    agents::update(&state, &Actor::cli(workspace), agent, roomy).await.expect("room for all requests");
    let stuck = never_answering(&authority).await;
    if next_to_hanging {
        endpoint(&state, workspace, &stuck, "stuck.example.com").await;
    }
    let quick = Upstream::https(&authority, &["quick.example.com"]).await;
    let (told, mut events) = mpsc::unbounded_channel();
    quick.reply_with(move |_| {
        let _ = told.send(Instant::now());
        Reply::new(204)
    });
    endpoint(&state, workspace, &quick, "quick.example.com").await;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let loops = workers::start(&state, &stopping).await.expect("workers");
    futures_util::stream::iter(0..waiting)
        .for_each_concurrent(16, |number| pause(&state, &key, number))
        .await;
    for _ in 0..waiting {
        events.recv().await.expect("an event");
    }
    let mut delays = Vec::with_capacity(PROBES);
    for number in 0..PROBES {
        pause(&state, &key, waiting + number).await;
        let asked = Instant::now();
        let heard = events.recv().await.expect("an event");
        delays.push(heard.saturating_duration_since(asked));
    }
    delays.sort_unstable();
    let millis = |index: usize| delays[index.min(PROBES - 1)].as_secs_f64() * 1000.0;
    println!(
        "{{\"pending_approvals\":{waiting},\"hanging\":{next_to_hanging},\"requests\":{PROBES},\
         \"delay_ms_p50\":{:.1},\"delay_ms_p99\":{:.1},\"delay_ms_max\":{:.1}}}",
        millis(PROBES / 2),
        millis(PROBES * 99 / 100),
        millis(PROBES)
    );
    stop.send_replace(true);
    drop(loops);
}

/// A receiver that accepts requests and never responds.
async fn never_answering(authority: &Authority) -> Upstream {
    let stuck = Upstream::https(authority, &["stuck.example.com"]).await;
    stuck.reply_with(|_| {
        let (reply, release) = Reply::new(204).hold();
        // Kept forever, because dropping it would release the response.
        std::mem::forget(release);
        reply
    });
    stuck
}

fn number(place: usize, otherwise: usize) -> usize {
    std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::main]
async fn main() {
    let (count, waiting) = (number(1, 5_000), number(2, 10_000));
    for hanging in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let url = DatabaseUrl::sqlite(directory.path().join("bench.db"));
        // A stuck attempt would delay the end; it ends with the process.
        drop(tokio::time::timeout(Duration::from_mins(10), measure(url, count, hanging)).await);
    }
    for hanging in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let url = DatabaseUrl::sqlite(directory.path().join("bench.db"));
        drop(tokio::time::timeout(Duration::from_mins(10), delays(url, waiting, hanging)).await);
    }
}
