//! Scores as attestations of EAS, for managers.

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_store::{scorers, scores};

use super::{Error, Result};
use crate::engine::{self, ScoreKey};
use crate::signed::{EasRequest, ScoreStatement, SignedAttestation, Unsigned};
use crate::state::State;

/// Attests the latest score of an address.
pub async fn attest(
    state: &State,
    actor: &Actor,
    scorer: ScorerId,
    address: EvmAddress,
    asked: EasRequest,
) -> Result<SignedAttestation> {
    let workspace = actor.workspace;
    let found = scorers::find(&state.store, workspace, scorer).await?;
    let threshold = found.ok_or_else(|| Error::not_found("scorer"))?.threshold;
    let (place, now) = (ScoreKey { workspace, scorer, address }, state.now());
    let record = engine::score(&state.books, place, now, false).await?;
    let record = record.unwrap_or_else(|| engine::score_without_stamps(address, threshold, now));
    let stored = scores::fresh(&state.store, workspace, scorer, address, now).await?;
    let until = stored.map_or(UnixMillis(i64::MAX), |stored| stored.valid_until);
    let lifetime = state.signer.config().lifetime;
    let statement = ScoreStatement::from_record(&record, scorer, until, lifetime, now, true);
    let statement = statement.map_err(|error| match error {
        Unsigned::Partial => Error::Conflict("the score could be computed only in part, so it is not signed"),
        Unsigned::Damaged => Error::internal(error),
    })?;
    Ok(state.signer.attestation(&statement, &record, asked, now).await?)
}
