//! Models that score wallets: how good they are, why a wallet has its score, and whom they suspect.

use askama::Template;

use super::{Choice, Layout, Search, in_section};

/// `GET /app/models?address=…&model=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "models.html")]
pub struct ModelsPage {
    /// The frame.
    pub shell: Layout,
    /// Address as typed.
    pub address: String,
    /// Fault of the address.
    pub problem: Option<String>,
    /// Models to choose from.
    pub choices: Vec<Choice>,
    /// What was found.
    pub found: Option<ModelScoreView>,
    /// Where the models are from, as a sentence.
    pub origin: String,
    /// SHA-256 of the models.
    pub fingerprint: String,
    /// Measurements.
    pub lines: Vec<QualityLine>,
    /// Plots of the aggregate, SVG of ours.
    pub plots: Vec<String>,
    /// What to keep in mind.
    pub limits: Vec<String>,
    /// The user's own models.
    pub customs: Vec<CustomLine>,
    /// What was served, SVG of ours.
    pub served: Option<String>,
    /// How many answers were -1, as a sentence.
    pub unserved: Option<String>,
    /// The search field of suspected groups, and their pages.
    pub search: Search,
    /// The groups that were found.
    pub groups: Vec<GroupLine>,
    /// True if any activity was taken in.
    pub has_activity: bool,
}

/// One measurement of a model.
#[derive(Clone, Debug)]
pub struct QualityLine {
    /// The model.
    pub model: String,
    /// True if it answers for activity that it never saw labels of.
    pub transferred: bool,
    /// Models of the interface that it answers for.
    pub serves: String,
    /// How addresses were left out.
    pub split: String,
    /// Addresses.
    pub scored: String,
    /// Area under the ROC curve.
    pub auc: String,
    /// Precision where 80 % of the Sybils are found.
    pub precision: String,
    /// Expected calibration error.
    pub calibration: String,
}

/// A model of the user's own.
#[derive(Clone, Debug)]
pub struct CustomLine {
    /// The model that it answers for.
    pub model: String,
    /// Its name.
    pub name: String,
    /// What its owner says of it.
    pub description: Option<String>,
    /// What wrote the file, and of what it is made.
    pub made_of: String,
    /// SHA-256 of its file.
    pub file: String,
    /// SHA-256 of the features that it is given.
    pub features: String,
    /// When it was added.
    pub added: String,
    /// How good it is, where it was measured, as a sentence.
    pub quality: Option<String>,
}

/// The score of a wallet.
#[derive(Clone, Debug)]
pub struct ModelScoreView {
    /// The wallet.
    pub address: String,
    /// The score, or -1.
    pub score: String,
    /// What it means, as a sentence.
    pub words: String,
    /// The models that it comes from.
    pub models: Vec<FoundModel>,
}

/// One model's part in a score.
#[derive(Clone, Debug)]
pub struct FoundModel {
    /// Its name.
    pub name: String,
    /// Its own score.
    pub score: String,
    /// What it weighs, in percent.
    pub weight: String,
    /// True if it never saw labels of this activity.
    pub transferred: bool,
    /// The name of the user's own model that answered, if one did.
    pub custom: Option<String>,
    /// What moved it.
    pub reasons: Vec<Reason>,
}

/// One feature.
#[derive(Clone, Debug)]
pub struct Reason {
    /// What it is.
    pub words: String,
    /// What the wallet has.
    pub value: String,
    /// True if it speaks for a human.
    pub human: bool,
    /// By how much it moved the log odds.
    pub moved: String,
}

/// A suspected group.
#[derive(Clone, Debug)]
pub struct GroupLine {
    /// The address that names it.
    pub id: String,
    /// How many users.
    pub users: String,
    /// Median score.
    pub score: String,
    /// The evidence, as sentences.
    pub evidence: Vec<String>,
    /// Its picture, SVG of ours.
    pub picture: String,
}

in_section!(ModelsPage => Models);
