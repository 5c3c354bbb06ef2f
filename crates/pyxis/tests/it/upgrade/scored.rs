//! An address with a score.

use std::time::Duration;

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::SeededEntropy;
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};

use crate::support::{App, Client};

/// Reads the score of an address.
pub(super) struct Scored {
    pub(super) client: Client,
    pub(super) path: String,
    pub(super) score: Value,
}

impl Scored {
    /// Trusts an issuer, stores a Stamp and reads the score.
    pub(super) async fn add(app: &App) -> Self {
        let issuer = Eip712Issuer::new(&SeededEntropy::new(7));
        let listed = json!({"did": issuer.did(), "name": "Ours"});
        app.owner().client.post("/admin/issuers", &listed).send().await.expect(201);
        let now = SystemClock.now();
        let address = pyxis_core::address::EvmAddress([1; 20]);
        let claim = CredentialFields {
            address,
            provider: "Discord",
            nullifiers: &["upgrade"],
            issued_at: now,
            expires_at: now.plus(Duration::from_hours(24 * 365 * 50)),
        };
        let body: Value = serde_json::from_str(&issuer.issue(&claim)).unwrap();
        app.sql("UPDATE api_keys SET stamps_tier = 4, stamps_limit = 1000000000");
        let client = app.anonymous().with("x-api-key", app.bootstrap["api_key"].as_str().unwrap());
        let stamps = format!("/v2/stamps/{address}");
        client.post(&stamps, &json!([body])).send().await.expect(200);
        let path = format!("/v2/stamps/{}/score/{address}", app.bootstrap["scorer_id"]);
        let score = client.get(&path).send().await.expect(200).json();
        Self { client, path, score }
    }
}
