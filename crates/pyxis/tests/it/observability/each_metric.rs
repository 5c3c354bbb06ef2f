//! Every metric is seen to change for its cause: here, or in a test that knows the cause better.

mod database;
mod deliveries;
mod process;
mod requests;
mod scores;
mod secrets;

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::metric;

use crate::documents::{files, root};
use crate::support::metrics::{page, value};
use crate::support::{App, Setup};

/// Where a metric is seen with the value of its cause.
enum MetricCoverage {
    /// The test of that name, which names the metric in its file.
    Test(&'static str),
    /// No test can cause it from outside.
    None(&'static str),
}

use MetricCoverage::Test;

const MOVES: &str = "requests_and_what_becomes_of_them_move_their_metrics";
const SQLITE: &str = "the_log_of_sqlite_is_measured";
const POSTGRES: &str = "connections_and_the_audit_queue_are_measured_while_postgres_is_locked";
const DELIVERIES: &str = "attempts_by_channel_and_what_waits_are_measured";
const SCORES: &str = "scores_and_their_sources_are_measured";
const CHAINS: &str = "nodes_that_fail_and_answer_are_measured";
const IMPORT: &str = "an_import_of_another_process_is_seen_until_one_is_complete";
const RESCORE: &str = "the_progress_of_recomputing_scores_is_measured_on_postgres";
const WEBSOCKETS: &str = "an_agent_at_its_share_is_refused_and_leaves_the_rest_to_others";
const PAGE: &str = "the_page_shows_routes_the_state_of_the_installation_and_no_unlisted_metric";
const LAG: &str = "the_lag_rises_while_the_receiver_does_not_answer_and_falls_to_nothing_afterwards";

/// One line for each metric, in the order of the page.
const COVERAGE: &[(&str, MetricCoverage)] = &[
    ("pyxis_build_info", Test("a_new_server_says_what_it_is_and_since_when")),
    ("pyxis_start_timestamp_seconds", Test("a_new_server_says_what_it_is_and_since_when")),
    ("pyxis_ready", Test(PAGE)),
    ("pyxis_background_panics_total", MetricCoverage::None("a panic is a bug, and no request causes one")),
    ("pyxis_http_requests_total", Test(PAGE)),
    ("pyxis_http_request_seconds", Test(MOVES)),
    ("pyxis_http_heads_refused_total", Test(MOVES)),
    ("pyxis_forward_requests_total", Test(MOVES)),
    ("pyxis_rate_limited_total", Test(MOVES)),
    ("pyxis_websockets_open", Test(WEBSOCKETS)),
    ("pyxis_websockets_total", Test(WEBSOCKETS)),
    ("pyxis_websockets_refused_total", Test(WEBSOCKETS)),
    ("pyxis_grant_uses_total", Test(MOVES)),
    ("pyxis_upstream_seconds", Test(MOVES)),
    ("pyxis_upstream_failures_total", Test(MOVES)),
    ("pyxis_redactions_total", Test(MOVES)),
    ("pyxis_token_fetch_failures_total", Test(MOVES)),
    ("pyxis_approvals_pending", Test(PAGE)),
    ("pyxis_approvals_oldest_pending_timestamp_seconds", Test(PAGE)),
    ("pyxis_approval_decisions_total", Test(PAGE)),
    ("pyxis_approvals_expired_total", Test("requests_that_no_one_decides_are_counted")),
    ("pyxis_escalations_total", Test(DELIVERIES)),
    ("pyxis_tasks_total", Test(MOVES)),
    ("pyxis_outcome_unknown_total", Test(MOVES)),
    ("pyxis_audit_append_seconds", Test(PAGE)),
    ("pyxis_audit_append_failures_total", Test(POSTGRES)),
    ("pyxis_audit_queue_records", Test(POSTGRES)),
    ("pyxis_audit_records", Test(PAGE)),
    ("pyxis_audit_head_timestamp_seconds", Test(SQLITE)),
    ("pyxis_audit_head_mismatches_total", Test("a_cut_trail_is_counted")),
    ("pyxis_audit_pushed_total", Test(LAG)),
    ("pyxis_audit_push_failures_total", Test("a_push_that_fails_is_counted")),
    ("pyxis_audit_push_lag_records", Test(LAG)),
    ("pyxis_audit_push_lag_seconds", Test(LAG)),
    ("pyxis_store_commit_seconds", Test(SQLITE)),
    ("pyxis_store_sync_seconds", Test(SQLITE)),
    ("pyxis_store_checkpoint_seconds", Test(SQLITE)),
    ("pyxis_store_wal_bytes", Test(SQLITE)),
    ("pyxis_store_connections", Test(POSTGRES)),
    ("pyxis_store_connection_waiters", Test(POSTGRES)),
    (
        "pyxis_backup_last_success_timestamp_seconds",
        Test("a_backup_by_command_has_an_age_without_a_schedule"),
    ),
    ("pyxis_store_acquire_seconds", Test("waiting_for_connections_is_measured_on_postgres")),
    ("pyxis_store_acquire_failures_total", Test(POSTGRES)),
    ("pyxis_backup_interval_seconds", Test("a_schedule_of_backups_shows_its_interval")),
    ("pyxis_scores_total", Test(SCORES)),
    ("pyxis_score_limit_refusals_total", Test(SCORES)),
    ("pyxis_scores_rescored_total", Test(RESCORE)),
    ("pyxis_rescores_running", Test(RESCORE)),
    ("pyxis_rescore_remaining_scores", Test(RESCORE)),
    ("pyxis_score_job_rows_total", Test(SCORES)),
    ("pyxis_score_jobs_total", Test(SCORES)),
    ("pyxis_stamps_stored_total", Test(SCORES)),
    ("pyxis_stamp_checks_total", Test(SCORES)),
    ("pyxis_import_progress_timestamp_seconds", Test(IMPORT)),
    ("pyxis_import_lines", Test(IMPORT)),
    ("pyxis_import_remaining_bytes", Test(IMPORT)),
    ("pyxis_chain_questions_total", Test(CHAINS)),
    ("pyxis_chain_question_seconds", Test(CHAINS)),
    ("pyxis_chain_failovers_total", Test(CHAINS)),
    ("pyxis_index_breaker_open", Test("an_index_that_fails_opens_its_breaker")),
    ("pyxis_deliveries_total", Test(DELIVERIES)),
    ("pyxis_webhook_attempts_total", Test(DELIVERIES)),
    ("pyxis_push_refused_total", Test("browser_notifications_are_measured")),
    ("pyxis_chats_unreachable", Test("unreachable")),
    ("pyxis_deliveries_waiting", Test(DELIVERIES)),
    ("pyxis_deliveries_oldest_timestamp_seconds", Test(DELIVERIES)),
    ("pyxis_sign_ins_failed_total", Test(MOVES)),
    ("pyxis_access_tokens_expiring", Test("tokens_accounts_and_keys_are_measured")),
    ("pyxis_accounts_disconnected", Test("tokens_accounts_and_keys_are_measured")),
    ("pyxis_key_created_timestamp_seconds", Test("tokens_accounts_and_keys_are_measured")),
    (
        "pyxis_certificate_expiry_timestamp_seconds",
        Test("certificates_that_the_server_uses_show_their_earliest_expiry"),
    ),
];

#[test]
fn every_metric_has_a_test_that_sees_its_cause() {
    let listed: Vec<&str> = COVERAGE.iter().map(|(name, _)| *name).collect();
    let metrics: Vec<&str> = metric::all().map(|metric| metric.name).collect();
    assert_eq!(listed, metrics, "one line of COVERAGE for each metric, in the order of the page");
    let tests = files(&root().join("crates/pyxis/tests/it"), &["rs"]);
    let own = tests.iter().filter(|(path, _)| !path.ends_with("observability/each_metric.rs"));
    let sources: Vec<&String> = own.map(|(_, text)| text).collect();
    for (name, coverage) in COVERAGE {
        match coverage {
            Test(test) => {
                // Some name a series by its ending, behind a common beginning.
                let common = ["pyxis_audit_push_lag_", "pyxis_"];
                let ending = common.into_iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
                let is_seen =
                    sources.iter().any(|text| text.contains(&format!("fn {test}(")) && text.contains(ending));
                assert!(is_seen, "no file has the test {test} and names {name}");
            }
            MetricCoverage::None(reason) => assert!(!reason.is_empty(), "{name}"),
        }
    }
    let unseen = COVERAGE.iter().filter(|(_, coverage)| matches!(coverage, MetricCoverage::None(_))).count();
    assert_eq!(unseen, 1, "a metric that no test sees is an exception");
}

/// Change of a series by its cause.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// More by exactly this.
    By(f64),
    /// More than before.
    Rises,
    /// This value, and another one before.
    Becomes(f64),
    /// A time of the last minutes, and none before.
    Dated,
}

impl Effect {
    #[expect(clippy::float_cmp, reason = "counts")]
    fn is_there(self, before: Option<f64>, now: Option<f64>) -> bool {
        let (old, Some(new)) = (before.unwrap_or(0.0), now) else { return false };
        match self {
            Self::By(more) => new == old + more,
            Self::Rises => new > old,
            Self::Becomes(wanted) => new == wanted && before != Some(wanted),
            Self::Dated => old == 0.0 && is_recent(new),
        }
    }
}

/// True for a time of the last ten minutes.
fn is_recent(seconds: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
    let now = SystemClock.now().seconds() as f64;
    (now - 600.0..=now + 5.0).contains(&seconds)
}

/// Runs a cause, and waits until each series shows its effect.
async fn causes(app: &App, cause: impl AsyncFnOnce(), effects: &[(&str, Effect)]) {
    let before = page(app).await;
    cause().await;
    for (series, effect) in effects {
        let (old, mut last) = (value(&before, series), None);
        let shown = async {
            loop {
                last = value(&page(app).await, series);
                if effect.is_there(old, last) {
                    return;
                }
            }
        };
        let shown = tokio::time::timeout(crate::support::PATIENCE, shown).await;
        assert!(shown.is_ok(), "{series}: {effect:?} expected, {old:?} before, {last:?} now");
    }
}

/// Settings with a page of metrics.
fn measured(setup: Setup) -> Setup {
    setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")
}
