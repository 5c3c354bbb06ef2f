//! Addresses whose proofs count nowhere, from the block on in which they were blocked.

use pyxis_core::actor::Actor;
use pyxis_core::proof::{NetworkName, Subject};
use pyxis_store::blocklist::{self, BlockedRow};
use pyxis_store::proof_log::{self, Change, LogRow};
use pyxis_store::{Tx, block_clocks};
use serde_json::json;

use super::{Error, Result, check_home, check_text, commit};
use crate::heights;
use crate::network::Network;
use crate::state::State;

/// Blocks in force that are shown.
const MOST: u32 = 1000;

/// Blocks an address on a network, or on every one where it can be; in how many that is new.
pub async fn block(
    state: &State,
    actor: &Actor,
    subject: Subject,
    network: Option<&str>,
    reason: &str,
) -> Result<usize> {
    check_home(state, actor).await?;
    check_text("reason", reason)?;
    let networks = places(state, subject, network)?;
    let mut change = Held::begin(state).await?;
    let blocked = blocklist::of_subject(&mut change.tx, subject).await?;
    let mut new = 0;
    for network in networks.iter().filter(|name| !blocked.iter().any(|row| row.network == ***name)) {
        let height = change.next(network)?;
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
        change.log(state, actor, Change::Block, (network, height), subject, Some(reason)).await?;
        new += 1;
    }
    if new > 0 {
        let detail = json!({ "address": subject.to_string(), "network": network, "reason": reason });
        commit(state, actor, change.tx, "blocklist.add", &detail).await?;
    }
    Ok(new)
}

/// Lifts the block of an address on a network, or on every one.
pub async fn unblock(state: &State, actor: &Actor, subject: Subject, network: Option<&str>) -> Result<usize> {
    check_home(state, actor).await?;
    let networks = places(state, subject, network)?;
    let mut change = Held::begin(state).await?;
    let mut lifted = 0;
    for network in networks {
        let height = change.next(network)?;
        if blocklist::lift(&mut change.tx, network, subject, height).await? {
            change.log(state, actor, Change::Unblock, (network, height), subject, None).await?;
            lifted += 1;
        }
    }
    if lifted == 0 {
        return Err(Error::NotFound("blocked address"));
    }
    let detail = json!({ "address": subject.to_string(), "network": network });
    commit(state, actor, change.tx, "blocklist.remove", &detail).await?;
    Ok(lifted)
}

/// The blocks in force, newest first, a thousand at most.
pub async fn list(state: &State) -> Result<Vec<BlockedRow>> {
    Ok(blocklist::list(&state.store, MOST).await?)
}

/// The networks of one name, or all on which the address can be.
fn places<'a>(state: &'a State, subject: Subject, name: Option<&str>) -> Result<Vec<&'a NetworkName>> {
    let fits = |network: &&Network| network.chain_id.is_some() == matches!(subject, Subject::Evm(_));
    let all = state.networks().iter().filter(fits);
    let found: Vec<&NetworkName> = all
        .map(|network| &network.name)
        .filter(|known| name.is_none_or(|name| known.as_str() == name))
        .collect();
    if found.is_empty() {
        return Err(Error::field("network", "there is no such network for this address"));
    }
    Ok(found)
}

/// A change of the blocklist, with the clocks held.
struct Held {
    tx: Tx,
    heads: heights::Heads,
    clocks: Vec<block_clocks::ClockRow>,
}

impl Held {
    async fn begin(state: &State) -> Result<Self> {
        let heads = heights::heads(state).await?;
        let mut tx = state.store.begin().await?;
        let clocks = block_clocks::lock(&mut tx).await?;
        Ok(Self { tx, heads, clocks })
    }

    fn next(&self, network: &NetworkName) -> Result<i64> {
        let unknown = || Error::Unavailable(format!("the newest block of {network} is not known").into());
        self.heads.next(&self.clocks, network).ok_or_else(unknown)
    }

    async fn log(
        &mut self,
        state: &State,
        actor: &Actor,
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
            at: state.now(),
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
