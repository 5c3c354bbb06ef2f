//! Scores as attestations of EAS, for managers.

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_store::scores;

use super::{Error, Result};
use crate::engine::{self, ScoreKey};
use crate::signed::{EasRequest, ScoreStatement, SignedAttestation, Unsigned};
use crate::state::State;
use crate::terms_in_force;

/// Attests the latest score of an address.
pub async fn attest(
    state: &State,
    actor: &Actor,
    scorer: ScorerId,
    address: EvmAddress,
    asked: EasRequest,
) -> Result<SignedAttestation> {
    let workspace = actor.workspace;
    let (place, now) = (ScoreKey { workspace, scorer, address }, state.now());
    let found = terms_in_force::find(&state.store, workspace, scorer, now).await?;
    let found = found.ok_or_else(|| Error::not_found("scorer"))?;
    let (threshold, next_change_at) = (found.threshold, found.next_change_at);
    let record = engine::score(&state.db, place, now, false).await?;
    let record = record.unwrap_or_else(|| engine::score_without_stamps(address, threshold, now));
    let stored = scores::fresh(&state.store, workspace, scorer, address, now).await?;
    let until = stored.map_or(UnixMillis(i64::MAX), |stored| stored.valid_until);
    let until = until.min(next_change_at.unwrap_or(UnixMillis(i64::MAX)));
    let lifetime = state.signer.config().lifetime;
    let statement = ScoreStatement::from_record(&record, scorer, until, lifetime, now, true);
    let statement = statement.map_err(|error| match error {
        Unsigned::Partial => Error::Conflict("the score could be computed only in part, so it is not signed"),
        Unsigned::Damaged => Error::internal(error),
    })?;
    Ok(state.signer.attestation(&statement, &record, asked, now).await?)
}
