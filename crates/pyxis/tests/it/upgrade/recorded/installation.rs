//! An installation with all kinds of rows.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::proof::{Kind, Registration, Statement, Subject};
use pyxis_core::secret::SecretBytes;
use pyxis_verify::registry::{IssuerKey, to_json};
use serde_json::{Value, json};

use super::super::scored::Scored;
use crate::support::{App, Setup, Site};

const ACTION: &str = "123456789";

pub(super) struct Populated {
    pub(super) site: Site,
    /// State that clients see, and keys made for it.
    pub(super) shown: Value,
}

pub(super) async fn populated(setup: Setup) -> Populated {
    let site = Site::with(setup).await;
    let owner = &site.owner.client;
    // Nothing listens there, so its deliveries stay.
    let hook = json!({"url": "https://127.0.0.1:9/px", "description": "chat"});
    owner.post("/admin/webhooks", &hook).send().await.expect(201);
    site.policy(&json!({"auto_approve_methods": ["GET"], "deny_methods": ["DELETE"]})).await;
    site.app.cli_json(&["user", "add", "--email", "admin@example.com"]).await;
    site.owner.add_agent(&json!({"name": "second", "credentials": "all", "rate_limit_per_hour": 10})).await;
    let token = json!({"name": "script", "scopes": ["px:approve", "px:admin"]});
    owner.post("/admin/tokens", &token).send().await.expect(201);
    let mut shown = requests(&site).await;
    let scored = Scored::add(&site.app).await;
    shown["score_path"] = scored.path.into();
    shown["score"] = scored.score;
    let (path, proof) = proof(&site.app).await;
    shown["proof_path"] = path.into();
    shown["proof"] = proof;
    for name in ["owner_email", "agent_key", "api_key"] {
        shown[name] = site.app.bootstrap[name].clone();
    }
    Populated { site, shown }
}

/// Requests in every state.
async fn requests(site: &Site) -> Value {
    site.forward("GET", "/read").send().await.forwarded(200);
    let approved = site.pause("/approved").await;
    site.owner.approve_with(&approved, &json!({"grant_seconds": 900})).await;
    assert_eq!(site.agent.outcome(&approved).await["response"]["status"], 200);
    let denied = site.pause("/denied").await;
    site.owner.deny(&denied, "no").await;
    let (to_approve, to_deny) = (site.pause("/later").await, site.pause("/never").await);
    json!({"approved": approved, "denied": denied, "pending_to_approve": to_approve, "pending_to_deny": to_deny})
}

/// A registered proof and a blocked address. Returns the path of its check, and the response.
async fn proof(app: &App) -> (String, Value) {
    let key = IssuerKey::from_seed(&SecretBytes::new(vec![7; 32])).unwrap();
    let owner = app.owner().client;
    let kind = Kind::ALL[0];
    let issuer = json!({"kind": kind.as_str(), "issuer": key.issuer().to_string(), "name": "Ours"});
    owner.post("/admin/proof-issuers", &issuer).send().await.expect(201);
    let now = SystemClock.now().seconds();
    let address = EvmAddress([1; 20]);
    let registration = Registration {
        kind,
        network: "optimism".parse().unwrap(),
        subject: Subject::Evm(address),
        action_id: ACTION.parse().unwrap(),
        nullifier: "5".parse().unwrap(),
        issued_at: now,
        expires_at: now + 365 * 24 * 3600,
        nonce: "n".to_owned(),
    };
    let statement = to_json(&key.sign(Statement::Register(registration)));
    app.anonymous().post("/registry/proofs", &statement).send().await.expect(201);
    let blocked = json!({"address": EvmAddress([2; 20]).to_string(), "reason": "test"});
    owner.post("/admin/blocklist", &blocked).send().await.expect(201);
    app.anonymous().get("/attestation/keys").send().await.expect(200);
    let path = format!("/sybil-resistance/{kind}/optimism?user={address}&action-id={ACTION}");
    let shown = app.anonymous().get(&path).send().await.expect(200).json();
    (path, shown)
}
