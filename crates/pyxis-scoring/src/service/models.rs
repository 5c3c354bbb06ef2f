//! Models for managers: quality, served scores, suspected groups, and explanations of a wallet's score.

use pyxis_core::address::EvmAddress;
use pyxis_models::plot;
use pyxis_store::{Store, activity, models};

pub use pyxis_models::card::Card;
pub use pyxis_models::clusters::{Group, GroupExtent, SharedCounterparty};
pub use pyxis_models::custom::CustomCard;
pub use pyxis_models::metrics::Quality;
pub use pyxis_models::scope::Model;

use super::{Error, Result};
use crate::models::{ActivitySource, ImportedActivity, SourceError, WalletExplanation, explain_model};
use crate::state::State;

/// The active models and their data.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The revision; `None`: the built-in models.
    pub revision: Option<i64>,
    /// Fingerprint of the models.
    pub fingerprint: String,
    /// The models' own description.
    pub card: Card,
    /// Custom models.
    pub customs: Vec<CustomCard>,
    /// Served scores: model, bucket (-1 means too little data, else the twentieth of 0 to 100), count.
    pub served: Vec<(String, i64, i64)>,
    /// Imported activity files.
    pub imports: usize,
    /// True if indexers are queried for activity.
    pub indexers: bool,
}

/// The active models.
pub async fn overview(state: &State) -> Result<Overview> {
    let held = state.models.current().await?;
    Ok(Overview {
        revision: held.installed(),
        fingerprint: held.fingerprint.clone(),
        card: held.bundle.card.clone(),
        customs: held.bundle.customs.iter().map(|custom| custom.card.clone()).collect(),
        served: models::serves(&state.store).await?,
        imports: activity::list_imports(&state.store).await?.len(),
        indexers: state.activity().is_some(),
    })
}

/// The largest suspected groups.
pub async fn groups(store: &Store) -> Result<Vec<Group>> {
    let stored = models::groups(store, 1, i64::MAX).await?;
    stored.into_iter().map(|(_, document)| group(&document)).collect()
}

/// A suspected group as it is stored.
pub fn group(document: &str) -> Result<Group> {
    serde_json::from_str(document).map_err(|error| Error::Internal(Box::new(error)))
}

/// Explains a wallet's score. Counts against no limit and is not recorded as served.
pub async fn explain_wallet(state: &State, address: EvmAddress, model: Model) -> Result<WalletExplanation> {
    let held = state.models.current().await?;
    let found = match state.activity() {
        Some(source) => source.fetch_features(address, state.now()).await,
        None => ImportedActivity::new(state.store.clone()).fetch_features(address, state.now()).await,
    };
    let found = found.map_err(failed)?;
    explain_model(&held.bundle, model, found.as_ref()).map_err(|error| Error::Internal(Box::new(error)))
}

fn failed(error: SourceError) -> Error {
    match error {
        SourceError::Store(error) => error.into(),
        SourceError::Damaged(error) => Error::Internal(Box::new(error)),
        SourceError::Indexer { chain, error } => {
            tracing::warn!(chain, %error, "cannot read activity from an indexer");
            Error::Source(chain)
        }
    }
}

/// The four plots of a measurement, as SVG: ROC, precision and recall, calibration, scores.
pub fn plots(quality: &Quality) -> [String; 4] {
    [
        plot::roc(quality),
        plot::precision_recall(quality),
        plot::calibration(quality),
        plot::histogram(quality),
    ]
}

/// The members of a group with the transfers between them, as SVG.
pub fn picture(group: &Group) -> String {
    plot::group(group)
}

/// Served scores of every model, by twentieths, as SVG; `None` if none were served.
pub fn served_plot(served: &[(String, i64, i64)]) -> Option<String> {
    let mut counts = [0; 20];
    for (_, bucket, count) in served {
        if let Some(entry) = usize::try_from(*bucket).ok().and_then(|bucket| counts.get_mut(bucket)) {
            *entry += count;
        }
    }
    counts.iter().any(|count| *count > 0).then(|| plot::served(&counts))
}
