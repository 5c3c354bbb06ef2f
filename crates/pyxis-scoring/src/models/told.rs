//! Scores with their reasons, in words.

use pyxis_models::bundle::{Bundle, Scores, score};
use pyxis_models::chain::Model;
use pyxis_models::features::{self, Features, LEAST_TRANSFERS};

/// Features that are told for each model.
const TOLD: usize = 12;

/// What a model says of a wallet and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The score; `None` is too little data.
    pub score: Option<f64>,
    /// Why there is none, if there is none.
    pub missing: Option<String>,
    /// The models that it comes from.
    pub models: Vec<ToldModel>,
}

/// One of the models that a score comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldModel {
    /// Which.
    pub model: Model,
    /// Its own score.
    pub score: f64,
    /// What it weighs here, of 1.
    pub weight: f64,
    /// Whether it never saw labels of this activity.
    pub transferred: bool,
    /// What moved it, the strongest first.
    pub features: Vec<FeatureLine>,
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

/// A model's score of a wallet with its reasons.
pub fn tell(bundle: &Bundle, model: Model, found: Option<&Features>) -> Told {
    let scores = found.map(|found| bundle.scores(found)).unwrap_or_default();
    let parts = scores.singles.iter().filter(|single| model == Model::Aggregate || single.model == model);
    let models: Vec<ToldModel> = parts
        .map(|single| ToldModel {
            model: single.model,
            score: score(single.log_odds),
            weight: if model == Model::Aggregate { single.weight } else { 1.0 },
            transferred: single.transferred,
            features: found.map(|found| reasons(bundle, single.model, found)).unwrap_or_default(),
        })
        .collect();
    let score = scores.of(model);
    Told { score, missing: score.is_none().then(|| missing(model, &scores)), models }
}

fn reasons(bundle: &Bundle, model: Model, found: &Features) -> Vec<FeatureLine> {
    let Some(why) = bundle.explain(model, found) else { return Vec::new() };
    let line = |entry: &pyxis_models::bundle::Contribution| FeatureLine {
        name: features::name(entry.feature),
        words: features::words(entry.feature),
        value: (!entry.value.is_nan()).then_some(entry.value),
        moved: (entry.moved * 1e4).round() / 1e4,
    };
    why.contributions.iter().take(TOLD).map(line).collect()
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
