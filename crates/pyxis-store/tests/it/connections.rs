//! Connections of programs to agents: what is used once, what ends, and what ends with it.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{OsEntropy, token};
use pyxis_core::id::{AgentId, ConnectionId};
use pyxis_store::agents::{self, AgentChange};
use pyxis_store::connections::clients::{self, RegisteredClientRow};
use pyxis_store::connections::codes::{self, AuthorizationCodeRow};
use pyxis_store::connections::tokens::{self, ConnectionTokenRow, TokenHolder};
use pyxis_store::connections::{self, AgentConnectionRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_agent, at, at_once, exactly_one};

fn new_client(id: &str, expires_at: UnixMillis) -> RegisteredClientRow {
    RegisteredClientRow {
        id: id.to_owned(),
        name: "Connector".to_owned(),
        secret_hash: Some("a hash".to_owned()),
        redirect_uris: r#"["https://a.example/cb"]"#.to_owned(),
        created_at: NOW,
        expires_at,
    }
}

fn new_code(main: &Workspace, agent: AgentId) -> AuthorizationCodeRow {
    AuthorizationCodeRow {
        code_hash: token::<32>(&OsEntropy, ""),
        connection_id: ConnectionId::new(NOW, &OsEntropy),
        workspace_id: main.id,
        agent_id: agent,
        client_id: "client".to_owned(),
        client_name: "Connector".to_owned(),
        redirect_uri: "https://a.example/cb".to_owned(),
        challenge: "c".repeat(43),
        allowed_by: "ana@example.com".to_owned(),
        expires_at: at(60_000),
        used_at: None,
    }
}

async fn add_connection(main: &Workspace, agent: AgentId) -> AgentConnectionRow {
    let new = AgentConnectionRow {
        id: ConnectionId::new(NOW, &OsEntropy),
        workspace_id: main.id,
        agent_id: agent,
        client_id: "client".to_owned(),
        client_name: "Connector".to_owned(),
        destination: "a.example".to_owned(),
        allowed_by: "ana@example.com".to_owned(),
        created_at: NOW,
        last_used_at: NOW,
    };
    connections::insert(&main.store, &new).await.unwrap();
    new
}

async fn add_token(main: &Workspace, of: &AgentConnectionRow, is_refresh: bool) -> ConnectionTokenRow {
    let new = ConnectionTokenRow {
        token_hash: token::<32>(&OsEntropy, ""),
        workspace_id: main.id,
        connection_id: of.id,
        is_refresh,
        expires_at: at(1000),
        used_at: None,
    };
    tokens::insert(&main.store, &new).await.unwrap();
    new
}

engines! {
    async fn a_code_is_taken_once_and_not_after_its_time(main: Workspace) {
        let agent = add_agent(&main, "scribe", &[]).await;
        let code = new_code(&main, agent);
        codes::insert(&main.store, &code).await.unwrap();
        assert_eq!(codes::find(&main.store, &code.code_hash).await.unwrap(), Some(code.clone()));
        assert!(!codes::consume(&main.store, main.id, &code.code_hash, at(60_000)).await.unwrap());
        let (store, workspace, hash) = (main.store.clone(), main.id, code.code_hash.clone());
        let taken = at_once(8, move |_| {
            let (store, hash) = (store.clone(), hash.clone());
            async move { codes::consume(&store, workspace, &hash, at(59_999)).await.unwrap() }
        });
        assert!(exactly_one(taken.await));
        let used = codes::find(&main.store, &code.code_hash).await.unwrap().unwrap();
        assert_eq!(used.used_at, Some(at(59_999)));
        // Another workspace takes nothing.
        let other = new_code(&main, agent);
        codes::insert(&main.store, &other).await.unwrap();
        let stranger = pyxis_core::id::WorkspaceId::new(NOW, &OsEntropy);
        assert!(!codes::consume(&main.store, stranger, &other.code_hash, NOW).await.unwrap());
    }
}

engines! {
    async fn a_refresh_token_is_taken_once_and_an_access_token_never(main: Workspace) {
        let agent = add_agent(&main, "scribe", &[]).await;
        let connection = add_connection(&main, agent).await;
        let (access, refresh) = (add_token(&main, &connection, false).await, add_token(&main, &connection, true).await);
        assert!(!tokens::consume(&main.store, main.id, &access.token_hash, NOW).await.unwrap());
        assert!(!tokens::consume(&main.store, main.id, &refresh.token_hash, at(1000)).await.unwrap());
        let (store, workspace, hash) = (main.store.clone(), main.id, refresh.token_hash.clone());
        let taken = at_once(8, move |_| {
            let (store, hash) = (store.clone(), hash.clone());
            async move { tokens::consume(&store, workspace, &hash, at(999)).await.unwrap() }
        });
        assert!(exactly_one(taken.await));
        assert_eq!(tokens::find(&main.store, &refresh.token_hash).await.unwrap(), None, "no trace is left");
    }
}

engines! {
    async fn only_a_live_access_token_of_an_enabled_agent_has_a_holder(main: Workspace) {
        let agent = add_agent(&main, "scribe", &[]).await;
        let connection = add_connection(&main, agent).await;
        let (access, refresh) = (add_token(&main, &connection, false).await, add_token(&main, &connection, true).await);
        let row = agents::find(&main.store, main.id, agent).await.unwrap().unwrap();
        let holder = TokenHolder { key_hash: row.key_hash, client_name: "Connector".to_owned() };
        let of = async |hash: &str, now| tokens::holder(&main.store, hash, now).await.unwrap();
        assert_eq!(of(&access.token_hash, at(999)).await, Some(holder.clone()));
        assert_eq!(of(&access.token_hash, at(1000)).await, None);
        assert_eq!(of(&refresh.token_hash, NOW).await, None);
        assert_eq!(of("unknown", NOW).await, None);
        let disable = async |disabled_at| {
            let mut tx = main.store.begin().await.unwrap();
            let change = AgentChange { disabled_at: Some(disabled_at), ..AgentChange::default() };
            agents::update(&mut tx, main.id, agent, change).await.unwrap();
            tx.commit().await.unwrap();
        };
        disable(Some(NOW)).await;
        assert_eq!(of(&access.token_hash, NOW).await, None);
        disable(None).await;
        assert_eq!(of(&access.token_hash, NOW).await, Some(holder));
        assert!(tokens::remove(&main.store, main.id, &access.token_hash).await.unwrap());
        assert_eq!(of(&access.token_hash, NOW).await, None);
        assert!(tokens::find(&main.store, &refresh.token_hash).await.unwrap().is_some());
    }
}

engines! {
    async fn tokens_end_with_their_connection_and_connections_with_their_agent(main: Workspace) {
        let agent = add_agent(&main, "scribe", &[]).await;
        let (first, second) = (add_connection(&main, agent).await, add_connection(&main, agent).await);
        let tokens_of = [add_token(&main, &first, true).await, add_token(&main, &second, true).await];
        let listed = connections::list_for_agent(&main.store, main.id, agent).await.unwrap();
        assert_eq!(listed.len(), 2);
        connections::touch(&main.store, main.id, first.id, at(5)).await.unwrap();
        let touched = connections::find(&main.store, main.id, first.id).await.unwrap().unwrap();
        assert_eq!(touched.last_used_at, at(5));
        assert!(connections::remove(&main.store, main.id, first.id).await.unwrap());
        assert!(!connections::remove(&main.store, main.id, first.id).await.unwrap());
        assert!(tokens::find(&main.store, &tokens_of[0].token_hash).await.unwrap().is_none());
        let code = new_code(&main, agent);
        codes::insert(&main.store, &code).await.unwrap();
        assert!(agents::remove(&main.store, main.id, agent).await.unwrap());
        assert!(tokens::find(&main.store, &tokens_of[1].token_hash).await.unwrap().is_none());
        assert!(codes::find(&main.store, &code.code_hash).await.unwrap().is_none());
    }
}

engines! {
    async fn registrations_are_bounded_and_the_oldest_that_nobody_used_makes_room(main: Workspace) {
        let add = async |id: &str, expires_at| clients::insert(&main.store, &new_client(id, expires_at), 2).await.unwrap();
        let known = async |id: &str| clients::find(&main.store, id, NOW).await.unwrap().is_some();
        for (id, expires_at) in [("client", 1000), ("consented", 1001), ("second", 1002)] {
            add(id, at(expires_at)).await;
        }
        assert!(!known("client").await && known("consented").await && known("second").await);
        // A person consented to this one, and another is connected: neither counts.
        clients::extend(&main.store, "consented", at(9000)).await.unwrap();
        add("client", at(1003)).await;
        let agent = add_agent(&main, "scribe", &[]).await;
        add_connection(&main, agent).await;
        for (id, expires_at) in [("third", 1004), ("fourth", 1005)] {
            add(id, at(expires_at)).await;
        }
        assert!(!known("second").await && known("third").await && known("fourth").await);
        assert!(known("client").await && known("consented").await);
    }
}

engines! {
    async fn what_a_person_allowed_ends_with_one_call_and_what_others_allowed_stays(main: Workspace) {
        let agent = add_agent(&main, "scribe", &[]).await;
        let theirs = add_connection(&main, agent).await;
        let token = add_token(&main, &theirs, true).await;
        let code = new_code(&main, agent);
        codes::insert(&main.store, &code).await.unwrap();
        let end = async |email: &str| {
            let mut tx = main.store.begin().await.unwrap();
            let ended = connections::remove_allowed_by(&mut tx, main.id, email).await.unwrap();
            tx.commit().await.unwrap();
            ended
        };
        assert_eq!(end("bob@example.com").await, 0);
        assert!(codes::find(&main.store, &code.code_hash).await.unwrap().is_some());
        assert_eq!(end("ana@example.com").await, 1);
        assert!(codes::find(&main.store, &code.code_hash).await.unwrap().is_none());
        assert!(tokens::find(&main.store, &token.token_hash).await.unwrap().is_none());
    }
}

engines! {
    async fn registrations_stay_as_long_as_a_connection_uses_them(main: Workspace) {
        for id in ["client", "other", "third"] {
            clients::insert(&main.store, &new_client(id, at(1000)), 5).await.unwrap();
        }
        let agent = add_agent(&main, "scribe", &[]).await;
        let connection = add_connection(&main, agent).await;
        let known = async |id: &str, now| clients::find(&main.store, id, now).await.unwrap().is_some();
        assert!(known("other", at(999)).await && !known("other", at(1000)).await);
        assert!(known("client", at(1000)).await);
        clients::extend(&main.store, "other", at(2000)).await.unwrap();
        clients::extend(&main.store, "other", at(10)).await.unwrap();
        assert!(known("other", at(1999)).await);
        add_token(&main, &connection, true).await;
        connections::purge(&main.store, at(999), at(999)).await.unwrap();
        assert!(connections::find(&main.store, main.id, connection.id).await.unwrap().is_some());
        connections::purge(&main.store, at(1500), at(1500)).await.unwrap();
        assert!(connections::find(&main.store, main.id, connection.id).await.unwrap().is_none());
        assert!(!known("client", NOW).await && !known("third", NOW).await && known("other", NOW).await);
    }
}

engines! {
    async fn a_used_code_stays_for_a_while_so_that_a_replay_is_noticed(main: Workspace) {
        let agent = add_agent(&main, "scribe", &[]).await;
        let code = new_code(&main, agent);
        codes::insert(&main.store, &code).await.unwrap();
        connections::purge(&main.store, at(100_000), at(59_999)).await.unwrap();
        assert!(codes::find(&main.store, &code.code_hash).await.unwrap().is_some());
        connections::purge(&main.store, at(100_000), at(60_000)).await.unwrap();
        assert!(codes::find(&main.store, &code.code_hash).await.unwrap().is_none());
    }
}
