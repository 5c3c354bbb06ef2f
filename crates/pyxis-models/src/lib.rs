//! Scores of wallets from their own activity (Spec 1, Models): what is read from transfers, how models
//! are made from labelled addresses, and how good they are.
//!
//! Everything here is computing: the same input gives the same output, whatever the number of threads.
//! [`graph`] holds transfers, [`features`] turns them into numbers for training and serving alike,
//! [`training`] makes a [`bundle::Bundle`], which scores. [`clusters`] names groups of suspects.

pub mod bundle;
pub mod calibration;
pub mod card;
pub mod cast;
pub mod chunk;
pub mod clusters;
mod cohort;
pub mod custom;
pub mod dataset;
pub mod explanation;
pub mod family;
pub mod features;
pub mod fingerprints;
pub mod forest;
pub mod graph;
mod linked_users;
pub mod metrics;
pub mod peers;
pub mod plot;
pub mod reading;
pub mod scope;
pub mod training;

/// The largest file of a model of the user's own, in bytes.
pub const MOST_CUSTOM_BYTES: u64 = pyxis_onnx::MOST_BYTES as u64;

/// Why something here could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a stored value does not read as what it should be.
    #[error("{what} cannot be read: {why}")]
    Unreadable {
        /// What it should be.
        what: &'static str,
        /// Fault of the file.
        why: String,
    },
    /// The file cannot be read at all.
    #[error("cannot read")]
    Io(#[from] std::io::Error),
    /// There is too little to learn from.
    #[error("cannot train: {0}")]
    Training(String),
    /// A file of the user's own cannot be used as a model.
    #[error("the model is refused: {0}")]
    Refused(#[from] pyxis_onnx::LoadError),
    /// A model of the user's own, by name, failed. It is no score.
    #[error("the custom model {0} failed: {1}")]
    Custom(String, String),
}

impl Error {
    pub(crate) fn unreadable(what: &'static str, why: impl Into<String>) -> Self {
        Self::Unreadable { what, why: why.into() }
    }
}

/// The models that come with the program.
pub fn built_in() -> Result<bundle::Bundle, Error> {
    let bundle = bundle::Bundle::from_bytes(include_bytes!("../models/default.pxm"))?;
    Ok(bundle::Bundle { of_program: true, ..bundle })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_models_that_come_with_the_program_are_those_that_the_card_and_the_documents_speak_of() {
        let built_in = crate::built_in().unwrap();
        let fingerprint = built_in.fingerprint();
        assert!(fingerprint.starts_with("1cb592a7"), "{fingerprint}");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
        assert!(std::fs::read_to_string(path).unwrap().contains(&fingerprint), "name {fingerprint} there");
        // The models were trained on features of these names: others need a new file.
        let names = built_in.card.features_sha256.unwrap();
        assert_eq!(names, "e3eb4423194f2ba3915c8a62dff191aefbc2ab5416ca20be9ca67b0a8da8992e");
    }
}
