//! An installation with an issuer of proofs.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::proof::{Kind, Registration, Statement, Subject};
use pyxis_core::secret::SecretBytes;
use pyxis_verify::registry::{IssuerKey, to_json};
use serde_json::{Value, json};

use crate::support::{App, Client, HttpResponse, Setup};

pub(super) const ACTION: &str = "123456789";

/// A server, its owner, and an issuer who is trusted for all kinds.
pub(super) struct VerifySite {
    pub(super) app: App,
    pub(super) owner: Client,
    pub(super) anyone: Client,
    pub(super) key: IssuerKey,
}

pub(super) fn address(number: u8) -> EvmAddress {
    EvmAddress([number; 20])
}

/// Unix seconds.
pub(super) fn now() -> i64 {
    SystemClock.now().seconds()
}

pub(super) fn key(seed: u8) -> IssuerKey {
    IssuerKey::from_seed(&SecretBytes::new(vec![seed; 32])).unwrap()
}

/// A registration that is valid for a year from now.
pub(super) fn registration(number: u8, kind: Kind, nullifier: u64) -> Registration {
    Registration {
        kind,
        network: "optimism".parse().unwrap(),
        subject: Subject::Evm(address(number)),
        action_id: ACTION.parse().unwrap(),
        nullifier: nullifier.to_string().parse().unwrap(),
        issued_at: now(),
        expires_at: now() + 365 * 24 * 3600,
        nonce: "n".to_owned(),
    }
}

impl VerifySite {
    pub(super) async fn with(setup: Setup) -> Self {
        let app = App::start(setup).await;
        let (owner, anyone) = (app.owner().client, app.anonymous());
        let site = Self { app, owner, anyone, key: key(7) };
        for kind in Kind::ALL {
            let body = json!({
                "kind": kind.as_str(), "issuer": site.key.issuer().to_string(), "name": "Ours",
            });
            site.owner.post("/admin/proof-issuers", &body).send().await.expect(201);
        }
        site
    }

    /// Signs and sends a statement.
    pub(super) async fn submit(&self, statement: Statement) -> HttpResponse {
        self.anyone.post("/registry/proofs", &to_json(&self.key.sign(statement))).send().await
    }

    /// Registers a proof that must be accepted.
    pub(super) async fn register(&self, said: Registration) -> Value {
        self.submit(Statement::Register(said)).await.expect(201).json()
    }

    pub(super) async fn get(&self, path: &str) -> HttpResponse {
        self.anyone.get(path).send().await
    }

    pub(super) async fn get_json(&self, path: &str) -> Value {
        self.get(path).await.expect(200).json()
    }

    /// The response of `/sybil-resistance` for an address, with the reason.
    pub(super) async fn reason(&self, number: u8, kind: Kind) -> Value {
        let path = format!(
            "/sybil-resistance/{kind}/optimism?user={}&action-id={ACTION}&explain=true",
            address(number)
        );
        self.get_json(&path).await["reason"].clone()
    }

    /// The newest block of optimism.
    pub(super) async fn head(&self) -> i64 {
        let all = self.owner.get("/admin/networks").send().await.expect(200).json();
        let all = all["networks"].as_array().unwrap();
        all.iter().find(|network| network["name"] == "optimism").unwrap()["head"].as_i64().unwrap()
    }
}
