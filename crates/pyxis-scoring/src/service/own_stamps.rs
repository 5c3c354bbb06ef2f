//! Common parts of allow lists and on-chain Stamps: a name, a validity, a weight.

use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::catalogue::default_catalogue;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::stamp::StampName;
use pyxis_store::own_stamps::{self, OwnStampRow};
use pyxis_store::{Store, issued_stamps, listed_addresses};
use serde_json::json;

use super::scorers;
use super::stamp_signing::check_days;
use super::{Error, Result, check_text, stamp_keys};
use crate::own::{CheckScope, RecheckCount, recheck};
use crate::state::State;

pub use crate::own::ALLOW_LIST;

/// Maximum number of own Stamps in a workspace.
const MAX_OWN: usize = 200;
/// Longest description, in bytes.
const MAX_DESCRIPTION: usize = 1000;
/// Attempts to store a Stamp with its weight while others change the same scorer.
const ATTEMPTS: usize = 5;

/// Settings of a new own Stamp, whatever its rule.
#[derive(Clone, Debug)]
pub struct OwnStampInput {
    pub name: StampName,
    /// Description of the holder, for the catalogue.
    pub description: String,
    pub valid_days: i64,
    /// A scorer and the Stamp's weight in it.
    pub weight: Option<(ScorerId, Decimal)>,
}

/// An own Stamp in lists.
#[derive(Clone, Debug)]
pub struct OwnStamp {
    pub name: StampName,
    /// [`ALLOW_LIST`], or a kind of condition.
    pub kind: String,
    pub description: String,
}

/// Every own Stamp of a workspace, by name.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<OwnStamp>> {
    let rows = own_stamps::list(store, workspace).await?;
    let stamp =
        |row: OwnStampRow| OwnStamp { name: row.provider, kind: row.kind, description: row.description };
    Ok(rows.into_iter().map(stamp).collect())
}

/// Adds an own Stamp. The first one also makes the workspace's key.
pub(super) async fn create(
    state: &State,
    actor: &Actor,
    input: OwnStampInput,
    kind: &str,
    settings: String,
) -> Result<OwnStampRow> {
    check_name(&input.name)?;
    check_days(input.valid_days)?;
    check_text("description", &input.description, MAX_DESCRIPTION)?;
    if let Some((scorer, _)) = input.weight {
        scorers::get(&state.store, actor.workspace, scorer, state.now()).await?;
    }
    if own_stamps::list(&state.store, actor.workspace).await?.len() >= MAX_OWN {
        return Err(Error::field(
            "name",
            format!("a workspace has at most {MAX_OWN} own Stamps; remove one"),
        ));
    }
    stamp_keys::active(state, actor).await?;
    let row = OwnStampRow {
        provider: input.name,
        kind: kind.to_owned(),
        description: input.description,
        valid_days: input.valid_days,
        settings,
        created_at: state.now(),
    };
    for _ in 0..ATTEMPTS {
        match insert(state, actor, &row, input.weight).await {
            // Someone else changed the scorer meanwhile, and nothing was stored.
            Err(Error::Changed { .. }) => {}
            done => return done.map(|()| row),
        }
    }
    Err(Error::Busy)
}

/// Refuses the name of a published Stamp. Its credentials and its weights belong to other issuers.
fn check_name(name: &StampName) -> Result<()> {
    let mut published =
        default_catalogue().iter().flat_map(|platform| &platform.groups).flat_map(|group| &group.stamps);
    if published.any(|stamp| stamp.name == *name) {
        let detail = format!(
            "{name} is the name of a published Stamp, which other issuers sign; choose a name of your own, such as My{name}"
        );
        return Err(Error::field("name", detail));
    }
    Ok(())
}

/// Stores an own Stamp and its weight, both or none.
async fn insert(
    state: &State,
    actor: &Actor,
    row: &OwnStampRow,
    weight: Option<(ScorerId, Decimal)>,
) -> Result<()> {
    let mut change = state.audited.begin(actor).await?;
    if !own_stamps::insert(&mut change.tx, actor.workspace, row).await? {
        return Err(Error::field("name", format!("{} is issued already; choose another name", row.provider)));
    }
    let weighed = match weight {
        Some((scorer, weight)) => scorers::set_weight(&mut change, scorer, &row.provider, weight).await?,
        None => None,
    };
    let detail = json!({
        "name": row.provider, "kind": row.kind, "settings": row.settings, "valid_days": row.valid_days,
    });
    let Some(weighed) = weighed else {
        return Ok(change.commit(AuditEvent::OwnStampCreated, detail).await?);
    };
    change.record_each(AuditEvent::OwnStampCreated, &[detail]).await?;
    Ok(change.commit(AuditEvent::ScorerTermsChanged, weighed).await?)
}

/// The own Stamp with this name, if its kind fits. The refusal names the nearest one.
pub(super) async fn find(
    store: &Store,
    actor: &Actor,
    noun: &'static str,
    name: &StampName,
    fits: fn(&str) -> bool,
) -> Result<OwnStampRow> {
    let found = own_stamps::find(store, actor.workspace, name).await?;
    if let Some(row) = found.filter(|row| fits(&row.kind)) {
        return Ok(row);
    }
    let all = own_stamps::list(store, actor.workspace).await?;
    let known = all.iter().filter(|row| fits(&row.kind)).map(|row| row.provider.as_str());
    Err(Error::NotFound(Missing::with_name(noun, name.as_str(), known)))
}

/// Removes an own Stamp and withdraws what was issued by it; what a busy moment leaves, the next checks withdraw.
pub(super) async fn remove(state: &State, actor: &Actor, row: &OwnStampRow) -> Result<RecheckCount> {
    let workspace = actor.workspace;
    let mut change = state.audited.begin(actor).await?;
    if !own_stamps::remove(&mut change.tx, workspace, &row.provider).await? {
        return Err(Error::not_found("Stamp"));
    }
    listed_addresses::clear(&mut change.tx, workspace, &row.provider).await?;
    let detail = json!({ "name": row.provider, "kind": row.kind });
    change.commit(AuditEvent::OwnStampRemoved, detail).await?;
    issued_stamps::make_due(&state.store, workspace, &row.provider, &[], state.now()).await?;
    Ok(recheck(state, CheckScope::Named(workspace, &row.provider)).await?)
}

/// Number of issued Stamps of a name.
pub(super) async fn issued(store: &Store, actor: &Actor, name: &StampName) -> Result<i64> {
    Ok(issued_stamps::count(store, actor.workspace, name).await?)
}
