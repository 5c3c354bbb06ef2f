//! The model card: where models come from and how good they are.

use serde::{Deserialize, Serialize};

use crate::metrics::Quality;

/// What a bundle says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// When it was trained, RFC 3339.
    pub trained_at: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// The library that grew the trees.
    pub library: String,
    /// SHA-256 of the names of the features, one on each line, hex. What was trained before it was noted has
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features_sha256: Option<String>,
    /// What it learned from.
    pub data: TrainingData,
    /// How it was split to be measured.
    pub split: String,
    /// What to keep in mind.
    pub limits: Vec<String>,
    /// Each model that answers about wallets whose company is known.
    pub models: Vec<ModelCard>,
    /// Each model that answers about wallets that only an indexer knows. Files from before these were told apart
    /// have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<ModelCard>,
}

/// What a bundle learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingData {
    /// Transfers.
    pub transfers: usize,
    /// Addresses in them.
    pub addresses: usize,
    /// Labelled addresses.
    pub labelled: usize,
    /// Humans among them.
    pub humans: usize,
    /// SHA-256 of the sorted labels, hex.
    pub labels_sha256: String,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// Its name; `shared` is the one that stands in for chains without labels.
    pub name: String,
    /// The models of the interface that it answers for.
    pub serves: Vec<String>,
    /// True if it answers for activity that it never saw labels of.
    pub transferred: bool,
    /// Rows that it learned from.
    pub rows: usize,
    /// Trees.
    pub trees: usize,
    /// What it weighs in the aggregate, before what is missing is left out.
    pub weight: f64,
    /// Measured on addresses left out at random.
    pub random: Option<Quality>,
    /// Measured on whole groups left out.
    pub by_cluster: Option<Quality>,
    /// Of those for wallets that are known alone: measured on addresses left out at random whose counterparties
    /// were imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Quality>,
    /// `shared` only: measured on whole groups of a chain that it learned nothing of, chain by chain.
    pub by_chain: Vec<(String, Quality)>,
    /// The features that say most, by how much they move the answer on average.
    pub important: Vec<(String, f64)>,
}

impl ModelCard {
    /// Every measurement, and how it was made.
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
