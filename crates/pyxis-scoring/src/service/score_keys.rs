//! Keys that sign scores.
//!
//! They belong to the installation, so the managers of its first workspace rotate them.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_store::score_keys::{self, ScoreKeyRow, ScoreKeyScheme};
use pyxis_store::{Store, workspaces};
use serde_json::json;

use super::{Error, Result};
use crate::signed::{KeySet, KeyTimes, MAX_NOTICE, ScoreSigner, key_id};
use crate::state::State;

/// Manner of a rotation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// Time from which the new key signs; it is published at once. `None`: now.
    pub signs_from: Option<UnixMillis>,
    /// True if the earlier keys are known to others: they are no longer published.
    pub compromised: bool,
}

/// A key and the moments in its life.
#[derive(Clone, Debug)]
pub struct ListedKey {
    pub row: ScoreKeyRow,
    pub times: KeyTimes,
}

impl ListedKey {
    fn from_row(keys: &KeySet, row: &ScoreKeyRow) -> Self {
        Self { row: row.clone(), times: keys.times(row) }
    }

    /// `kid` of a token's header, or the signer's address.
    pub fn id(&self) -> String {
        key_id(&self.row)
    }

    /// State in words.
    pub fn status(&self, now: UnixMillis) -> &'static str {
        if self.row.withdrawn_at.is_some() {
            "withdrawn"
        } else if now < self.times.signs_from {
            "next"
        } else if self.times.signs_at(now) {
            "active"
        } else {
            "retired"
        }
    }
}

/// Every key, newest first within each scheme. The first keys are created on first use.
pub async fn list(signer: &ScoreSigner, now: UnixMillis) -> Result<Vec<ListedKey>> {
    signer.forget_keys();
    let keys = signer.keys(now).await?;
    Ok(keys.rows().iter().map(|row| ListedKey::from_row(&keys, row)).collect())
}

/// Adds a key that signs from now or from a later moment. The earlier one stays published until its last signature has
/// expired, unless it is compromised.
pub async fn rotate(
    state: &State,
    actor: &Actor,
    scheme: ScoreKeyScheme,
    how: Rotation,
) -> Result<ListedKey> {
    require_first_workspace(&state.store, actor).await?;
    let now = state.now();
    let signs_from = rotation_time(how, now)?;
    // Creates the first keys, so that there is one to rotate.
    list(&state.signer, state.now()).await?;
    let mut change = state.audited.begin(actor).await?;
    let known = score_keys::list(&mut change.tx).await?;
    let of_scheme = || known.iter().filter(|row| row.scheme == scheme);
    let waits = of_scheme().any(|row| row.withdrawn_at.is_none() && row.signs_from > now);
    if waits && !how.compromised {
        return Err(Error::Conflict(
            "a key of this scheme is already published and does not sign yet; wait until it signs",
        ));
    }
    let number = of_scheme().map(|row| row.number).max().map_or(1, |number| number + 1);
    let row = state.signer.new_key(scheme, number, signs_from, now)?;
    if !score_keys::insert(&mut change.tx, &row).await? {
        return Err(Error::Conflict("someone else just rotated this key; read the list of keys again"));
    }
    if how.compromised {
        score_keys::withdraw_before(&mut change.tx, scheme, number, now).await?;
    }
    let detail = json!({
        "scheme": scheme.as_str(), "number": number, "public_key": row.public_key,
        "signs_from": signs_from.to_rfc3339(), "compromised": how.compromised,
    });
    change.commit(AuditEvent::ScoreKeyRotated, detail).await?;
    let keys = list(&state.signer, state.now()).await?;
    let new = keys.into_iter().find(|key| key.row.scheme == scheme && key.row.number == number);
    new.ok_or_else(|| Error::internal("the new key is not on the list"))
}

fn rotation_time(how: Rotation, now: UnixMillis) -> Result<UnixMillis> {
    let Some(at) = how.signs_from else { return Ok(now) };
    if how.compromised {
        return Err(Error::field(
            "signs_from",
            "leave it out for a compromised key: its successor signs now",
        ));
    }
    if at < now || at > now.plus(MAX_NOTICE) {
        return Err(Error::field("signs_from", "a time from now until 30 days later"));
    }
    Ok(at)
}

async fn require_first_workspace(store: &Store, actor: &Actor) -> Result<()> {
    let first = workspaces::list(store).await?.into_iter().next();
    if first.is_some_and(|first| first.id == actor.workspace) {
        Ok(())
    } else {
        Err(Error::Forbidden("score keys are managed in the first workspace of this installation"))
    }
}
