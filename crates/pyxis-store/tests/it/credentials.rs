//! Stored credentials and their policies.

use pyxis_core::auth::Connector;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::hex;
use pyxis_store::credentials::{self, CredentialChange};
use pyxis_store::{Engine, StoreError, policies};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_credential, at, new_credential, query_strings, tamper};

engines! {
    async fn a_credential_reads_back_and_its_secret_opens(main: &Workspace) {
        let new = new_credential(main, "Payments");
        credentials::insert(&main.store, &new).await.unwrap();
        let row = credentials::find_by_name(&main.store, main.id, "payments").await.unwrap().unwrap();
        assert_eq!((row.id, row.version, row.connector), (new.id, 1, Connector::Direct));
        let aad = credentials::secret_aad(main.id, row.id);
        let opened = main.keyring.open(&aad, row.sealed_secret.as_ref().unwrap()).unwrap();
        assert_eq!(opened.expose(), b"s3cret");
        assert_eq!(credentials::find(&main.store, main.id, new.id).await.unwrap(), Some(row.clone()));
        assert_eq!(credentials::list(&main.store, main.id).await.unwrap(), [row]);
        let twin = new_credential(main, "PAYMENTS");
        assert!(credentials::insert(&main.store, &twin).await.unwrap_err().is_conflict());
    }

    async fn a_secret_swapped_between_rows_does_not_open(main: &Workspace) {
        let (a, b) = (add_credential(main, "a").await, add_credential(main, "b").await);
        tamper(main, &format!(
            "UPDATE credentials SET sealed_secret = (SELECT sealed_secret FROM credentials WHERE id = '{b}') \
             WHERE id = '{a}'"
        )).await;
        let row = credentials::find(&main.store, main.id, a).await.unwrap().unwrap();
        let aad = credentials::secret_aad(main.id, a);
        assert!(main.keyring.open(&aad, row.sealed_secret.as_ref().unwrap()).is_err());
    }

    async fn the_database_holds_no_plaintext(main: &Workspace) {
        add_credential(main, "a").await;
        let statement = match main.store.engine() {
            Engine::Sqlite => "SELECT lower(hex(sealed_secret)) FROM credentials",
            Engine::Postgres => "SELECT encode(sealed_secret, 'hex') FROM credentials",
        };
        let stored = query_strings(main, statement).await;
        assert!(stored.iter().all(|digits| !digits.contains(&hex::encode(b"s3cret"))));
        assert_eq!(stored.len(), 1);
    }

    async fn a_change_leaves_other_fields_as_they_are(main: &Workspace) {
        let id = add_credential(main, "api").await;
        let before = credentials::find(&main.store, main.id, id).await.unwrap().unwrap();
        let change = CredentialChange {
            name: Some("API2".to_owned()),
            connector: Some(Connector::Sidecar),
            api_base: Some(Some("http://127.0.0.1:8080".to_owned())),
            auth: Some(None),
            allow_http: Some(true),
            ..CredentialChange::default()
        };
        assert!(credentials::update(&main.store, main.id, id, change, at(9)).await.unwrap());
        let after = credentials::find_by_name(&main.store, main.id, "api2").await.unwrap().unwrap();
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
        add_credential(main, "third").await;
        let taken = CredentialChange { name: Some("THIRD".to_owned()), ..CredentialChange::default() };
        let refused = credentials::update(&main.store, main.id, id, taken, at(9)).await;
        assert!(refused.unwrap_err().is_conflict());
    }

    async fn a_new_secret_raises_the_version_and_forgets_the_probe(main: &Workspace) {
        let id = add_credential(main, "api").await;
        assert!(credentials::record_verification(&main.store, main.id, id, 1, Some(200), at(1)).await.unwrap());
        credentials::touch_used(&main.store, &[(id, at(2))]).await.unwrap();
        let row = credentials::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.verified_status, row.verified_at, row.last_used_at), (Some(200), Some(at(1)), Some(at(2))));

        let sealed = main.keyring.seal(&OsEntropy, &credentials::secret_aad(main.id, id), b"other");
        let version = credentials::replace_secret(&main.store, main.id, id, sealed.clone(), at(3)).await.unwrap();
        assert_eq!(version, Some(2));
        let row = credentials::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.version, row.verified_status, row.verified_at), (2, None, None));
        // A probe of the old secret has no effect on the new one.
        assert!(!credentials::record_verification(&main.store, main.id, id, 1, Some(200), at(4)).await.unwrap());
        let other = main.add_workspace("other").await;
        assert_eq!(credentials::replace_secret(&main.store, other, id, sealed, at(5)).await.unwrap(), None);
    }

    async fn a_policy_has_a_version_and_goes_with_its_credential(main: &Workspace) {
        let id = add_credential(main, "api").await;
        assert_eq!(policies::put(&main.store, main.id, id, "{}", "ann@example.com", NOW).await.unwrap(), 1);
        assert_eq!(policies::put(&main.store, main.id, id, r#"{"a":1}"#, "ann@example.com", at(1)).await.unwrap(), 2);
        let row = policies::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.document.as_str(), row.version, row.updated_at, row.updated_by.as_str()), (r#"{"a":1}"#, 2, at(1), "ann@example.com"));
        assert_eq!(policies::list(&main.store, main.id).await.unwrap(), [row]);

        let other = main.add_workspace("other").await;
        let refused = policies::put(&main.store, other, id, "{}", "ann@example.com", NOW).await;
        assert!(matches!(refused, Err(StoreError::Reference)));
        assert!(policies::find(&main.store, other, id).await.unwrap().is_none());

        assert!(policies::remove(&main.store, main.id, id).await.unwrap());
        assert!(!policies::remove(&main.store, main.id, id).await.unwrap());
        policies::put(&main.store, main.id, id, "{}", "ann@example.com", NOW).await.unwrap();
        assert!(credentials::remove(&main.store, main.id, id).await.unwrap());
        assert!(policies::find(&main.store, main.id, id).await.unwrap().is_none());
    }
}
