//! The form of a publishable key, and the code that goes into a page.

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Config;
use pyxis_scoring::limit_of_stamps;
use pyxis_scoring::service::{api_keys, scorers};
use pyxis_scoring::widget::SCRIPT;
use pyxis_store::Store;
use pyxis_store::api_keys::{ApiKeyRow, Tier};

use super::api_key_form::{FIRST, tier, tiers};
use crate::Error;
use crate::form::Fields;
use crate::session::SignedIn;
use crate::view::api_keys::{EmbedCode, PublishableKeyForm, PublishableSettings};
use crate::view::{Choice, Problems};

/// Placeholder for a key that is no longer known.
const THE_KEY: &str = "px_pub_…";

/// Values of the form.
pub(super) struct PublishableInput {
    pub(super) name: String,
    /// Empty for a stored key.
    pub(super) scorer: String,
    pub(super) origins: Vec<String>,
    pub(super) stamps: Tier,
}

/// The form of a new key.
pub(super) async fn blank(
    store: &Store,
    now: UnixMillis,
    who: &SignedIn,
) -> Result<PublishableKeyForm, Error> {
    Ok(PublishableKeyForm {
        scorers: scorer_choices(store, now, who, "").await?,
        stamps_tiers: tiers(FIRST.tier, limit_of_stamps),
        ..PublishableKeyForm::default()
    })
}

async fn scorer_choices(
    store: &Store,
    now: UnixMillis,
    who: &SignedIn,
    chosen: &str,
) -> Result<Vec<Choice>, Error> {
    let all = scorers::list(store, who.person.workspace(), now).await?;
    let choice = |row: &pyxis_store::scorers::ScorerRow| {
        let value = row.id.to_string();
        Choice { chosen: value == chosen, label: format!("{} ({value})", row.name), value }
    };
    Ok(all.iter().map(choice).collect())
}

/// The form as it was typed; with the scorers to choose from for a new key.
pub(super) async fn typed(
    store: &Store,
    now: UnixMillis,
    who: &SignedIn,
    fields: &Fields,
    problems: Problems,
) -> Result<PublishableKeyForm, Error> {
    let scorers = scorer_choices(store, now, who, fields.get("scorer_id")).await?;
    Ok(PublishableKeyForm { scorers, ..retyped(fields, problems) })
}

/// The form of a stored key as it was typed.
pub(super) fn retyped(fields: &Fields, problems: Problems) -> PublishableKeyForm {
    PublishableKeyForm {
        name: fields.trimmed("name"),
        scorers: Vec::new(),
        origins: fields.trimmed("origins"),
        stamps_tiers: tiers(fields.get("stamps_tier").parse().unwrap_or(1), limit_of_stamps),
        stamps_limit: fields.trimmed("stamps_limit"),
        problems,
    }
}

/// Reads the form, or returns its problems. Origins are one on each line, or separated by blanks or commas.
pub(super) fn read(fields: &Fields) -> Result<PublishableInput, Problems> {
    let mut problems = Problems::default();
    let stamps = tier(fields, "stamps_tier", "stamps_limit", &mut problems);
    let separated = |one: char| one.is_whitespace() || one == ',';
    let origins = fields.get("origins").split(separated).filter(|origin| !origin.is_empty());
    let input = PublishableInput {
        name: fields.trimmed("name"),
        scorer: fields.trimmed("scorer_id"),
        origins: origins.map(str::to_owned).collect(),
        stamps,
    };
    if problems.is_empty() { Ok(input) } else { Err(problems) }
}

/// The form's field for a field of the service.
pub(super) fn field(name: &str) -> &'static str {
    match name {
        "stamps_limit" | "stamps_tier" => "stamps_limit",
        "scorer_id" => "scorer_id",
        "origins" => "origins",
        _ => "name",
    }
}

/// Settings of a stored key with its form, or the form as typed; `None` for a server key.
pub(super) async fn settings(
    config: &Config,
    store: &Store,
    row: &ApiKeyRow,
    typed: Option<PublishableKeyForm>,
) -> Result<Option<PublishableSettings>, Error> {
    let found = api_keys::publishable_of(store, row.workspace_id, row.id).await?;
    let Some(publishable) = found else { return Ok(None) };
    let scorer = publishable.scorer.to_string();
    let stored = || PublishableKeyForm {
        name: row.name.clone(),
        scorers: Vec::new(),
        origins: publishable.origins.join("\n"),
        stamps_tiers: tiers(row.stamps_tier, limit_of_stamps),
        stamps_limit: row.stamps_limit.map(|limit| limit.to_string()).unwrap_or_default(),
        problems: Problems::default(),
    };
    Ok(Some(PublishableSettings {
        form: typed.unwrap_or_else(stored),
        embed: embed(config, &scorer, THE_KEY),
        scorer,
    }))
}

/// Code for the page.
pub(super) fn embed(config: &Config, scorer: &str, key: &str) -> EmbedCode {
    let base = &config.base_url;
    let (path, integrity) = (&SCRIPT.pinned_path, &SCRIPT.integrity);
    EmbedCode {
        html: format!(
            "<script type=\"module\" crossorigin=\"anonymous\"\n  src=\"{base}{path}\"\n  \
             integrity=\"{integrity}\"></script>\n<pyxis-passport server=\"{base}\" scorer=\"{scorer}\"\n  \
             publishable-key=\"{key}\"></pyxis-passport>"
        ),
        policy: format!("script-src {base}; connect-src {base}"),
    }
}
