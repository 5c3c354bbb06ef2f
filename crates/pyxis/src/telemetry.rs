//! Logs and metrics.

use anyhow::{Context, Result};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// Sends logs to standard error. Data goes to standard output, logs never.
pub fn init_logs(config: &Config) -> Result<()> {
    let filter = EnvFilter::try_new(&config.log).context("PX_LOG")?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let done = if config.log_json {
        builder.json().flatten_event(true).try_init()
    } else {
        builder.with_ansi(false).try_init()
    };
    // A second initialisation happens only in tests, where the first one stands.
    drop(done);
    Ok(())
}

/// Starts counting. Without it the counters cost nothing.
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

/// Says what there is, also before the first of it has happened.
fn describe() {
    use metrics::{counter, describe_counter, describe_histogram, gauge};
    gauge!("pyxis_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
    describe_counter!("pyxis_forward_requests_total", "Requests to /forward by decision.");
    for decision in ["pass", "pause", "refuse"] {
        counter!("pyxis_forward_requests_total", "decision" => decision).absolute(0);
    }
    describe_counter!("pyxis_rate_limited_total", "Requests refused by an agent's hourly limit.");
    counter!("pyxis_rate_limited_total").absolute(0);
    describe_counter!("pyxis_upstream_failures_total", "Requests that got no whole answer.");
    counter!("pyxis_upstream_failures_total").absolute(0);
    describe_counter!("pyxis_redactions_total", "Places where a secret was removed from an answer.");
    counter!("pyxis_redactions_total").absolute(0);
    describe_histogram!(
        "pyxis_upstream_seconds",
        metrics::Unit::Seconds,
        "Time to the head of an upstream answer."
    );
}
