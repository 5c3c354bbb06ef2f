//! Samples of a page of metrics that make an alert fire, and those with which it clears.

use pyxis_core::clock::UnixMillis;
use pyxis_core::metric::{self, LabelValues, Metric, MetricKind};

use crate::support::metrics::value;
use Number::{AsServed, FromNow, Grows, Is};

/// Number that a page shows.
#[derive(Clone, Copy)]
pub(super) enum Number {
    /// That of the real page; no sample if it has none.
    AsServed,
    Is(f64),
    /// A time, in seconds from the scrape.
    FromNow(f64),
    /// So much more with each scrape during the trouble.
    Grows(f64),
}

/// A series and its numbers.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    series: &'static str,
    /// Number during the trouble.
    trouble: Number,
    /// Number before and after it.
    calm: Number,
}

/// A series that the trouble changes.
const fn gauge(series: &'static str, trouble: Number, calm: Number) -> Sample {
    Sample { series, trouble, calm }
}

/// A counter that grows during the trouble, and then stays as it is.
const fn counter(series: &'static str) -> Sample {
    Sample { series, trouble: Number::Grows(10.0), calm: Number::Grows(10.0) }
}

const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;

/// Every alert, with the samples that make it fire. One without samples fires because its page cannot be read.
pub(super) const CAUSES: &[(&str, &[Sample])] = &[
    ("PyxisDown", &[]),
    ("PyxisNotReady", &[gauge("pyxis_ready", Is(0.0), AsServed)]),
    ("PyxisUnavailableResponses", &[counter(r#"pyxis_http_requests_total{route="/forward",status="503"}"#)]),
    ("PyxisServerErrors", &[counter(r#"pyxis_http_requests_total{route="/forward",status="500"}"#)]),
    ("PyxisPanics", &[counter(r#"pyxis_background_panics_total{work="expiry"}"#)]),
    ("PyxisRestarts", &[gauge("pyxis_start_timestamp_seconds", FromNow(0.0), AsServed)]),
    ("PyxisOutcomeUnknown", &[counter("pyxis_outcome_unknown_total")]),
    (
        "PyxisApprovalsWaitLong",
        &[gauge("pyxis_approvals_oldest_pending_timestamp_seconds", FromNow(-HOUR), AsServed)],
    ),
    ("PyxisApprovalsPileUp", &[gauge("pyxis_approvals_pending", Grows(60.0), AsServed)]),
    ("PyxisApprovalsExpire", &[counter("pyxis_approvals_expired_total")]),
    ("PyxisUpstreamFailures", &[counter("pyxis_upstream_failures_total")]),
    ("PyxisTokenFetchFailures", &[counter("pyxis_token_fetch_failures_total")]),
    ("PyxisAccountsDisconnected", &[gauge("pyxis_accounts_disconnected", Is(2.0), AsServed)]),
    ("PyxisAuditFailures", &[counter("pyxis_audit_append_failures_total")]),
    ("PyxisAuditDamaged", &[counter("pyxis_audit_head_mismatches_total")]),
    ("PyxisAuditHeadOld", &[gauge("pyxis_audit_head_timestamp_seconds", FromNow(-HOUR), FromNow(-60.0))]),
    (
        "PyxisAuditSlow",
        &[
            counter(r#"pyxis_audit_append_seconds_bucket{le="+Inf"}"#),
            counter("pyxis_audit_append_seconds_count"),
        ],
    ),
    ("PyxisAuditPushLate", &[gauge("pyxis_audit_push_lag_seconds", Is(HOUR), Is(0.0))]),
    (
        "PyxisSyncSlow",
        &[
            counter(r#"pyxis_store_sync_seconds_bucket{le="+Inf"}"#),
            counter("pyxis_store_sync_seconds_count"),
        ],
    ),
    ("PyxisWalLarge", &[gauge("pyxis_store_wal_bytes", Is(4e9), AsServed)]),
    ("PyxisStoreConnectionsBusy", &[gauge("pyxis_store_connection_waiters", Is(5.0), Is(0.0))]),
    ("PyxisStoreConnectionsExhausted", &[counter("pyxis_store_acquire_failures_total")]),
    (
        "PyxisBackupLate",
        &[
            gauge("pyxis_backup_interval_seconds", Is(HOUR), Is(HOUR)),
            gauge("pyxis_backup_last_success_timestamp_seconds", FromNow(-3.0 * HOUR), FromNow(-60.0)),
        ],
    ),
    ("PyxisChainFailures", &[counter(r#"pyxis_chain_questions_total{result="failed"}"#)]),
    ("PyxisIndexUnavailable", &[gauge("pyxis_index_breaker_open", Is(1.0), Is(0.0))]),
    ("PyxisImportStopped", &[gauge("pyxis_import_progress_timestamp_seconds", FromNow(-HOUR), Is(0.0))]),
    (
        "PyxisDeliveriesLate",
        &[gauge(r#"pyxis_deliveries_oldest_timestamp_seconds{channel="webhook"}"#, FromNow(-HOUR), AsServed)],
    ),
    ("PyxisPushRefused", &[counter(r#"pyxis_push_refused_total{status="410"}"#)]),
    ("PyxisChatsUnreachable", &[gauge(r#"pyxis_chats_unreachable{platform="telegram"}"#, Is(2.0), Is(0.0))]),
    ("PyxisSignInsFailed", &[counter("pyxis_sign_ins_failed_total")]),
    ("PyxisAccessTokensExpire", &[gauge("pyxis_access_tokens_expiring", Is(3.0), AsServed)]),
    (
        "PyxisKeyOld",
        &[gauge(r#"pyxis_key_created_timestamp_seconds{key="data"}"#, FromNow(-401.0 * DAY), AsServed)],
    ),
    (
        "PyxisCertificateExpires",
        &[gauge(
            r#"pyxis_certificate_expiry_timestamp_seconds{certificate="client"}"#,
            FromNow(DAY),
            FromNow(90.0 * DAY),
        )],
    ),
];

/// State of a target at a scrape.
#[derive(Clone, Copy)]
pub(super) struct ScrapeState {
    pub(super) now: UnixMillis,
    pub(super) trouble: bool,
    /// Scrapes during the trouble so far, this one included.
    pub(super) scrapes: u32,
}

/// A real page in which samples have the numbers of a scrape.
pub(super) fn changed(page: &str, samples: &[Sample], scrape: ScrapeState) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for sample in samples {
        let served = value(page, sample.series);
        let Some(number) = sample.number(served, scrape) else { continue };
        let start = format!("{} ", sample.series);
        lines.retain(|line| !line.starts_with(&start));
        lines.push(format!("{start}{number}"));
    }
    lines.join("\n") + "\n"
}

impl Sample {
    fn number(&self, served: Option<f64>, scrape: ScrapeState) -> Option<f64> {
        let number = if scrape.trouble { self.trouble } else { self.calm };
        match number {
            AsServed => served,
            Is(number) => Some(number),
            FromNow(seconds) => Some(scrape.now.since(UnixMillis(0)).as_secs_f64() + seconds),
            Grows(_) if scrape.scrapes == 0 => served,
            Grows(step) => Some(served.unwrap_or(0.0) + step * f64::from(scrape.scrapes)),
        }
    }

    /// Panics unless the program has such a series.
    pub(super) fn assert_known(&self) {
        let (name, labels) = self.series.split_once('{').unwrap_or((self.series, ""));
        let labels: Vec<(&str, &str)> = labels
            .split_terminator([',', '}'])
            .map(|label| label.split_once('=').unwrap())
            .map(|(label, value)| (label, value.trim_matches('"')))
            .filter(|(label, _)| *label != "le")
            .collect();
        let metric = metric::all().find(|metric| is_series_of(name, metric));
        let metric = metric.unwrap_or_else(|| panic!("{} is no metric of the program", self.series));
        let names: Vec<&str> = metric.labels.iter().map(|label| label.name).collect();
        assert_eq!(labels.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names, "{}", self.series);
        for ((_, value), label) in labels.iter().zip(metric.labels) {
            let LabelValues::Words(words) = label.values else { continue };
            assert!(words.contains(value), "{}: `{value}` is none of {words:?}", self.series);
        }
    }
}

/// True for the metric's own name, and for the names of a histogram's series.
fn is_series_of(name: &str, metric: &Metric) -> bool {
    matches!(
        (name.strip_prefix(metric.name), metric.kind),
        (Some("_bucket" | "_count" | "_sum"), MetricKind::Histogram(_))
            | (Some(""), MetricKind::Counter | MetricKind::Gauge)
    )
}
