//! Push subscriptions and pending messages.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{PushSubscriptionId, TxnId, UserId};
use pyxis_store::push::{self, PushMessageRow, PushSubscriptionRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_user, at};

async fn subscribe(main: &Workspace, user: UserId, endpoint: &str) -> PushSubscriptionRow {
    let id = PushSubscriptionId::new(NOW, &OsEntropy);
    let row = PushSubscriptionRow {
        id,
        workspace_id: main.id,
        user_id: user,
        endpoint: endpoint.to_owned(),
        endpoint_hash: format!("hash of {endpoint}"),
        sealed_keys: main.keyring.seal(&OsEntropy, &push::keys_aad(main.id, id), b"keys"),
        label: "Chromium".to_owned(),
        created_at: NOW,
        last_success_at: None,
        refused_status: None,
        refused_why: None,
        refused_at: None,
    };
    let mut tx = main.store.begin().await.unwrap();
    push::subscribe(&mut tx, &row).await.unwrap();
    tx.commit().await.unwrap();
    row
}

async fn enqueue(main: &Workspace, browser: &PushSubscriptionRow, txn: TxnId) {
    let message = PushMessageRow {
        subscription_id: browser.id,
        txn_id: txn,
        workspace_id: main.id,
        attempts: 0,
        next_at: NOW,
        expires_at: at(1000),
    };
    let mut tx = main.store.begin().await.unwrap();
    push::enqueue(&mut tx, &[message]).await.unwrap();
    tx.commit().await.unwrap();
}

engines! {
    async fn a_browser_is_known_once_by_its_endpoint(main: &Workspace) {
        let user = add_user(main, "a@example.com").await;
        subscribe(main, user, "https://push.example/1").await;
        let again = subscribe(main, user, "https://push.example/1").await;
        let other = subscribe(main, user, "https://push.example/2").await;
        assert_eq!(push::list_for_user(&main.store, main.id, user).await.unwrap().len(), 2);
        assert_eq!(push::list(&main.store, main.id).await.unwrap().len(), 2);
        assert_eq!(push::find(&main.store, main.id, again.id).await.unwrap(), Some(again.clone()));
        push::succeeded(&main.store, main.id, again.id, at(7)).await.unwrap();
        let row = push::find(&main.store, main.id, again.id).await.unwrap().unwrap();
        assert_eq!(row.last_success_at, Some(at(7)));
        for (status, at) in [(403, at(8)), (401, at(9))] {
            push::record_refusal(&main.store, main.id, again.id, (status, "no"), at).await.unwrap();
        }
        let row = push::list_refused(&main.store, main.id).await.unwrap().remove(0);
        assert_eq!((row.refused_status, row.refused_why.as_deref()), (Some(401), Some("no")));
        assert_eq!(row.refused_at, Some(at(8)), "since the first");
        push::succeeded(&main.store, main.id, again.id, at(10)).await.unwrap();
        assert!(push::list_refused(&main.store, main.id).await.unwrap().is_empty());
        let elsewhere = main.add_workspace("other").await;
        assert!(push::find(&main.store, elsewhere, again.id).await.unwrap().is_none());
        assert!(!push::remove(&main.store, elsewhere, other.id).await.unwrap());
        assert!(push::remove(&main.store, main.id, other.id).await.unwrap());
        assert_eq!(push::list(&main.store, main.id).await.unwrap(), [(again.id, user)]);
    }

    async fn a_message_is_claimed_once_tried_again_and_done(main: &Workspace) {
        let user = add_user(main, "a@example.com").await;
        let browser = subscribe(main, user, "https://push.example/1").await;
        let (first, second) = (TxnId::new(&OsEntropy), TxnId::new(&OsEntropy));
        for txn in [first, first, second] {
            enqueue(main, &browser, txn).await;
        }
        let claim = async |now, limit| push::claim(&main.store, now, at(500), limit).await.unwrap();
        let one = claim(NOW, 1).await.remove(0);
        let two = claim(NOW, 5).await.remove(0);
        assert_ne!(one.txn_id, two.txn_id);
        assert!(claim(at(499), 5).await.is_empty());
        assert_eq!(push::next_due(&main.store, NOW).await.unwrap(), Some(at(500)));
        push::failed(&main.store, &one, at(9)).await.unwrap();
        let again = claim(at(9), 5).await.remove(0);
        assert_eq!((again.txn_id, again.attempts), (one.txn_id, 1));
        push::done(&main.store, &one).await.unwrap();
        assert_eq!(claim(at(500), 5).await.len(), 1);
        assert!(push::remove(&main.store, main.id, browser.id).await.unwrap());
        assert!(claim(at(9999), 5).await.is_empty(), "its messages go with it");
    }
}
