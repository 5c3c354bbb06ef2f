//! The page of metrics. Gauges about the installation are read when it is, and not more often than once a second.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::gauge;
use metrics_exporter_prometheus::PrometheusHandle;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;
use pyxis_gateway as gateway;
use pyxis_store::installation_state::{self, Backlog, InstallationState};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::audit_push;
use crate::config::Config;
use crate::health;
use crate::import_progress::PublishedProgress;
use crate::telemetry::seconds;

/// Age up to which the gauges are not read again.
const FRESH: Duration = Duration::from_secs(1);
/// Longest wait for any part, well below the 10 seconds that a collector waits by default.
const LIMIT: Duration = Duration::from_millis(1500);
/// Time before its expiry from which a token counts as expiring.
const EXPIRING: Duration = Duration::from_hours(7 * 24);
/// Age up to which certificates are not read again.
const CERTIFICATES_FRESH: Duration = Duration::from_mins(1);
/// Interval for aggregating what the histograms collected, so that their memory is bounded without a collector.
const UPKEEP: Duration = Duration::from_secs(5);

/// Content of the metrics page.
#[derive(Clone)]
pub(crate) struct Scrape {
    state: gateway::State,
    handle: PrometheusHandle,
    /// True if audit records are pushed.
    pushes_audit: bool,
    /// Time between scheduled backups.
    backup_interval: Option<Duration>,
    egress_ca_file: Option<PathBuf>,
    read_at: Arc<Mutex<ReadTimes>>,
}

/// Times of the last readings.
#[derive(Default)]
struct ReadTimes {
    all: Option<Instant>,
    certificates: Option<Instant>,
}

impl Scrape {
    pub(crate) fn new(state: gateway::State, handle: PrometheusHandle, config: &Config) -> Self {
        Self {
            state,
            handle,
            pushes_audit: config.audit_push.is_some(),
            backup_interval: config.backups.as_ref().map(|backups| backups.interval),
            egress_ca_file: config.egress_ca_file.clone(),
            read_at: Arc::default(),
        }
    }

    /// The route of the page.
    pub(crate) fn router(self) -> Router {
        Router::new().route("/metrics", get(page)).with_state(self)
    }

    /// Aggregates until the process ends.
    pub(crate) fn start_upkeep(&self) {
        let handle = self.handle.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                handle.run_upkeep();
            }
        });
    }

    /// Reads the gauges, unless another collector did a moment ago.
    async fn read(&self) {
        let mut read_at = self.read_at.lock().await;
        if read_at.all.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        let state = &self.state;
        let soon = state.now().plus(EXPIRING);
        let found = installation_state::read(&state.store, state.now(), soon);
        let (health, found) = tokio::join!(health::check(state, LIMIT), timeout(LIMIT, found));
        gauge!(metric::READY.name).set(if health.ready() { 1.0 } else { 0.0 });
        self.show_process();
        match found {
            Ok(Ok(found)) => {
                show(&found);
                // A schedule reports its own backups, once they are uploaded.
                if let (None, Some(at)) = (self.backup_interval, found.backup_at) {
                    gauge!(metric::BACKUP_TIME.name).set(seconds(at));
                }
            }
            Ok(Err(error)) => tracing::debug!(%error, "cannot read the state of the installation"),
            Err(_) => tracing::debug!("reading the state of the installation takes too long"),
        }
        if self.pushes_audit {
            self.show_push().await;
        }
        if let Ok(Ok(Some(import))) = timeout(LIMIT, PublishedProgress::read(&state.store)).await {
            import.show();
        }
        if read_at.certificates.is_none_or(|at| at.elapsed() >= CERTIFICATES_FRESH)
            && self.show_certificates().await
        {
            read_at.certificates = Some(Instant::now());
        }
        read_at.all = Some(Instant::now());
    }

    /// Sets the gauges of certificates. Returns true if all of them could be read.
    async fn show_certificates(&self) -> bool {
        let clients =
            timeout(LIMIT, gateway::first_client_certificate_expiry(&self.state.store, &self.state.keyring))
                .await;
        let Ok(Ok(client)) = clients else { return false };
        let set = |certificate: &'static str, expiry: Option<UnixMillis>| {
            let expiry = expiry.map_or(0.0, seconds);
            gauge!(metric::CERTIFICATE_EXPIRY.name, "certificate" => certificate).set(expiry);
        };
        set("client", client);
        let Some(path) = &self.egress_ca_file else { return true };
        let Ok(pem) = tokio::fs::read(path).await else { return false };
        set("egress_ca", pyxis_net::tls::first_expiry(&pem).map(|since| UnixMillis(0).plus(since)));
        true
    }

    /// Sets the gauges of the audit push.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    async fn show_push(&self) {
        let lag = timeout(LIMIT, audit_push::lag(&self.state.store, &self.state.audit_keys)).await;
        let Ok(Ok(lag)) = lag else { return };
        gauge!(metric::AUDIT_PUSH_LAG_RECORDS.name).set(lag.records as f64);
        let age = lag.oldest.map_or(Duration::ZERO, |oldest| self.state.now().since(oldest));
        gauge!(metric::AUDIT_PUSH_LAG_SECONDS.name).set(age.as_secs_f64());
    }

    /// Sets the gauges of this process.
    #[expect(clippy::cast_precision_loss, reason = "sizes and counts below 2^53")]
    fn show_process(&self) {
        let store = &self.state.store;
        gauge!(metric::WEBSOCKETS_OPEN.name).set(self.state.open_websockets());
        if let Some(interval) = self.backup_interval {
            gauge!(metric::BACKUP_INTERVAL.name).set(interval.as_secs_f64());
        }
        gauge!(metric::AUDIT_QUEUE.name).set(self.state.audit.queued() as f64);
        if let Some(bytes) = store.wal_bytes() {
            gauge!(metric::STORE_WAL_BYTES.name).set(bytes as f64);
        }
        if let Some(pool) = store.pool_state() {
            for (name, count) in [("idle", pool.idle), ("in_use", pool.in_use)] {
                gauge!(metric::STORE_CONNECTIONS.name, "state" => name).set(count as f64);
            }
            gauge!(metric::STORE_WAITERS.name).set(pool.waiters as f64);
        }
    }
}

/// Sets the gauges of the installation.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn show(found: &InstallationState) {
    let time = |time: Option<_>| time.map_or(0.0, seconds);
    gauge!(metric::APPROVALS_PENDING.name).set(found.approvals.count as f64);
    gauge!(metric::OLDEST_PENDING.name).set(time(found.approvals.oldest));
    gauge!(metric::AUDIT_RECORDS.name).set(found.audit_seq as f64);
    gauge!(metric::AUDIT_HEAD_TIME.name).set(time(found.audit_signed_at));
    gauge!(metric::ACCESS_TOKENS_EXPIRING.name).set(found.expiring_tokens as f64);
    gauge!(metric::ACCOUNTS_DISCONNECTED.name).set(found.disconnected_accounts as f64);
    for (key, at) in [
        ("data", found.data_key_at),
        ("attestation", found.attestation_key_at),
        ("score", found.score_key_at),
        ("stamp", found.stamp_key_at),
        ("receipt", found.receipt_key_at),
    ] {
        gauge!(metric::KEY_TIME.name, "key" => key).set(time(at));
    }
    let chat = |platform: &ChatPlatform| {
        let waiting = found.chats.iter().find(|(waiting, _)| waiting == platform);
        (platform.as_str(), waiting.map_or_else(Backlog::default, |(_, backlog)| *backlog))
    };
    let channels = [("webhook", found.webhooks), ("push", found.push)];
    for (channel, backlog) in channels.into_iter().chain(ChatPlatform::ALL.iter().map(chat)) {
        gauge!(metric::DELIVERIES_WAITING.name, "channel" => channel).set(backlog.count as f64);
        gauge!(metric::OLDEST_DELIVERY.name, "channel" => channel).set(time(backlog.oldest));
    }
}

async fn page(Extract(scrape): Extract<Scrape>) -> Response {
    Box::pin(scrape.read()).await;
    let text = scrape.handle.render();
    ([(http::header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
