//! Forwarding of approved requests: at most once, whatever fails.

use pyxis_core::approval_mode::ForwardState;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{NodeId, UserId};
use pyxis_store::approvals::{self, Finish, NewApproval};
use pyxis_store::nodes;
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_approval, at, at_once, exactly_one, node};

async fn approved(world: &World, dedupe: &str) -> NewApproval {
    let new = add_approval(world, dedupe).await;
    let mut tx = world.store.begin().await.unwrap();
    let user = UserId::new(NOW, &OsEntropy);
    assert!(approvals::approve(&mut tx, world.ws, new.txn_id, user, "e", at(1)).await.unwrap());
    tx.commit().await.unwrap();
    new
}

async fn claim(world: &World, new: &NewApproval, node: NodeId, now: i64) -> bool {
    approvals::claim(&world.store, world.ws, new.txn_id, node, at(now), at(now + 100)).await.unwrap()
}

async fn begin(world: &World, new: &NewApproval, node: NodeId) -> bool {
    approvals::begin_attempt(&world.store, world.ws, new.txn_id, node, at(5)).await.unwrap()
}

engines! {
    async fn one_of_many_nodes_claims_a_request(world: &World) {
        let new = approved(world, "k").await;
        assert_eq!(approvals::list_approved(&world.store, at(2), 10).await.unwrap(), [(world.ws, new.txn_id)]);
        let claims = at_once(16, |_| {
            let (store, ws, txn) = (world.store.clone(), world.ws, new.txn_id);
            async move { approvals::claim(&store, ws, txn, node(), at(2), at(100)).await.unwrap() }
        })
        .await;
        assert!(exactly_one(claims));
        assert!(approvals::list_approved(&world.store, at(2), 10).await.unwrap().is_empty());
        assert_eq!(approvals::list_approved(&world.store, at(100), 10).await.unwrap().len(), 1);
    }

    async fn what_is_not_approved_cannot_be_claimed(world: &World) {
        let new = add_approval(world, "k").await;
        assert!(!claim(world, &new, node(), 1).await);
        assert!(!begin(world, &new, node()).await);
    }

    async fn a_lapsed_claim_goes_to_another_node_but_an_attempt_never_does(world: &World) {
        let new = approved(world, "k").await;
        let (slow, quick) = (node(), node());
        assert!(claim(world, &new, slow, 2).await);
        assert!(!claim(world, &new, quick, 50).await);
        assert!(claim(world, &new, quick, 102).await);
        assert!(!begin(world, &new, slow).await);
        assert!(begin(world, &new, quick).await);
        assert!(!begin(world, &new, quick).await);
        assert!(!claim(world, &new, slow, 10_000).await);
    }

    async fn the_answer_is_stored_once_by_the_node_that_sent(world: &World) {
        let new = approved(world, "k").await;
        let sender = node();
        assert!(claim(world, &new, sender, 2).await && begin(world, &new, sender).await);
        let aad = approvals::response_aad(world.ws, new.txn_id);
        let done = Finish {
            status: Some(201),
            error: None,
            response: Some(world.keyring.seal(&OsEntropy, &aad, b"answer")),
            now: at(9),
        };
        let mut tx = world.store.begin().await.unwrap();
        assert!(!approvals::finish(&mut tx, world.ws, new.txn_id, node(), &done).await.unwrap());
        assert!(approvals::finish(&mut tx, world.ws, new.txn_id, sender, &done).await.unwrap());
        assert!(!approvals::finish(&mut tx, world.ws, new.txn_id, sender, &done).await.unwrap());
        tx.commit().await.unwrap();
        let row = approvals::find(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
        assert_eq!((row.forward_state, row.upstream_status, row.finished_at), (ForwardState::Done, Some(201), Some(at(9))));
        let stored = approvals::response(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
        assert_eq!(world.keyring.open(&aad, &stored).unwrap().expose(), b"answer");
    }

    async fn after_a_crash_sent_work_is_unknown_and_unsent_work_is_free(world: &World) {
        let (sent, unsent) = (approved(world, "sent").await, approved(world, "unsent").await);
        let (dead, alive, this) = (node(), node(), node());
        assert!(claim(world, &sent, dead, 2).await && begin(world, &sent, dead).await);
        assert!(claim(world, &unsent, dead, 2).await);
        let busy = approved(world, "busy").await;
        assert!(claim(world, &busy, alive, 2).await && begin(world, &busy, alive).await);
        nodes::heartbeat(&world.store, dead, at(0)).await.unwrap();
        nodes::heartbeat(&world.store, alive, at(0)).await.unwrap();
        nodes::heartbeat(&world.store, alive, at(50)).await.unwrap();

        let mut tx = world.store.begin().await.unwrap();
        let unknown = approvals::abandon_dead_nodes(&mut tx, this, Some(at(40)), at(60)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(unknown, [(world.ws, sent.txn_id)]);
        let row = approvals::find(&world.store, world.ws, sent.txn_id).await.unwrap().unwrap();
        assert_eq!((row.forward_state, row.error.as_deref()), (ForwardState::Done, Some("outcome_unknown")));
        assert!(claim(world, &unsent, this, 61).await);

        nodes::remove(&world.store, alive).await.unwrap();
        let mut tx = world.store.begin().await.unwrap();
        let unknown = approvals::abandon_dead_nodes(&mut tx, this, None, at(70)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(unknown, [(world.ws, busy.txn_id)]);
        assert!(begin(world, &unsent, this).await);
    }

    async fn bodies_are_purged_only_after_the_work_ended(world: &World) {
        let (pending, ready) = (add_approval(world, "p").await, approved(world, "r").await);
        let withdrawn = add_approval(world, "w").await;
        assert!(approvals::withdraw(&world.store, world.ws, withdrawn.agent_id, withdrawn.txn_id, at(1)).await.unwrap());
        assert_eq!(approvals::purge_bodies(&world.store, at(1)).await.unwrap(), 0);
        assert_eq!(approvals::purge_bodies(&world.store, at(1_000_000)).await.unwrap(), 1);
        for (new, there) in [(&pending, true), (&ready, true), (&withdrawn, false)] {
            let body = approvals::request(&world.store, world.ws, new.txn_id).await.unwrap();
            assert_eq!(body.is_some(), there);
        }
    }
}
