//! The agents and people of a test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Value, json};

use super::client::Call;
use super::{Client, HttpResponse};

/// A client with an agent key.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) key: String,
}

impl Agent {
    pub(crate) fn new(client: Client, key: &str) -> Self {
        Self { client: client.with("x-px-key", key), key: key.to_owned() }
    }

    /// A request to `/forward`.
    pub(crate) fn forward(&self, credential: &str, method: &str, target: &str) -> Call {
        self.client
            .call("POST", "/forward")
            .header("x-px-credential", credential)
            .header("x-px-method", method)
            .header("x-px-target", target)
    }

    /// Polls a transaction once.
    pub(crate) async fn poll(&self, txn: &str) -> Value {
        self.client.get(&format!("/agent/approvals/{txn}")).send().await.expect(200).json()
    }

    /// Waits until a transaction has ended: denied, expired, answered or failed.
    pub(crate) async fn outcome(&self, txn: &str) -> Value {
        let path = format!("/agent/approvals/{txn}?wait=30");
        self.client.get(&path).send().await.expect(200).json()
    }

    pub(crate) async fn withdraw(&self, txn: &str) -> HttpResponse {
        self.client.delete(&format!("/agent/approvals/{txn}")).send().await
    }
}

/// A person who is signed in.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) client: Client,
}

impl Person {
    pub(super) fn new(client: Client, token: &str) -> Self {
        Self { client: client.with("authorization", &format!("Bearer {token}")) }
    }

    /// Tries to decide; `verb` is `approve` or `deny`.
    pub(crate) async fn decide(&self, txn: &str, verb: &str, body: &Value) -> HttpResponse {
        self.client.post(&format!("/approvals/{txn}/{verb}"), body).send().await
    }

    pub(crate) async fn approve(&self, txn: &str) -> Value {
        self.decide(txn, "approve", &json!({})).await.expect(200).json()
    }

    pub(crate) async fn approve_with(&self, txn: &str, body: &Value) -> Value {
        self.decide(txn, "approve", body).await.expect(200).json()
    }

    pub(crate) async fn deny(&self, txn: &str, reason: &str) -> Value {
        self.decide(txn, "deny", &json!({"reason": reason})).await.expect(200).json()
    }

    pub(crate) async fn add_credential(&self, body: &Value) -> Value {
        self.client.post("/admin/credentials", body).send().await.expect(201).json()
    }

    pub(crate) async fn set_policy(&self, credential: &str, policy: &Value) -> Value {
        let path = format!("/admin/policies/{credential}");
        self.client.put(&path, policy).send().await.expect(200).json()
    }

    /// Adds an agent; the answer has its `id` and `key`.
    pub(crate) async fn add_agent(&self, body: &Value) -> Value {
        self.client.post("/admin/agents", body).send().await.expect(201).json()
    }

    /// Lets every agent have as many pending requests as possible.
    pub(crate) async fn lift_pending_limits(&self) {
        let list = self.client.get("/admin/agents").send().await.expect(200).json();
        for agent in list["agents"].as_array().expect("a list") {
            let path = format!("/admin/agents/{}", agent["id"].as_str().expect("an id"));
            self.client.patch(&path, &json!({"max_pending": 10_000})).send().await.expect(200);
        }
    }

    pub(crate) async fn explain(&self, credential: &str, method: &str, url: &str) -> Value {
        let path = format!("/admin/policies/{credential}/explain");
        let body = json!({"method": method, "url": url});
        self.client.post(&path, &body).send().await.expect(200).json()
    }

    /// The active grants.
    pub(crate) async fn grants(&self) -> Vec<Value> {
        let answer = self.client.get("/admin/grants").send().await.expect(200).json();
        answer["grants"].as_array().expect("a list").clone()
    }
}

/// The password of every person whom a test signs in.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// Its Argon2id hash, as cheap as the algorithm allows.
pub(super) fn password_hash() -> String {
    const SALT: &[u8] = b"salt of the test";
    let params = argon2::Params::new(8, 1, 1, None).expect("parameters");
    let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
    let mut hash = [0; 32];
    argon2.hash_password_into(PASSWORD.as_bytes(), SALT, &mut hash).expect("a hash");
    let (salt, hash) = (STANDARD_NO_PAD.encode(SALT), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19$m=8,t=1,p=1${salt}${hash}")
}
