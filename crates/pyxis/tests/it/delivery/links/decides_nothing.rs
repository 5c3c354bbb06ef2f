//! Links in messages lead to pages. Opening them decides nothing.

use pyxis_testkit::engines;
use pyxis_testkit::ntfy::Ntfy;
use serde_json::json;

use crate::support::browser::Browser;
use crate::support::{Setup, Site, until};

engines! {
    async fn no_get_of_anything_that_a_message_names_decides_a_request(setup: Setup) {
        let ntfy = Ntfy::start().await;
        let site = Site::with(setup.env("PX_NTFY_TOPIC", "approvals").env("PX_NTFY_URL", &ntfy.url())).await;
        site.policy(&json!({"channel": "ntfy"})).await;
        site.app.admin("admin@people.example").await;
        let stranger = site.app.anonymous();
        let person = Browser::sign_in(&stranger, "admin@people.example").await;
        let txn = site.pause("/things").await;
        let posted = until("a message", async || ntfy.messages().pop()).await;
        let click = posted["click"].as_str().unwrap();
        let buttons = posted["actions"].as_array().unwrap();
        assert!(buttons.iter().all(|button| button["action"] == "view" && button["url"] == click), "{posted}");
        let page = click.split_once("://").unwrap().1.split_once('/').unwrap().1;
        let page = format!("/{page}");
        for _ in 0..2 {
            stranger.get(&page).send().await.expect(303);
            assert!(matches!(person.get(&page).await.status, 200 | 303));
        }
        // Neither does a GET of what decides.
        for path in [format!("/approvals/{txn}/approve"), format!("/approvals/{txn}/deny")] {
            assert_eq!(site.owner.client.get(&path).send().await.status, 405, "{path}");
        }
        for path in [format!("/app/approvals/{txn}/approve"), format!("/app/approvals/{txn}/deny")] {
            assert_ne!(person.get(&path).await.status, 200, "{path}");
        }
        assert!(site.upstream.requests().is_empty());
        site.owner.approve(&txn).await;
    }
}
