//! Members' rights, tokens and proposed policies.

use pyxis_core::entropy::{OsEntropy, token};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{AccessTokenId, CredentialId, StagedPolicyId, UserId};
use pyxis_store::access_tokens::{self, AccessTokenRow};
use pyxis_store::approvals::{self, ApprovalFilter};
use pyxis_store::member_rights::{self, RightsRow};
use pyxis_store::staged_policies::{self, StagedPolicyRow};
use pyxis_store::votes::{self, Verdict, VoteRow};
use pyxis_store::{StoreError, users};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_approval, add_credential, add_user, at, at_once, exactly_one};

fn rights(main: &Workspace, user: UserId, credential: CredentialId, can: (bool, bool)) -> RightsRow {
    RightsRow {
        workspace_id: main.id,
        user_id: user,
        credential_id: credential,
        can_approve: can.0,
        can_edit_policy: can.1,
    }
}

async fn put(main: &Workspace, row: &RightsRow) -> Result<(), StoreError> {
    let mut tx = main.store.begin().await.unwrap();
    member_rights::put(&mut tx, row).await?;
    tx.commit().await
}

fn a_token(main: &Workspace, user: UserId, name: &str) -> AccessTokenRow {
    AccessTokenRow {
        id: AccessTokenId::new(NOW, &OsEntropy),
        workspace_id: main.id,
        user_id: user,
        name: name.to_owned(),
        token_hash: token::<32>(&OsEntropy, ""),
        hint: "px_pat_12".to_owned(),
        can_approve: true,
        can_admin: false,
        created_at: NOW,
        expires_at: Some(at(1000)),
        last_used_at: None,
    }
}

fn proposal(main: &Workspace, user: UserId, credential: CredentialId, document: &str) -> StagedPolicyRow {
    StagedPolicyRow {
        id: StagedPolicyId::new(NOW, &OsEntropy),
        workspace_id: main.id,
        credential_id: credential,
        user_id: user,
        document: document.to_owned(),
        base_version: 0,
        created_at: NOW,
        expires_at: at(1000),
    }
}

async fn stage(main: &Workspace, row: &StagedPolicyRow) {
    let mut tx = main.store.begin().await.unwrap();
    staged_policies::put(&mut tx, row).await.unwrap();
    tx.commit().await.unwrap();
}

engines! {
    async fn rights_are_set_replaced_and_gone_when_there_are_none(main: &Workspace) {
        let (user, api) = (add_user(main, "m@example.com").await, add_credential(main, "api").await);
        let found = async || member_rights::find(&main.store, main.id, user, api).await.unwrap();
        assert_eq!(found().await, None);
        for can in [(true, false), (true, true), (false, true)] {
            let row = rights(main, user, api, can);
            put(main, &row).await.unwrap();
            assert_eq!(found().await, Some(row.clone()));
            assert_eq!(member_rights::list_for_user(&main.store, main.id, user).await.unwrap(), std::slice::from_ref(&row));
            assert_eq!(member_rights::list(&main.store, main.id).await.unwrap(), [row]);
        }
        put(main, &rights(main, user, api, (false, false))).await.unwrap();
        assert_eq!(found().await, None);
        put(main, &rights(main, user, api, (true, true))).await.unwrap();
        assert!(member_rights::remove(&main.store, main.id, user, api).await.unwrap());
        assert!(!member_rights::remove(&main.store, main.id, user, api).await.unwrap());
        put(main, &rights(main, user, api, (true, true))).await.unwrap();
        assert_eq!(member_rights::remove_for_user(&main.store, main.id, user).await.unwrap(), 1);
    }

    async fn rights_do_not_reach_into_another_workspace(main: &Workspace) {
        let (user, api) = (add_user(main, "m@example.com").await, add_credential(main, "api").await);
        let other = main.add_workspace("other").await;
        let row = RightsRow { workspace_id: other, ..rights(main, user, api, (true, true)) };
        assert!(put(main, &row).await.is_err());
        put(main, &rights(main, user, api, (true, true))).await.unwrap();
        assert_eq!(member_rights::find(&main.store, other, user, api).await.unwrap(), None);
        assert!(member_rights::list(&main.store, other).await.unwrap().is_empty());
    }

    async fn a_token_lives_until_it_expires_is_revoked_or_its_person_is_disabled(main: &Workspace) {
        let user = add_user(main, "m@example.com").await;
        let row = a_token(main, user, "ci");
        access_tokens::insert(&main.store, &row).await.unwrap();
        assert!(access_tokens::insert(&main.store, &row).await.unwrap_err().is_conflict());
        let live = async |millis| {
            let found = access_tokens::find_live(&main.store, &row.token_hash, at(millis)).await.unwrap();
            found.map(|(token, user)| (token.name, user.email))
        };
        assert_eq!(live(999).await, Some(("ci".to_owned(), "m@example.com".to_owned())));
        assert_eq!(live(1000).await, None);
        users::set_disabled(&main.store, main.id, user, Some(NOW)).await.unwrap();
        assert_eq!(live(1).await, None);
        users::set_disabled(&main.store, main.id, user, None).await.unwrap();
        access_tokens::touch(&main.store, main.id, row.id, at(7)).await.unwrap();
        let found = access_tokens::find(&main.store, main.id, row.id).await.unwrap().unwrap();
        assert_eq!(found.last_used_at, Some(at(7)));
        let other = main.add_workspace("other").await;
        assert!(!access_tokens::remove(&main.store, other, row.id).await.unwrap());
        assert!(access_tokens::remove(&main.store, main.id, row.id).await.unwrap());
        assert_eq!(live(1).await, None);
    }

    async fn tokens_are_listed_by_person_or_all(main: &Workspace) {
        let (a, b) = (add_user(main, "a@example.com").await, add_user(main, "b@example.com").await);
        for (user, name) in [(a, "one"), (a, "two"), (b, "three")] {
            access_tokens::insert(&main.store, &a_token(main, user, name)).await.unwrap();
        }
        assert_eq!(access_tokens::list(&main.store, main.id, Some(a)).await.unwrap().len(), 2);
        assert_eq!(access_tokens::list(&main.store, main.id, None).await.unwrap().len(), 3);
    }

    async fn a_proposal_replaces_the_earlier_one_of_the_same_person_and_is_taken_once(main: &Workspace) {
        let (user, api) = (add_user(main, "m@example.com").await, add_credential(main, "api").await);
        let (first, second) = (proposal(main, user, api, "{}"), proposal(main, user, api, "{\"a\":1}"));
        stage(main, &first).await;
        stage(main, &second).await;
        let listed = staged_policies::list(&main.store, main.id, NOW).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&second));
        assert_eq!(staged_policies::find(&main.store, main.id, first.id, NOW).await.unwrap(), None);
        assert_eq!(staged_policies::find(&main.store, main.id, second.id, at(1000)).await.unwrap(), None);
        let found = staged_policies::find(&main.store, main.id, second.id, at(999)).await.unwrap();
        assert_eq!(found.as_ref(), Some(&second));
        let removed = at_once(8, |_| {
            let (store, ws, id) = (main.store.clone(), main.id, second.id);
            async move { staged_policies::remove(&store, ws, id).await.unwrap() }
        })
        .await;
        assert!(exactly_one(removed));
        stage(main, &first).await;
        assert_eq!(staged_policies::purge(&main.store, at(999)).await.unwrap(), 0);
        assert_eq!(staged_policies::purge(&main.store, at(1000)).await.unwrap(), 1);
    }

    async fn approvals_of_some_credentials_are_listed_and_counted(main: &Workspace) {
        let (one, _two) = (add_approval(main, "1").await, add_approval(main, "2").await);
        let filter = ApprovalFilter {
            state: None, settled: false, text: None, agent: None, credential: None, risk: None, by: approvals::ApprovalColumn::Asked, rising: true, beyond: None, limit: 10,
        };
        let of = async |credentials: &[CredentialId]| {
            let listed = approvals::list_for_credentials(&main.store, main.id, &filter, credentials).await.unwrap();
            let pending =
                approvals::count_pending_among(&main.store, main.id, credentials, NOW).await.unwrap();
            (listed.into_iter().map(|row| row.txn_id).collect::<Vec<_>>(), pending)
        };
        assert_eq!(of(&[one.credential_id]).await, (vec![one.txn_id], 1));
        assert_eq!(of(&[]).await, (vec![], 0));
        assert_eq!(of(&[CredentialId::new(NOW, &OsEntropy)]).await, (vec![], 0));
        let since = async |credentials: Option<&[CredentialId]>, from: i64| {
            approvals::count_since(&main.store, main.id, credentials, at(from)).await.unwrap()
        };
        assert_eq!(since(None, 0).await, 2);
        assert_eq!(since(Some(&[one.credential_id]), 0).await, 1);
        assert_eq!(since(Some(&[]), 0).await, 0);
        assert_eq!(since(None, 1).await, 0);
    }

    async fn what_somebody_said_lately_is_counted(main: &Workspace) {
        let user = add_user(main, "m@example.com").await;
        for (dedupe, verdict, millis) in [("1", Verdict::Approve, 0), ("2", Verdict::Approve, 5), ("3", Verdict::Deny, 6)] {
            let vote = VoteRow {
                txn_id: add_approval(main, dedupe).await.txn_id,
                user_id: user,
                workspace_id: main.id,
                email: "m@example.com".to_owned(),
                verdict,
                reason: None,
                grant_seconds: None,
                agent_only: false,
                channel: DecisionSurface::Api.into(),
                created_at: at(millis),
                passkey: false,
            };
            votes::insert(&main.store, &vote).await.unwrap();
        }
        let counted = votes::count_since(&main.store, main.id, user, at(5)).await.unwrap();
        assert_eq!(counted, [(Verdict::Approve, 1), (Verdict::Deny, 1)]);
    }
}

engines! {
    async fn a_policy_is_put_over_the_version_it_was_made_against_only(main: &Workspace) {
        use pyxis_store::policies;
        let api = add_credential(main, "api").await;
        let put = async |base: i64| {
            policies::replace_if_unchanged(&main.store, main.id, api, "{}", base, "m@example.com", NOW).await.unwrap()
        };
        assert_eq!(put(1).await, None);
        let first = at_once(8, |_| {
            let (store, ws) = (main.store.clone(), main.id);
            async move { policies::replace_if_unchanged(&store, ws, api, "{}", 0, "m", NOW).await.unwrap() }
        })
        .await;
        assert!(exactly_one(first.iter().map(Option::is_some)));
        assert_eq!(put(0).await, None);
        assert_eq!(put(1).await, Some(2));
        assert_eq!(put(1).await, None);
        let other = main.add_workspace("other").await;
        let refused = policies::replace_if_unchanged(&main.store, other, api, "{}", 2, "m", NOW).await.unwrap();
        assert_eq!(refused, None);
    }
}
