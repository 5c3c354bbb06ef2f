//! Issuers and catalogues of workspaces.

use pyxis_core::catalogue::default_catalogue;
use pyxis_store::issuers::{self, IssuerRow};
use pyxis_store::{catalogue, generations};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at};

fn issuer(did: &str, name: &str) -> IssuerRow {
    IssuerRow { did: did.to_owned(), name: name.to_owned(), created_at: NOW }
}

async fn generation(main: &Workspace) -> i64 {
    generations::read(&main.store).await.unwrap()
}

engines! {
    async fn issuers_are_listed_renamed_and_removed(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let other = main.add_workspace("other").await;
        for new in [issuer("did:key:b", "b"), issuer("did:key:a", "a"), IssuerRow { created_at: at(5), ..issuer("did:key:a", "A") }] {
            let before = generation(main).await;
            issuers::put(store, ws, &new).await.unwrap();
            assert!(generation(main).await > before);
        }
        assert_eq!(issuers::list(store, ws).await.unwrap(), [issuer("did:key:a", "A"), issuer("did:key:b", "b")]);
        assert!(issuers::is_listed(store, ws, "did:key:a").await.unwrap());
        assert!(!issuers::is_listed(store, other, "did:key:a").await.unwrap());
        let mut tx = store.begin().await.unwrap();
        let asked = ["did:key:c", "did:key:a"].map(str::to_owned);
        assert_eq!(issuers::lock_trusted(&mut tx, ws, &asked).await.unwrap(), ["did:key:a"]);
        assert!(issuers::lock_trusted(&mut tx, other, &asked).await.unwrap().is_empty());
        assert!(issuers::lock_trusted(&mut tx, ws, &[]).await.unwrap().is_empty());
        drop(tx);
        assert!(!issuers::remove(store, other, "did:key:a").await.unwrap());
        let before = generation(main).await;
        assert!(issuers::remove(store, ws, "did:key:a").await.unwrap());
        assert!(generation(main).await > before);
        assert!(!issuers::is_listed(store, ws, "did:key:a").await.unwrap());
    }

    async fn a_catalogue_is_replaced_as_a_whole_and_keeps_its_order(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        assert!(catalogue::list(store, ws).await.unwrap().is_empty());
        let mut own = default_catalogue()[..12].to_vec();
        own.reverse();
        for wanted in [&own[..], &own[3..5], &[]] {
            let before = generation(main).await;
            let mut tx = store.begin().await.unwrap();
            catalogue::replace(&mut tx, ws, wanted).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(catalogue::list(store, ws).await.unwrap(), wanted);
            assert!(generation(main).await > before);
        }
        let twice = [own[0].clone(), own[0].clone()];
        let mut tx = store.begin().await.unwrap();
        assert!(catalogue::replace(&mut tx, ws, &twice).await.unwrap_err().is_conflict());
    }
}
