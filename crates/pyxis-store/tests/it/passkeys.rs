//! Passkeys and their ceremonies.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{CeremonyId, PasskeyId, UserId};
use pyxis_store::ceremonies::{self, CeremonyRow, Purpose};
use pyxis_store::passkeys::{self, PasskeyRow};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_user, add_workspace, at, at_once, exactly_one};

async fn add(world: &World, user: UserId, credential: &str) -> PasskeyRow {
    let row = PasskeyRow {
        id: PasskeyId::new(NOW, &OsEntropy),
        workspace_id: world.ws,
        user_id: user,
        credential: credential.to_owned(),
        name: "laptop".to_owned(),
        document: "{}".to_owned(),
        uses: 0,
        created_at: NOW,
        last_used_at: None,
    };
    passkeys::insert(&world.store, &row).await.unwrap();
    row
}

async fn begin(world: &World, user: Option<UserId>) -> CeremonyRow {
    let row = CeremonyRow {
        id: CeremonyId::new(&OsEntropy),
        user_id: user,
        purpose: Purpose::Decide,
        binding: "txn approve".to_owned(),
        state: "{}".to_owned(),
        expires_at: at(1000),
    };
    ceremonies::insert(&world.store, &row).await.unwrap();
    row
}

engines! {
    async fn a_passkey_is_one_of_a_kind_renamed_and_removed_by_its_person(world: &World) {
        let (user, other) = (add_user(world, "a@example.com").await, add_user(world, "b@example.com").await);
        let row = add(world, user, "cred-1").await;
        add(world, user, "cred-2").await;
        let twin = PasskeyRow { id: PasskeyId::new(at(1), &OsEntropy), user_id: other, ..row.clone() };
        assert!(passkeys::insert(&world.store, &twin).await.unwrap_err().is_conflict());
        assert_eq!(passkeys::list(&world.store, world.ws, user).await.unwrap().len(), 2);
        assert!(passkeys::list(&world.store, world.ws, other).await.unwrap().is_empty());
        assert_eq!(passkeys::owners(&world.store, world.ws).await.unwrap(), [user]);
        assert_eq!(passkeys::find_by_credential(&world.store, "cred-1").await.unwrap(), Some(row.clone()));
        assert!(!passkeys::rename(&world.store, world.ws, other, row.id, "mine").await.unwrap());
        assert!(passkeys::rename(&world.store, world.ws, user, row.id, "phone").await.unwrap());
        let found = passkeys::find_by_credential(&world.store, "cred-1").await.unwrap().unwrap();
        assert_eq!(found.name, "phone");
        let elsewhere = add_workspace(&world.store, "other").await;
        assert!(!passkeys::remove(&world.store, elsewhere, user, row.id).await.unwrap());
        assert!(!passkeys::remove(&world.store, world.ws, other, row.id).await.unwrap());
        assert!(passkeys::remove(&world.store, world.ws, user, row.id).await.unwrap());
    }

    async fn of_two_ceremonies_with_one_passkey_at_once_one_counts(world: &World) {
        let row = add(world, add_user(world, "a@example.com").await, "cred-1").await;
        let recorded = at_once(8, |n| {
            let (store, row) = (world.store.clone(), row.clone());
            async move { passkeys::record_use(&store, &row, &format!("{n}"), at(3)).await.unwrap() }
        })
        .await;
        assert!(exactly_one(recorded));
        let found = passkeys::find_by_credential(&world.store, "cred-1").await.unwrap().unwrap();
        assert_eq!((found.uses, found.last_used_at), (1, Some(at(3))));
    }

    async fn a_ceremony_is_taken_once_and_not_after_its_end(world: &World) {
        let user = add_user(world, "a@example.com").await;
        let row = begin(world, Some(user)).await;
        let taken = at_once(8, |_| {
            let (store, id) = (world.store.clone(), row.id);
            async move { ceremonies::take(&store, id, at(999)).await.unwrap() }
        })
        .await;
        assert_eq!(taken.into_iter().flatten().collect::<Vec<_>>(), [row]);
        let late = begin(world, None).await;
        assert_eq!(ceremonies::take(&world.store, late.id, at(1000)).await.unwrap(), None);
        assert_eq!(ceremonies::purge(&world.store, at(999)).await.unwrap(), 0);
        assert_eq!(ceremonies::purge(&world.store, at(1000)).await.unwrap(), 1);
    }
}
