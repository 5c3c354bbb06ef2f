//! Logs, metrics, and the setup of traces.

use anyhow::{Context, Result};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric::{self, LabelValues, Metric, MetricKind, MetricLabel};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Config;
use crate::log_sampling::{LogSampling, SampledFormat};
use crate::traces::{self, Traces};

/// Sends logs to standard error. Standard output is for data, never for logs.
pub fn init_logs(config: &Config) -> Result<()> {
    init(config, None).map(drop)
}

/// Initializes logs, and traces if a collector is configured. Keep the returned value until the process ends.
pub fn init_serving(config: &Config) -> Result<Option<Traces>> {
    let traces = match &config.otlp_endpoint {
        // The operator's own address, usually a private one.
        Some(endpoint) => Some(Traces::start(endpoint, crate::app::client(config)?.private())?),
        None => None,
    };
    let sampling = init(config, traces.as_ref())?;
    tokio::spawn(sampling.report());
    Ok(traces)
}

fn init(config: &Config, traces: Option<&Traces>) -> Result<LogSampling> {
    // PostgreSQL's notices say only that a table exists already, and rmcp tells the start and end of each message.
    // PX_LOG may ask for them by these targets.
    let requests = if config.log_requests { "info" } else { "off" };
    let filter = format!("tokio_postgres=warn,rmcp=warn,pyxis::access={requests},{}", config.log);
    // The settings were checked when they were read.
    let filter = EnvFilter::try_new(filter).context("PX_LOG")?;
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let sampling = LogSampling::default();
    let logs = if config.log_json {
        let logs = logs.json().flatten_event(true);
        logs.map_event_format(|format| SampledFormat { format, sampling: sampling.clone() }).boxed()
    } else {
        let logs = logs.with_ansi(false);
        logs.map_event_format(|format| SampledFormat { format, sampling: sampling.clone() }).boxed()
    };
    let traces = traces.map(|traces| {
        let layer = tracing_opentelemetry::layer().with_tracer(traces.tracer());
        let layer = layer.with_location(false).with_threads(false).with_tracked_inactivity(false);
        layer.with_filter(Targets::new().with_target(traces::TARGET, LevelFilter::TRACE))
    });
    let done = tracing_subscriber::registry().with(logs.with_filter(filter)).with(traces).try_init();
    // A second initialization happens only in tests, where the first one stays in effect.
    drop(done);
    Ok(sampling)
}

/// Starts counting. Until then, the counters cost nothing.
pub fn init_metrics(now: UnixMillis) -> Result<PrometheusHandle> {
    let mut builder = PrometheusBuilder::new();
    for Metric { name, kind, .. } in metric::all() {
        if let MetricKind::Histogram(bounds) = kind {
            let matcher = Matcher::Full((*name).to_owned());
            builder = builder.set_buckets_for_metric(matcher, bounds).context("histogram buckets")?;
        }
    }
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).ok().context("metrics were started twice")?;
    metric::all().for_each(describe);
    gauge!(metric::BUILD_INFO.name, "version" => env!("CARGO_PKG_VERSION")).set(1);
    gauge!(metric::START_TIME.name).set(seconds(now));
    Ok(handle)
}

/// Describes a metric. Counters whose labels are known begin at 0, so that the first event is an increase.
fn describe(metric: &'static Metric) {
    let &Metric { name, kind, meaning, labels, .. } = metric;
    // Its links lead to pages that a scraper does not have.
    let meaning = without_links(meaning);
    match kind {
        MetricKind::Counter => {
            describe_counter!(name, meaning);
            match labels {
                [] => counter!(name).absolute(0),
                [MetricLabel { name: label, values: LabelValues::Words(words) }] => {
                    words.iter().for_each(|word| counter!(name, *label => *word).absolute(0));
                }
                [
                    MetricLabel { name: first, values: LabelValues::Words(words) },
                    MetricLabel { name: second, values: LabelValues::Words(others) },
                ] => {
                    let pairs = words.iter().flat_map(|word| others.iter().map(move |other| (*word, *other)));
                    pairs.for_each(|(word, other)| {
                        counter!(name, *first => word, *second => other).absolute(0);
                    });
                }
                _ => {}
            }
        }
        MetricKind::Gauge => describe_gauge!(name, meaning),
        MetricKind::Histogram(_) => describe_histogram!(name, meaning),
    }
}

/// The text with the words of each Markdown link alone.
fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        match link.split_once("](").and_then(|(words, tail)| Some((words, tail.split_once(')')?.1))) {
            Some((words, after)) if !words.contains(']') => {
                plain.push_str(words);
                rest = after;
            }
            _ => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// A time as a gauge's value.
#[expect(clippy::cast_precision_loss, reason = "a time of this era has 13 digits")]
pub(crate) fn seconds(time: UnixMillis) -> f64 {
    time.0 as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_metric_is_described_with_a_link() {
        assert_eq!(without_links("A [b c](d.md#e) f [g] h."), "A b c f [g] h.");
        assert!(metric::all().all(|metric| !without_links(metric.meaning).contains("](")));
    }
}
