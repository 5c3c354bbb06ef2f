//! Limit on an agent's pending requests.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::AgentId;
use pyxis_store::agents::{self, AgentChange};
use pyxis_store::approvals::{self, NewApproval};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_agent, at, at_once, new_approval};

async fn limited(main: &Workspace, name: &str, limit: i64) -> AgentId {
    let agent = add_agent(main, name, &[]).await;
    let change = AgentChange { max_pending: Some(limit), ..AgentChange::default() };
    let mut tx = main.store.begin().await.unwrap();
    assert!(agents::update(&mut tx, main.id, agent, change).await.unwrap());
    tx.commit().await.unwrap();
    agent
}

/// Adds a request unless the agent's limit is reached.
async fn add(main: &Workspace, agent: AgentId, dedupe: &str, now: i64) -> Option<NewApproval> {
    let new = NewApproval { agent_id: agent, created_at: at(now), ..new_approval(main, dedupe) };
    let aad = approvals::request_aad(main.id, new.txn_id);
    let sealed = main.keyring.seal(&OsEntropy, &aad, b"{}");
    let mut tx = main.store.begin().await.unwrap();
    if approvals::reached_limit(&mut tx, main.id, agent, at(now)).await.unwrap().is_some() {
        return None;
    }
    approvals::insert(&mut tx, &new, sealed).await.unwrap();
    tx.commit().await.unwrap();
    Some(new)
}

engines! {
    async fn exactly_as_many_are_added_as_may_wait(main: &Workspace) {
        let agent = limited(main, "ten", 10).await;
        let (store, ws) = (main.store.clone(), main.id);
        let rows: Vec<_> = (0..30).map(|n| {
            let new = NewApproval { agent_id: agent, ..new_approval(main, &format!("k{n}")) };
            let sealed = main.keyring.seal(&OsEntropy, &approvals::request_aad(ws, new.txn_id), b"{}");
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
        assert_eq!(approvals::count_pending(&main.store, ws, NOW).await.unwrap(), 10);
    }

    async fn a_place_is_free_again_once_a_request_no_longer_waits(main: &Workspace) {
        let (agent, other) = (limited(main, "one", 1).await, limited(main, "other", 1).await);
        let first = add(main, agent, "a", 0).await.unwrap();
        assert!(add(main, agent, "b", 0).await.is_none());
        assert!(add(main, other, "c", 0).await.is_some(), "another agent has places of its own");
        let mut tx = main.store.begin().await.unwrap();
        assert!(approvals::withdraw(&mut tx, main.id, agent, first.txn_id, at(1)).await.unwrap());
        tx.commit().await.unwrap();
        assert!(add(main, agent, "d", 2).await.is_some());
        assert!(add(main, agent, "e", 2).await.is_none());
        // After its window it no longer counts, even before it is marked as expired.
        assert!(add(main, agent, "f", 3_600_001).await.is_some());
    }

    async fn an_agent_of_another_workspace_has_no_limit_here(main: &Workspace) {
        let agent = limited(main, "one", 1).await;
        add(main, agent, "a", 0).await.unwrap();
        let elsewhere = main.add_workspace("elsewhere").await;
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(approvals::reached_limit(&mut tx, main.id, agent, NOW).await.unwrap(), Some(1));
        assert_eq!(approvals::reached_limit(&mut tx, elsewhere, agent, NOW).await.unwrap(), None);
    }

    async fn a_plain_read_shows_the_same_limit(main: &Workspace) {
        let agent = limited(main, "one", 1).await;
        let seen = async |now| approvals::limit_seen(&main.store, main.id, agent, at(now)).await.unwrap();
        assert_eq!(seen(0).await, None);
        add(main, agent, "a", 0).await.unwrap();
        assert_eq!((seen(0).await, seen(3_600_001).await), (Some(1), None));
        let elsewhere = main.add_workspace("elsewhere").await;
        assert_eq!(approvals::limit_seen(&main.store, elsewhere, agent, NOW).await.unwrap(), None);
    }
}
