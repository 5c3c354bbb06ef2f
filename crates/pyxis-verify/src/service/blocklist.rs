//! Addresses whose proofs count nowhere, from the block in which they were blocked.

use std::collections::BTreeSet;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{NetworkName, Subject};
use pyxis_store::blocklist::{self, BlockedRow};
use pyxis_store::proof_log::{self, Change, LogRow};
use pyxis_store::{Store, Tx, block_clocks};
use serde_json::json;

use super::{Error, Result, check_text, require_first_workspace};
use crate::block_height;
use crate::network::{Network, Networks};
use crate::state::State;

/// Maximum number of active blocks that are listed.
const MOST: u32 = 1000;

/// Result of blocking an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOutcome {
    /// Number of networks on which it is new.
    pub new: usize,
    /// Networks without the block, because their newest block is unknown.
    pub unreachable: Vec<NetworkName>,
}

/// Blocks an address on a network, or on every possible one. A network whose nodes do not respond does not prevent the
/// block on the others.
pub async fn block(
    state: &State,
    actor: &Actor,
    subject: Subject,
    network: Option<&str>,
    reason: &str,
) -> Result<BlockOutcome> {
    require_first_workspace(&state.store, actor).await?;
    check_text("reason", reason)?;
    let networks = places(state.networks(), subject, network)?;
    let mut change = LockedClocks::begin(state, &networks.iter().copied().cloned().collect()).await?;
    let blocked = blocklist::of_subject(&mut change.tx, subject).await?;
    let mut done = BlockOutcome { new: 0, unreachable: Vec::new() };
    for network in networks.iter().filter(|name| !blocked.iter().any(|row| row.network == ***name)) {
        let Ok(height) = change.next(network) else {
            done.unreachable.push((*network).clone());
            continue;
        };
        let row = BlockedRow {
            id: 0,
            network: (*network).clone(),
            subject,
            from_height: height,
            until_height: None,
            reason: reason.to_owned(),
            blocked_at: state.now(),
        };
        blocklist::add(&mut change.tx, &row).await?;
        change.log(actor, state.now(), Change::Block, (network, height), subject, Some(reason)).await?;
        done.new += 1;
    }
    if let (0, Some(network)) = (done.new, done.unreachable.first()) {
        return Err(unknown(network));
    }
    if done.new > 0 {
        let detail = json!({ "address": subject.to_string(), "network": network, "reason": reason });
        state.audited.within(change.tx, actor).commit(AuditEvent::BlocklistAdded, detail).await?;
    }
    Ok(done)
}

/// Lifts the block of an address on a network, or on every one.
pub async fn unblock(state: &State, actor: &Actor, subject: Subject, network: Option<&str>) -> Result<usize> {
    require_first_workspace(&state.store, actor).await?;
    let mut networks = places(state.networks(), subject, network)?;
    let blocked = blocklist::of_subject(&state.store, subject).await?;
    networks.retain(|name| blocked.iter().any(|row| row.network == **name));
    let mut change = LockedClocks::begin(state, &networks.iter().copied().cloned().collect()).await?;
    let mut lifted = 0;
    for network in networks {
        let height = change.next(network)?;
        if blocklist::lift(&mut change.tx, network, subject, height).await? {
            change.log(actor, state.now(), Change::Unblock, (network, height), subject, None).await?;
            lifted += 1;
        }
    }
    if lifted == 0 {
        return Err(Error::not_found("blocked address"));
    }
    let detail = json!({ "address": subject.to_string(), "network": network });
    state.audited.within(change.tx, actor).commit(AuditEvent::BlocklistRemoved, detail).await?;
    Ok(lifted)
}

fn unknown(network: &NetworkName) -> Error {
    let source = format!("the newest block of {network} is unknown").into();
    Error::Unavailable { what: "the node of a network", source }
}

/// The active blocks, newest first, at most a thousand.
pub async fn list(store: &Store) -> Result<Vec<BlockedRow>> {
    Ok(blocklist::list(store, MOST).await?)
}

/// The network with this name, or all on which the address can exist.
fn places<'a>(networks: &'a Networks, subject: Subject, name: Option<&str>) -> Result<Vec<&'a NetworkName>> {
    let fits = |network: &&Network| network.chain_id.is_some() == matches!(subject, Subject::Evm(_));
    let fitting: Vec<&NetworkName> = networks.iter().filter(fits).map(|network| &network.name).collect();
    let wanted = |known: &&&NetworkName| name.is_none_or(|name| known.as_str() == name);
    let found: Vec<&NetworkName> = fitting.iter().filter(wanted).copied().collect();
    if found.is_empty() {
        let known: Vec<&str> = fitting.iter().map(|known| known.as_str()).collect();
        let detail = format!("unknown network for this kind of address; known: {}", known.join(", "));
        return Err(Error::field("network", detail));
    }
    Ok(found)
}

/// A change of the blocklist, with the clocks held.
struct LockedClocks {
    tx: Tx,
    heads: block_height::NetworkHeads,
    clocks: Vec<block_clocks::ClockRow>,
}

impl LockedClocks {
    async fn begin(state: &State, networks: &BTreeSet<NetworkName>) -> Result<Self> {
        let heads = block_height::fetch_heads(state, networks).await?;
        let mut tx = state.store.begin().await?;
        let clocks = block_clocks::lock(&mut tx).await?;
        Ok(Self { tx, heads, clocks })
    }

    fn next(&self, network: &NetworkName) -> Result<i64> {
        self.heads.next(&self.clocks, network).ok_or_else(|| unknown(network))
    }

    async fn log(
        &mut self,
        actor: &Actor,
        now: UnixMillis,
        change: Change,
        (network, height): (&NetworkName, i64),
        subject: Subject,
        reason: Option<&str>,
    ) -> Result<()> {
        let entry = LogRow {
            id: 0,
            change,
            network: network.clone(),
            height,
            at: now,
            kind: None,
            subject,
            action_id: None,
            nullifier: None,
            expires_at: None,
            reason: reason.map(str::to_owned),
            made_by: actor.id.clone(),
        };
        Ok(proof_log::append(&mut self.tx, &entry).await?)
    }
}
