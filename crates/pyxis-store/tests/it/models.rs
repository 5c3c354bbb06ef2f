//! Installed models, what they served, suspected groups.

use pyxis_core::address::EvmAddress;
use pyxis_store::activity::{self, WalletRow};
use pyxis_store::{api_keys, models};

use crate::support::{NOW, add_key, at, contract};

contract! {
    async fn the_models_installed_last_are_in_force_until_all_are_taken_away(world: &World) {
        let store = &world.store;
        assert_eq!(models::revision(store).await.unwrap(), None);
        assert_eq!(models::install(store, "f1", vec![1], NOW).await.unwrap(), 1);
        assert_eq!(models::install(store, "f2", vec![2], at(1)).await.unwrap(), 2);
        assert_eq!(models::revision(store).await.unwrap(), Some(2));
        assert_eq!(models::bundle(store, 1).await.unwrap(), Some(vec![1]));
        assert_eq!(models::bundle(store, 3).await.unwrap(), None);
        assert_eq!(models::uninstall(store).await.unwrap(), 2);
        assert_eq!(models::revision(store).await.unwrap(), None);
    }

    async fn a_request_finds_key_models_and_wallet_at_once(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let key = add_key(world).await;
        let address = EvmAddress([1; 20]);
        let bare = models::look_up(store, &key.key_hash, Some(address)).await.unwrap().unwrap();
        assert_eq!((bare.key, bare.workspace_id, bare.models_tier), (key.id, ws, key.models_tier));
        assert_eq!((bare.revision, bare.features), (None, None));
        let row = WalletRow { address, digest: 1, features: vec![5, 6] };
        activity::put_wallets(store, vec![row]).await.unwrap();
        models::install(store, "f", vec![1], NOW).await.unwrap();
        let full = models::look_up(store, &key.key_hash, Some(address)).await.unwrap().unwrap();
        assert_eq!((full.revision, full.features), (Some(1), Some(vec![5, 6])));
        let none = models::look_up(store, &key.key_hash, None).await.unwrap().unwrap();
        assert_eq!(none.features, None);
        assert_eq!(models::look_up(store, "other", Some(address)).await.unwrap(), None);
        api_keys::revoke(store, ws, key.id, NOW).await.unwrap();
        assert_eq!(models::look_up(store, &key.key_hash, Some(address)).await.unwrap(), None);
    }

    async fn what_was_served_adds_up(world: &World) {
        let store = &world.store;
        models::count_serves(store, &[("nft", -1, 2), ("base", 19, 1)]).await.unwrap();
        models::count_serves(store, &[("nft", -1, 3)]).await.unwrap();
        let wanted = [("base".to_owned(), 19, 1), ("nft".to_owned(), -1, 5)];
        assert_eq!(models::serves(store).await.unwrap(), wanted);
    }

    async fn suspected_groups_are_replaced_as_a_whole(world: &World) {
        let store = &world.store;
        for documents in [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]] {
            let mut tx = store.begin().await.unwrap();
            models::replace_groups(&mut tx, documents.clone()).await.unwrap();
            tx.commit().await.unwrap();
            let found: Vec<String> = models::groups(store, 1, 10).await.unwrap().into_iter().map(|(_, document)| document).collect();
            assert_eq!(found, documents);
        }
        assert_eq!(models::groups(store, 2, 10).await.unwrap(), []);
    }
}
