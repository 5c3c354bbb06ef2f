//! Tokens that expire, accounts that are disconnected, and ages of keys.

use pyxis_testkit::engines;
use serde_json::json;

use super::Effect::By;
use super::{causes, is_recent, measured};
use crate::support::metrics::{page, value};
use crate::support::{App, Setup, Site, until};

fn created(key: &str) -> String {
    format!("pyxis_key_created_timestamp_seconds{{key=\"{key}\"}}")
}

async fn rotate(site: &Site, path: &str) {
    let answer = site.owner.client.post(path, &json!({})).send().await;
    assert!(answer.status < 300, "{path}: {answer:?}");
}

/// Waits until the creation of a key is as wanted.
async fn shows(app: &App, key: &str, is_wanted: impl Fn(f64) -> bool) {
    let shown =
        async || value(&page(app).await, &created(key)).filter(|time| *time > 0.0 && is_wanted(*time));
    until(key, shown).await;
}

engines! {
    async fn tokens_accounts_and_keys_are_measured(setup: Setup) {
        let site = Site::with(measured(setup)).await;
        let app = &site.app;
        let first = page(app).await;
        assert!(value(&first, &created("data")).is_some_and(is_recent), "{first}");

        app.sql("UPDATE data_keys SET created_at = created_at - 7200000");
        shows(app, "data", |time| !is_recent(time)).await;
        app.cli(&["key", "rotate", "--data"]).await.expect(0);
        shows(app, "data", is_recent).await;

        let body = json!({"name": "soon", "scopes": ["px:approve"], "expires_in_days": 1});
        let add = async || drop(site.owner.client.post("/admin/tokens", &body).send().await.expect(201));
        causes(app, add, &[("pyxis_access_tokens_expiring", By(1.0))]).await;

        // A provider that refuses a refresh token ends a connection like this.
        let disconnect = async || drop(app.sql(
            "INSERT INTO oauth_tokens (credential_id, workspace_id, credential_version, expires_at, problem, updated_at) \
             SELECT id, workspace_id, 1, 0, 'refused', 1 FROM credentials",
        ));
        causes(app, disconnect, &[("pyxis_accounts_disconnected", By(1.0))]).await;

        for (key, path) in [
            ("attestation", "/admin/attestation-keys/eip712/rotate"),
            ("score", "/admin/score-keys/es256/rotate"),
            ("stamp", "/admin/stamp-keys/rotate"),
            ("receipt", "/admin/receipt-keys/rotate"),
        ] {
            rotate(&site, path).await;
            shows(app, key, is_recent).await;
        }
        // The oldest key that signs counts: each form of a signed score has one, and each workspace for its Stamps.
        for table in ["score_keys", "receipt_keys", "stamp_keys"] {
            app.sql(&format!("UPDATE {table} SET created_at = created_at - 7200000"));
        }
        for key in ["score", "receipt", "stamp"] {
            shows(app, key, |time| !is_recent(time)).await;
        }
        rotate(&site, "/admin/score-keys/eip712/rotate").await;
        rotate(&site, "/admin/receipt-keys/rotate").await;
        shows(app, "receipt", is_recent).await;
        let score = value(&page(app).await, &created("score")).unwrap();
        assert!(!is_recent(score), "es256 is older than eip712: {score}");
    }
}
