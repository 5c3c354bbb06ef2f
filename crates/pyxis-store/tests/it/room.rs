//! Limit on an agent's pending requests.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::AgentId;
use pyxis_store::agents::{self, AgentChange};
use pyxis_store::approvals::{self, NewApproval};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_agent, add_workspace, at, at_once, new_approval};

async fn limited(world: &World, name: &str, limit: i64) -> AgentId {
    let agent = add_agent(world, name, &[]).await;
    let change = AgentChange { max_pending: Some(limit), ..AgentChange::default() };
    let mut tx = world.store.begin().await.unwrap();
    assert!(agents::update(&mut tx, world.ws, agent, change).await.unwrap());
    tx.commit().await.unwrap();
    agent
}

/// Adds a request unless the agent's limit is reached.
async fn add(world: &World, agent: AgentId, dedupe: &str, now: i64) -> Option<NewApproval> {
    let new = NewApproval { agent_id: agent, created_at: at(now), ..new_approval(world, dedupe) };
    let aad = approvals::request_aad(world.ws, new.txn_id);
    let sealed = world.keyring.seal(&OsEntropy, &aad, b"{}");
    let mut tx = world.store.begin().await.unwrap();
    if approvals::reached_limit(&mut tx, world.ws, agent, at(now)).await.unwrap().is_some() {
        return None;
    }
    approvals::insert(&mut tx, &new, sealed).await.unwrap();
    tx.commit().await.unwrap();
    Some(new)
}

engines! {
    async fn exactly_as_many_are_added_as_may_wait(world: &World) {
        let agent = limited(world, "ten", 10).await;
        let (store, ws) = (world.store.clone(), world.ws);
        let rows: Vec<_> = (0..30).map(|n| {
            let new = NewApproval { agent_id: agent, ..new_approval(world, &format!("k{n}")) };
            let sealed = world.keyring.seal(&OsEntropy, &approvals::request_aad(ws, new.txn_id), b"{}");
            (new, sealed)
        }).collect();
        let added = at_once(30, |n| {
            let (store, (new, sealed)) = (store.clone(), rows[n].clone());
            async move {
                let mut tx = store.begin().await.unwrap();
                if approvals::reached_limit(&mut tx, ws, agent, NOW).await.unwrap().is_some() {
                    return false;
                }
                approvals::insert(&mut tx, &new, sealed).await.unwrap();
                tx.commit().await.unwrap();
                true
            }
        }).await;
        assert_eq!(added.into_iter().filter(|added| *added).count(), 10);
        assert_eq!(approvals::count_pending(&world.store, ws, NOW).await.unwrap(), 10);
    }

    async fn a_place_is_free_again_once_a_request_no_longer_waits(world: &World) {
        let (agent, other) = (limited(world, "one", 1).await, limited(world, "other", 1).await);
        let first = add(world, agent, "a", 0).await.unwrap();
        assert!(add(world, agent, "b", 0).await.is_none());
        assert!(add(world, other, "c", 0).await.is_some(), "another agent has places of its own");
        let mut tx = world.store.begin().await.unwrap();
        assert!(approvals::withdraw(&mut tx, world.ws, agent, first.txn_id, at(1)).await.unwrap());
        tx.commit().await.unwrap();
        assert!(add(world, agent, "d", 2).await.is_some());
        assert!(add(world, agent, "e", 2).await.is_none());
        // After its window it no longer counts, even before it is marked as expired.
        assert!(add(world, agent, "f", 3_600_001).await.is_some());
    }

    async fn an_agent_of_another_workspace_has_no_limit_here(world: &World) {
        let agent = limited(world, "one", 1).await;
        add(world, agent, "a", 0).await.unwrap();
        let elsewhere = add_workspace(&world.store, "elsewhere").await;
        let mut tx = world.store.begin().await.unwrap();
        assert_eq!(approvals::reached_limit(&mut tx, world.ws, agent, NOW).await.unwrap(), Some(1));
        assert_eq!(approvals::reached_limit(&mut tx, elsewhere, agent, NOW).await.unwrap(), None);
    }

    async fn a_plain_read_shows_the_same_limit(world: &World) {
        let agent = limited(world, "one", 1).await;
        let seen = async |now| approvals::limit_seen(&world.store, world.ws, agent, at(now)).await.unwrap();
        assert_eq!(seen(0).await, None);
        add(world, agent, "a", 0).await.unwrap();
        assert_eq!((seen(0).await, seen(3_600_001).await), (Some(1), None));
        let elsewhere = add_workspace(&world.store, "elsewhere").await;
        assert_eq!(approvals::limit_seen(&world.store, elsewhere, agent, NOW).await.unwrap(), None);
    }
}
