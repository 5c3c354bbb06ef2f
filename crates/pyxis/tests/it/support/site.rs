//! The usual scene: one server, one upstream, one credential for it, one agent, one owner.

use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use super::client::Call;
use super::{Agent, App, Person, Setup};

/// The stored secret. Every encoding changes it.
pub(crate) const SECRET: &str = "sk-canary/7Qx+Zr9&\"<T2>~K5";

pub(crate) struct Site {
    pub(crate) app: App,
    pub(crate) upstream: Upstream,
    pub(crate) agent: Agent,
    pub(crate) owner: Person,
}

impl Site {
    /// A site on SQLite.
    pub(crate) async fn new() -> Self {
        Self::with(Setup::new()).await
    }

    /// A site on SQLite whose program has one more setting.
    pub(crate) async fn new_with_env(name: &str, value: &str) -> Self {
        Self::with(Setup::new().env(name, value)).await
    }

    /// A site with the bearer credential `api` for its upstream.
    pub(crate) async fn with(setup: Setup) -> Self {
        let site = Self::bare(setup).await;
        site.credential("api", &json!({"auth": {"kind": "bearer"}, "secret": SECRET})).await;
        site
    }

    /// A site without a credential.
    pub(crate) async fn bare(setup: Setup) -> Self {
        let (app, upstream) = (App::start(setup).await, Upstream::http().await);
        let (agent, owner) = (app.default_agent(), app.owner());
        Self { app, upstream, agent, owner }
    }

    /// Stores a credential for the upstream; `fields` adds to or replaces the defaults.
    pub(crate) async fn credential(&self, name: &str, fields: &Value) -> Value {
        let mut body = json!({
            "name": name,
            "allowed_hosts": [self.upstream.addr().to_string()],
            "allow_http": true,
        });
        for (field, value) in fields.as_object().expect("an object") {
            body[field] = value.clone();
        }
        self.owner.add_credential(&body).await
    }

    /// A request with the credential `api`.
    pub(crate) fn forward(&self, method: &str, path: &str) -> Call {
        self.agent.forward("api", method, &self.upstream.url(path))
    }

    /// A POST that requires approval; returns its transaction.
    pub(crate) async fn pause(&self, path: &str) -> String {
        self.forward("POST", path).body("a body to approve").send().await.txn()
    }

    /// Sets the policy of `api`.
    pub(crate) async fn policy(&self, policy: &Value) {
        self.owner.set_policy("api", policy).await;
    }

    /// The audit records of requests to `/forward`, oldest first.
    pub(crate) async fn forwards(&self) -> Vec<Value> {
        let records = self.app.audit().await;
        records.into_iter().filter(|record| record["kind"] == "request.received").collect()
    }
}
