//! Agents and their credentials.

use pyxis_store::agents::{self, AgentChange, CredentialScope};
use pyxis_store::{StoreError, credentials};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_agent, add_credential, at, new_agent, new_credential};

engines! {
    async fn an_agent_reads_back_by_id_name_and_key(main: &Workspace) {
        let credential = add_credential(main, "api").await;
        let new = new_agent(main.id, "Default-Agent");
        let mut tx = main.store.begin().await.unwrap();
        agents::insert(&mut tx, &new, &[credential]).await.unwrap();
        tx.commit().await.unwrap();

        let row = agents::find(&main.store, main.id, new.id).await.unwrap().unwrap();
        assert_eq!((row.name.as_str(), row.rate_limit_per_hour, row.disabled_at), ("Default-Agent", Some(10), None));
        let by_name = agents::find_by_name(&main.store, main.id, "default-AGENT").await.unwrap();
        assert_eq!(by_name.as_ref(), Some(&row));
        assert_eq!(agents::find_by_key_hash(&main.store, &new.key_hash).await.unwrap().as_ref(), Some(&row));
        assert_eq!(agents::list(&main.store, main.id).await.unwrap(), [row]);
        assert_eq!(agents::credential_ids(&main.store, main.id, new.id).await.unwrap(), [credential]);
    }

    async fn a_name_is_taken_whatever_its_case_but_only_in_its_workspace(main: &Workspace) {
        add_agent(main, "bot", &[]).await;
        let mut tx = main.store.begin().await.unwrap();
        let taken = agents::insert(&mut tx, &new_agent(main.id, "BOT"), &[]).await;
        assert!(taken.unwrap_err().is_conflict());
        // This kind of conflict does not abort the transaction.
        let elsewhere = add_workspace_in(&mut tx).await;
        agents::insert(&mut tx, &new_agent(elsewhere, "bot"), &[]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(agents::list(&main.store, elsewhere).await.unwrap().len(), 1);
    }

    async fn an_agent_cannot_get_a_credential_of_another_workspace(main: &Workspace) {
        let other = main.add_workspace("other").await;
        let mut foreign = new_credential(main, "api");
        foreign.workspace_id = other;
        credentials::insert(&main.store, &foreign).await.unwrap();
        let mut tx = main.store.begin().await.unwrap();
        let refused = agents::insert(&mut tx, &new_agent(main.id, "bot"), &[foreign.id]).await;
        assert!(matches!(refused, Err(StoreError::Reference)));
        drop(tx);

        let all = agents::NewAgent { all_credentials: true, ..new_agent(main.id, "all") };
        let mut tx = main.store.begin().await.unwrap();
        agents::insert(&mut tx, &all, &[]).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!agents::may_use(&main.store, main.id, all.id, foreign.id).await.unwrap());
        assert!(agents::find(&main.store, other, all.id).await.unwrap().is_none());
    }

    async fn what_an_agent_may_use_follows_its_scope(main: &Workspace) {
        let (one, two) = (add_credential(main, "one").await, add_credential(main, "two").await);
        let agent = add_agent(main, "bot", &[one]).await;
        let may = async |credential| agents::may_use(&main.store, main.id, agent, credential).await.unwrap();
        assert!(may(one).await && !may(two).await);

        for (scope, expected) in [(CredentialScope::All, (true, true)), (CredentialScope::Only(vec![two]), (false, true))] {
            let mut tx = main.store.begin().await.unwrap();
            let change = AgentChange { scope: Some(scope), ..AgentChange::default() };
            assert!(agents::update(&mut tx, main.id, agent, change).await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!((may(one).await, may(two).await), expected);
        }
    }

    async fn a_change_leaves_other_fields_as_they_are(main: &Workspace) {
        let agent = add_agent(main, "bot", &[]).await;
        let before = agents::find(&main.store, main.id, agent).await.unwrap().unwrap();
        let mut tx = main.store.begin().await.unwrap();
        let change = AgentChange {
            name: Some("Renamed".to_owned()),
            rate_limit_per_hour: Some(None),
            max_pending: None,
            disabled_at: Some(Some(at(5))),
            scope: None,
        };
        assert!(agents::update(&mut tx, main.id, agent, change).await.unwrap());
        tx.commit().await.unwrap();
        let after = agents::find(&main.store, main.id, agent).await.unwrap().unwrap();
        let expected = agents::AgentRow {
            name: "Renamed".to_owned(),
            rate_limit_per_hour: None,
            disabled_at: Some(at(5)),
            ..before
        };
        assert_eq!(after, expected);
        let mut tx = main.store.begin().await.unwrap();
        let other = add_workspace_in(&mut tx).await;
        assert!(!agents::update(&mut tx, other, agent, AgentChange::default()).await.unwrap());
    }

    async fn a_new_key_replaces_the_old_one_and_uses_are_noted(main: &Workspace) {
        let agent = add_agent(main, "bot", &[]).await;
        let old = agents::find(&main.store, main.id, agent).await.unwrap().unwrap().key_hash;
        assert!(agents::set_key(&main.store, main.id, agent, "newhash", "px_new").await.unwrap());
        assert!(agents::find_by_key_hash(&main.store, &old).await.unwrap().is_none());
        agents::touch_used(&main.store, &[(agent, at(7))]).await.unwrap();
        let row = agents::find_by_key_hash(&main.store, "newhash").await.unwrap().unwrap();
        assert_eq!((row.id, row.last_used_at), (agent, Some(at(7))));
        assert!(agents::remove(&main.store, main.id, agent).await.unwrap());
        assert!(!agents::remove(&main.store, main.id, agent).await.unwrap());
    }
}

async fn add_workspace_in(tx: &mut pyxis_store::Tx) -> pyxis_core::id::WorkspaceId {
    let id = pyxis_core::id::WorkspaceId::new(NOW, &pyxis_core::entropy::OsEntropy);
    let row = pyxis_store::workspaces::WorkspaceRow {
        id,
        name: format!("other {id}"),
        mode: pyxis_core::approval_mode::ApprovalMode::Autonomous,
        approval_timeout_secs: Some(60),
        created_at: NOW,
    };
    pyxis_store::workspaces::insert(tx, &row).await.unwrap();
    id
}
