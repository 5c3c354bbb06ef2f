//! Long responses: bound to their agent, few, and short-lived.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, ResponseId};
use pyxis_store::kept_responses::{self, NewKeptResponse, find};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_agent, at};

async fn store_response(main: &Workspace, agent: AgentId, created: i64) -> ResponseId {
    let id = ResponseId::new(&OsEntropy);
    let new = NewKeptResponse {
        id,
        workspace: main.id,
        agent,
        sealed: main.keyring.seal(&OsEntropy, &kept_responses::response_aad(main.id, agent, id), b"response"),
        created_at: at(created),
        expires_at: at(created + 60),
    };
    let mut tx = main.store.begin().await.unwrap();
    kept_responses::insert(&mut tx, &new, 2).await.unwrap();
    tx.commit().await.unwrap();
    id
}

engines! {
    async fn a_response_is_found_by_its_agent_until_it_expires(main: &Workspace) {
        let (agent, other) = (add_agent(main, "bot", &[]).await, add_agent(main, "other", &[]).await);
        let id = store_response(main, agent, 0).await;
        assert!(find(&main.store, main.id, agent, id, NOW).await.unwrap().is_some());
        assert!(find(&main.store, main.id, other, id, NOW).await.unwrap().is_none());
        assert!(find(&main.store, main.id, agent, id, at(60)).await.unwrap().is_none());
        assert_eq!(kept_responses::purge(&main.store, at(59)).await.unwrap(), 0);
        assert_eq!(kept_responses::purge(&main.store, at(60)).await.unwrap(), 1);
    }

    async fn an_agent_keeps_its_newest_responses_and_nobody_elses(main: &Workspace) {
        let (agent, other) = (add_agent(main, "bot", &[]).await, add_agent(main, "other", &[]).await);
        let first = store_response(main, agent, 1).await;
        let others = store_response(main, other, 1).await;
        let (second, third) = (store_response(main, agent, 2).await, store_response(main, agent, 3).await);
        for (agent, id, kept) in [(agent, first, false), (agent, second, true), (agent, third, true), (other, others, true)] {
            assert_eq!(find(&main.store, main.id, agent, id, at(4)).await.unwrap().is_some(), kept);
        }
    }
}
