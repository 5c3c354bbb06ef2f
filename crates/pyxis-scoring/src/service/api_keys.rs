//! API keys of the scoring surface.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::digest::sha256_hex;
use pyxis_core::entropy;
use pyxis_core::id::{ApiKeyId, ScorerId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_core::window;
use pyxis_store::api_keys::{self, ApiKeyChange, ApiKeyRow, Tier};
use pyxis_store::audit::AuditedStore;
use pyxis_store::publishable_keys::{self, PublishableKey};
use pyxis_store::usage::{self, Tally, WindowRow};
use pyxis_store::{Store, scorers};
use serde_json::json;

use super::{Error, MAX_NAME, Result, check_text};
use crate::limits::{limit_of_models, limit_of_stamps};
use crate::page_keys::{PUBLISHABLE_PREFIX, read_origin};
use crate::state::State;

/// Prefix of every API key.
pub const KEY_PREFIX: &str = "px_api_";
/// Characters of a key that stay readable, to tell keys apart.
const HINT: usize = KEY_PREFIX.len() + 6;
/// The tier whose limit is the key's own (`docs/reference/behavior/scoring.md#rate-limits`).
const OWN_TIER: i64 = 4;
/// Lower bound of that limit.
const TIER_3: i64 = 2000;
/// Highest limit: more than a window of 15 minutes could hold.
const MOST: i64 = 1_000_000_000;
/// Longest span of [`usage`], in hours.
pub const MAX_USAGE_HOURS: u32 = 168;

/// Permissions of publishable keys.
const PAGES_ONLY: &str =
    "a publishable key stands in pages and has no other permission; add a server key for this";

/// Tier 1, a new key's tier.
pub const FIRST_TIER: Tier = Tier { tier: 1, limit: None };

/// Most origins of a publishable key.
pub const MAX_ORIGINS: usize = 50;

/// Settings of a new key.
#[derive(Clone, Debug)]
pub struct ApiKeyInput {
    /// Name for people.
    pub name: String,
    /// Tier of the Stamps endpoints.
    pub stamps: Tier,
    /// Tier of the models endpoint.
    pub models: Tier,
    /// True if it reads scores and Stamps.
    pub can_read: bool,
    /// True if it writes Stamps.
    pub can_write: bool,
    /// Scorer and origins of a key that stands in pages; such a key has no permission besides.
    pub publishable: Option<PublishableKey>,
}

impl ApiKeyInput {
    /// A first-tier key with read permission.
    pub fn with_name(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            stamps: FIRST_TIER,
            models: FIRST_TIER,
            can_read: true,
            can_write: false,
            publishable: None,
        }
    }

    /// A first-tier key for pages of these origins.
    pub fn publishable(name: impl Into<String>, scorer: ScorerId, origins: Vec<String>) -> Self {
        let publishable = Some(PublishableKey { scorer, origins });
        Self { can_read: false, publishable, ..Self::with_name(name) }
    }
}

/// Requests of a key, by window.
#[derive(Clone, Debug)]
pub struct Usage {
    /// Start of the first window of the span.
    pub from: UnixMillis,
    /// End of the last one.
    pub to: UnixMillis,
    /// Current limit per window of the Stamps endpoints.
    pub stamps_limit: i64,
    /// Current limit per window of the models endpoint.
    pub models_limit: i64,
    /// The windows with requests, oldest first.
    pub windows: Vec<WindowRow>,
}

/// Creates a key. Its text is returned here and never again.
pub async fn create(state: &State, actor: &Actor, input: ApiKeyInput) -> Result<(ApiKeyRow, SecretString)> {
    check_text("name", &input.name, MAX_NAME)?;
    check_tier("stamps", input.stamps)?;
    check_tier("models", input.models)?;
    let publishable = check_publishable(&state.store, actor.workspace, &input).await?;
    let prefix = if publishable.is_some() { PUBLISHABLE_PREFIX } else { KEY_PREFIX };
    let key = SecretString::new(entropy::token::<32>(&*state.entropy, prefix));
    let row = ApiKeyRow {
        id: ApiKeyId::new(&*state.entropy),
        workspace_id: actor.workspace,
        name: input.name,
        key_hash: sha256_hex(key.expose().as_bytes()),
        key_hint: key.expose()[..HINT].to_owned(),
        stamps_tier: input.stamps.tier,
        stamps_limit: input.stamps.limit,
        models_tier: input.models.tier,
        models_limit: input.models.limit,
        can_read: input.can_read,
        can_write: input.can_write,
        can_read_history: false,
        revoked_at: None,
        created_at: state.now(),
        last_used_at: None,
    };
    let mut change = state.audited.begin(actor).await?;
    api_keys::insert(&mut change.tx, &row).await?;
    let mut detail = json!({
        "api_key": row.id, "name": row.name, "stamps_tier": row.stamps_tier, "models_tier": row.models_tier,
        "can_read": row.can_read, "can_write": row.can_write,
    });
    if let Some(publishable) = &publishable {
        publishable_keys::insert(&mut change.tx, actor.workspace, row.id, publishable).await?;
        detail["publishable"] = json!({ "scorer": publishable.scorer, "origins": publishable.origins });
    }
    change.commit(AuditEvent::ApiKeyCreated, detail).await?;
    Ok((row, key))
}

/// Every key of a workspace, including revoked ones, oldest first.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<ApiKeyRow>> {
    Ok(api_keys::list(store, workspace).await?)
}

/// One key, revoked or not.
pub async fn get(store: &Store, workspace: WorkspaceId, id: ApiKeyId) -> Result<ApiKeyRow> {
    api_keys::find_by_id(store, workspace, id).await?.ok_or(Error::not_found("API key"))
}

/// Publishable keys of a workspace, including revoked ones.
pub async fn publishable(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<BTreeMap<ApiKeyId, PublishableKey>> {
    Ok(publishable_keys::list(store, workspace).await?)
}

/// Scorer and origins of a key; `None` if it is not a publishable one.
pub async fn publishable_of(
    store: &Store,
    workspace: WorkspaceId,
    id: ApiKeyId,
) -> Result<Option<PublishableKey>> {
    Ok(publishable_keys::find(store, workspace, id).await?)
}

/// True if this is the start of a publishable key.
pub fn is_publishable(row: &ApiKeyRow) -> bool {
    row.key_hint.starts_with(PUBLISHABLE_PREFIX)
}

/// Changes an active key, and with `origins` the origins of a publishable one.
pub async fn update(
    db: &AuditedStore,
    actor: &Actor,
    id: ApiKeyId,
    wanted: ApiKeyChange,
    origins: Option<Vec<String>>,
) -> Result<ApiKeyRow> {
    if let Some(name) = &wanted.name {
        check_text("name", name, MAX_NAME)?;
    }
    for (surface, tier) in [("stamps", wanted.stamps), ("models", wanted.models)] {
        tier.map_or(Ok(()), |tier| check_tier(surface, tier))?;
    }
    let mut change = db.begin(actor).await?;
    let row = api_keys::find_by_id(&mut change.tx, actor.workspace, id).await?;
    let row = row.ok_or(Error::not_found("API key"))?;
    if row.revoked_at.is_some() {
        return Err(Error::Conflict("the key is permanently revoked; create a new one"));
    }
    let origins = check_kind(&row, &wanted, origins.as_deref())?;
    let tier = |tier: Tier| json!({ "tier": tier.tier, "limit": tier.limit });
    let mut detail = json!({
        "api_key": id, "name": wanted.name, "stamps": wanted.stamps.map(tier),
        "models": wanted.models.map(tier), "can_read": wanted.can_read, "can_write": wanted.can_write,
        "can_read_history": wanted.can_read_history,
    });
    if let Some(origins) = origins {
        publishable_keys::replace_origins(&mut change.tx, id, &origins).await?;
        detail["origins"] = json!(origins);
    }
    api_keys::update(&mut change.tx, actor.workspace, id, wanted).await?;
    change.commit(AuditEvent::ApiKeyUpdated, detail).await?;
    get(&db.store, actor.workspace, id).await
}

/// Revokes a key permanently; true if it was active.
pub async fn revoke(db: &AuditedStore, actor: &Actor, id: ApiKeyId) -> Result<bool> {
    let mut change = db.begin(actor).await?;
    let row = api_keys::find_by_id(&mut change.tx, actor.workspace, id).await?;
    let row = row.ok_or(Error::not_found("API key"))?;
    if !api_keys::revoke(&mut change.tx, actor.workspace, id, db.now()).await? {
        return Ok(false);
    }
    change.commit(AuditEvent::ApiKeyRevoked, json!({ "api_key": id, "name": row.name })).await?;
    Ok(true)
}

/// The requests of a key in the last hours, including the current window; 1 to [`MAX_USAGE_HOURS`].
pub async fn usage(
    store: &Store,
    workspace: WorkspaceId,
    id: ApiKeyId,
    hours: u32,
    now: UnixMillis,
) -> Result<Usage> {
    if !(1..=MAX_USAGE_HOURS).contains(&hours) {
        return Err(Error::field("hours", format!("must be 1 to {MAX_USAGE_HOURS}")));
    }
    let row = get(store, workspace, id).await?;
    let to = window::quarter_end(now);
    let from = to.minus(Duration::from_hours(u64::from(hours)));
    let windows = usage::windows(store, workspace, id, from, to).await?;
    Ok(Usage {
        from,
        to,
        stamps_limit: limit_of_stamps(row.stamps_tier, row.stamps_limit),
        models_limit: limit_of_models(row.models_tier, row.models_limit),
        windows,
    })
}

/// Requests of every key of a workspace in `from..to`, in buckets of `bucket_ms` that start at `from`.
pub async fn over_time(
    store: &Store,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<Tally>> {
    Ok(usage::over_time(store, workspace, from, to, bucket_ms).await?)
}

/// Checks scorer and origins of a new publishable key.
async fn check_publishable(
    store: &Store,
    workspace: WorkspaceId,
    input: &ApiKeyInput,
) -> Result<Option<PublishableKey>> {
    let Some(PublishableKey { scorer, origins }) = &input.publishable else { return Ok(None) };
    if input.can_read {
        return Err(Error::field("can_read", PAGES_ONLY));
    }
    if input.can_write {
        return Err(Error::field("can_write", PAGES_ONLY));
    }
    if input.models != FIRST_TIER {
        return Err(Error::field("models_tier", "a publishable key does not reach the models endpoint"));
    }
    if scorers::find(store, workspace, *scorer).await?.is_none() {
        return Err(Error::field("scorer_id", format!("no scorer {scorer}")));
    }
    Ok(Some(PublishableKey { scorer: *scorer, origins: check_origins(origins)? }))
}

/// Checks that a change fits the key's kind. Returns the new origins in order.
fn check_kind(
    row: &ApiKeyRow,
    wanted: &ApiKeyChange,
    origins: Option<&[String]>,
) -> Result<Option<Vec<String>>> {
    if !is_publishable(row) {
        return match origins {
            Some(_) => Err(Error::field("origins", "only a publishable key has origins")),
            None => Ok(None),
        };
    }
    let permissions = [
        ("can_read", wanted.can_read),
        ("can_write", wanted.can_write),
        ("can_read_history", wanted.can_read_history),
    ];
    if let Some((name, _)) = permissions.into_iter().find(|(_, wanted)| *wanted == Some(true)) {
        return Err(Error::field(name, PAGES_ONLY));
    }
    if wanted.models.is_some_and(|models| models != FIRST_TIER) {
        return Err(Error::field("models_tier", "a publishable key does not reach the models endpoint"));
    }
    origins.map(check_origins).transpose()
}

fn check_origins(origins: &[String]) -> Result<Vec<String>> {
    if origins.is_empty() {
        return Err(Error::field("origins", "name at least one, such as https://app.example.org"));
    }
    if origins.len() > MAX_ORIGINS {
        return Err(Error::field("origins", format!("name at most {MAX_ORIGINS}")));
    }
    let read: std::result::Result<BTreeSet<String>, String> =
        origins.iter().map(|origin| read_origin(origin)).collect();
    Ok(read.map_err(|fault| Error::field("origins", fault))?.into_iter().collect())
}

fn check_tier(surface: &str, tier: Tier) -> Result<()> {
    match tier {
        Tier { tier: 1..OWN_TIER, limit: None } => Ok(()),
        Tier { tier: 1..OWN_TIER, limit: Some(_) } => {
            Err(Error::field(format!("{surface}_limit"), "only tier 4 has its own limit"))
        }
        Tier { tier: OWN_TIER, limit: Some(limit) } if limit > TIER_3 && limit <= MOST => Ok(()),
        Tier { tier: OWN_TIER, .. } => Err(Error::field(
            format!("{surface}_limit"),
            format!(
                "tier 4 needs its own limit: more than {TIER_3} and at most {MOST} requests per 15 minutes"
            ),
        )),
        Tier { .. } => Err(Error::field(format!("{surface}_tier"), "must be 1, 2, 3 or 4")),
    }
}
