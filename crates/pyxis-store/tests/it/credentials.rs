//! Stored credentials and their policies.

use pyxis_core::auth::Connector;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::hex;
use pyxis_store::credentials::{self, CredentialChange};
use pyxis_store::{Engine, StoreError, policies};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_credential, add_workspace, at, new_credential, query_strings, tamper};

engines! {
    async fn a_credential_reads_back_and_its_secret_opens(world: &World) {
        let new = new_credential(world, "Payments");
        credentials::insert(&world.store, &new).await.unwrap();
        let row = credentials::find_by_name(&world.store, world.ws, "payments").await.unwrap().unwrap();
        assert_eq!((row.id, row.version, row.connector), (new.id, 1, Connector::Direct));
        let aad = credentials::secret_aad(world.ws, row.id);
        let opened = world.keyring.open(&aad, row.sealed_secret.as_ref().unwrap()).unwrap();
        assert_eq!(opened.expose(), b"s3cret");
        assert_eq!(credentials::find(&world.store, world.ws, new.id).await.unwrap(), Some(row.clone()));
        assert_eq!(credentials::list(&world.store, world.ws).await.unwrap(), [row]);
        let twin = new_credential(world, "PAYMENTS");
        assert!(credentials::insert(&world.store, &twin).await.unwrap_err().is_conflict());
    }

    async fn a_secret_swapped_between_rows_does_not_open(world: &World) {
        let (a, b) = (add_credential(world, "a").await, add_credential(world, "b").await);
        tamper(world, &format!(
            "UPDATE credentials SET sealed_secret = (SELECT sealed_secret FROM credentials WHERE id = '{b}') \
             WHERE id = '{a}'"
        )).await;
        let row = credentials::find(&world.store, world.ws, a).await.unwrap().unwrap();
        let aad = credentials::secret_aad(world.ws, a);
        assert!(world.keyring.open(&aad, row.sealed_secret.as_ref().unwrap()).is_err());
    }

    async fn the_database_holds_no_plaintext(world: &World) {
        add_credential(world, "a").await;
        let statement = match world.store.engine() {
            Engine::Sqlite => "SELECT lower(hex(sealed_secret)) FROM credentials",
            Engine::Postgres => "SELECT encode(sealed_secret, 'hex') FROM credentials",
        };
        let stored = query_strings(world, statement).await;
        assert!(stored.iter().all(|digits| !digits.contains(&hex::encode(b"s3cret"))));
        assert_eq!(stored.len(), 1);
    }

    async fn a_change_leaves_other_fields_as_they_are(world: &World) {
        let id = add_credential(world, "api").await;
        let before = credentials::find(&world.store, world.ws, id).await.unwrap().unwrap();
        let change = CredentialChange {
            name: Some("API2".to_owned()),
            connector: Some(Connector::Sidecar),
            api_base: Some(Some("http://127.0.0.1:8080".to_owned())),
            auth: Some(None),
            allow_http: Some(true),
            ..CredentialChange::default()
        };
        assert!(credentials::update(&world.store, world.ws, id, change, at(9)).await.unwrap());
        let after = credentials::find_by_name(&world.store, world.ws, "api2").await.unwrap().unwrap();
        let expected = credentials::CredentialRow {
            name: "API2".to_owned(),
            connector: Connector::Sidecar,
            api_base: Some("http://127.0.0.1:8080".to_owned()),
            auth: None,
            allow_http: true,
            updated_at: at(9),
            ..before
        };
        assert_eq!(after, expected);
        add_credential(world, "third").await;
        let taken = CredentialChange { name: Some("THIRD".to_owned()), ..CredentialChange::default() };
        let refused = credentials::update(&world.store, world.ws, id, taken, at(9)).await;
        assert!(refused.unwrap_err().is_conflict());
    }

    async fn a_new_secret_raises_the_version_and_forgets_the_probe(world: &World) {
        let id = add_credential(world, "api").await;
        assert!(credentials::record_verification(&world.store, world.ws, id, 1, Some(200), at(1)).await.unwrap());
        credentials::touch_used(&world.store, &[(id, at(2))]).await.unwrap();
        let row = credentials::find(&world.store, world.ws, id).await.unwrap().unwrap();
        assert_eq!((row.verified_status, row.verified_at, row.last_used_at), (Some(200), Some(at(1)), Some(at(2))));

        let sealed = world.keyring.seal(&OsEntropy, &credentials::secret_aad(world.ws, id), b"other");
        let version = credentials::replace_secret(&world.store, world.ws, id, sealed.clone(), at(3)).await.unwrap();
        assert_eq!(version, Some(2));
        let row = credentials::find(&world.store, world.ws, id).await.unwrap().unwrap();
        assert_eq!((row.version, row.verified_status, row.verified_at), (2, None, None));
        // A probe of the old secret has no effect on the new one.
        assert!(!credentials::record_verification(&world.store, world.ws, id, 1, Some(200), at(4)).await.unwrap());
        let other = add_workspace(&world.store, "other").await;
        assert_eq!(credentials::replace_secret(&world.store, other, id, sealed, at(5)).await.unwrap(), None);
    }

    async fn a_policy_has_a_version_and_goes_with_its_credential(world: &World) {
        let id = add_credential(world, "api").await;
        assert_eq!(policies::put(&world.store, world.ws, id, "{}", "ann@example.com", NOW).await.unwrap(), 1);
        assert_eq!(policies::put(&world.store, world.ws, id, r#"{"a":1}"#, "ann@example.com", at(1)).await.unwrap(), 2);
        let row = policies::find(&world.store, world.ws, id).await.unwrap().unwrap();
        assert_eq!((row.document.as_str(), row.version, row.updated_at, row.updated_by.as_str()), (r#"{"a":1}"#, 2, at(1), "ann@example.com"));
        assert_eq!(policies::list(&world.store, world.ws).await.unwrap(), [row]);

        let other = add_workspace(&world.store, "other").await;
        let refused = policies::put(&world.store, other, id, "{}", "ann@example.com", NOW).await;
        assert!(matches!(refused, Err(StoreError::Reference)));
        assert!(policies::find(&world.store, other, id).await.unwrap().is_none());

        assert!(policies::remove(&world.store, world.ws, id).await.unwrap());
        assert!(!policies::remove(&world.store, world.ws, id).await.unwrap());
        policies::put(&world.store, world.ws, id, "{}", "ann@example.com", NOW).await.unwrap();
        assert!(credentials::remove(&world.store, world.ws, id).await.unwrap());
        assert!(policies::find(&world.store, world.ws, id).await.unwrap().is_none());
    }
}
