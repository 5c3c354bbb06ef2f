//! Logs, metrics, and the setup of traces.

use anyhow::{Context, Result};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Config;
use crate::traces::{self, Traces};

/// Sends logs to standard error. Standard output is for data, never for logs.
pub fn init_logs(config: &Config) -> Result<()> {
    init(config, None)
}

/// Initializes logs, and traces if a collector is configured. Keep the returned value until the process ends.
pub fn init_serving(config: &Config) -> Result<Option<Traces>> {
    let traces = match &config.otlp_endpoint {
        // The operator's own address, usually a private one.
        Some(endpoint) => Some(Traces::start(endpoint, crate::app::client(config)?.private())?),
        None => None,
    };
    init(config, traces.as_ref())?;
    Ok(traces)
}

fn init(config: &Config, traces: Option<&Traces>) -> Result<()> {
    // PostgreSQL's notices say only that a table exists already. PX_LOG may ask for them by this target.
    let filter = EnvFilter::try_new(format!("tokio_postgres=warn,{}", config.log)).context("PX_LOG")?;
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let logs =
        if config.log_json { logs.json().flatten_event(true).boxed() } else { logs.with_ansi(false).boxed() };
    let traces = traces.map(|traces| {
        let layer = tracing_opentelemetry::layer().with_tracer(traces.tracer());
        let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
        layer.with_filter(Targets::new().with_target(traces::TARGET, LevelFilter::TRACE))
    });
    let done = tracing_subscriber::registry().with(logs.with_filter(filter)).with(traces).try_init();
    // A second initialization happens only in tests, where the first one stays in effect.
    drop(done);
    Ok(())
}

/// Starts counting. Until then, the counters cost nothing.
pub fn init_metrics() -> Result<PrometheusHandle> {
    let recorder = PrometheusBuilder::new()
        .set_buckets(&[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
        .context("histogram buckets")?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).ok().context("metrics were started twice")?;
    describe();
    Ok(handle)
}

/// Describes the metrics, including those that have no value yet.
fn describe() {
    use metrics::{counter, describe_counter, describe_histogram, gauge};
    gauge!("pyxis_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
    describe_counter!("pyxis_forward_requests_total", "Requests to /forward by decision.");
    for decision in ["pass", "pause", "refuse"] {
        counter!("pyxis_forward_requests_total", "decision" => decision).absolute(0);
    }
    describe_counter!("pyxis_rate_limited_total", "Requests refused by an agent's hourly limit.");
    counter!("pyxis_rate_limited_total").absolute(0);
    describe_counter!("pyxis_upstream_failures_total", "Requests without a complete response.");
    counter!("pyxis_upstream_failures_total").absolute(0);
    describe_counter!("pyxis_redactions_total", "Secrets removed from responses, by occurrence.");
    counter!("pyxis_redactions_total").absolute(0);
    describe_counter!(
        "pyxis_background_panics_total",
        "Panics in background tasks, which restart after a pause."
    );
    describe_histogram!(
        "pyxis_upstream_seconds",
        metrics::Unit::Seconds,
        "Time to the head of an upstream response."
    );
}
