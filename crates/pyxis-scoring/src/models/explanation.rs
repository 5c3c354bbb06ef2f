//! Scores with their reasons, in words.

use pyxis_models::Error;
use pyxis_models::bundle::{Bundle, Scores, Single, score};
use pyxis_models::features::{self, Features, LEAST_TRANSFERS};
use pyxis_models::scope::Model;

/// Maximum number of features listed for each model.
const MAX_FEATURES: usize = 12;

/// A model's score of a wallet, with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct WalletExplanation {
    /// The score; `None` means too little data.
    pub score: Option<f64>,
    /// Reason for a missing score.
    pub missing: Option<String>,
    /// True if the features of the wallet's counterparties are known. Imported activity has them, an indexer's alone
    /// does not.
    pub company: bool,
    /// The models behind the score.
    pub models: Vec<ModelExplanation>,
}

/// One of the models behind a score.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelExplanation {
    pub model: Model,
    /// This model's own score.
    pub score: f64,
    /// This model's weight in the score, 0 to 1.
    pub weight: f64,
    /// True if it was trained without labels of this activity.
    pub transferred: bool,
    /// Set for a custom model.
    pub custom: Option<CustomName>,
    /// Features that moved the score, strongest first.
    pub features: Vec<FeatureLine>,
}

/// Identity of a custom model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomName {
    /// The name that its owner gave it.
    pub name: String,
    /// SHA-256 of its file, hex.
    pub file_sha256: String,
}

/// One reason.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureLine {
    /// The name of the feature.
    pub name: String,
    /// Description of the feature.
    pub words: String,
    /// The wallet's value; `None` is unknown.
    pub value: Option<f32>,
    /// Change of the log odds of being human.
    pub moved: f64,
}

/// A model's score of a wallet with its reasons. Only a custom model can fail.
pub fn explain_model(
    bundle: &Bundle,
    model: Model,
    found: Option<&Features>,
) -> Result<WalletExplanation, Error> {
    let scores = found.map(|found| bundle.scores(found)).transpose()?.unwrap_or_default();
    let mut models = Vec::new();
    match (found, scores.aggregate) {
        // A custom model ignores the others.
        (Some(found), Some(log_odds)) if model == Model::Aggregate && bundle.custom(model).is_some() => {
            models.push(part(bundle, found, model, log_odds, 1.0, false)?);
        }
        (Some(found), _) => {
            let wanted = |single: &&Single| model == Model::Aggregate || single.model == model;
            for single in scores.singles.iter().filter(wanted) {
                let weight = if model == Model::Aggregate { single.weight } else { 1.0 };
                let Single { model, log_odds, transferred, .. } = *single;
                models.push(part(bundle, found, model, log_odds, weight, transferred)?);
            }
        }
        (None, _) => {}
    }
    let score = scores.get(model);
    let company = found.is_some_and(Features::knows_company);
    Ok(WalletExplanation {
        score,
        missing: score.is_none().then(|| missing(model, &scores)),
        company,
        models,
    })
}

fn part(
    bundle: &Bundle,
    found: &Features,
    model: Model,
    log_odds: f64,
    weight: f64,
    transferred: bool,
) -> Result<ModelExplanation, Error> {
    let custom = bundle.custom(model).map(|custom| CustomName {
        name: custom.card.name.clone(),
        file_sha256: custom.card.file_sha256.clone(),
    });
    let features = reasons(bundle, model, found)?;
    Ok(ModelExplanation { model, score: score(log_odds), weight, transferred, custom, features })
}

fn reasons(bundle: &Bundle, model: Model, found: &Features) -> Result<Vec<FeatureLine>, Error> {
    let Some(why) = bundle.explain(model, found)? else { return Ok(Vec::new()) };
    let line = |entry: &pyxis_models::explanation::Contribution| FeatureLine {
        name: features::feature_name(entry.feature),
        words: features::feature_label(entry.feature),
        value: (!entry.value.is_nan()).then_some(entry.value),
        moved: (entry.moved * 1e4).round() / 1e4,
    };
    Ok(why.contributions.iter().take(MAX_FEATURES).map(line).collect())
}

fn missing(model: Model, scores: &Scores) -> String {
    match model {
        Model::Aggregate => "no model had enough data".to_owned(),
        _ if scores.singles.is_empty() => {
            format!("fewer than {LEAST_TRANSFERS} known transfers on any chain")
        }
        single => {
            format!("fewer than {LEAST_TRANSFERS} known transfers in the scope of the model {single}")
        }
    }
}
