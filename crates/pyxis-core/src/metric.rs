//! Metrics of the server (`docs/reference/metrics.md`). A new metric is one entry here; the page and the descriptions
//! on the wire are made from it.

use crate::chat::ChatPlatform;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// Only rises while the process runs.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Distribution over these upper bounds.
    Histogram(&'static [f64]),
}

impl MetricKind {
    /// The word of the exposition format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// Unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// A number of things.
    Count,
    /// A duration.
    Seconds,
    /// A time since 1970-01-01 UTC; 0 if there is none.
    Timestamp,
    /// A size.
    Bytes,
    /// 0 or 1.
    Flag,
}

impl MetricUnit {
    /// The word of the documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Seconds => "seconds",
            Self::Timestamp => "time",
            Self::Bytes => "bytes",
            Self::Flag => "0 or 1",
        }
    }
}

/// Values of a label. Every set is bounded by the program, never by callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelValues {
    /// Exactly these words.
    Words(&'static [&'static str]),
    /// A bounded set, described in Markdown.
    Described(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricLabel {
    /// Name on the wire.
    pub name: &'static str,
    /// Values that it can have.
    pub values: LabelValues,
}

/// A metric of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Name on the wire.
    pub name: &'static str,
    /// Name of the constant, for a test that looks for its uses.
    pub constant: &'static str,
    pub kind: MetricKind,
    pub unit: MetricUnit,
    pub labels: &'static [MetricLabel],
    /// Meaning in Markdown, a sentence or more.
    pub meaning: &'static str,
}

/// A section of the page.
#[derive(Clone, Copy, Debug)]
pub struct MetricGroup {
    pub title: &'static str,
    pub metrics: &'static [Metric],
}

/// Bounds of requests, in seconds.
const REQUEST: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Bounds of calls to other servers, in seconds.
const REMOTE: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Bounds of work on the disk, in seconds.
const DISK: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

const CHANNELS: LabelValues = LabelValues::Words(&CHANNEL_NAMES);

/// Channels of deliveries: webhooks, each chat platform, browser notifications.
const CHANNEL_NAMES: [&str; ChatPlatform::ALL.len() + 2] = {
    let mut names = ["webhook"; ChatPlatform::ALL.len() + 2];
    let mut index = 0;
    while index < ChatPlatform::ALL.len() {
        names[index + 1] = ChatPlatform::ALL[index].as_str();
        index += 1;
    }
    names[index + 1] = "push";
    names
};

macro_rules! metrics {
    ($($title:literal {
        $($constant:ident = $name:literal, $kind:expr, $unit:ident,
            [$($label:literal: $values:expr),*], $meaning:literal;)+
    })+) => {
        $($(
            #[doc = $meaning]
            pub const $constant: Metric = Metric {
                name: $name,
                constant: stringify!($constant),
                kind: $kind,
                unit: MetricUnit::$unit,
                labels: &[$(MetricLabel { name: $label, values: $values }),*],
                meaning: $meaning,
            };
        )+)+

        /// Every metric, in the order of the page.
        pub const GROUPS: &[MetricGroup] =
            &[$(MetricGroup { title: $title, metrics: &[$($constant),+] }),+];
    };
}

use LabelValues::{Described, Words};
use MetricKind::{Counter, Gauge, Histogram};

metrics! {
    "Program" {
        BUILD_INFO = "pyxis_build_info", Gauge, Flag, ["version": Described("version of the program")],
            "Always 1.";
        START_TIME = "pyxis_start_timestamp_seconds", Gauge, Timestamp, [],
            "Start of this process.";
        READY = "pyxis_ready", Gauge, Flag, [],
            "1 if `/readyz` answers 200: database, audit trail and resolver. Checked when the metrics are read.";
        BACKGROUND_PANICS = "pyxis_background_panics_total", Counter, Count,
            ["work": Described("name of the task")],
            "Panics in a background task, which then starts again.";
    }
    "Requests" {
        HTTP_REQUESTS = "pyxis_http_requests_total", Counter, Count,
            ["route": Described("pattern of the route, never a path; `unmatched` without one"),
             "status": Described("status code; rare ones by class, such as `4xx`")],
            "Requests that were answered.";
        HTTP_REQUEST_SECONDS = "pyxis_http_request_seconds", Histogram(REQUEST), Seconds,
            ["route": Described("as above")],
            "Time to the head of the response. A held request counts with the time that it was held.";
        HTTP_HEADS_REFUSED = "pyxis_http_heads_refused_total", Counter, Count, [],
            "Requests refused because of their head, before a route was found.";
    }
    "Proxy" {
        FORWARD_REQUESTS = "pyxis_forward_requests_total", Counter, Count,
            ["decision": Words(&["pass", "pause", "refuse"])],
            "Requests to `/forward` and `/p/…`.";
        RATE_LIMITED = "pyxis_rate_limited_total", Counter, Count, [],
            "Requests refused by an agent's hourly limit.";
        WEBSOCKETS_OPEN = "pyxis_websockets_open", Gauge, Count, [],
            "[WebSockets](forwarding.md#websocket) of this server that are open or opening, as `PX_WEBSOCKETS_MAX` counts them.";
        WEBSOCKETS = "pyxis_websockets_total", Counter, Count, [],
            "WebSockets that were opened.";
        WEBSOCKETS_REFUSED = "pyxis_websockets_refused_total", Counter, Count,
            ["limit": Words(&["agent", "server"])],
            "WebSockets refused because the agent or the server had its maximum of open ones.";
        GRANT_USES = "pyxis_grant_uses_total", Counter, Count, [],
            "Requests that a grant allowed.";
        UPSTREAM_SECONDS = "pyxis_upstream_seconds", Histogram(REMOTE), Seconds, [],
            "Time from sending a request to the head of its response.";
        UPSTREAM_FAILURES = "pyxis_upstream_failures_total", Counter, Count, [],
            "Requests without a complete response.";
        REDACTIONS = "pyxis_redactions_total", Counter, Count, [],
            "Secrets removed from responses, by occurrence.";
        TOKEN_FAILURES = "pyxis_token_fetch_failures_total", Counter, Count, [],
            "Failed attempts to fetch or refresh an access token.";
    }
    "Approvals" {
        APPROVALS_PENDING = "pyxis_approvals_pending", Gauge, Count, [],
            "Requests waiting for a decision, in all workspaces.";
        OLDEST_PENDING = "pyxis_approvals_oldest_pending_timestamp_seconds", Gauge, Timestamp, [],
            "Arrival of the oldest request waiting for a decision.";
        APPROVAL_DECISIONS = "pyxis_approval_decisions_total", Counter, Count,
            ["decision": Words(&["approved", "denied"])],
            "Requests that people decided.";
        APPROVALS_EXPIRED = "pyxis_approvals_expired_total", Counter, Count, [],
            "Requests that no one decided in time.";
        ESCALATIONS = "pyxis_escalations_total", Counter, Count, ["channel": CHANNELS],
            "Escalation steps that asked on a channel because no one had decided.";
        TASKS = "pyxis_tasks_total", Counter, Count,
            ["outcome": Words(&["proposed", "approved", "denied", "withdrawn", "expired", "stopped"])],
            "Tasks that agents proposed or withdrew, that people approved, denied or stopped, and that expired undecided.";
        OUTCOME_UNKNOWN = "pyxis_outcome_unknown_total", Counter, Count, [],
            "Requests that were sent, or may have been, and whose outcome is unknown. Someone must look at the upstream.";
    }
    "Audit trail" {
        AUDIT_APPEND_SECONDS = "pyxis_audit_append_seconds", Histogram(DISK), Seconds, [],
            "Time until an awaited record is on disk.";
        AUDIT_APPEND_FAILURES = "pyxis_audit_append_failures_total", Counter, Count, [],
            "Records that could not be stored. A request whose record cannot be stored is not sent.";
        AUDIT_QUEUE = "pyxis_audit_queue_records", Gauge, Count, [],
            "Records waiting for a commit.";
        AUDIT_RECORDS = "pyxis_audit_records", Gauge, Count, [],
            "Number of the newest record.";
        AUDIT_HEAD_TIME = "pyxis_audit_head_timestamp_seconds", Gauge, Timestamp, [],
            "Newest signature of the trail's head by any node.";
        AUDIT_DAMAGED = "pyxis_audit_head_mismatches_total", Counter, Count, [],
            "Refusals to sign the trail's head, because records named by an earlier head are missing or differ.";
    }
    "Audit push" {
        AUDIT_PUSHED = "pyxis_audit_pushed_total", Counter, Count, [],
            "Records that this node pushed to the [destination](logging.md#audit-push).";
        AUDIT_PUSH_FAILURES = "pyxis_audit_push_failures_total", Counter, Count, [],
            "Failed attempts to push records. The same records are pushed again.";
        AUDIT_PUSH_LAG_RECORDS = "pyxis_audit_push_lag_records", Gauge, Count, [],
            "Records that are not pushed yet.";
        AUDIT_PUSH_LAG_SECONDS = "pyxis_audit_push_lag_seconds", Gauge, Seconds, [],
            "Age of the oldest record that is not pushed yet.";
    }
    "Store" {
        STORE_COMMIT_SECONDS = "pyxis_store_commit_seconds", Histogram(DISK), Seconds, [],
            "Time that a transaction's commit takes, until it is durable.";
        STORE_SYNC_SECONDS = "pyxis_store_sync_seconds", Histogram(DISK), Seconds, [],
            "SQLite: time to sync the write-ahead log.";
        STORE_CHECKPOINT_SECONDS = "pyxis_store_checkpoint_seconds", Histogram(DISK), Seconds, [],
            "SQLite: time that a checkpoint takes in the background.";
        STORE_WAL_BYTES = "pyxis_store_wal_bytes", Gauge, Bytes, [],
            "SQLite: size of the write-ahead log's file.";
        STORE_CONNECTIONS = "pyxis_store_connections", Gauge, Count,
            ["state": Words(&["idle", "in_use"])],
            "PostgreSQL: connections of this node.";
        STORE_WAITERS = "pyxis_store_connection_waiters", Gauge, Count, [],
            "PostgreSQL: operations waiting for a connection.";
        BACKUP_TIME = "pyxis_backup_last_success_timestamp_seconds", Gauge, Timestamp, [],
            "Newest complete backup. On a server that makes [scheduled backups](behavior/operations.md#scheduled-backups), the newest one of these that is uploaded; otherwise that of `pyxis backup`. Absent before the first one.";
        STORE_ACQUIRE_SECONDS = "pyxis_store_acquire_seconds", Histogram(DISK), Seconds, [],
            "PostgreSQL: time that an operation waits for a connection, opening one included.";
        STORE_ACQUIRE_FAILURES = "pyxis_store_acquire_failures_total", Counter, Count, [],
            "PostgreSQL: operations that got no connection, because none was free within `PX_DATABASE_TIMEOUT_SECS` or none could be opened. Their requests get 503.";
        BACKUP_INTERVAL = "pyxis_backup_interval_seconds", Gauge, Seconds, [],
            "`PX_BACKUP_INTERVAL_SECS` of a server that makes scheduled backups. Absent otherwise.";
    }
    "Scores" {
        SCORES = "pyxis_scores_total", Counter, Count, ["source": Words(&["stored", "computed"])],
            "Scores returned, from the store or computed for the response.";
        SCORE_LIMIT_REFUSALS = "pyxis_score_limit_refusals_total", Counter, Count, [],
            "Requests refused by an API key's limit.";
        SCORES_RESCORED = "pyxis_scores_rescored_total", Counter, Count, [],
            "Scores recomputed in the background of this server.";
        RESCORES_RUNNING = "pyxis_rescores_running", Gauge, Count, [],
            "Scorers whose stale scores this server recomputes in the background. `pyxis scorer rescore` runs in a process of its own.";
        RESCORE_REMAINING = "pyxis_rescore_remaining_scores", Gauge, Count, [],
            "Stale scores of these scorers that are not recomputed yet, all together.";
        SCORE_JOB_ROWS = "pyxis_score_job_rows_total", Counter, Count, ["result": Words(&["scored", "failed"])],
            "Rows of [score jobs](behavior/score-jobs.md) that this server finished.";
        SCORE_JOBS_ENDED = "pyxis_score_jobs_total", Counter, Count, ["state": Words(&["done", "failed"])],
            "Score jobs that this server finished or gave up.";
        STAMPS_STORED = "pyxis_stamps_stored_total", Counter, Count, [],
            "Stamps that applications submitted and this server stored. Imports run in a process of their own.";
        STAMP_CHECKS = "pyxis_stamp_checks_total", Counter, Count, ["outcome": Words(&["held", "withdrawn", "failed"])],
            "Stamps of own rules that this server checked again. `failed`: the rule could not be asked, and the Stamp stays.";
        IMPORT_TIME = "pyxis_import_progress_timestamp_seconds", Gauge, Timestamp, [],
            "Newest progress of the `pyxis stamps import` that was started last; it reports every 5 seconds. Stays if that import was killed or failed; 0 once one is complete.";
        IMPORT_LINES = "pyxis_import_lines", Gauge, Count, ["result": Words(&["stored", "unchanged", "rejected"])],
            "Lines that this import has read. They stay until the next import.";
        IMPORT_REMAINING = "pyxis_import_remaining_bytes", Gauge, Bytes, [],
            "Bytes of the file that this import has not read yet; 0 for standard input.";
    }
    "Verification" {
        CHAIN_QUESTIONS = "pyxis_chain_questions_total", Counter, Count, ["result": Words(&["answered", "failed"])],
            "Questions to the nodes of a network, after failover.";
        CHAIN_SECONDS = "pyxis_chain_question_seconds", Histogram(REMOTE), Seconds, [],
            "Time until such a question was answered or given up.";
        CHAIN_FAILOVERS = "pyxis_chain_failovers_total", Counter, Count, [],
            "Nodes that failed, so that the next one was asked.";
        INDEX_BREAKER_OPEN = "pyxis_index_breaker_open", Gauge, Flag, [],
            "1 while the external attestation index is not queried, because it failed several times in a row.";
    }
    "Deliveries" {
        DELIVERIES = "pyxis_deliveries_total", Counter, Count,
            ["channel": CHANNELS, "result": Words(&["delivered", "failed"])],
            "Attempts to deliver a notification or, on a chat platform, to show a decision in it. An attempt that a platform's rate limit puts off counts when it is made again.";
        WEBHOOK_ATTEMPTS = "pyxis_webhook_attempts_total", Counter, Count,
            ["result": Words(&["acknowledged", "failed"])],
            "Attempts to deliver a webhook.";
        PUSH_REFUSED = "pyxis_push_refused_total", Counter, Count,
            ["status": Described("status code; rare ones by class, such as `4xx`")],
            "Browser notifications that a push service refused.";
        CHATS_UNREACHABLE = "pyxis_chats_unreachable", Gauge, Count,
            ["platform": Described("name of a [chat platform](notifications.md#platforms)")],
            "Configured chats that the bot cannot work in, by the last [examination](notifications.md#when-nothing-arrives) or the newest message. Each server reports its own view.";
        DELIVERIES_WAITING = "pyxis_deliveries_waiting", Gauge, Count, ["channel": CHANNELS],
            "Notifications that are not delivered yet.";
        OLDEST_DELIVERY = "pyxis_deliveries_oldest_timestamp_seconds", Gauge, Timestamp, ["channel": CHANNELS],
            "Creation of the oldest notification that is not delivered yet; for `push`, of its approval request.";
    }
    "Sign-ins, secrets and keys" {
        SIGN_INS_FAILED = "pyxis_sign_ins_failed_total", Counter, Count, [],
            "Sign-ins with a wrong password, or refused because of too many of them.";
        ACCESS_TOKENS_EXPIRING = "pyxis_access_tokens_expiring", Gauge, Count, [],
            "Personal access tokens that expire within 7 days.";
        ACCOUNTS_DISCONNECTED = "pyxis_accounts_disconnected", Gauge, Count, [],
            "Stored credentials whose account someone must connect again.";
        KEY_TIME = "pyxis_key_created_timestamp_seconds", Gauge, Timestamp,
            ["key": Words(&["data", "attestation", "score", "stamp", "receipt"])],
            "Creation of the newest data key, and of the oldest signing key in use. Scores have one for each form, own Stamps one for each workspace.";
        CERTIFICATE_EXPIRY = "pyxis_certificate_expiry_timestamp_seconds", Gauge, Timestamp,
            ["certificate": Words(&["client", "egress_ca"])],
            "Earliest expiry of the client certificates in stored credentials, and of the certificates in `PX_EGRESS_CA_FILE`. Read once a minute.";
    }
}

/// Every metric.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    GROUPS.iter().flat_map(|group| group.metrics)
}

/// Status codes that have a label of their own, in ascending order.
const STATUSES: &[(u16, &str)] = &[
    (101, "101"),
    (200, "200"),
    (201, "201"),
    (202, "202"),
    (204, "204"),
    (206, "206"),
    (301, "301"),
    (302, "302"),
    (303, "303"),
    (304, "304"),
    (307, "307"),
    (308, "308"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (406, "406"),
    (408, "408"),
    (409, "409"),
    (410, "410"),
    (412, "412"),
    (413, "413"),
    (414, "414"),
    (415, "415"),
    (422, "422"),
    (425, "425"),
    (429, "429"),
    (431, "431"),
    (500, "500"),
    (501, "501"),
    (502, "502"),
    (503, "503"),
    (504, "504"),
];
/// Labels of all other status codes, by their first digit.
const CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Number of status labels.
pub const STATUS_LABELS: usize = STATUSES.len() + CLASSES.len();

/// Label of a status code, and its position below [`STATUS_LABELS`].
pub fn status_label(status: u16) -> (usize, &'static str) {
    if let Ok(position) = STATUSES.binary_search_by_key(&status, |(code, _)| *code) {
        return (position, STATUSES[position].1);
    }
    let class = usize::from(status / 100);
    let class = if class < CLASSES.len() { class } else { 0 };
    (STATUSES.len() + class, CLASSES[class])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_say_their_kind_and_unit() {
        let names: BTreeSet<&str> = all().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all().count());
        for metric in all() {
            let Metric { name, kind, unit, .. } = metric;
            assert!(name.starts_with("pyxis_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == MetricKind::Counter, "{name}");
            assert_eq!(name.ends_with("_timestamp_seconds"), *unit == MetricUnit::Timestamp, "{name}");
            let is_seconds = name.ends_with("_seconds") && !name.ends_with("_timestamp_seconds");
            assert_eq!(is_seconds, *unit == MetricUnit::Seconds, "{name}");
            assert_eq!(name.ends_with("_bytes"), *unit == MetricUnit::Bytes, "{name}");
            if let MetricKind::Histogram(bounds) = kind {
                assert!(bounds.is_sorted() && *unit == MetricUnit::Seconds, "{name}");
            }
        }
    }

    #[test]
    fn a_status_has_its_own_label_or_that_of_its_class() {
        let label = |status| status_label(status).1;
        assert_eq!([label(200), label(429), label(418), label(599)], ["200", "429", "4xx", "5xx"]);
        assert_eq!([label(0), label(999)], ["other", "other"]);
        let labels: BTreeSet<_> = (0..1000).map(status_label).collect();
        assert_eq!(labels.len(), STATUS_LABELS);
        assert!(labels.iter().enumerate().all(|(at, (position, _))| at == *position));
    }
}
