//! Publishable keys, and the nonces and sessions of the widget.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::ApiKeyId;
use pyxis_store::api_keys;
use pyxis_store::publishable_keys::{self, PublishableKey};
use pyxis_store::widget_sessions::{self, WidgetNonceRow, WidgetSessionRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_key, add_scorer, address, at, at_once, exactly_one};

const PAGE: &str = "https://app.example.org";

/// A publishable key for these origins.
async fn publish(main: &Workspace, origins: &[&str]) -> (ApiKeyId, String, PublishableKey) {
    let key = add_key(main).await;
    let scorer = add_scorer(main, "s").await;
    let publishable =
        PublishableKey { scorer, origins: origins.iter().map(|&origin| origin.to_owned()).collect() };
    let mut tx = main.store.begin().await.unwrap();
    publishable_keys::insert(&mut tx, main.id, key.id, &publishable).await.unwrap();
    tx.commit().await.unwrap();
    (key.id, key.key_hash, publishable)
}

fn nonce(key: ApiKeyId, hash: &str) -> WidgetNonceRow {
    WidgetNonceRow {
        nonce_hash: hash.to_owned(),
        api_key_id: key,
        origin: PAGE.to_owned(),
        address: address(1),
        chain_id: 10,
        expires_at: at(100),
    }
}

engines! {
    async fn a_publishable_key_is_found_with_its_scorer_and_origins_until_it_is_revoked(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (id, hash, key) = publish(main, &[PAGE, "https://b.example"]).await;
        let head = publishable_keys::find_live(store, &hash).await.unwrap().unwrap();
        assert_eq!((head.id, head.workspace, head.scorer), (id, ws, key.scorer));
        assert_eq!(publishable_keys::find(store, ws, id).await.unwrap(), Some(key.clone()));
        assert_eq!(publishable_keys::list(store, ws).await.unwrap(), [(id, key)].into());
        let other = main.add_workspace("other").await;
        assert_eq!(publishable_keys::find(store, other, id).await.unwrap(), None);
        let server = add_key(main).await;
        assert_eq!(publishable_keys::find_live(store, &server.key_hash).await.unwrap(), None);
        assert_eq!(publishable_keys::find(store, ws, server.id).await.unwrap(), None);

        assert!(publishable_keys::allows_origin(store, id, [PAGE, PAGE]).await.unwrap());
        assert!(publishable_keys::allows_origin(store, id, ["x", "https://b.example"]).await.unwrap());
        assert!(!publishable_keys::allows_origin(store, server.id, [PAGE, PAGE]).await.unwrap());
        let mut tx = store.begin().await.unwrap();
        publishable_keys::replace_origins(&mut tx, id, &["https://c.example".to_owned()]).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!publishable_keys::allows_origin(store, id, [PAGE, PAGE]).await.unwrap());
        let known = async || {
            let spellings = ["https://c.example"; 2];
            publishable_keys::is_known_origin(store, spellings).await.unwrap()
        };
        assert!(known().await);
        api_keys::revoke(store, ws, id, NOW).await.unwrap();
        assert_eq!(publishable_keys::find_live(store, &hash).await.unwrap(), None);
        assert!(!known().await, "a revoked key allows no origin");
    }

    async fn a_nonce_is_taken_by_one_of_many(main: &Workspace) {
        let (store, (id, ..)) = (&main.store, publish(main, &[PAGE]).await);
        let row = nonce(id, "n");
        widget_sessions::insert_nonce(store, &row).await.unwrap();
        assert!(widget_sessions::insert_nonce(store, &row).await.unwrap_err().is_conflict());
        let taken = at_once(8, |_| {
            let store = store.clone();
            async move { widget_sessions::take_nonce(&store, "n").await.unwrap() == Some(nonce(id, "n")) }
        });
        assert!(exactly_one(taken.await));
        assert_eq!(widget_sessions::take_nonce(store, "n").await.unwrap(), None);
    }

    async fn a_session_lasts_until_it_expires_or_its_key_ends_it(main: &Workspace) {
        let (store, (id, _, key)) = (&main.store, publish(main, &[PAGE]).await);
        let row = WidgetSessionRow {
            token_hash: "t".to_owned(),
            api_key_id: id,
            scorer_id: key.scorer,
            origin: PAGE.to_owned(),
            address: address(1),
            created_at: NOW,
            expires_at: at(100),
        };
        widget_sessions::insert(store, &row).await.unwrap();
        widget_sessions::insert_nonce(store, &nonce(id, "n")).await.unwrap();
        assert_eq!(widget_sessions::find(store, "t", at(99)).await.unwrap(), Some(row.clone()));
        assert_eq!(widget_sessions::find(store, "t", at(100)).await.unwrap(), None);
        assert!(!widget_sessions::remove(store, ApiKeyId::new(&OsEntropy), "t").await.unwrap());
        assert!(widget_sessions::remove(store, id, "t").await.unwrap());
        widget_sessions::insert(store, &row).await.unwrap();
        assert_eq!(widget_sessions::purge(store, at(99)).await.unwrap(), 0);
        assert_eq!(widget_sessions::purge(store, at(100)).await.unwrap(), 2);
    }
}
