//! The form of an API key.

use pyxis_scoring::{limit_of_models, limit_of_stamps};
use pyxis_store::api_keys::{ApiKeyRow, Tier};

use super::key_usage::budget;
use crate::form::Fields;
use crate::view::api_keys::ApiKeyForm;
use crate::view::{Choice, Problems};

/// The tier with a limit of its own.
const OWN: i64 = 4;
pub(super) const FIRST: Tier = Tier { tier: 1, limit: None };

/// Values of the form.
pub(super) struct ApiKeyInput {
    pub(super) name: String,
    pub(super) stamps: Tier,
    pub(super) models: Tier,
    pub(super) can_read: bool,
    pub(super) can_write: bool,
}

/// Tiers to choose from, with the limit of each.
pub(super) fn tiers(chosen: i64, limit: fn(i64, Option<i64>) -> i64) -> Vec<Choice> {
    (1..=OWN)
        .map(|tier| Choice {
            value: tier.to_string(),
            label: if tier == OWN {
                "Tier 4: custom, more than 2,000 per 15 minutes".to_owned()
            } else {
                budget(tier, limit(tier, None))
            },
            chosen: tier == chosen,
        })
        .collect()
}

/// The form of a new key.
pub(super) fn blank() -> ApiKeyForm {
    build_form(String::new(), (FIRST, FIRST), (true, false))
}

/// The form of a stored key.
pub(super) fn from_row(row: &ApiKeyRow) -> ApiKeyForm {
    let stamps = Tier { tier: row.stamps_tier, limit: row.stamps_limit };
    let models = Tier { tier: row.models_tier, limit: row.models_limit };
    build_form(row.name.clone(), (stamps, models), (row.can_read, row.can_write))
}

fn build_form(
    name: String,
    (stamps, models): (Tier, Tier),
    (can_read, can_write): (bool, bool),
) -> ApiKeyForm {
    let number = |limit: Option<i64>| limit.map(|limit| limit.to_string()).unwrap_or_default();
    ApiKeyForm {
        name,
        stamps_tiers: tiers(stamps.tier, limit_of_stamps),
        stamps_limit: number(stamps.limit),
        models_tiers: tiers(models.tier, limit_of_models),
        models_limit: number(models.limit),
        can_read,
        can_write,
        problems: Problems::default(),
    }
}

/// The form as it was typed.
pub(super) fn typed(fields: &Fields, problems: Problems) -> ApiKeyForm {
    let tier = |name: &str| fields.get(name).parse().unwrap_or(1);
    ApiKeyForm {
        name: fields.trimmed("name"),
        stamps_tiers: tiers(tier("stamps_tier"), limit_of_stamps),
        stamps_limit: fields.trimmed("stamps_limit"),
        models_tiers: tiers(tier("models_tier"), limit_of_models),
        models_limit: fields.trimmed("models_limit"),
        can_read: fields.is_checked("can_read"),
        can_write: fields.is_checked("can_write"),
        problems,
    }
}

/// Reads the form, or returns its problems.
pub(super) fn read(fields: &Fields) -> Result<ApiKeyInput, Problems> {
    let mut problems = Problems::default();
    let stamps = tier(fields, "stamps_tier", "stamps_limit", &mut problems);
    let models = tier(fields, "models_tier", "models_limit", &mut problems);
    let (can_read, can_write) = (fields.is_checked("can_read"), fields.is_checked("can_write"));
    if !can_read && !can_write {
        problems.add("can_read", "Select at least one permission.");
    }
    let wanted = ApiKeyInput { name: fields.trimmed("name"), stamps, models, can_read, can_write };
    if problems.is_empty() { Ok(wanted) } else { Err(problems) }
}

pub(super) fn tier(fields: &Fields, tier: &str, limit: &'static str, problems: &mut Problems) -> Tier {
    let number = fields.get(tier).parse().unwrap_or(FIRST.tier);
    if number != OWN {
        return Tier { tier: number, limit: None };
    }
    let own = fields.trimmed(limit).parse().ok();
    if own.is_none() {
        problems.add(limit, "Enter the number of requests per 15 minutes as a whole number.");
    }
    Tier { tier: OWN, limit: own }
}

/// The form's field for a field of the service.
pub(super) fn field(name: &str) -> &'static str {
    match name {
        "stamps_limit" | "stamps_tier" => "stamps_limit",
        "models_limit" | "models_tier" => "models_limit",
        "can_read" | "can_write" => "can_read",
        _ => "name",
    }
}
