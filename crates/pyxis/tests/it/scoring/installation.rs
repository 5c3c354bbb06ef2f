//! An installation with Stamps in it.

use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_core::entropy::SeededEntropy;
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};

use crate::support::{App, Client, HttpResponse, Person, Setup};

/// A server, its owner, an API key that writes, and a trusted issuer.
pub(crate) struct ScoringSite {
    pub(crate) app: App,
    pub(crate) owner: Client,
    pub(crate) api: Client,
    pub(crate) issuer: Eip712Issuer,
    now: UnixMillis,
}

pub(crate) fn address(number: u8) -> EvmAddress {
    EvmAddress([number; 20])
}

impl ScoringSite {
    pub(crate) async fn with(setup: Setup) -> Self {
        let app = App::start(setup).await;
        let owner = app.owner().client;
        let api = app.anonymous().with("x-api-key", app.bootstrap["api_key"].as_str().unwrap());
        let issuer = Eip712Issuer::new(&SeededEntropy::new(7));
        let site = Self { app, owner, api, issuer, now: SystemClock.now() };
        let listed = json!({"did": site.issuer.did(), "name": "Ours"});
        site.owner.post("/admin/issuers", &listed).send().await.expect(201);
        site
    }

    /// The number of the first scorer.
    pub(crate) fn scorer(&self) -> String {
        self.app.bootstrap["scorer_id"].to_string()
    }

    /// A credential of an address, with the given nullifier.
    pub(crate) fn credential(&self, number: u8, provider: &str, nullifier: &str) -> Value {
        let claim = CredentialFields {
            address: address(number),
            provider,
            nullifiers: &[nullifier],
            issued_at: self.now,
            expires_at: self.now.plus(Duration::from_hours(24)),
        };
        serde_json::from_str(&self.issuer.issue(&claim)).unwrap()
    }

    /// Submits a credential.
    pub(crate) async fn stamp(&self, number: u8, provider: &str, nullifier: &str) -> Value {
        let body = json!([self.credential(number, provider, nullifier)]);
        let path = format!("/v2/stamps/{}", address(number));
        let answer = self.api.post(&path, &body).send().await.expect(200).json();
        answer["items"][0].clone()
    }

    pub(crate) async fn score(&self, number: u8) -> Value {
        let path = format!("/v2/stamps/{}/score/{}", self.scorer(), address(number));
        self.api.get(&path).send().await.expect(200).json()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.owner.get(path).send().await.expect(200).json()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> HttpResponse {
        self.owner.post(path, body).send().await
    }

    /// Audit records whose kind starts with `start`: kind and detail.
    pub(crate) async fn audited(&self, start: &str) -> Vec<(String, Value)> {
        let kinds = self.app.audit().await.into_iter().map(|record| {
            let detail = match &record["detail"] {
                Value::String(text) => serde_json::from_str(text).unwrap(),
                other => other.clone(),
            };
            (record["kind"].as_str().unwrap().to_owned(), detail)
        });
        kinds.filter(|(kind, _)| kind.starts_with(start)).collect()
    }

    /// The owner of a second workspace.
    pub(crate) async fn stranger(&self) -> Person {
        self.app.cli_json(&["workspace", "add", "other", "--owner-email", "owner@other.example"]).await;
        self.app.sign_in("owner@other.example").await
    }
}
