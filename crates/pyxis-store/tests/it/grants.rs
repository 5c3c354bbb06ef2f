//! Grants.

use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, CredentialId, GrantId, UserId};
use pyxis_store::Page;
use pyxis_store::grants::{self, GrantLookup, NewGrant};
use pyxis_testkit::engines;

use crate::support::{NOW, World, add_workspace, at, at_once};

fn new_grant(world: &World, credential: CredentialId) -> NewGrant {
    NewGrant {
        id: GrantId::new(NOW, &OsEntropy),
        workspace_id: world.ws,
        credential_id: credential,
        credential_version: 1,
        agent_id: None,
        method: "POST".to_owned(),
        route: "https://api.example.com/v1".to_owned(),
        txn_id: None,
        created_by: UserId::new(NOW, &OsEntropy),
        created_by_email: "o@example.com".to_owned(),
        created_at: NOW,
        expires_at: at(1000),
        max_uses: None,
    }
}

fn wanted(world: &World, credential: CredentialId) -> GrantLookup<'static> {
    GrantLookup {
        workspace: world.ws,
        credential,
        credential_version: 1,
        method: "POST",
        route: "https://api.example.com/v1",
        agent: Some(AgentId::new(NOW, &OsEntropy)),
        now: NOW,
    }
}

async fn add(world: &World, change: impl FnOnce(&mut NewGrant)) -> NewGrant {
    let mut new = new_grant(world, CredentialId::new(NOW, &OsEntropy));
    change(&mut new);
    grants::insert(&world.store, &new).await.unwrap();
    new
}

engines! {
    async fn a_grant_covers_exactly_its_scope(world: &World) {
        let grant = add(world, |_| ()).await;
        let fits = wanted(world, grant.credential_id);
        assert_eq!(grants::covering(&world.store, &fits).await.unwrap().unwrap().id, grant.id);
        let other = add_workspace(&world.store, "other").await;
        for misses in [
            GrantLookup { workspace: other, ..fits },
            GrantLookup { credential: CredentialId::new(at(1), &OsEntropy), ..fits },
            GrantLookup { credential_version: 2, ..fits },
            GrantLookup { method: "PUT", ..fits },
            GrantLookup { route: "https://api.example.com/v1/x", ..fits },
            GrantLookup { now: at(1000), ..fits },
        ] {
            assert!(grants::covering(&world.store, &misses).await.unwrap().is_none());
            assert!(grants::claim_use(&world.store, &misses).await.unwrap().is_none());
        }
        let used = grants::claim_use(&world.store, &fits).await.unwrap().unwrap();
        assert_eq!((used.uses, used.last_used_at), (1, Some(NOW)));
    }

    async fn a_grant_for_one_agent_serves_no_other(world: &World) {
        let agent = AgentId::new(NOW, &OsEntropy);
        let grant = add(world, |new| new.agent_id = Some(agent)).await;
        let stranger = wanted(world, grant.credential_id);
        assert!(grants::claim_use(&world.store, &stranger).await.unwrap().is_none());
        assert!(grants::claim_use(&world.store, &GrantLookup { agent: Some(agent), ..stranger }).await.unwrap().is_some());
    }

    async fn exactly_max_uses_are_claimed_among_many(world: &World) {
        let grant = add(world, |new| new.max_uses = Some(7)).await;
        let wanted = wanted(world, grant.credential_id);
        let claimed = at_once(64, |_| {
            let store = world.store.clone();
            async move { grants::claim_use(&store, &wanted).await.unwrap().is_some() }
        })
        .await;
        assert_eq!(claimed.into_iter().filter(|claimed| *claimed).count(), 7);
        let row = grants::find(&world.store, world.ws, grant.id).await.unwrap().unwrap();
        assert_eq!(row.uses, 7);
        assert!(grants::covering(&world.store, &wanted).await.unwrap().is_none());
    }

    async fn a_use_that_came_to_nothing_is_given_back_once_for_each_claim(world: &World) {
        let grant = add(world, |new| new.max_uses = Some(1)).await;
        let wanted = wanted(world, grant.credential_id);
        let give_back = async |ws| grants::return_use(&world.store, ws, grant.id).await.unwrap();
        assert!(!give_back(world.ws).await);
        assert!(grants::claim_use(&world.store, &wanted).await.unwrap().is_some());
        assert!(grants::claim_use(&world.store, &wanted).await.unwrap().is_none());
        let other = add_workspace(&world.store, "other").await;
        assert!(!give_back(other).await);
        assert!(give_back(world.ws).await);
        assert!(!give_back(world.ws).await);
        assert_eq!(grants::claim_use(&world.store, &wanted).await.unwrap().unwrap().uses, 1);
    }

    async fn a_revoked_or_ended_grant_never_covers_again(world: &World) {
        let revoked = add(world, |_| ()).await;
        assert!(grants::end(&world.store, world.ws, revoked.id, "revoked", at(1)).await.unwrap());
        assert!(!grants::end(&world.store, world.ws, revoked.id, "revoked", at(2)).await.unwrap());
        let row = grants::find(&world.store, world.ws, revoked.id).await.unwrap().unwrap();
        assert_eq!(row.ended_at, Some(at(1)));

        let tightened = add(world, |_| ()).await;
        let agent = AgentId::new(NOW, &OsEntropy);
        let personal = add(world, |new| new.agent_id = Some(agent)).await;
        let mut tx = world.store.begin().await.unwrap();
        let credential = tightened.credential_id;
        assert_eq!(grants::end_for_credential(&mut tx, world.ws, credential, "policy", at(3)).await.unwrap(), 1);
        assert_eq!(grants::end_for_agent(&mut tx, world.ws, agent, "disabled", at(3)).await.unwrap(), 1);
        tx.commit().await.unwrap();
        for grant in [revoked, tightened, personal] {
            let wanted = GrantLookup { agent: Some(agent), ..wanted(world, grant.credential_id) };
            assert!(grants::claim_use(&world.store, &wanted).await.unwrap().is_none());
        }
    }

    async fn every_live_grant_of_a_credential_is_listed_and_no_other(world: &World) {
        let credential = CredentialId::new(NOW, &OsEntropy);
        let mine = async |millis| add(world, |new| {
            new.credential_id = credential;
            new.created_at = at(millis);
        }).await.id;
        let (first, second, ended) = (mine(0).await, mine(1).await, mine(2).await);
        add(world, |_| ()).await;
        grants::end(&world.store, world.ws, ended, "revoked", at(3)).await.unwrap();
        let live = async |millis| {
            let rows = grants::list_live(&world.store, world.ws, credential, at(millis)).await.unwrap();
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(live(4).await, [second, first]);
        assert!(live(1000).await.is_empty());
        let other = add_workspace(&world.store, "other").await;
        assert!(grants::list_live(&world.store, other, credential, NOW).await.unwrap().is_empty());
    }

    async fn lists_page_newest_first(world: &World) {
        let mut ids = Vec::new();
        for millis in 0..5 {
            ids.push(add(world, |new| {
                new.created_at = at(millis);
                new.expires_at = if millis == 0 { at(1) } else { at(1000) };
            }).await.id);
        }
        ids.reverse();
        let page = Page::first(2);
        let first = grants::list(&world.store, world.ws, true, page, at(10)).await.unwrap();
        assert_eq!(first.iter().map(|row| row.id).collect::<Vec<_>>(), ids[..2]);
        let page = Page { before: Some((first[1].created_at, first[1].id)), limit: 9 };
        let rest = grants::list(&world.store, world.ws, true, page, at(10)).await.unwrap();
        assert_eq!(rest.iter().map(|row| row.id).collect::<Vec<_>>(), ids[2..]);
        let alive = grants::list(&world.store, world.ws, false, Page::first(9), at(10)).await.unwrap();
        assert_eq!(alive.len(), 4);
    }
}
