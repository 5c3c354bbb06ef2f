//! Push subscriptions and pending messages.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{PushSubscriptionId, TxnId, UserId};
use pyxis_store::push::{self, PushMessageRow, PushSubscriptionRow};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_user, add_workspace, at};

async fn subscribe(world: &World, user: UserId, endpoint: &str) -> PushSubscriptionRow {
    let id = PushSubscriptionId::new(NOW, &OsEntropy);
    let row = PushSubscriptionRow {
        id,
        workspace_id: world.ws,
        user_id: user,
        endpoint: endpoint.to_owned(),
        endpoint_hash: format!("hash of {endpoint}"),
        sealed_keys: world.keyring.seal(&OsEntropy, &push::keys_aad(world.ws, id), b"keys"),
        label: "Chromium".to_owned(),
        created_at: NOW,
        last_success_at: None,
        refused_status: None,
        refused_why: None,
        refused_at: None,
    };
    let mut tx = world.store.begin().await.unwrap();
    push::subscribe(&mut tx, &row).await.unwrap();
    tx.commit().await.unwrap();
    row
}

async fn enqueue(world: &World, browser: &PushSubscriptionRow, txn: TxnId) {
    let message = PushMessageRow {
        subscription_id: browser.id,
        txn_id: txn,
        workspace_id: world.ws,
        attempts: 0,
        next_at: NOW,
        expires_at: at(1000),
    };
    let mut tx = world.store.begin().await.unwrap();
    push::enqueue(&mut tx, &[message]).await.unwrap();
    tx.commit().await.unwrap();
}

engines! {
    async fn a_browser_is_known_once_by_its_endpoint(world: &World) {
        let user = add_user(world, "a@example.com").await;
        subscribe(world, user, "https://push.example/1").await;
        let again = subscribe(world, user, "https://push.example/1").await;
        let other = subscribe(world, user, "https://push.example/2").await;
        assert_eq!(push::list_for_user(&world.store, world.ws, user).await.unwrap().len(), 2);
        assert_eq!(push::list(&world.store, world.ws).await.unwrap().len(), 2);
        assert_eq!(push::find(&world.store, world.ws, again.id).await.unwrap(), Some(again.clone()));
        push::succeeded(&world.store, world.ws, again.id, at(7)).await.unwrap();
        let row = push::find(&world.store, world.ws, again.id).await.unwrap().unwrap();
        assert_eq!(row.last_success_at, Some(at(7)));
        for (status, at) in [(403, at(8)), (401, at(9))] {
            push::refused(&world.store, world.ws, again.id, (status, "no"), at).await.unwrap();
        }
        let row = push::list_refused(&world.store, world.ws).await.unwrap().remove(0);
        assert_eq!((row.refused_status, row.refused_why.as_deref()), (Some(401), Some("no")));
        assert_eq!(row.refused_at, Some(at(8)), "since the first");
        push::succeeded(&world.store, world.ws, again.id, at(10)).await.unwrap();
        assert!(push::list_refused(&world.store, world.ws).await.unwrap().is_empty());
        let elsewhere = add_workspace(&world.store, "other").await;
        assert!(push::find(&world.store, elsewhere, again.id).await.unwrap().is_none());
        assert!(!push::remove(&world.store, elsewhere, other.id).await.unwrap());
        assert!(push::remove(&world.store, world.ws, other.id).await.unwrap());
        assert_eq!(push::list(&world.store, world.ws).await.unwrap(), [(again.id, user)]);
    }

    async fn a_message_is_claimed_once_tried_again_and_done(world: &World) {
        let user = add_user(world, "a@example.com").await;
        let browser = subscribe(world, user, "https://push.example/1").await;
        let (first, second) = (TxnId::new(&OsEntropy), TxnId::new(&OsEntropy));
        for txn in [first, first, second] {
            enqueue(world, &browser, txn).await;
        }
        let claim = async |now, limit| push::claim(&world.store, now, at(500), limit).await.unwrap();
        let one = claim(NOW, 1).await.remove(0);
        let two = claim(NOW, 5).await.remove(0);
        assert_ne!(one.txn_id, two.txn_id);
        assert!(claim(at(499), 5).await.is_empty());
        assert_eq!(push::next_due(&world.store, NOW).await.unwrap(), Some(at(500)));
        push::failed(&world.store, &one, at(9)).await.unwrap();
        let again = claim(at(9), 5).await.remove(0);
        assert_eq!((again.txn_id, again.attempts), (one.txn_id, 1));
        push::done(&world.store, &one).await.unwrap();
        assert_eq!(claim(at(500), 5).await.len(), 1);
        assert!(push::remove(&world.store, world.ws, browser.id).await.unwrap());
        assert!(claim(at(9999), 5).await.is_empty(), "its messages go with it");
    }
}
