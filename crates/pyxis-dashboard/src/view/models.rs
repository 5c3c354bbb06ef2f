//! Models that score wallets: their quality, explanations of scores, and suspected groups.

use askama::Template;

use super::{Choice, Layout, Search, in_section};

/// `GET /app/models?address=…&model=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "models.html")]
pub struct ModelsPage {
    pub shell: Layout,
    /// Address as typed.
    pub address: String,
    /// Problem with the address.
    pub problem: Option<String>,
    /// Models to choose from.
    pub choices: Vec<Choice>,
    /// Score that was found.
    pub found: Option<ModelScoreView>,
    /// Origin of the models, as a sentence.
    pub origin: String,
    /// SHA-256 of the models.
    pub fingerprint: String,
    /// Measurements.
    pub lines: Vec<QualityLine>,
    /// Plots of the aggregate, SVG generated here.
    pub plots: Vec<String>,
    /// Limits of the models.
    pub limits: Vec<String>,
    /// The user's own models.
    pub customs: Vec<CustomLine>,
    /// Plot of served scores, SVG generated here.
    pub served: Option<String>,
    /// Number of responses that were -1, as a sentence.
    pub unserved: Option<String>,
    /// The search field of suspected groups, and their pages.
    pub search: Search,
    /// The groups found.
    pub groups: Vec<GroupLine>,
    /// True if any activity was imported.
    pub has_activity: bool,
}

/// One measurement of a model.
#[derive(Clone, Debug)]
pub struct QualityLine {
    pub model: String,
    /// True for the measurement that says the most about a model: whole groups of wallets held out, if there is one.
    pub is_headline: bool,
    /// True if the model scores activity whose labels it has never seen.
    pub transferred: bool,
    /// Models of the API that it answers for.
    pub serves: String,
    /// The way addresses were held out.
    pub split: String,
    /// Number of addresses.
    pub scored: String,
    /// Area under the ROC curve.
    pub auc: String,
    /// Precision at 80 % recall of Sybils.
    pub precision: String,
    /// Expected calibration error.
    pub calibration: String,
}

/// A model of the user's own.
#[derive(Clone, Debug)]
pub struct CustomLine {
    /// The model that it answers for.
    pub model: String,
    pub name: String,
    /// The owner's description.
    pub description: Option<String>,
    /// Program that wrote the file, and kind of model.
    pub made_of: String,
    /// SHA-256 of its file.
    pub file: String,
    /// SHA-256 of the features given to it.
    pub features: String,
    /// Time of creation.
    pub added: String,
    /// Quality if it was measured, as a sentence.
    pub quality: Option<String>,
}

/// The score of a wallet.
#[derive(Clone, Debug)]
pub struct ModelScoreView {
    pub address: String,
    /// The score, or -1.
    pub score: String,
    /// Meaning of the score, as a sentence.
    pub words: String,
    /// The models that contribute to it.
    pub models: Vec<FoundModel>,
}

/// One model's part in a score.
#[derive(Clone, Debug)]
pub struct FoundModel {
    pub name: String,
    pub score: String,
    /// Weight in percent.
    pub weight: String,
    /// True if it never saw labels of this activity.
    pub transferred: bool,
    /// The name of the user's own model that answered, if one did.
    pub custom: Option<String>,
    /// Features that moved it.
    pub reasons: Vec<Reason>,
}

/// One feature.
#[derive(Clone, Debug)]
pub struct Reason {
    /// Description of the feature.
    pub words: String,
    /// The wallet's value.
    pub value: String,
    /// True if it indicates a human.
    pub human: bool,
    /// Change of the log odds.
    pub moved: String,
}

/// A suspected group.
#[derive(Clone, Debug)]
pub struct GroupLine {
    /// The address that identifies the group.
    pub id: String,
    /// Number of users.
    pub users: String,
    /// Median score.
    pub score: String,
    /// The evidence, as sentences.
    pub evidence: Vec<String>,
    /// Picture, SVG generated here.
    pub picture: String,
}

in_section!(ModelsPage => Models);
