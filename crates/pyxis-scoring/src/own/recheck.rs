//! Checks issued Stamps again, and withdraws those whose rule no longer holds.
//!
//! A node claims a Stamp by moving its next check, in a conditional update. So nodes share the work, and what a
//! dead node claimed is due again soon. A rule that cannot be asked withdraws nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::counter;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::metric;
use pyxis_core::stamp::StampName;
use pyxis_store::issued_stamps::{self, IssuedStampRow};
use pyxis_store::revocations::RevocationRow;
use pyxis_store::stamps::StampRow;
use pyxis_store::{Store, listed_addresses, own_stamps, stamps};
use tokio::sync::watch;

use super::conditions::Holding;
use super::evaluate::{ConditionResult, ConditionSubject, evaluate};
use super::{OnChainRule, StampRule, amount, nullifier_of};
use crate::engine;
use crate::error::{Error, Result};
use crate::networks::EvmNetworks;
use crate::scoring_db::ScoringDb;
use crate::state::State;

/// Time between two checks of a Stamp. With the pause of the loop, what no longer holds is withdrawn within the hour.
pub(super) const INTERVAL: Duration = Duration::from_mins(30);
/// Time until a Stamp is checked again whose rule could not be asked.
const RETRY: Duration = Duration::from_mins(5);
/// Time for which a node claims a Stamp.
const CLAIM: Duration = Duration::from_mins(5);
/// Pause of the loop.
const PAUSE: Duration = Duration::from_secs(30);
/// Stamps that are claimed at once.
const BATCH: u32 = 500;
/// Batches of one round, so that a round ends.
const ROUND: usize = 10;

/// Results of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecheckCount {
    /// Stamps whose rule holds.
    pub held: u64,
    /// Stamps that were withdrawn.
    pub withdrawn: u64,
    /// Stamps whose rule could not be asked.
    pub failed: u64,
}

/// Stamps to check.
#[derive(Clone, Copy, Debug)]
pub enum CheckScope<'a> {
    /// Those of every workspace.
    All,
    /// Those of one name.
    Named(WorkspaceId, &'a StampName),
}

/// Checks what is due, round after round, until `stop` turns true.
pub async fn run(state: State, mut stop: watch::Receiver<bool>) {
    loop {
        if let Err(error) = recheck(&state, CheckScope::All).await {
            tracing::warn!(%error, "cannot check issued Stamps; will retry");
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// One round: checks what is due, a bounded number of batches.
pub async fn recheck(state: &State, scope: CheckScope<'_>) -> Result<RecheckCount> {
    let mut total = RecheckCount::default();
    for _ in 0..ROUND {
        let (done, more) = recheck_batch(state, scope).await?;
        total.held += done.held;
        total.withdrawn += done.withdrawn;
        total.failed += done.failed;
        if !more {
            break;
        }
    }
    Ok(total)
}

async fn recheck_batch(state: &State, scope: CheckScope<'_>) -> Result<(RecheckCount, bool)> {
    let now = state.now();
    let (claimed, more) = claim(&state.store, scope, now).await?;
    let mut done = RecheckCount::default();
    let mut groups: BTreeMap<(String, StampName), Vec<IssuedStampRow>> = BTreeMap::new();
    for row in claimed {
        groups.entry((row.workspace_id.to_string(), row.provider.clone())).or_default().push(row);
    }
    for rows in groups.into_values() {
        // The faults of one rule do not keep the others from being checked.
        if let Err(error) = check_group(state, &rows, now, &mut done).await {
            tracing::warn!(%error, "cannot check issued Stamps of one name; will retry");
        }
    }
    for (outcome, count) in [("held", done.held), ("withdrawn", done.withdrawn), ("failed", done.failed)] {
        counter!(metric::STAMP_CHECKS.name, "outcome" => outcome).increment(count);
    }
    Ok((done, more))
}

/// Checks claimed Stamps of one name in one workspace.
async fn check_group(
    state: &State,
    rows: &[IssuedStampRow],
    now: UnixMillis,
    done: &mut RecheckCount,
) -> Result<()> {
    let (expired, rows): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|row| row.expires_at <= now);
    for row in &expired {
        issued_stamps::remove(&state.store, row).await?;
    }
    for (row, outcome) in rows.iter().zip(outcomes(&state.store, &state.networks, &rows, now).await?) {
        let pause = match outcome {
            CheckOutcome::Withdraw(reason) => {
                withdraw(&state.db, state.now(), row, reason).await?;
                done.withdrawn += 1;
                continue;
            }
            CheckOutcome::Holds => {
                done.held += 1;
                INTERVAL
            }
            CheckOutcome::Unknown => {
                done.failed += 1;
                RETRY
            }
        };
        issued_stamps::move_check(&state.store, row, now.plus(pause)).await?;
    }
    Ok(())
}

/// The due Stamps that this call claimed, and true if more may be due.
async fn claim(store: &Store, scope: CheckScope<'_>, now: UnixMillis) -> Result<(Vec<IssuedStampRow>, bool)> {
    let of = match scope {
        CheckScope::All => None,
        CheckScope::Named(workspace, provider) => Some((workspace, provider)),
    };
    let due = issued_stamps::due(store, of, now, BATCH).await?;
    let more = due.len() >= BATCH as usize;
    if due.is_empty() {
        return Ok((due, more));
    }
    engine::retry_on_conflict(|| async {
        let mut tx = store.begin().await?;
        let (until, mut claimed) = (now.plus(CLAIM), Vec::with_capacity(due.len()));
        for row in &due {
            if issued_stamps::move_check(&mut tx, row, until).await? {
                claimed.push(IssuedStampRow { check_at: until, ..row.clone() });
            }
        }
        tx.commit().await?;
        Ok(Some((claimed, more)))
    })
    .await
}

/// Outcome for an issued Stamp.
enum CheckOutcome {
    Holds,
    /// Its rule no longer holds, for this reason.
    Withdraw(String),
    /// Its rule cannot be asked at the moment.
    Unknown,
}

/// The outcomes for Stamps of one name in one workspace, in order.
async fn outcomes(
    store: &Store,
    networks: &EvmNetworks,
    rows: &[IssuedStampRow],
    now: UnixMillis,
) -> Result<Vec<CheckOutcome>> {
    let Some(IssuedStampRow { workspace_id: workspace, provider, .. }) = rows.first() else {
        return Ok(Vec::new());
    };
    let Some(rule) = own_stamps::find(store, *workspace, provider).await? else {
        let gone = || CheckOutcome::Withdraw("this Stamp is no longer issued".to_owned());
        return Ok(rows.iter().map(|_| gone()).collect());
    };
    match StampRule::from_row(&rule)? {
        StampRule::AllowList => list_outcomes(store, (*workspace, provider), rows).await,
        StampRule::OnChain(rule) => condition_outcomes(store, networks, rule, provider, rows, now).await,
    }
}

/// The outcomes for Stamps that an allow list issues.
async fn list_outcomes(
    store: &Store,
    (workspace, provider): (WorkspaceId, &StampName),
    rows: &[IssuedStampRow],
) -> Result<Vec<CheckOutcome>> {
    let addresses: Vec<_> = rows.iter().map(|row| row.address).collect();
    let listed = listed_addresses::among(store, workspace, provider, &addresses).await?;
    let standing = |row: &IssuedStampRow| {
        if listed.contains(&row.address) {
            CheckOutcome::Holds
        } else {
            CheckOutcome::Withdraw("the address left the list".to_owned())
        }
    };
    Ok(rows.iter().map(standing).collect())
}

/// The outcomes for Stamps that are issued while a condition holds.
async fn condition_outcomes(
    store: &Store,
    networks: &EvmNetworks,
    OnChainRule { network, condition }: OnChainRule,
    provider: &StampName,
    rows: &[IssuedStampRow],
    now: UnixMillis,
) -> Result<Vec<CheckOutcome>> {
    let unknown = || rows.iter().map(|_| CheckOutcome::Unknown).collect();
    let Some(network) = networks.find_by_name(&network) else {
        tracing::warn!(network, %provider, "no node of this network; its Stamps are not checked");
        return Ok(unknown());
    };
    let subjects = rows.iter().map(condition_subject).collect::<Option<Vec<_>>>();
    let subjects = subjects.ok_or_else(|| Error::Internal("an issued Stamp with damaged items".into()))?;
    let verdicts = match evaluate(network, &*condition, &subjects, now).await {
        Ok(verdicts) => verdicts,
        Err(error) => {
            tracing::warn!(%error, %provider, "cannot ask the condition of issued Stamps; they stay");
            return Ok(unknown());
        }
    };
    let stored = stored_of_accounts(store, rows, &verdicts).await?;
    let outcome = |(row, verdict): (&IssuedStampRow, _)| match verdict {
        Ok(ConditionResult::Holds(holding)) => check_account(&stored, row, &holding),
        Ok(ConditionResult::Fails(reason)) => CheckOutcome::Withdraw(reason),
        Err(cause) => {
            tracing::warn!(%cause, %provider, "a contract gives no usable answer; its Stamp stays");
            CheckOutcome::Unknown
        }
    };
    Ok(rows.iter().zip(verdicts).map(outcome).collect())
}

/// The address and items that a condition must hold for; `None` if the items are damaged.
fn condition_subject(row: &IssuedStampRow) -> Option<ConditionSubject> {
    let items: Vec<String> = serde_json::from_str(&row.items).ok()?;
    let items = items.iter().map(|text| amount::read(text)).collect::<Option<_>>()?;
    Some(ConditionSubject { address: row.address, items })
}

/// Withdraws the Stamp that an address has by a condition, if the condition now gives it another account. Its claim would
/// otherwise stay with the address until the Stamp would have expired.
pub(super) async fn withdraw_of_other_account(
    state: &State,
    workspace: WorkspaceId,
    provider: &StampName,
    address: EvmAddress,
    holding: &Holding,
) -> Result<()> {
    let Some(row) = issued_stamps::find(&state.store, workspace, provider, address).await? else {
        return Ok(());
    };
    let stored = stamps::of_addresses(&state.store, workspace, provider, &[address]).await?;
    if let CheckOutcome::Withdraw(reason) = check_account(&stored, &row, holding) {
        withdraw(&state.db, state.now(), &row, reason).await?;
    }
    Ok(())
}

/// The stored Stamps among those of one name whose account is not the address itself.
async fn stored_of_accounts<E>(
    store: &Store,
    rows: &[IssuedStampRow],
    verdicts: &[std::result::Result<ConditionResult, E>],
) -> Result<Vec<StampRow>> {
    let Some(IssuedStampRow { workspace_id, provider, .. }) = rows.first() else { return Ok(Vec::new()) };
    let of_account = |(row, verdict): (&IssuedStampRow, &std::result::Result<ConditionResult, E>)| {
        let Ok(ConditionResult::Holds(holding)) = verdict else { return None };
        (!is_of_itself(row, holding)).then_some(row.address)
    };
    let addresses: Vec<EvmAddress> = rows.iter().zip(verdicts).filter_map(of_account).collect();
    Ok(stamps::of_addresses(store, *workspace_id, provider, &addresses).await?)
}

/// True if the account behind an address is the address itself.
fn is_of_itself(row: &IssuedStampRow, holding: &Holding) -> bool {
    holding.nullifiers == [nullifier_of(row.address)]
}

/// The outcome for a Stamp whose condition holds: it must hold for the account that the Stamp was issued for.
fn check_account(stored: &[StampRow], row: &IssuedStampRow, holding: &Holding) -> CheckOutcome {
    // An address stays the account of itself.
    if is_of_itself(row, holding) {
        return CheckOutcome::Holds;
    }
    let Some(stamp) = stored.iter().find(|stamp| stamp.address == row.address && stamp.digest == row.digest)
    else {
        return CheckOutcome::Holds;
    };
    if stamp.nullifiers.iter().all(|nullifier| holding.nullifiers.contains(nullifier)) {
        CheckOutcome::Holds
    } else {
        CheckOutcome::Withdraw("the account behind the address changed".to_owned())
    }
}

/// Revokes an issued Stamp, unless it was issued again meanwhile.
async fn withdraw(db: &ScoringDb, now: UnixMillis, row: &IssuedStampRow, reason: String) -> Result<()> {
    let revocation = RevocationRow {
        digest: row.digest,
        revoked_at: now,
        revoked_by: "Pyxis".to_owned(),
        reason: Some(reason),
    };
    let withdrawn = engine::retry_on_conflict(|| async {
        let mut tx = db.begin().await?;
        let done = engine::revoke_in(db, &mut tx, row.workspace_id, &revocation).await?;
        if done.is_none() {
            return Ok(None);
        }
        let last = issued_stamps::remove(&mut tx, row).await?;
        if last {
            tx.commit().await?;
        }
        Ok(Some(last))
    })
    .await?;
    if withdrawn {
        let reason = revocation.reason.as_deref().unwrap_or_default();
        tracing::info!(provider = %row.provider, address = %row.address, reason, "a Stamp was withdrawn");
    }
    Ok(())
}
