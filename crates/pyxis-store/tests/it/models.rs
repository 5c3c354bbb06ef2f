//! Installed models, served counts and suspected groups.

use pyxis_core::address::EvmAddress;
use pyxis_store::activity::{self, WalletRow};
use pyxis_store::api_keys;
use pyxis_store::models::{self, NewGroup};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_key, at};

engines! {
    async fn the_models_installed_last_are_in_force_until_all_are_taken_away(main: &Workspace) {
        let store = &main.store;
        assert_eq!(models::revision(store).await.unwrap(), None);
        assert!(!models::uninstall(store, NOW).await.unwrap());
        assert_eq!(models::install(store, None, "f1", vec![1], NOW).await.unwrap(), Some(1));
        assert_eq!(models::install(store, Some(1), "f2", vec![2], at(1)).await.unwrap(), Some(2));
        assert_eq!(models::revision(store).await.unwrap(), Some(2));
        assert_eq!(models::bundle(store, 1).await.unwrap(), Some(vec![1]));
        assert_eq!(models::bundle(store, 3).await.unwrap(), None);
        // A separate revision, so that no one confuses old and current state.
        assert!(models::uninstall(store, at(2)).await.unwrap());
        assert_eq!(models::revision(store).await.unwrap(), Some(3));
        assert_eq!(models::bundle(store, 3).await.unwrap(), Some(Vec::new()));
        assert!(!models::uninstall(store, at(3)).await.unwrap());
        assert_eq!(models::install(store, Some(3), "f4", vec![4], at(4)).await.unwrap(), Some(4));
    }

    async fn models_are_installed_only_in_place_of_those_that_were_looked_at(main: &Workspace) {
        let store = &main.store;
        let (one, two) = tokio::join!(
            models::install(store, None, "a", vec![1], NOW),
            models::install(store, None, "b", vec![2], NOW),
        );
        let mut won = [one.unwrap(), two.unwrap()];
        won.sort_unstable();
        assert_eq!(won, [None, Some(1)]);
        assert_eq!(models::install(store, None, "c", vec![3], NOW).await.unwrap(), None);
        models::install(store, Some(1), "d", vec![4], NOW).await.unwrap();
        models::uninstall(store, NOW).await.unwrap();
        assert_eq!(models::install(store, Some(1), "e", vec![5], NOW).await.unwrap(), None);
        assert_eq!(models::revision(store).await.unwrap(), Some(3));
    }

    async fn a_request_finds_key_models_and_wallet_at_once(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let key = add_key(main).await;
        let address = EvmAddress([1; 20]);
        let bare = models::look_up(store, &key.key_hash, Some(address)).await.unwrap().unwrap();
        assert_eq!((bare.key, bare.workspace_id, bare.models_tier), (key.id, ws, key.models_tier));
        assert_eq!((bare.revision, bare.features), (None, None));
        let row = WalletRow { address, digest: 1, features: vec![5, 6] };
        activity::put_wallets(store, vec![row]).await.unwrap();
        models::install(store, None, "f", vec![1], NOW).await.unwrap();
        let full = models::look_up(store, &key.key_hash, Some(address)).await.unwrap().unwrap();
        assert_eq!((full.revision, full.features), (Some(1), Some(vec![5, 6])));
        let none = models::look_up(store, &key.key_hash, None).await.unwrap().unwrap();
        assert_eq!(none.features, None);
        assert_eq!(models::look_up(store, "other", Some(address)).await.unwrap(), None);
        api_keys::revoke(store, ws, key.id, NOW).await.unwrap();
        assert_eq!(models::look_up(store, &key.key_hash, Some(address)).await.unwrap(), None);
    }

    async fn what_was_served_adds_up(main: &Workspace) {
        let store = &main.store;
        models::count_serves(store, &[("nft", -1, 2), ("base", 19, 1)]).await.unwrap();
        models::count_serves(store, &[("nft", -1, 3)]).await.unwrap();
        let wanted = [("base".to_owned(), 19, 1), ("nft".to_owned(), -1, 5)];
        assert_eq!(models::serves(store).await.unwrap(), wanted);
    }

    async fn suspected_groups_are_replaced_as_a_whole(main: &Workspace) {
        let store = &main.store;
        for documents in [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]] {
            let mut tx = store.begin().await.unwrap();
            let new = |document: &String| NewGroup { document: document.clone(), members: vec![1, 2], links: Vec::new() };
            models::replace_groups(&mut tx, documents.iter().map(new).collect()).await.unwrap();
            tx.commit().await.unwrap();
            let found: Vec<String> = models::groups(store, 1, 10).await.unwrap().into_iter().map(|(_, document)| document).collect();
            assert_eq!(found, documents);
        }
        assert_eq!(models::groups(store, 2, 10).await.unwrap(), []);
        let first = models::next_group(store, 1).await.unwrap().unwrap();
        assert_eq!((first.position, first.members, first.links), (1, Some(vec![1, 2]), Some(Vec::new())));
        assert_eq!(models::next_group(store, 2).await.unwrap(), None);
    }
}
