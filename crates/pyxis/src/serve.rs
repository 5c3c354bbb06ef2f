//! The server: routes, workers and orderly shutdown.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::PrometheusHandle;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_dashboard as dashboard;
use pyxis_gateway as gateway;
use pyxis_http::problem::kinds;
use pyxis_http::{Problem, cors, request_id, serve};
use pyxis_mcp::PlainCalls;
use pyxis_scoring as scoring;
use pyxis_store::{Engine, nodes};
use pyxis_verify as verify;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tower::{Layer, ServiceExt, service_fn};

use crate::app::App;
use crate::config::{Config, MetricsListen};
use crate::fast_path::{FastPath, source};
use crate::running::{self, Announcement, RunningServer};
use crate::scrape::Scrape;
use crate::service_manager::{self, Notice};
use crate::stop_signals::StopSignals;
use crate::telemetry::init_metrics;
use crate::traces::{self, Traces};
use crate::{audit_push, health, open_files, openapi, scheduled_backups};

/// Time for the last writes to the database.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// A bound listener and its public origin.
pub struct Bound {
    pub listener: TcpListener,
    /// Address it listens on.
    pub address: SocketAddr,
    pub metrics: Option<Metrics>,
    /// The public origin.
    pub base_url: String,
}

/// The metrics, and the listener that shows them.
pub struct Metrics {
    listener: TcpListener,
    handle: PrometheusHandle,
}

impl Bound {
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|metrics| metrics.listener.local_addr().ok())
    }
}

/// Checks settings that only a server uses, and binds, so that the port is known before anything is printed or linked.
pub async fn bind(config: &Config) -> Result<Bound> {
    scheduled_backups::check(config)?;
    open_files::prepare(config.websockets_max);
    let bound = TcpListener::bind(config.listen).await;
    let listener = bound.with_context(|| {
        let remedy = "set --listen or PX_LISTEN to a free address and port; port 0 picks a free one";
        format!("cannot listen on {}; {remedy}", config.listen)
    })?;
    let address = listener.local_addr()?;
    let metrics = match bind_metrics(config.metrics_listen).await? {
        // Before anything is counted: a handle belongs to the recorder that was there when it was made.
        Some(listener) => Some(Metrics { listener, handle: init_metrics(SystemClock.now())? }),
        None => None,
    };
    let base_url = config.base_url.clone().unwrap_or_else(|| default_base_url(address));
    Ok(Bound { listener, address, metrics, base_url })
}

/// Binds the metrics listener. A default address already in use (another server on this machine) does not prevent the
/// start; a configured one does.
async fn bind_metrics(wanted: MetricsListen) -> Result<Option<TcpListener>> {
    match wanted {
        MetricsListen::Off => Ok(None),
        MetricsListen::At(address) => {
            let bound = TcpListener::bind(address).await;
            bound.map(Some).with_context(|| format!("cannot serve metrics on {address}"))
        }
        MetricsListen::IfFree(address) => match TcpListener::bind(address).await {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => {
                tracing::warn!(%address, %error, "no metrics: the port is in use; set PX_METRICS_LISTEN to \
                    another one");
                Ok(None)
            }
        },
    }
}

/// The origin if none is configured.
pub fn default_base_url(address: SocketAddr) -> String {
    format!("http://localhost:{}", address.port())
}

/// Announces the server to commands on its data directory, until the value is dropped. To be done before anyone is told
/// the address, so that a command that follows at once finds it.
pub fn announce(app: &App, bound: &Bound) -> Result<Announcement> {
    let server = RunningServer::new(&app.config, &bound.base_url, bound.address);
    running::announce(&app.config.data_dir, app.gateway.node, &server)
}

/// Serves until a signal, then drains.
pub async fn run(app: App, bound: Bound, signals: StopSignals, traces: Option<Traces>) -> Result<()> {
    let (stop, stopped) = watch::channel(false);
    app.store.watch();
    let mut live_node = crate::nodes::register(&app.config.data_dir, app.gateway.node)?;
    for dead in &live_node.dead_nodes {
        nodes::mark_dead(&app.store, dead.id).await?;
    }
    let mut workers = gateway::workers::start(&app.gateway, &stopped).await?;
    live_node.recovered();
    log_start(&app, bound.address);
    if let Some(metrics) = bound.metrics {
        serve_metrics(&app, metrics, &mut workers, &stopped);
    }
    start_background_work(&app, &mut workers, &stopped);
    let fast_path = fast_path(&app, stopped.clone(), traces.is_some());
    tokio::spawn(stop_at_signal(signals, stop));
    service_manager::notify(Notice::Ready);
    let body_total = app.config.request_body;
    let served = serve::serve_peers(
        bound.listener,
        |peer| fast_path.for_peer(peer),
        body_total,
        wait_until_stopped(stopped.clone()),
    );
    let asked = async {
        wait_until_stopped(stopped).await;
        Instant::now()
    };
    let (finished, asked) = tokio::join!(served, asked);
    if !finished {
        tracing::warn!("some requests did not finish in time and were aborted");
    }
    let settled = finish_background_work(&app, &mut workers, asked + serve::DRAIN).await;
    if let Some(traces) = traces {
        traces.finish().await;
    }
    settled
}

/// Serves the metrics on their own listener.
fn serve_metrics(
    app: &App,
    Metrics { listener, handle }: Metrics,
    workers: &mut JoinSet<()>,
    stopped: &watch::Receiver<bool>,
) {
    let scrape = Scrape::new(app.gateway.clone(), handle, &app.config);
    scrape.start_upkeep();
    let router = scrape.router();
    let stopped = wait_until_stopped(stopped.clone());
    workers.spawn(async move {
        serve::serve(listener, router, stopped).await;
    });
}

/// Starts the work besides that of the proxy: audit push, scoring, and scheduled backups.
fn start_background_work(app: &App, workers: &mut JoinSet<()>, stopped: &watch::Receiver<bool>) {
    if let Some(destination) = app.config.audit_push.clone() {
        gateway::workers::spawn_loop(workers, "audit push", &app.gateway, stopped, move |state, stop| {
            audit_push::run(state, destination.clone(), stop)
        });
    }
    if app.config.surfaces.scoring {
        let scoring = app.scoring.clone();
        gateway::workers::spawn_loop(workers, "stamp checks", &app.gateway, stopped, move |_, stop| {
            scoring::run_stamp_checks(scoring.clone(), stop)
        });
        let scoring = app.scoring.clone();
        gateway::workers::spawn_loop(workers, "score jobs", &app.gateway, stopped, move |_, stop| {
            scoring::jobs::run(scoring.clone(), stop)
        });
    }
    if app.config.backups.is_some() {
        workers.spawn(scheduled_backups::run(app.config.clone(), app.gateway.clone(), stopped.clone()));
    }
}

/// The routes, behind the fast path unless requests are traced.
fn fast_path(app: &App, stopped: watch::Receiver<bool>, is_traced: bool) -> Arc<FastPath> {
    let calls = app.config.surfaces.proxy.then(|| PlainCalls::new(&app.gateway));
    let router = router_until(app, calls.as_ref(), stopped);
    if is_traced {
        // The layer that starts a trace belongs to the router.
        FastPath::routed(app, router.layer(axum::middleware::from_fn(traces::request)))
    } else {
        FastPath::new(app, router, calls)
    }
}

/// Tells everyone to stop once a signal arrives.
async fn stop_at_signal(signals: StopSignals, stop: watch::Sender<bool>) {
    signals.received().await;
    tracing::info!("stopping; waiting for open requests");
    service_manager::notify(Notice::Stopping);
    stop.send_replace(true);
}

/// Ends the background work by `end`, and then stores what is left. A database that is away does not prolong it.
async fn finish_background_work(app: &App, workers: &mut JoinSet<()>, end: Instant) -> Result<()> {
    let drained = timeout_at(end, async { while workers.join_next().await.is_some() {} });
    if drained.await.is_err() {
        tracing::warn!("some background tasks did not finish in time");
    }
    if timeout_at(end, app.scoring.flush()).await.is_err() {
        tracing::warn!(
            "cannot release the requests reserved for some API keys; their rate limits are slightly stricter \
             in this window"
        );
    }
    let written = timeout(LAST_WRITES, last_writes(app)).await;
    written.context("the database does not answer; the last records are not stored")?
}

async fn last_writes(app: &App) -> Result<()> {
    let kept = gateway::workers::bookkeeping_tick(&app.gateway).await;
    app.gateway.audit.stop().await?;
    kept?;
    // From here on, other nodes may take over this node's unfinished work.
    nodes::remove(&app.store, app.gateway.node).await?;
    Ok(())
}

/// The first line of a server's log.
fn log_start(app: &App, listen: SocketAddr) {
    let store = match app.store.engine() {
        Engine::Sqlite => "sqlite",
        Engine::Postgres => "postgresql",
    };
    let (version, node, base_url) =
        (env!("CARGO_PKG_VERSION"), app.gateway.node, &app.gateway.config.base_url);
    tracing::info!(version, %listen, base_url, store, %node, "started");
}

/// Every route of every surface.
pub fn router(app: &App) -> Router {
    let calls = app.config.surfaces.proxy.then(|| PlainCalls::new(&app.gateway));
    router_until(app, calls.as_ref(), watch::channel(false).1)
}

/// The same, but streams that would never finish end once `stopped` is true.
fn router_until(app: &App, calls: Option<&PlainCalls>, stopped: watch::Receiver<bool>) -> Router {
    let mut router = openapi::routes(&app.gateway.config.base_url);
    if app.config.surfaces.scoring {
        router = router.merge(scoring::router(app.scoring.clone()));
    }
    if app.config.surfaces.verification {
        router = router.merge(verify::router(app.verify.clone()));
    }
    if let Some(calls) = calls {
        let has_consent_page = app.config.surfaces.dashboard;
        router = router.merge(gateway::router(app.gateway.clone()));
        router = router.merge(mcp_router(app, calls, has_consent_page, stopped.clone()));
        if has_consent_page {
            router = router.merge(gateway::connections::router(app.gateway.clone()));
        }
    }
    if app.config.surfaces.dashboard {
        let scoring = app.config.surfaces.scoring.then(|| app.scoring.clone());
        let state = dashboard::State::new(app.gateway.clone(), scoring, stopped.clone());
        let state = if app.config.surfaces.verification {
            state.with_verification(app.verify.clone())
        } else {
            state
        };
        router = router.merge(dashboard::router(state));
    }
    router
        .merge(health::routes(app.gateway.clone(), stopped))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(axum::middleware::from_fn_with_state(source(app), request_id::assign))
}

/// The MCP server, which pages of the origins that the operator named may call.
fn mcp_router(
    app: &App,
    calls: &PlainCalls,
    has_consent_page: bool,
    stopped: watch::Receiver<bool>,
) -> Router {
    let router = calls.router(has_consent_page, stopped);
    let origins = app.gateway.config.mcp_origins.iter();
    let origins: Vec<_> = origins.filter_map(|origin| HeaderValue::try_from(origin).ok()).collect();
    if origins.is_empty() { router } else { router.layer(cors::open_to_origins(&origins)) }
}

/// Paths of the APIs that pages of any origin may call, and of the metadata that their clients look for.
const OPEN: [&str; 9] = [
    "/.well-known/",
    "/v2/",
    "/registry/",
    "/passport/",
    "/sybil-resistance/",
    "/residence/",
    "/snapshot-strategies/",
    "/attestation/",
    "/api/scan/",
];

/// Pages of other origins may read a 404 below an open API.
async fn not_found(request: Request) -> Response {
    let nothing = || Problem::from_kind(kinds::NOT_FOUND, "unknown path; see /openapi.json");
    if !OPEN.iter().any(|open| request.uri().path().starts_with(open)) {
        return nothing().into_response();
    }
    let answer = service_fn(async |_: Request| Ok::<_, Infallible>(nothing().into_response()));
    let answered = cors::open_to_all_methods().layer(answer).oneshot(request).await;
    answered.unwrap_or_else(|never| match never {})
}

/// The `Allow` header comes from the route.
async fn method_not_allowed() -> Response {
    Problem::from_kind(
        kinds::METHOD_NOT_ALLOWED,
        "method not allowed; the Allow header lists the methods of this path",
    )
    .into_response()
}

/// Serves until the process ends.
pub async fn serve_plain(listener: TcpListener, router: Router) {
    serve::serve(listener, router, std::future::pending()).await;
}

async fn wait_until_stopped(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
