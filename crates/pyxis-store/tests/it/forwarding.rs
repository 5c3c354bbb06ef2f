//! Forwarding of approved requests: at most once, whatever fails.

use pyxis_core::approval_mode::ForwardState;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{NodeId, UserId};
use pyxis_core::policy::Method;
use pyxis_store::approvals::{self, Finish, NewApproval};
use pyxis_store::nodes;
use pyxis_testkit::engines;

use crate::support::{
    NOW, Workspace, add_approval, at, at_once, exactly_one, insert_approval, new_approval, node,
};

async fn approved(main: &Workspace, dedupe: &str) -> NewApproval {
    let new = add_approval(main, dedupe).await;
    approve(main, &new).await;
    new
}

async fn approve(main: &Workspace, new: &NewApproval) {
    let mut tx = main.store.begin().await.unwrap();
    let user = UserId::new(NOW, &OsEntropy);
    assert!(approvals::approve(&mut tx, main.id, new.txn_id, user, "e", at(1)).await.unwrap());
    tx.commit().await.unwrap();
}

async fn claim(main: &Workspace, new: &NewApproval, node: NodeId, now: i64) -> bool {
    approvals::claim(&main.store, main.id, new.txn_id, node, at(now), at(now + 100)).await.unwrap()
}

async fn begin(main: &Workspace, new: &NewApproval, node: NodeId) -> bool {
    approvals::begin_attempt(&main.store, main.id, new.txn_id, node, "d", at(5)).await.unwrap()
}

engines! {
    async fn one_of_many_nodes_claims_a_request(main: &Workspace) {
        let new = approved(main, "k").await;
        assert_eq!(approvals::list_approved(&main.store, at(2), at(0), 10).await.unwrap(), [(main.id, new.txn_id)]);
        let claims = at_once(16, |_| {
            let (store, ws, txn) = (main.store.clone(), main.id, new.txn_id);
            async move { approvals::claim(&store, ws, txn, node(), at(2), at(100)).await.unwrap() }
        })
        .await;
        assert!(exactly_one(claims));
        assert!(approvals::list_approved(&main.store, at(2), at(0), 10).await.unwrap().is_empty());
        assert_eq!(approvals::list_approved(&main.store, at(100), at(0), 10).await.unwrap().len(), 1);
    }

    async fn an_approved_websocket_waits_for_its_agent_and_not_for_ever(main: &Workspace) {
        let new = NewApproval { method: Method::WebSocket, ..new_approval(main, "k") };
        insert_approval(main, &new).await;
        let found = async |dedupe: &str, since| {
            let found = approvals::find_unopened(&main.store, main.id, dedupe, at(since)).await.unwrap();
            found.map(|row| row.txn_id)
        };
        assert_eq!(found("k", 0).await, None, "it is pending");
        approve(main, &new).await;
        let listed = async |unused_since| {
            approvals::list_approved(&main.store, at(2), at(unused_since), 10).await.unwrap()
        };
        assert_eq!(listed(0).await, []);
        assert_eq!(listed(1).await, [(main.id, new.txn_id)]);
        assert_eq!(found("k", 0).await, Some(new.txn_id));
        assert_eq!((found("k", 1).await, found("other", 0).await), (None, None));
        let one = node();
        assert!(claim(main, &new, one, 2).await && begin(main, &new, one).await);
        assert_eq!(found("k", 0).await, None, "it is open");
    }

    async fn what_is_not_approved_cannot_be_claimed(main: &Workspace) {
        let new = add_approval(main, "k").await;
        assert!(!claim(main, &new, node(), 1).await);
        assert!(!begin(main, &new, node()).await);
    }

    async fn a_lapsed_claim_goes_to_another_node_but_an_attempt_never_does(main: &Workspace) {
        let new = approved(main, "k").await;
        let (slow, quick) = (node(), node());
        assert!(claim(main, &new, slow, 2).await);
        assert!(!claim(main, &new, quick, 50).await);
        assert!(claim(main, &new, quick, 102).await);
        assert!(!begin(main, &new, slow).await);
        assert!(begin(main, &new, quick).await);
        assert!(!begin(main, &new, quick).await);
        assert!(!claim(main, &new, slow, 10_000).await);
    }

    async fn the_answer_is_stored_once_by_the_node_that_sent(main: &Workspace) {
        let new = approved(main, "k").await;
        let sender = node();
        assert!(claim(main, &new, sender, 2).await && begin(main, &new, sender).await);
        let aad = approvals::response_aad(main.id, new.txn_id);
        let done = Finish {
            status: Some(201),
            error: None,
            response: Some(main.keyring.seal(&OsEntropy, &aad, b"answer")),
            now: at(9),
        };
        let mut tx = main.store.begin().await.unwrap();
        assert!(!approvals::finish(&mut tx, main.id, new.txn_id, node(), &done).await.unwrap());
        assert!(approvals::finish(&mut tx, main.id, new.txn_id, sender, &done).await.unwrap());
        assert!(!approvals::finish(&mut tx, main.id, new.txn_id, sender, &done).await.unwrap());
        tx.commit().await.unwrap();
        let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert_eq!((row.forward_state, row.upstream_status, row.finished_at), (ForwardState::Done, Some(201), Some(at(9))));
        let stored = approvals::response(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert_eq!(main.keyring.open(&aad, &stored).unwrap().expose(), b"answer");
    }

    async fn after_a_crash_sent_work_is_unknown_and_unsent_work_is_free(main: &Workspace) {
        let (sent, unsent) = (approved(main, "sent").await, approved(main, "unsent").await);
        let (dead, alive, this) = (node(), node(), node());
        assert!(claim(main, &sent, dead, 2).await && begin(main, &sent, dead).await);
        assert!(claim(main, &unsent, dead, 2).await);
        let busy = approved(main, "busy").await;
        assert!(claim(main, &busy, alive, 2).await && begin(main, &busy, alive).await);
        nodes::heartbeat(&main.store, dead, at(0)).await.unwrap();
        nodes::heartbeat(&main.store, alive, at(0)).await.unwrap();
        nodes::heartbeat(&main.store, alive, at(50)).await.unwrap();

        let mut tx = main.store.begin().await.unwrap();
        let unknown = approvals::abandon_dead_nodes(&mut tx, this, Some(at(40)), at(60)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(unknown, [(main.id, sent.txn_id)]);
        let row = approvals::find(&main.store, main.id, sent.txn_id).await.unwrap().unwrap();
        assert_eq!((row.forward_state, row.error.as_deref()), (ForwardState::Done, Some("outcome_unknown")));
        assert!(claim(main, &unsent, this, 61).await);

        nodes::remove(&main.store, alive).await.unwrap();
        let mut tx = main.store.begin().await.unwrap();
        let unknown = approvals::abandon_dead_nodes(&mut tx, this, None, at(70)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(unknown, [(main.id, busy.txn_id)]);
        assert!(begin(main, &unsent, this).await);
    }

    async fn bodies_are_purged_only_after_the_work_ended(main: &Workspace) {
        let (pending, ready) = (add_approval(main, "p").await, approved(main, "r").await);
        let withdrawn = add_approval(main, "w").await;
        assert!(approvals::withdraw(&main.store, main.id, withdrawn.agent_id, withdrawn.txn_id, at(1)).await.unwrap());
        assert_eq!(approvals::purge_bodies(&main.store, at(1)).await.unwrap(), 0);
        assert_eq!(approvals::purge_bodies(&main.store, at(1_000_000)).await.unwrap(), 1);
        for (new, there) in [(&pending, true), (&ready, true), (&withdrawn, false)] {
            let body = approvals::request(&main.store, main.id, new.txn_id).await.unwrap();
            assert_eq!(body.is_some(), there);
        }
    }
}
