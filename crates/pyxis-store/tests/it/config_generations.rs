//! Every change of cached configuration raises the generation; recording a use does not.

use std::time::Duration;

use pyxis_core::approval_mode::{ApprovalMode, Role};
use pyxis_core::entropy::OsEntropy;
use pyxis_store::agents::{AgentChange, CredentialScope};
use pyxis_store::credentials::CredentialChange;
use pyxis_store::{agents, api_keys, credentials, generations, policies, scorers, scores, users, workspaces};
use pyxis_testkit::engines;

use crate::support::{
    NOW, Workspace, add_agent, add_credential, add_key, add_scorer, add_stamp, add_user, address, at,
    new_score, new_stamp,
};

/// True if `change` raises the generation.
async fn raises(main: &Workspace, change: impl Future<Output = ()>) -> bool {
    let before = generations::read(&main.store).await.unwrap();
    change.await;
    generations::read(&main.store).await.unwrap() > before
}

async fn update(main: &Workspace, agent: pyxis_core::id::AgentId, change: AgentChange) {
    let mut tx = main.store.begin().await.unwrap();
    assert!(agents::update(&mut tx, main.id, agent, change).await.unwrap());
    tx.commit().await.unwrap();
}

engines! {
    async fn changes_of_workspaces_and_users_raise_it(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        assert!(raises(main, async { let _ = main.add_workspace("w2").await; }).await);
        assert!(raises(main, async {
            assert!(workspaces::update_settings(store, ws, ApprovalMode::Autonomous, None).await.unwrap());
        }).await);
        let user = add_user(main, "a@example.com").await;
        assert!(raises(main, async { let _ = add_user(main, "b@example.com").await; }).await);
        assert!(raises(main, async { assert!(users::set_role(store, ws, user, Role::Member).await.unwrap()) }).await);
        assert!(raises(main, async { assert!(users::set_disabled(store, ws, user, Some(NOW)).await.unwrap()) }).await);
        assert!(raises(main, async { assert!(users::set_disabled(store, ws, user, None).await.unwrap()) }).await);
    }

    async fn changes_of_agents_raise_it(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let credential = add_credential(main, "api").await;
        let agent = add_agent(main, "bot", &[]).await;
        assert!(raises(main, async { let _ = add_agent(main, "bot2", &[credential]).await; }).await);
        let none = AgentChange::default;
        for change in [
            AgentChange { name: Some("new".to_owned()), ..none() },
            AgentChange { rate_limit_per_hour: Some(None), ..none() },
            AgentChange { disabled_at: Some(Some(NOW)), ..none() },
            AgentChange { scope: Some(CredentialScope::Only(vec![credential])), ..none() },
            AgentChange { scope: Some(CredentialScope::All), ..none() },
        ] {
            assert!(raises(main, update(main, agent, change)).await);
        }
        assert!(raises(main, async { assert!(agents::set_key(store, ws, agent, "h", "p").await.unwrap()) }).await);
        assert!(raises(main, async { assert!(agents::remove(store, ws, agent).await.unwrap()) }).await);
    }

    async fn changes_of_credentials_and_policies_raise_it(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let id = add_credential(main, "api").await;
        assert!(raises(main, async { let _ = add_credential(main, "api2").await; }).await);
        let none = CredentialChange::default;
        for change in [
            CredentialChange { name: Some("new".to_owned()), ..none() },
            CredentialChange { description: Some("new".to_owned()), ..none() },
            CredentialChange { api_base: Some(Some("http://x".to_owned())), ..none() },
            CredentialChange { auth: Some(None), ..none() },
            CredentialChange { allowed_hosts: Some("[]".to_owned()), ..none() },
            CredentialChange { allow_http: Some(true), ..none() },
            CredentialChange { options: Some(r#"{"a":1}"#.to_owned()), ..none() },
            CredentialChange { connector: Some(pyxis_core::auth::Connector::Sidecar), ..none() },
        ] {
            assert!(raises(main, async { assert!(credentials::update(store, ws, id, change, NOW).await.unwrap()) }).await);
        }
        let sealed = main.keyring.seal(&OsEntropy, &credentials::secret_aad(ws, id), b"x");
        assert!(raises(main, async { assert_eq!(credentials::replace_secret(store, ws, id, sealed, NOW).await.unwrap(), Some(2)) }).await);
        assert!(raises(main, async { assert_eq!(policies::put(store, ws, id, "{}", "ann@example.com", NOW).await.unwrap(), 1) }).await);
        assert!(raises(main, async { assert_eq!(policies::put(store, ws, id, "{}", "ann@example.com", NOW).await.unwrap(), 2) }).await);
        assert!(raises(main, async { assert!(policies::remove(store, ws, id).await.unwrap()) }).await);
        assert!(raises(main, async { assert!(credentials::remove(store, ws, id).await.unwrap()) }).await);
    }

    async fn noting_use_does_not_raise_it(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (credential, user) = (add_credential(main, "api").await, add_user(main, "a@example.com").await);
        let agent = add_agent(main, "bot", &[credential]).await;
        assert!(!raises(main, async {
            agents::touch_used(store, &[(agent, at(1))]).await.unwrap();
            credentials::touch_used(store, &[(credential, at(1))]).await.unwrap();
            assert!(credentials::record_verification(store, ws, credential, 1, Some(200), NOW).await.unwrap());
            assert!(users::record_success(store, ws, user, NOW).await.unwrap());
            users::record_attempt(store, ws, user, NOW, 5, Duration::from_secs(1)).await.unwrap().unwrap();
        }).await);
    }

    async fn scoring_does_not_raise_it(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        assert!(!raises(main, async {
            let (scorer, key) = (add_scorer(main, "s").await, add_key(main).await);
            add_stamp(main, &new_stamp(1, "A", "n")).await;
            scores::put(store, ws, &new_score(scorer, 1)).await.unwrap();
            assert!(scores::mark_in_history(store, ws, scorer, address(1), NOW).await.unwrap());
            assert!(scorers::rename(store, ws, scorer, "t").await.unwrap());
            assert!(api_keys::revoke(store, ws, key.id, NOW).await.unwrap());
        }).await);
    }

    async fn a_change_that_is_rolled_back_does_not_raise_it(main: &Workspace) {
        let agent = add_agent(main, "bot", &[]).await;
        assert!(!raises(main, async {
            let mut tx = main.store.begin().await.unwrap();
            let change = AgentChange { name: Some("new".to_owned()), ..AgentChange::default() };
            assert!(agents::update(&mut tx, main.id, agent, change).await.unwrap());
            drop(tx);
        }).await);
    }
}
