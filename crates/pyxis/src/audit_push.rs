//! Push of audit records to a receiver, in order and at least once, never in a request's path.
//!
//! The number of the newest pushed record is in the database, sealed so that no one who writes there can end the push
//! unnoticed. One node at a time pushes, by a lease. A batch counts as pushed once the receiver acknowledged it.
//! Otherwise half of it is pushed again, after a pause, because some receivers refuse what is long.

mod otlp;
mod syslog;

use std::time::Duration;

use anyhow::{Result, ensure};
use pyxis_core::clock::UnixMillis;
use pyxis_core::{hex, metric};
use pyxis_gateway as gateway;
use pyxis_gateway::workers::Stop;
use pyxis_store::audit::{self, AuditEntry, AuditKeys, AuditRow};
use pyxis_store::{Store, StoreError, leases, meta};
use serde_json::Value;

use crate::config::audit_destination::AuditDestination;

/// Key of the newest pushed record's number.
const CURSOR: &str = "audit_push_seq";
const LEASE: &str = "audit push";
/// Time for which a lease is held, longer than a batch may take.
const HELD: Duration = Duration::from_secs(15);
/// Longest time for one batch.
const BATCH_TIME: Duration = Duration::from_secs(10);
/// Records in one batch of OTLP. Many receivers refuse a body of more than a few megabytes.
const OTLP_BATCH: u32 = 500;
/// Records in one batch of syslog, each of which takes a connection and [`syslog::EARLY`].
const SYSLOG_BATCH: u32 = 5_000;
/// Interval for looking for new records.
const TICK: Duration = Duration::from_secs(1);
/// Longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A batch's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing to push, or another node pushes.
    Idle,
    Pushed,
}

/// Pushes until the process stops.
pub(crate) async fn run(state: gateway::State, destination: AuditDestination, mut stop: Stop) {
    let most = match destination {
        AuditDestination::Syslog { .. } => SYSLOG_BATCH,
        AuditDestination::Otlp { .. } => OTLP_BATCH,
    };
    let (mut pause, mut batch) = (TICK, most);
    // The last failure that was logged.
    let mut failure = String::new();
    loop {
        pause = match push(&state, &destination, &mut batch).await {
            Ok(progress) => {
                if !std::mem::take(&mut failure).is_empty() {
                    tracing::info!("audit records are pushed again");
                }
                batch = most.min(batch.saturating_mul(2));
                if progress == Progress::Pushed { Duration::ZERO } else { TICK }
            }
            Err(error) => {
                metrics::counter!(metric::AUDIT_PUSH_FAILURES.name).increment(1);
                let said = format!("{error:#}");
                if said != failure {
                    tracing::warn!(error = said, records = batch, "cannot push audit records; will retry");
                    failure = said;
                }
                (2 * pause).clamp(TICK, LONGEST_PAUSE)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    if let Err(error) = leases::release(&state.store, LEASE, state.node).await {
        tracing::debug!(%error, "another node pushes audit records once the lease ends");
    }
}

/// Pushes the next batch, of at most `batch` records. After a failure, `batch` is half of those.
async fn push(state: &gateway::State, destination: &AuditDestination, batch: &mut u32) -> Result<Progress> {
    let now = state.now();
    if !leases::acquire(&state.store, LEASE, state.node, now, now.plus(HELD)).await? {
        return Ok(Progress::Idle);
    }
    let page =
        audit::stream(&state.store, cursor(&state.store, &state.audit_keys).await? + 1, None, *batch).await?;
    let Some(last) = page.last() else { return Ok(Progress::Idle) };
    // A record can be read a moment before it is on disk. What a receiver has must never be lost here.
    state.audit.flush().await?;
    let sent = tokio::time::timeout(BATCH_TIME, send(state, destination, &page)).await;
    if let Err(error) = sent.map_err(Into::into).flatten() {
        *batch = u32::try_from(page.len() / 2).unwrap_or(1).max(1);
        return Err(error);
    }
    meta::put(&state.store, CURSOR, &sealed(&state.audit_keys, last.seq)).await?;
    metrics::counter!(metric::AUDIT_PUSHED.name).increment(page.len() as u64);
    Ok(Progress::Pushed)
}

async fn send(state: &gateway::State, destination: &AuditDestination, page: &[AuditRow]) -> Result<()> {
    ensure!(page.iter().all(|row| !row.mac.is_empty()), "a record has no MAC");
    match destination {
        AuditDestination::Syslog { host, port } => {
            syslog::send(&state.net_private, host, *port, &state.config.base_url, page).await
        }
        AuditDestination::Otlp { url, headers } => otlp::send(&state.net_private, url, headers, page).await,
    }
}

/// Number of the newest pushed record. One that was not written by Pyxis counts for nothing: everything is pushed again.
async fn cursor(store: &Store, keys: &AuditKeys) -> Result<i64, StoreError> {
    let Some(stored) = meta::get(store, CURSOR).await? else { return Ok(0) };
    let seq = stored.split_once(' ').and_then(|(seq, _)| seq.parse().ok());
    let known = seq.filter(|seq| sealed(keys, *seq) == stored);
    if known.is_none() {
        tracing::error!(
            "the record of what was pushed was changed outside Pyxis; pushing the audit trail again"
        );
    }
    Ok(known.unwrap_or(0))
}

/// The number of a pushed record as it is stored.
fn sealed(keys: &AuditKeys, seq: i64) -> String {
    format!("{seq} {}", keys.seal(&format!("{CURSOR} {seq}")))
}

/// Records that are not pushed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushLag {
    pub(crate) records: i64,
    pub(crate) oldest: Option<UnixMillis>,
}

/// Reads what is not pushed yet.
pub(crate) async fn lag(store: &Store, keys: &AuditKeys) -> Result<PushLag, StoreError> {
    let cursor = cursor(store, keys).await?;
    let records = (audit::head_seq(store).await? - cursor).max(0);
    let next = if records > 0 { audit::stream(store, cursor + 1, None, 1).await? } else { Vec::new() };
    Ok(PushLag { records, oldest: next.first().map(|row| row.record.at) })
}

/// A record as pushed: as in exports, with its MAC and the number of the record that it follows up.
fn to_json(row: &AuditRow) -> Value {
    let mut value = gateway::admin::audit::to_json(&AuditEntry { record: row.clone(), outcome: None });
    value["upstream_status"] = row.record.status.into();
    value["ref_seq"] = row.record.ref_seq.into();
    value["mac"] = hex::encode(&row.mac).into();
    value
}
