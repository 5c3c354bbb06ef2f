//! Grants.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, CredentialId, GrantId, UserId};
use pyxis_core::policy::Method;
use pyxis_store::Page;
use pyxis_store::grants::{self, GrantLookup, NewGrant};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at, at_once};

fn new_grant(main: &Workspace, credential: CredentialId) -> NewGrant {
    NewGrant {
        id: GrantId::new(NOW, &OsEntropy),
        workspace_id: main.id,
        credential_id: credential,
        credential_version: 1,
        agent_id: None,
        method: Method::Post,
        route: "https://api.example.com/v1".to_owned(),
        txn_id: None,
        created_by: UserId::new(NOW, &OsEntropy),
        created_by_email: "o@example.com".to_owned(),
        created_at: NOW,
        expires_at: at(1000),
        max_uses: None,
    }
}

fn wanted(main: &Workspace, credential: CredentialId) -> GrantLookup<'static> {
    GrantLookup {
        workspace: main.id,
        credential,
        credential_version: 1,
        method: Method::Post,
        route: "https://api.example.com/v1",
        agent: Some(AgentId::new(NOW, &OsEntropy)),
        now: NOW,
    }
}

async fn add(main: &Workspace, change: impl FnOnce(&mut NewGrant)) -> NewGrant {
    let mut new = new_grant(main, CredentialId::new(NOW, &OsEntropy));
    change(&mut new);
    grants::insert(&main.store, &new).await.unwrap();
    new
}

engines! {
    async fn a_grant_covers_exactly_its_scope(main: &Workspace) {
        let grant = add(main, |_| ()).await;
        let fits = wanted(main, grant.credential_id);
        assert_eq!(grants::covering(&main.store, &fits).await.unwrap().unwrap().id, grant.id);
        let other = main.add_workspace("other").await;
        for misses in [
            GrantLookup { workspace: other, ..fits },
            GrantLookup { credential: CredentialId::new(at(1), &OsEntropy), ..fits },
            GrantLookup { credential_version: 2, ..fits },
            GrantLookup { method: Method::Put, ..fits },
            GrantLookup { route: "https://api.example.com/v1/x", ..fits },
            GrantLookup { now: at(1000), ..fits },
        ] {
            assert!(grants::covering(&main.store, &misses).await.unwrap().is_none());
            assert!(grants::claim_use(&main.store, &misses).await.unwrap().is_none());
        }
        let used = grants::claim_use(&main.store, &fits).await.unwrap().unwrap();
        assert_eq!((used.uses, used.last_used_at), (1, Some(NOW)));
    }

    async fn a_grant_for_one_agent_serves_no_other(main: &Workspace) {
        let agent = AgentId::new(NOW, &OsEntropy);
        let grant = add(main, |new| new.agent_id = Some(agent)).await;
        let stranger = wanted(main, grant.credential_id);
        assert!(grants::claim_use(&main.store, &stranger).await.unwrap().is_none());
        assert!(grants::claim_use(&main.store, &GrantLookup { agent: Some(agent), ..stranger }).await.unwrap().is_some());
    }

    async fn exactly_max_uses_are_claimed_among_many(main: &Workspace) {
        let grant = add(main, |new| new.max_uses = Some(7)).await;
        let wanted = wanted(main, grant.credential_id);
        let claimed = at_once(64, |_| {
            let store = main.store.clone();
            async move { grants::claim_use(&store, &wanted).await.unwrap().is_some() }
        })
        .await;
        assert_eq!(claimed.into_iter().filter(|claimed| *claimed).count(), 7);
        let row = grants::find(&main.store, main.id, grant.id).await.unwrap().unwrap();
        assert_eq!(row.uses, 7);
        assert!(grants::covering(&main.store, &wanted).await.unwrap().is_none());
    }

    async fn a_use_that_came_to_nothing_is_given_back_once_for_each_claim(main: &Workspace) {
        let grant = add(main, |new| new.max_uses = Some(1)).await;
        let wanted = wanted(main, grant.credential_id);
        let give_back = async |ws| grants::return_use(&main.store, ws, grant.id).await.unwrap();
        assert!(!give_back(main.id).await);
        assert!(grants::claim_use(&main.store, &wanted).await.unwrap().is_some());
        assert!(grants::claim_use(&main.store, &wanted).await.unwrap().is_none());
        let other = main.add_workspace("other").await;
        assert!(!give_back(other).await);
        assert!(give_back(main.id).await);
        assert!(!give_back(main.id).await);
        assert_eq!(grants::claim_use(&main.store, &wanted).await.unwrap().unwrap().uses, 1);
    }

    async fn a_revoked_or_ended_grant_never_covers_again(main: &Workspace) {
        let revoked = add(main, |_| ()).await;
        assert!(grants::end(&main.store, main.id, revoked.id, "revoked", at(1)).await.unwrap());
        assert!(!grants::end(&main.store, main.id, revoked.id, "revoked", at(2)).await.unwrap());
        let row = grants::find(&main.store, main.id, revoked.id).await.unwrap().unwrap();
        assert_eq!(row.ended_at, Some(at(1)));

        let tightened = add(main, |_| ()).await;
        let agent = AgentId::new(NOW, &OsEntropy);
        let personal = add(main, |new| new.agent_id = Some(agent)).await;
        let mut tx = main.store.begin().await.unwrap();
        let credential = tightened.credential_id;
        assert_eq!(grants::end_for_credential(&mut tx, main.id, credential, "policy", at(3)).await.unwrap(), 1);
        assert_eq!(grants::end_for_agent(&mut tx, main.id, agent, "disabled", at(3)).await.unwrap(), 1);
        tx.commit().await.unwrap();
        for grant in [revoked, tightened, personal] {
            let wanted = GrantLookup { agent: Some(agent), ..wanted(main, grant.credential_id) };
            assert!(grants::claim_use(&main.store, &wanted).await.unwrap().is_none());
        }
    }

    async fn every_live_grant_of_a_credential_is_listed_and_no_other(main: &Workspace) {
        let credential = CredentialId::new(NOW, &OsEntropy);
        let mine = async |millis| add(main, |new| {
            new.credential_id = credential;
            new.created_at = at(millis);
        }).await.id;
        let (first, second, ended) = (mine(0).await, mine(1).await, mine(2).await);
        add(main, |_| ()).await;
        grants::end(&main.store, main.id, ended, "revoked", at(3)).await.unwrap();
        let live = async |millis| {
            let rows = grants::list_live(&main.store, main.id, credential, at(millis)).await.unwrap();
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(live(4).await, [second, first]);
        assert!(live(1000).await.is_empty());
        let other = main.add_workspace("other").await;
        assert!(grants::list_live(&main.store, other, credential, NOW).await.unwrap().is_empty());
    }

    async fn lists_page_newest_first(main: &Workspace) {
        let mut ids = Vec::new();
        for millis in 0..5 {
            ids.push(add(main, |new| {
                new.created_at = at(millis);
                new.expires_at = if millis == 0 { at(1) } else { at(1000) };
            }).await.id);
        }
        ids.reverse();
        let page = Page::first(2);
        let first = grants::list(&main.store, main.id, true, page, at(10)).await.unwrap();
        assert_eq!(first.iter().map(|row| row.id).collect::<Vec<_>>(), ids[..2]);
        let page = Page { before: Some((first[1].created_at, first[1].id)), limit: 9 };
        let rest = grants::list(&main.store, main.id, true, page, at(10)).await.unwrap();
        assert_eq!(rest.iter().map(|row| row.id).collect::<Vec<_>>(), ids[2..]);
        let alive = grants::list(&main.store, main.id, false, Page::first(9), at(10)).await.unwrap();
        assert_eq!(alive.len(), 4);
    }
}
