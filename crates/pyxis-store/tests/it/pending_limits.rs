//! Limits on pending requests and kept bytes.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_store::agents::{self, AgentChange};
use pyxis_store::approvals::{self, NewApproval, Newcomer, NoRoom, RoomLimits};
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

const WIDE: RoomLimits =
    RoomLimits { workspace_pending: i64::MAX, agent_bytes: i64::MAX, workspace_bytes: i64::MAX };

fn newcomer(workspace: WorkspaceId, agent: AgentId, now: UnixMillis) -> Newcomer {
    Newcomer { workspace, agent, bytes: 1, now }
}

/// Adds a request unless the agent's limit is reached.
async fn add(main: &Workspace, agent: AgentId, dedupe: &str, now: i64) -> Option<NewApproval> {
    let new = NewApproval { agent_id: agent, created_at: at(now), ..new_approval(main, dedupe) };
    let aad = approvals::request_aad(main.id, new.txn_id);
    let sealed = main.keyring.seal(&OsEntropy, &aad, b"{}");
    let mut tx = main.store.begin().await.unwrap();
    if approvals::agent_limit(&mut tx, &WIDE, &newcomer(main.id, agent, at(now))).await.unwrap().is_some() {
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
                if approvals::agent_limit(&mut tx, &WIDE, &newcomer(ws, agent, NOW)).await.unwrap().is_some() {
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
        let here = approvals::agent_limit(&mut tx, &WIDE, &newcomer(main.id, agent, NOW)).await.unwrap();
        assert_eq!(here, Some(NoRoom::AgentPending(1)));
        let there = approvals::agent_limit(&mut tx, &WIDE, &newcomer(elsewhere, agent, NOW)).await.unwrap();
        assert_eq!(there, None);
    }

    async fn a_plain_read_shows_the_same_limit(main: &Workspace) {
        let agent = limited(main, "one", 1).await;
        let seen = async |now| {
            approvals::limit_seen(&main.store, &WIDE, &newcomer(main.id, agent, at(now))).await.unwrap()
        };
        assert_eq!(seen(0).await, None);
        add(main, agent, "a", 0).await.unwrap();
        assert_eq!((seen(0).await, seen(3_600_001).await), (Some(NoRoom::AgentPending(1)), None));
        let elsewhere = main.add_workspace("elsewhere").await;
        let there = approvals::limit_seen(&main.store, &WIDE, &newcomer(elsewhere, agent, NOW)).await.unwrap();
        assert_eq!(there, None);
    }

    async fn bytes_count_for_the_agent_and_the_workspace_until_they_are_deleted(main: &Workspace) {
        let (agent, other) = (limited(main, "one", 9).await, limited(main, "other", 9).await);
        let first = add(main, agent, "a", 0).await.unwrap();
        let kept = main.keyring.seal(&OsEntropy, &approvals::request_aad(main.id, first.txn_id), b"{}").len();
        let kept = i64::try_from(kept).unwrap();
        let seen = async |limits: RoomLimits, agent| {
            approvals::limit_seen(&main.store, &limits, &newcomer(main.id, agent, at(1))).await.unwrap()
        };
        let tight = RoomLimits { agent_bytes: kept, ..WIDE };
        assert_eq!(seen(RoomLimits { agent_bytes: kept + 1, ..WIDE }, agent).await, None);
        assert_eq!(seen(tight, agent).await, Some(NoRoom::AgentBytes(kept)));
        assert_eq!(seen(tight, other).await, None, "the other agent has kept nothing");
        let narrow = RoomLimits { workspace_bytes: kept, ..WIDE };
        assert_eq!(seen(narrow, other).await, Some(NoRoom::WorkspaceBytes(kept)));

        let mut tx = main.store.begin().await.unwrap();
        let exact = approvals::agent_limit(&mut tx, &tight, &newcomer(main.id, agent, NOW)).await.unwrap();
        assert_eq!(exact, Some(NoRoom::AgentBytes(kept)));
        assert_eq!(approvals::workspace_limit(&mut tx, &narrow, main.id, NOW).await.unwrap(), None);
        let less = RoomLimits { workspace_bytes: kept - 1, ..WIDE };
        let over = approvals::workspace_limit(&mut tx, &less, main.id, NOW).await.unwrap();
        assert_eq!(over, Some(NoRoom::WorkspaceBytes(kept - 1)));
        assert!(approvals::withdraw(&mut tx, main.id, agent, first.txn_id, at(1)).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(seen(tight, agent).await, Some(NoRoom::AgentBytes(kept)), "a withdrawn body is still there");
        approvals::purge_bodies(&main.store, at(2)).await.unwrap();
        assert_eq!(seen(tight, agent).await, None);
    }

    async fn a_workspace_has_its_own_limit_of_pending_requests(main: &Workspace) {
        let (agent, other) = (limited(main, "one", 9).await, limited(main, "other", 9).await);
        add(main, agent, "a", 0).await.unwrap();
        let limits = RoomLimits { workspace_pending: 1, ..WIDE };
        let full = Some(NoRoom::WorkspacePending(1));
        let seen = approvals::limit_seen(&main.store, &limits, &newcomer(main.id, other, NOW)).await.unwrap();
        assert_eq!(seen, full);
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(approvals::workspace_limit(&mut tx, &limits, main.id, NOW).await.unwrap(), None);
        tx.commit().await.unwrap();
        add(main, other, "b", 0).await.unwrap();
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(approvals::workspace_limit(&mut tx, &limits, main.id, NOW).await.unwrap(), full);
    }
}
