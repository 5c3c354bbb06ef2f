//! Passkeys and their ceremonies.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{CeremonyId, PasskeyId, UserId};
use pyxis_store::ceremonies::{self, CeremonyRow, Purpose};
use pyxis_store::passkeys::{self, PasskeyRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_user, at, at_once, exactly_one};

async fn add(main: &Workspace, user: UserId, credential: &str) -> PasskeyRow {
    let row = PasskeyRow {
        id: PasskeyId::new(NOW, &OsEntropy),
        workspace_id: main.id,
        user_id: user,
        credential: credential.to_owned(),
        name: "laptop".to_owned(),
        document: "{}".to_owned(),
        uses: 0,
        created_at: NOW,
        last_used_at: None,
    };
    passkeys::insert(&main.store, &row).await.unwrap();
    row
}

async fn begin(main: &Workspace, user: Option<UserId>) -> CeremonyRow {
    let row = CeremonyRow {
        id: CeremonyId::new(&OsEntropy),
        user_id: user,
        purpose: Purpose::Decide,
        binding: "txn approve".to_owned(),
        state: "{}".to_owned(),
        expires_at: at(1000),
    };
    ceremonies::insert(&main.store, &row).await.unwrap();
    row
}

engines! {
    async fn a_passkey_is_one_of_a_kind_renamed_and_removed_by_its_person(main: &Workspace) {
        let (user, other) = (add_user(main, "a@example.com").await, add_user(main, "b@example.com").await);
        let row = add(main, user, "cred-1").await;
        add(main, user, "cred-2").await;
        let twin = PasskeyRow { id: PasskeyId::new(at(1), &OsEntropy), user_id: other, ..row.clone() };
        assert!(passkeys::insert(&main.store, &twin).await.unwrap_err().is_conflict());
        assert_eq!(passkeys::list(&main.store, main.id, user).await.unwrap().len(), 2);
        assert!(passkeys::list(&main.store, main.id, other).await.unwrap().is_empty());
        assert_eq!(passkeys::owners(&main.store, main.id).await.unwrap(), [user]);
        assert_eq!(passkeys::find_by_credential(&main.store, "cred-1").await.unwrap(), Some(row.clone()));
        assert!(!passkeys::rename(&main.store, main.id, other, row.id, "mine").await.unwrap());
        assert!(passkeys::rename(&main.store, main.id, user, row.id, "phone").await.unwrap());
        let found = passkeys::find_by_credential(&main.store, "cred-1").await.unwrap().unwrap();
        assert_eq!(found.name, "phone");
        let elsewhere = main.add_workspace("other").await;
        assert!(!passkeys::remove(&main.store, elsewhere, user, row.id).await.unwrap());
        assert!(!passkeys::remove(&main.store, main.id, other, row.id).await.unwrap());
        assert!(passkeys::remove(&main.store, main.id, user, row.id).await.unwrap());
    }

    async fn of_two_ceremonies_with_one_passkey_at_once_one_counts(main: &Workspace) {
        let row = add(main, add_user(main, "a@example.com").await, "cred-1").await;
        let recorded = at_once(8, |n| {
            let (store, row) = (main.store.clone(), row.clone());
            async move { passkeys::record_use(&store, &row, &format!("{n}"), at(3)).await.unwrap() }
        })
        .await;
        assert!(exactly_one(recorded));
        let found = passkeys::find_by_credential(&main.store, "cred-1").await.unwrap().unwrap();
        assert_eq!((found.uses, found.last_used_at), (1, Some(at(3))));
    }

    async fn a_ceremony_is_taken_once_and_not_after_its_end(main: &Workspace) {
        let user = add_user(main, "a@example.com").await;
        let row = begin(main, Some(user)).await;
        let taken = at_once(8, |_| {
            let (store, id) = (main.store.clone(), row.id);
            async move { ceremonies::consume(&store, id, at(999)).await.unwrap() }
        })
        .await;
        assert_eq!(taken.into_iter().flatten().collect::<Vec<_>>(), [row]);
        let late = begin(main, None).await;
        assert_eq!(ceremonies::consume(&main.store, late.id, at(1000)).await.unwrap(), None);
        assert_eq!(ceremonies::purge(&main.store, at(999)).await.unwrap(), 0);
        assert_eq!(ceremonies::purge(&main.store, at(1000)).await.unwrap(), 1);
    }
}
