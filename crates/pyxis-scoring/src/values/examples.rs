//! Examples of objects whose members no schema names.

use serde_json::{Value, json};

use super::SAMPLE;

/// A model of the deployment's own that answers for the activity on Ethereum.
pub(super) fn custom_model() -> Value {
    json!({
        "model": "ethereum_activity",
        "name": "Our model",
        "description": null,
        "file_sha256": "3f".repeat(32),
        "features_sha256": "4b".repeat(32),
        "features": 24,
        "producer": "skl2onnx",
        "output": "probabilities",
        "human_column": 1,
        "operators": ["TreeEnsembleClassifier"],
        "steps": 4200,
        "unknown": null,
        "calibration": {"slope": 1.0, "offset": 0.0},
        "weight": null,
        "added_at": "2026-01-31T09:05:00.250Z",
        "quality": null
    })
}

/// An attestation of a verified account.
pub(super) fn condition_settings() -> Value {
    json!({
        "attester": "0x357458739F90461b99789350868CD7CF330Dd7EE",
        "contract": "0x4200000000000000000000000000000000000021",
        "indexer": "0x2c7eE1E5f416dfF40054c27A62f7B357C4E8619C",
        "schema": "0xf8b05c79f090979bf4a80270aba232dff11a10d9ca55c4f88de95317970f0de9"
    })
}

/// Three wallets that one address funded.
pub(super) fn suspected_group() -> Value {
    let member = |last: u8, score: f64| json!({"address": numbered(last), "score": score});
    json!({
        "id": SAMPLE,
        "size": 3,
        "median_score": 21.4,
        "shared_funder": {"address": numbered(9), "members": 3, "who": [0, 1, 2]},
        "shared_sink": null,
        "same_day": 2,
        "transfers_within": 2,
        "members": [member(1, 21.4), member(2, 18.25), member(3, 30.02)],
        "links": [[0, 1], [1, 2]]
    })
}

/// Models that were trained without a measurement.
pub(super) fn models_card() -> Value {
    json!({
        "trained_at": "2026-01-31T09:05:00Z",
        "seed": 1,
        "library": "forust-ml 0.8",
        "data": {
            "transfers": 120_000,
            "addresses": 9000,
            "labelled": 2400,
            "humans": 1300,
            "labels_sha256": "5c".repeat(32)
        },
        "split": "random fifth",
        "limits": ["Labels are of one chain."],
        "models": [{
            "name": "ethereum_activity",
            "serves": ["ethereum_activity"],
            "transferred": false,
            "rows": 2400,
            "trees": 200,
            "weight": 1.0,
            "random": null,
            "by_cluster": null,
            "by_chain": [],
            "important": [["transfers", 0.42]]
        }]
    })
}

/// The sample address with another last digit.
fn numbered(last: u8) -> String {
    format!("{}{last}", SAMPLE.trim_end_matches('1'))
}
