//! The keyring.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::NodeId;
use pyxis_store::cipher::{Aad, CipherError, Keyring, MasterKey, SEALS_AFTER};
use pyxis_store::nodes;
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at_once};

fn aad(main: &Workspace, id: &str) -> Aad {
    Aad::new("credentials", "sealed_secret", main.id, id)
}

engines! {
    async fn a_value_opens_after_a_restart_and_only_for_its_row(main: &Workspace) {
        let sealed = main.keyring.seal(&OsEntropy, &aad(main, "1"), b"s3cret");
        let again = Keyring::load(&main.store, &main.master, &OsEntropy, NOW).await.unwrap();
        assert_eq!(again.open(&aad(main, "1"), &sealed).unwrap().expose(), b"s3cret");
        assert!(matches!(again.open(&aad(main, "2"), &sealed), Err(CipherError::Rejected)));
        assert_eq!(again.derive("x").expose(), main.keyring.derive("x").expose());
        assert_ne!(again.derive("x").expose(), again.derive("y").expose());
        assert_eq!(again.derive("x").expose().len(), 32);
    }

    async fn another_master_key_is_refused(main: &Workspace) {
        let other = MasterKey::generate(&OsEntropy);
        let loaded = Keyring::load(&main.store, &other, &OsEntropy, NOW).await;
        assert!(matches!(loaded, Err(CipherError::WrongMasterKey)));
        let rotated = Keyring::rotate_master(&main.store, &other, &main.master, &OsEntropy, NOW).await;
        assert!(matches!(rotated, Err(CipherError::WrongMasterKey)));
        let added = Keyring::add_data_key(&main.store, &other, &OsEntropy, NOW).await;
        assert!(matches!(added, Err(CipherError::WrongMasterKey)));
        assert!(Keyring::load(&main.store, &main.master, &OsEntropy, NOW).await.is_ok());
    }

    async fn rotating_the_master_key_keeps_values_and_derived_keys(main: &Workspace) {
        let sealed = main.keyring.seal(&OsEntropy, &aad(main, "1"), b"s3cret");
        let new = MasterKey::generate(&OsEntropy);
        Keyring::rotate_master(&main.store, &main.master, &new, &OsEntropy, NOW).await.unwrap();
        assert!(Keyring::load(&main.store, &main.master, &OsEntropy, NOW).await.is_err());
        let again = Keyring::load(&main.store, &new, &OsEntropy, NOW).await.unwrap();
        assert_eq!(again.open(&aad(main, "1"), &sealed).unwrap().expose(), b"s3cret");
        assert_eq!(again.derive("x").expose(), main.keyring.derive("x").expose());
        // A running process continues to work.
        assert!(main.keyring.open(&aad(main, "1"), &sealed).is_ok());
    }

    async fn a_new_data_key_seals_once_every_node_has_loaded_it_and_older_values_still_open(main: &Workspace) {
        let (other, later) = (main.keyring.clone(), NOW.plus(SEALS_AFTER));
        let behind = Keyring::load(&main.store, &main.master, &OsEntropy, NOW).await.unwrap();
        let old = main.keyring.seal(&OsEntropy, &aad(main, "1"), b"old");
        let number = Keyring::add_data_key(&main.store, &main.master, &OsEntropy, NOW).await.unwrap();
        main.keyring.refresh(&main.store, NOW).await.unwrap();
        let meanwhile = other.seal(&OsEntropy, &aad(main, "1"), b"meanwhile");
        assert_eq!(behind.open(&aad(main, "1"), &meanwhile).unwrap().expose(), b"meanwhile");
        main.keyring.refresh(&main.store, later).await.unwrap();
        let new = main.keyring.seal(&OsEntropy, &aad(main, "1"), b"new");
        assert_eq!(main.keyring.open(&aad(main, "1"), &old).unwrap().expose(), b"old");
        assert!(matches!(behind.open(&aad(main, "1"), &new), Err(CipherError::UnknownKey(n)) if n == number));
        behind.refresh(&main.store, later).await.unwrap();
        assert_eq!(behind.open(&aad(main, "1"), &new).unwrap().expose(), b"new");
    }

    async fn a_data_key_waits_for_nodes_that_started_before_the_master_key_was_replaced(main: &Workspace) {
        let (node, later) = (NodeId::new(NOW, &OsEntropy), NOW.plus(std::time::Duration::from_secs(5)));
        nodes::heartbeat(&main.store, node, NOW).await.unwrap();
        let new = MasterKey::generate(&OsEntropy);
        Keyring::rotate_master(&main.store, &main.master, &new, &OsEntropy, later).await.unwrap();
        let refused = Keyring::add_data_key(&main.store, &new, &OsEntropy, later).await;
        assert!(matches!(refused, Err(CipherError::OldMasterKey(named)) if named == node));
        nodes::remove(&main.store, node).await.unwrap();
        Keyring::add_data_key(&main.store, &new, &OsEntropy, later).await.unwrap();
    }

    async fn processes_that_start_together_end_with_the_same_keys(main: &Workspace) {
        crate::support::tamper(main, "DELETE FROM data_keys").await;
        let derived = at_once(8, |_| {
            let (store, master) = (main.store.clone(), main.master.clone());
            async move { Keyring::load(&store, &master, &OsEntropy, NOW).await.unwrap().derive("x").expose().clone() }
        })
        .await;
        assert!(derived.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
