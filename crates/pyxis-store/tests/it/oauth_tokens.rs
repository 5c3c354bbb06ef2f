//! Fetched tokens and pending connections.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{CredentialId, UserId};
use pyxis_store::oauth_tokens::{self, ConnectionRow, TokenRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_credential, at, at_once, exactly_one};

fn tokens(main: &Workspace, credential: CredentialId, version: i64, text: &[u8]) -> TokenRow {
    let aad = oauth_tokens::tokens_aad(main.id, credential);
    TokenRow {
        credential_id: credential,
        workspace_id: main.id,
        credential_version: version,
        sealed_tokens: Some(main.keyring.seal(&OsEntropy, &aad, text)),
        expires_at: at(1000),
        problem: None,
        granted_scope: Some("read".to_owned()),
        updated_at: NOW,
    }
}

engines! {
    async fn tokens_read_back_and_a_newer_secret_is_not_overwritten(main: &Workspace) {
        let id = add_credential(main, "api").await;
        assert_eq!(oauth_tokens::find(&main.store, main.id, id).await.unwrap(), None);
        let first = tokens(main, id, 1, b"one");
        assert!(oauth_tokens::put(&main.store, &first).await.unwrap());
        assert_eq!(oauth_tokens::find(&main.store, main.id, id).await.unwrap(), Some(first.clone()));
        let second = TokenRow { problem: Some("p".to_owned()), sealed_tokens: None, ..tokens(main, id, 2, b"two") };
        assert!(oauth_tokens::put(&main.store, &second).await.unwrap());
        assert!(!oauth_tokens::put(&main.store, &first).await.unwrap());
        assert_eq!(oauth_tokens::find(&main.store, main.id, id).await.unwrap(), Some(second));
        let other = main.add_workspace("other").await;
        assert_eq!(oauth_tokens::find(&main.store, other, id).await.unwrap(), None);
        pyxis_store::credentials::remove(&main.store, main.id, id).await.unwrap();
        assert_eq!(oauth_tokens::find(&main.store, main.id, id).await.unwrap(), None);
    }

    async fn a_token_ends_early_if_it_is_still_the_one(main: &Workspace) {
        let id = add_credential(main, "api").await;
        let first = tokens(main, id, 1, b"one");
        assert!(oauth_tokens::put(&main.store, &first).await.unwrap());
        let end = |workspace, which| oauth_tokens::end(&main.store, workspace, id, which, at(5));
        let other = main.add_workspace("other").await;
        for (workspace, which) in [(main.id, (2, at(1000))), (main.id, (1, at(999))), (other, (1, at(1000)))] {
            assert!(!end(workspace, which).await.unwrap());
        }
        assert!(end(main.id, (1, at(1000))).await.unwrap());
        let ended = TokenRow { expires_at: at(5), updated_at: at(5), ..first };
        assert_eq!(oauth_tokens::find(&main.store, main.id, id).await.unwrap(), Some(ended));
        assert!(!end(main.id, (1, at(1000))).await.unwrap(), "once");
    }

    async fn the_version_of_a_credential_rises_from_the_one_that_was_seen(main: &Workspace) {
        use pyxis_store::credentials::raise_version;
        let id = add_credential(main, "api").await;
        assert_eq!(raise_version(&main.store, main.id, id, 2, at(1)).await.unwrap(), None);
        assert_eq!(raise_version(&main.store, main.id, id, 1, at(1)).await.unwrap(), Some(2));
        assert_eq!(raise_version(&main.store, main.id, id, 1, at(1)).await.unwrap(), None);
    }

    async fn a_connection_is_taken_once_in_time_and_by_the_person_who_began_it(main: &Workspace) {
        let id = add_credential(main, "api").await;
        let user = UserId::new(NOW, &OsEntropy);
        let aad = oauth_tokens::verifier_aad(main.id, id);
        let row = |hash: &str| ConnectionRow {
            state_hash: hash.to_owned(),
            workspace_id: main.id,
            credential_id: id,
            credential_version: 1,
            user_id: user,
            sealed_verifier: main.keyring.seal(&OsEntropy, &aad, b"verifier"),
            created_at: NOW,
            expires_at: at(10),
        };
        oauth_tokens::begin_connection(&main.store, &row("a")).await.unwrap();
        oauth_tokens::begin_connection(&main.store, &row("b")).await.unwrap();
        let stranger = UserId::new(at(1), &OsEntropy);
        let take = async |user, hash, now| {
            oauth_tokens::take_connection(&main.store, main.id, user, hash, now).await.unwrap()
        };
        assert_eq!(take(stranger, "a", NOW).await, None);
        assert_eq!(take(user, "a", at(10)).await, None);
        let taken = at_once(8, |_| {
            let (store, ws) = (main.store.clone(), main.id);
            async move { oauth_tokens::take_connection(&store, ws, user, "a", NOW).await.unwrap().is_some() }
        })
        .await;
        assert!(exactly_one(taken));
        assert_eq!(oauth_tokens::purge_connections(&main.store, at(10)).await.unwrap(), 1);
        assert_eq!(take(user, "b", NOW).await, None);
    }
}
