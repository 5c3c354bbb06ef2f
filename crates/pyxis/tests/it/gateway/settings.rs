//! The settings of a workspace (`docs/reference/api.md#admin-api`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Setup, Site};

/// A new pending request: its transaction, and the seconds left to decide.
async fn pause(site: &Site, path: &str) -> (String, u64) {
    let paused = site.forward("POST", path).send().await.expect(202).json();
    (paused["txn_id"].as_str().unwrap().to_owned(), paused["expires_in"].as_u64().unwrap())
}

engines! {
    async fn the_window_of_a_workspace_holds_for_what_pauses_from_then_on(setup: Setup) {
        let site = Site::with(setup).await;
        let owner = &site.owner.client;
        let set = |window: Value| owner.patch("/admin/settings", &json!({"approval_timeout_secs": window})).send();
        let expiry = async |txn: &str| {
            let seen = owner.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
            seen["expires_at"].clone()
        };
        let (before, seconds) = pause(&site, "/before").await;
        assert!((3500..=3600).contains(&seconds), "{seconds}");
        let expires = expiry(&before).await;

        let shown = set(json!(120)).await.expect(200).json();
        assert_eq!(shown["approval_timeout_secs"], 120);
        let (_, seconds) = pause(&site, "/after").await;
        assert!((20..=120).contains(&seconds), "{seconds}");
        assert_eq!(expiry(&before).await, expires, "who was told an hour has an hour");

        for bad in [json!(0), json!(7 * 24 * 3600 + 1)] {
            assert_eq!(set(bad).await.problem(422, "invalid_field")["field"], "approval_timeout_secs");
        }
        set(Value::Null).await.expect(200);
        let (_, seconds) = pause(&site, "/later").await;
        assert!((3500..=3600).contains(&seconds), "{seconds}");
    }
}
