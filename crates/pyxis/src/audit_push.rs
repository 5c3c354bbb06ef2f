//! Push of audit records to a receiver, in order and at least once, never in a request's path.
//!
//! The number of the newest pushed record is in the database. One node at a time pushes, by a lease. A batch counts as
//! pushed once the receiver acknowledged it; otherwise it is pushed again, after a pause.

mod otlp;
mod syslog;

use std::time::Duration;

use anyhow::{Result, ensure};
use pyxis_core::clock::UnixMillis;
use pyxis_core::{hex, metric};
use pyxis_gateway as gateway;
use pyxis_gateway::workers::Stop;
use pyxis_store::audit::{self, AuditEntry, AuditRow};
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
/// Records in one batch.
const BATCH: u32 = 500;
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
    let mut pause = TICK;
    let mut failing = false;
    loop {
        pause = match push(&state, &destination).await {
            Ok(progress) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("audit records are pushed again");
                }
                if progress == Progress::Pushed { Duration::ZERO } else { TICK }
            }
            Err(error) => {
                metrics::counter!(metric::AUDIT_PUSH_FAILURES.name).increment(1);
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(error = format!("{error:#}"), "cannot push audit records; will retry");
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

/// Pushes the next batch.
async fn push(state: &gateway::State, destination: &AuditDestination) -> Result<Progress> {
    let now = state.now();
    if !leases::acquire(&state.store, LEASE, state.node, now, now.plus(HELD)).await? {
        return Ok(Progress::Idle);
    }
    let page = audit::stream(&state.store, cursor(&state.store).await? + 1, None, BATCH).await?;
    let Some(last) = page.last() else { return Ok(Progress::Idle) };
    // A record can be read a moment before it is on disk. What a receiver has must never be lost here.
    state.audit.flush().await?;
    tokio::time::timeout(BATCH_TIME, send(state, destination, &page)).await??;
    meta::put(&state.store, CURSOR, &last.seq.to_string()).await?;
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

/// Number of the newest pushed record.
async fn cursor(store: &Store) -> Result<i64, StoreError> {
    let stored = meta::get(store, CURSOR).await?;
    Ok(stored.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Records that are not pushed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushLag {
    pub(crate) records: i64,
    pub(crate) oldest: Option<UnixMillis>,
}

/// Reads what is not pushed yet.
pub(crate) async fn lag(store: &Store) -> Result<PushLag, StoreError> {
    let cursor = cursor(store).await?;
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
