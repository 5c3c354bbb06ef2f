//! Scores with their reasons, in words.

use pyxis_models::Error;
use pyxis_models::bundle::{Bundle, Scores, Single, score};
use pyxis_models::features::{self, Features, LEAST_TRANSFERS};
use pyxis_models::scope::Model;

/// Features that are told for each model.
const TOLD: usize = 12;

/// What a model says of a wallet and why.
#[derive(Clone, Debug, PartialEq)]
pub struct WalletExplanation {
    /// The score; `None` is too little data.
    pub score: Option<f64>,
    /// Why there is none, if there is none.
    pub missing: Option<String>,
    /// True if the numbers of the wallet's company are known: of what was imported they are, of what only an
    /// indexer says they are not.
    pub company: bool,
    /// The models that it comes from.
    pub models: Vec<ModelExplanation>,
}

/// One of the models that a score comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelExplanation {
    /// Which.
    pub model: Model,
    /// Its own score.
    pub score: f64,
    /// What it weighs here, of 1.
    pub weight: f64,
    /// True if it never saw labels of this activity.
    pub transferred: bool,
    /// Which of the user's own models it is, if it is one.
    pub custom: Option<CustomName>,
    /// What moved it, the strongest first.
    pub features: Vec<FeatureLine>,
}

/// What names a model of the user's own.
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
    /// What it is.
    pub words: String,
    /// What the wallet has; `None` is unknown.
    pub value: Option<f32>,
    /// By how much it moved the log odds of being human.
    pub moved: f64,
}

/// A model's score of a wallet with its reasons. Only a model of the user's own can fail.
pub fn tell(bundle: &Bundle, model: Model, found: Option<&Features>) -> Result<WalletExplanation, Error> {
    let scores = found.map(|found| bundle.scores(found)).transpose()?.unwrap_or_default();
    let mut models = Vec::new();
    match (found, scores.aggregate) {
        // A model of the user's own takes no notice of the others.
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
    let score = scores.of(model);
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
    Ok(why.contributions.iter().take(TOLD).map(line).collect())
}

fn missing(model: Model, scores: &Scores) -> String {
    match model {
        Model::Aggregate => "no model had enough data".to_owned(),
        _ if scores.singles.is_empty() => {
            format!("fewer than {LEAST_TRANSFERS} transfers are known, on any chain")
        }
        single => {
            format!("fewer than {LEAST_TRANSFERS} transfers are known that the model {single} looks at")
        }
    }
}
