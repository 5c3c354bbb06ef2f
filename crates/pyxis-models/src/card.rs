//! The model card: origin and quality of models.

use serde::{Deserialize, Serialize};

use crate::metrics::Quality;

/// A bundle's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Time of training, RFC 3339.
    pub trained_at: String,
    /// Random seed.
    pub seed: u64,
    /// The library that grew the trees.
    pub library: String,
    /// SHA-256 of the feature names, one per line, hex. Absent in bundles from before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features_sha256: Option<String>,
    pub data: TrainingData,
    /// Split used for measuring.
    pub split: String,
    /// Known limitations.
    pub limits: Vec<String>,
    /// Each model for wallets with known counterparties.
    pub models: Vec<ModelCard>,
    /// Each model for wallets that only an indexer knows. Empty in files from before these were distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<ModelCard>,
}

/// Training data of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingData {
    pub transfers: usize,
    /// Addresses in the transfers.
    pub addresses: usize,
    /// Labeled addresses.
    pub labelled: usize,
    /// Labeled humans.
    pub humans: usize,
    /// SHA-256 of the sorted labels, hex.
    pub labels_sha256: String,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// Its name; `shared` is the model for chains without labels.
    pub name: String,
    /// The models of the API that it answers for.
    pub serves: Vec<String>,
    /// True if it answers for activity without labels.
    pub transferred: bool,
    /// Rows in its training data.
    pub rows: usize,
    /// Number of trees.
    pub trees: usize,
    /// Weight in the aggregate, before missing models are left out.
    pub weight: f64,
    /// Measured on addresses left out at random.
    pub random: Option<Quality>,
    /// Measured on whole groups left out.
    pub by_cluster: Option<Quality>,
    /// Only for models of wallets known to an indexer alone: measured on addresses left out at random whose
    /// counterparties were imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Quality>,
    /// `shared` only: measured chain by chain on whole groups of a chain that was not in its training data.
    pub by_chain: Vec<(String, Quality)>,
    /// The most important features, by how much they move the answer on average.
    pub important: Vec<(String, f64)>,
}

impl ModelCard {
    /// Every measurement, with its method.
    pub fn measured(&self) -> Vec<(String, &Quality)> {
        let splits = [
            ("random", &self.random),
            ("by cluster", &self.by_cluster),
            ("random, counterparties imported", &self.imported),
        ];
        let whole = splits.into_iter().filter_map(|(how, quality)| Some((how.to_owned(), quality.as_ref()?)));
        let unseen = self.by_chain.iter().map(|(chain, quality)| (format!("{chain} unseen"), quality));
        whole.chain(unseen).collect()
    }
}
