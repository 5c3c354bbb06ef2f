//! Proofs as managers see them.

use pyxis_store::Store;
use std::collections::BTreeSet;

use futures_util::future::join_all;
use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, NetworkName, Subject};
use pyxis_store::proof_log::{self, LogRow};
use pyxis_store::proofs::{self, DayCount, Filter, ProofRow};
use serde_json::json;

use super::{Error, Result, check_text, require_first_workspace};
use crate::block_height::Snapshot;
use crate::checker::{self, CheckRequest, CheckVerdict};
use crate::network::Network;
use crate::registry::Register;
use crate::state::State;

#[derive(Clone, Debug)]
pub struct ProofKey {
    /// Network where it counts.
    pub network: NetworkName,
    pub kind: Kind,
    pub subject: Subject,
    /// Use of the proof.
    pub action_id: ActionId,
}

/// Revokes a proof of any issuer and returns the block.
pub async fn revoke(state: &State, actor: &Actor, place: &ProofKey, reason: &str) -> Result<i64> {
    require_first_workspace(&state.store, actor).await?;
    check_text("reason", reason)?;
    let ProofKey { network, kind, subject, action_id } = place;
    let mut register = Register::open(state, &BTreeSet::from([network.clone()])).await?;
    let open = proofs::open_of_subject(&mut register.tx, network, *kind, *subject, *action_id).await?;
    let row = open.ok_or(Error::not_found("proof"))?;
    let height = register.revoke(&row, reason, (&actor.id, state.now())).await?;
    let detail = json!({
        "network": network.as_str(),
        "kind": kind.as_str(),
        "address": subject.to_string(),
        "action_id": action_id.to_string(),
        "reason": reason,
        "height": height,
    });
    state.audited.within(register.tx, actor).commit(AuditEvent::ProofRevoked, detail).await?;
    Ok(height)
}

/// Proofs, newest first.
pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Vec<ProofRow>> {
    Ok(proofs::list(store, filter, limit).await?)
}

/// The log after an entry, oldest first.
pub async fn log(store: &Store, after: i64, limit: u32) -> Result<Vec<LogRow>> {
    Ok(proof_log::page(store, after, limit).await?)
}

/// Registrations of each kind and day since a moment.
pub async fn per_day(store: &Store, since: UnixMillis) -> Result<Vec<DayCount>> {
    Ok(proofs::per_day(store, since).await?)
}

/// An address's status for one kind on one network.
#[derive(Clone, Debug)]
pub struct AddressReport {
    pub network: NetworkName,
    pub kind: Kind,
    /// The verdict, or the reason why it is unknown.
    pub verdict: Result<CheckVerdict, String>,
}

/// Every kind on every network at once, for one address now.
pub async fn check(state: &State, subject: Subject, action_id: ActionId) -> Vec<AddressReport> {
    let fits = |network: &&Network| network.chain_id.is_some() == matches!(subject, Subject::Evm(_));
    let mut all = Vec::new();
    for network in state.networks().iter().filter(fits) {
        for kind in Kind::ALL.into_iter().filter(|kind| network.checks(*kind)) {
            let action_id = (kind != Kind::ResidenceUs).then_some(action_id);
            all.push(check_one(
                state,
                CheckRequest { network, kind, action_id, snapshot: Snapshot::Latest },
                subject,
            ));
        }
    }
    join_all(all).await
}

async fn check_one(state: &State, ask: CheckRequest<'_>, subject: Subject) -> AddressReport {
    let verdict = checker::check(state, ask, subject, true).await.map_err(|error| error.to_string());
    AddressReport { network: ask.network.name.clone(), kind: ask.kind, verdict }
}
