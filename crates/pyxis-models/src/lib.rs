//! Scores of wallets from their own activity (`docs/reference/behavior/scoring.md#model-scores`): features from
//! transfers, training of models from labeled addresses, and measurement of their quality.
//!
//! Everything here is pure computation: the same input gives the same output, whatever the number of threads. [`graph`]
//! holds transfers, and [`features`] turns them into numbers for training and serving alike. [`training`] creates a
//! [`bundle::Bundle`], which scores. [`clusters`] finds suspected groups.

pub mod activity_reader;
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
pub mod scope;
pub mod training;

/// The largest file of a custom model, in bytes.
pub const MOST_CUSTOM_BYTES: u64 = pyxis_onnx::MOST_BYTES as u64;

/// Failures of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a stored value is malformed.
    #[error("{what} cannot be read: {why}")]
    Unreadable {
        /// The expected content.
        what: &'static str,
        /// Fault of the file.
        why: String,
    },
    /// Reading the file failed.
    #[error("cannot read")]
    Io(#[from] std::io::Error),
    /// There is too little training data.
    #[error("{0}")]
    Training(String),
    /// A file cannot be used as a custom model.
    #[error("the model is refused: {0}")]
    Refused(pyxis_onnx::LoadError),
    /// A custom model, by name, failed. There is no score.
    #[error("the custom model {0} failed: {1}")]
    Custom(String, String),
}

impl From<pyxis_onnx::LoadError> for Error {
    /// The cause is part of the message, so it is not the source too.
    fn from(error: pyxis_onnx::LoadError) -> Self {
        Self::Refused(error)
    }
}

impl Error {
    pub(crate) fn unreadable(what: &'static str, why: impl Into<String>) -> Self {
        Self::Unreadable { what, why: why.into() }
    }
}

/// The built-in models.
pub fn built_in() -> Result<bundle::Bundle, Error> {
    let bundle = bundle::Bundle::from_bytes(include_bytes!("../models/default.pxm"))?;
    Ok(bundle::Bundle { of_program: true, ..bundle })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_refused_model_says_why_once() {
        let error = crate::Error::from(pyxis_onnx::LoadError::TooLarge(5));
        assert!(error.to_string().starts_with("the model is refused: the file has 5 bytes"));
        assert!(std::error::Error::source(&error).is_none());
    }

    #[test]
    fn the_models_that_come_with_the_program_are_those_that_the_card_and_the_documents_speak_of() {
        let built_in = crate::built_in().unwrap();
        let fingerprint = built_in.fingerprint();
        assert!(fingerprint.starts_with("1cb592a7"), "{fingerprint}");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/models.md");
        assert!(std::fs::read_to_string(path).unwrap().contains(&fingerprint), "name {fingerprint} there");
        // The models were trained on features of these names: other names need a new file.
        let names = built_in.card.features_sha256.unwrap();
        assert_eq!(names, "e3eb4423194f2ba3915c8a62dff191aefbc2ab5416ca20be9ca67b0a8da8992e");
    }
}
