//! API keys and requests for history access.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ApiKeyId, HistoryRequestId};
use pyxis_store::api_keys::{self, ApiKeyChange, ApiKeyRow, Tier};
use pyxis_store::history_requests::{self, NewRequest, RequestState};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_key, at, at_once, exactly_one};

fn new_request(key: ApiKeyId) -> NewRequest {
    NewRequest {
        id: HistoryRequestId::new(NOW, &OsEntropy),
        api_key_id: key,
        use_case: "an airdrop".to_owned(),
        requested_by: "ann@example.com".to_owned(),
        created_at: NOW,
    }
}

async fn decide(main: &Workspace, id: HistoryRequestId, approve: bool) -> Option<ApiKeyId> {
    let mut tx = main.store.begin().await.unwrap();
    let decided =
        history_requests::decide(&mut tx, main.id, id, approve, "bob@example.com", at(5)).await.unwrap();
    tx.commit().await.unwrap();
    decided
}

engines! {
    async fn an_api_key_is_found_by_its_hash(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let key = add_key(main).await;
        assert_eq!(api_keys::find(store, &key.key_hash).await.unwrap(), Some(key.clone()));
        assert_eq!(api_keys::find_by_id(store, ws, key.id).await.unwrap(), Some(key.clone()));
        assert_eq!(api_keys::list(store, ws).await.unwrap(), std::slice::from_ref(&key));
        assert!(api_keys::find(store, "other").await.unwrap().is_none());
        let other = main.add_workspace("other").await;
        assert!(api_keys::find_by_id(store, other, key.id).await.unwrap().is_none());
        let twin = ApiKeyRow { id: ApiKeyId::new(&OsEntropy), ..key };
        assert!(api_keys::insert(store, &twin).await.unwrap_err().is_conflict());
    }

    async fn a_change_touches_only_what_it_names(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let key = add_key(main).await;
        let other = main.add_workspace("other").await;
        let tier = |tier, limit| Some(Tier { tier, limit });
        let change = ApiKeyChange { name: Some("new".to_owned()), stamps: tier(4, Some(5000)), ..ApiKeyChange::default() };
        assert!(!api_keys::update(store, other, key.id, change.clone()).await.unwrap());
        assert!(api_keys::update(store, ws, key.id, change).await.unwrap());
        let changed = ApiKeyRow { name: "new".to_owned(), stamps_tier: 4, stamps_limit: Some(5000), ..key };
        assert_eq!(api_keys::find(store, &changed.key_hash).await.unwrap().as_ref(), Some(&changed));
        let change = ApiKeyChange {
            stamps: tier(2, None),
            models: tier(3, None),
            can_read: Some(false),
            can_write: Some(false),
            can_read_history: Some(true),
            ..ApiKeyChange::default()
        };
        assert!(api_keys::update(store, ws, changed.id, change).await.unwrap());
        let wanted = ApiKeyRow {
            stamps_tier: 2, stamps_limit: None, models_tier: 3,
            can_read: false, can_write: false, can_read_history: true, ..changed
        };
        assert_eq!(api_keys::find(store, &wanted.key_hash).await.unwrap(), Some(wanted));
    }

    async fn a_key_is_revoked_once_and_for_good(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let key = add_key(main).await;
        let other = main.add_workspace("other").await;
        assert!(!api_keys::revoke(store, other, key.id, at(1)).await.unwrap());
        assert!(api_keys::revoke(store, ws, key.id, at(1)).await.unwrap());
        assert!(!api_keys::revoke(store, ws, key.id, at(2)).await.unwrap());
        assert_eq!(api_keys::find(store, &key.key_hash).await.unwrap().unwrap().revoked_at, Some(at(1)));
    }

    async fn one_request_for_history_waits_for_each_key(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (key, other) = (add_key(main).await.id, main.add_workspace("other").await);
        let first = new_request(key);
        history_requests::insert(store, ws, &first).await.unwrap();
        assert!(history_requests::insert(store, ws, &new_request(key)).await.unwrap_err().is_conflict());
        assert!(history_requests::insert(store, other, &new_request(key)).await.is_err());
        let listed = history_requests::list(store, ws, Some(RequestState::Pending)).await.unwrap();
        assert_eq!((listed.len(), listed[0].id, listed[0].use_case.as_str()), (1, first.id, "an airdrop"));
        assert!(history_requests::list(store, other, None).await.unwrap().is_empty());
        assert_eq!(decide(main, first.id, false).await, Some(key));
        history_requests::insert(store, ws, &new_request(key)).await.unwrap();
        assert_eq!(history_requests::list(store, ws, None).await.unwrap().len(), 2);
    }

    async fn approval_lets_the_key_read_history_and_refusal_does_not(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        for (approve, state) in [(true, RequestState::Approved), (false, RequestState::Refused)] {
            let key = add_key(main).await;
            let request = new_request(key.id);
            history_requests::insert(store, ws, &request).await.unwrap();
            assert_eq!(decide(main, request.id, approve).await, Some(key.id));
            assert_eq!(decide(main, request.id, true).await, None);
            assert_eq!(api_keys::find(store, &key.key_hash).await.unwrap().unwrap().can_read_history, approve);
            let listed = history_requests::list(store, ws, Some(state)).await.unwrap();
            let decided = (listed[0].decided_by.as_deref(), listed[0].decided_at);
            assert_eq!(decided, (Some("bob@example.com"), Some(at(5))));
        }
    }

    async fn one_of_many_decides_a_request(main: &Workspace) {
        let request = new_request(add_key(main).await.id);
        history_requests::insert(&main.store, main.id, &request).await.unwrap();
        let decided = at_once(8, |number| {
            let (store, ws, id) = (main.store.clone(), main.id, request.id);
            async move {
                let mut tx = store.begin().await.unwrap();
                let decided = history_requests::decide(&mut tx, ws, id, number % 2 == 0, "b", at(5)).await.unwrap();
                tx.commit().await.unwrap();
                decided.is_some()
            }
        })
        .await;
        assert!(exactly_one(decided));
    }
}
