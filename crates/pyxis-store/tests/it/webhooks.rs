//! Webhook endpoints.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::WebhookId;
use pyxis_store::webhooks::{self, WebhookChange, WebhookRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at};

pub(crate) fn new_webhook(main: &Workspace, url: &str) -> WebhookRow {
    let id = WebhookId::new(NOW, &OsEntropy);
    WebhookRow {
        id,
        workspace_id: main.id,
        url: url.to_owned(),
        description: "pager".to_owned(),
        events: r#"["approval.expired"]"#.to_owned(),
        sealed_secret: main.keyring.seal(&OsEntropy, &webhooks::secret_aad(main.id, id), b"whsec_1"),
        sealed_previous: None,
        previous_until_at: None,
        disabled_at: None,
        created_at: NOW,
        updated_at: NOW,
    }
}

pub(crate) async fn add_webhook(main: &Workspace, url: &str) -> WebhookRow {
    let new = new_webhook(main, url);
    webhooks::insert(&main.store, &new).await.unwrap();
    new
}

engines! {
    async fn an_endpoint_reads_back_changes_and_goes(main: &Workspace) {
        let new = add_webhook(main, "https://a.example/1").await;
        let second = add_webhook(main, "https://a.example/2").await;
        assert_eq!(webhooks::find(&main.store, main.id, new.id).await.unwrap(), Some(new.clone()));
        assert_eq!(webhooks::list(&main.store, main.id).await.unwrap().len(), 2);
        let change = WebhookChange {
            url: Some("https://b.example/".to_owned()),
            description: Some(String::new()),
            events: Some("[]".to_owned()),
            disabled_at: None,
        };
        assert!(webhooks::update(&main.store, main.id, new.id, change, at(1)).await.unwrap());
        let row = webhooks::find(&main.store, main.id, new.id).await.unwrap().unwrap();
        assert_eq!((row.url.as_str(), row.description.as_str(), row.events.as_str()), ("https://b.example/", "", "[]"));
        assert_eq!((row.updated_at, row.disabled_at), (at(1), None));
        assert!(webhooks::remove(&main.store, main.id, new.id).await.unwrap());
        assert!(!webhooks::remove(&main.store, main.id, new.id).await.unwrap());
        assert!(!webhooks::update(&main.store, main.id, new.id, WebhookChange::default(), at(2)).await.unwrap());
        let listening = webhooks::listening(&main.store, main.id).await.unwrap();
        assert_eq!(listening, [(second.id, second.events)]);
    }

    async fn a_disabled_endpoint_does_not_listen_and_stays_disabled_since_the_first_time(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let switch = async |disabled_at, now| {
            let change = WebhookChange { disabled_at: Some(disabled_at), ..WebhookChange::default() };
            assert!(webhooks::update(&main.store, main.id, hook.id, change, now).await.unwrap());
            webhooks::find(&main.store, main.id, hook.id).await.unwrap().unwrap().disabled_at
        };
        assert_eq!(switch(Some(at(1)), at(1)).await, Some(at(1)));
        assert_eq!(switch(Some(at(2)), at(2)).await, Some(at(1)));
        assert!(webhooks::listening(&main.store, main.id).await.unwrap().is_empty());
        assert_eq!(switch(None, at(3)).await, None);
        assert_eq!(webhooks::listening(&main.store, main.id).await.unwrap().len(), 1);
    }

    async fn a_secret_is_replaced_only_by_a_caller_who_saw_the_present_one(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let seal = |aad, text: &[u8]| main.keyring.seal(&OsEntropy, &aad, text);
        let rotate = async |present| {
            let secret = seal(webhooks::secret_aad(main.id, hook.id), b"whsec_2");
            let previous = seal(webhooks::previous_aad(main.id, hook.id), b"whsec_1");
            webhooks::rotate(&main.store, main.id, hook.id, present, &secret, &previous, at(9), at(1))
                .await
                .unwrap()
        };
        assert!(rotate(&hook.sealed_secret).await);
        assert!(!rotate(&hook.sealed_secret).await);
        let row = webhooks::find(&main.store, main.id, hook.id).await.unwrap().unwrap();
        assert_eq!(row.previous_until_at, Some(at(9)));
        let open = |aad, sealed| main.keyring.open(&aad, sealed).unwrap().expose().clone();
        assert_eq!(open(webhooks::secret_aad(main.id, hook.id), &row.sealed_secret), b"whsec_2");
        assert_eq!(open(webhooks::previous_aad(main.id, hook.id), &row.sealed_previous.unwrap()), b"whsec_1");
    }

    async fn another_workspace_reaches_no_endpoint(main: &Workspace) {
        let hook = add_webhook(main, "https://a.example/").await;
        let other = main.add_workspace("other").await;
        let store = &main.store;
        assert!(webhooks::find(store, other, hook.id).await.unwrap().is_none());
        assert!(webhooks::list(store, other).await.unwrap().is_empty());
        assert!(webhooks::listening(store, other).await.unwrap().is_empty());
        assert!(!webhooks::update(store, other, hook.id, WebhookChange::default(), at(1)).await.unwrap());
        assert!(!webhooks::remove(store, other, hook.id).await.unwrap());
    }
}
