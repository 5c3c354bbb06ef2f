//! Approvals: insertion, lists, and the transitions out of pending.

use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::entropy::OsEntropy;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{AgentId, TxnId, UserId, WorkspaceId};
use pyxis_store::Store;
use pyxis_store::approvals::{self, ApprovalColumn as By, ApprovalFilter, ApprovalRow, NewApproval};
use pyxis_store::votes::{self, Verdict, VoteRow};
use pyxis_testkit::engines;

use crate::support::{
    NOW, World, add_approval, add_workspace, at, at_once, exactly_one, new_approval, tamper,
};

const FILTER: ApprovalFilter = ApprovalFilter {
    state: None,
    settled: false,
    text: None,
    agent: None,
    credential: None,
    by: By::Asked,
    rising: false,
    beyond: None,
    limit: 50,
};

async fn approve(store: &Store, new: &NewApproval, now: i64) -> bool {
    let user = UserId::new(NOW, &OsEntropy);
    let mut tx = store.begin().await.unwrap();
    let email = "o@example.com";
    let won = approvals::approve(&mut tx, new.workspace_id, new.txn_id, user, email, at(now)).await.unwrap();
    tx.commit().await.unwrap();
    won
}

async fn expire(store: &Store, new: &NewApproval, now: i64) -> bool {
    let mut tx = store.begin().await.unwrap();
    let won = approvals::expire(&mut tx, new.workspace_id, new.txn_id, at(now)).await.unwrap();
    tx.commit().await.unwrap();
    won
}

fn vote(ws: WorkspaceId, txn: TxnId, millis: i64) -> VoteRow {
    VoteRow {
        txn_id: txn,
        user_id: UserId::new(at(millis), &OsEntropy),
        workspace_id: ws,
        email: "o@example.com".to_owned(),
        verdict: Verdict::Approve,
        reason: None,
        grant_seconds: Some(1800),
        agent_only: true,
        channel: DecisionSurface::Dashboard.into(),
        created_at: at(millis),
        passkey: false,
    }
}

engines! {
    async fn an_approval_reads_back_for_its_own_agent_and_workspace_only(world: &World) {
        let new = add_approval(world, "k").await;
        let row = approvals::find(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
        assert_eq!((row.state, row.forward_state, row.withdrawn), (ApprovalState::Pending, ForwardState::None, false));
        assert_eq!((row.expires_at, row.reason.as_deref()), (new.expires_at, Some("because")));
        let target = world.keyring.open(&approvals::target_aad(world.ws, new.txn_id), &row.sealed_target).unwrap();
        assert_eq!(target.expose(), b"https://api.example.com/v1");
        let request = approvals::request(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
        assert!(world.keyring.open(&approvals::request_aad(world.ws, new.txn_id), &request).is_ok());
        assert!(approvals::response(&world.store, world.ws, new.txn_id).await.unwrap().is_none());

        let mine = approvals::find_for_agent(&world.store, world.ws, new.agent_id, new.txn_id).await.unwrap();
        assert_eq!(mine, Some(row));
        let stranger = AgentId::new(NOW, &OsEntropy);
        let theirs = approvals::find_for_agent(&world.store, world.ws, stranger, new.txn_id).await.unwrap();
        assert!(theirs.is_none());
        let other = add_workspace(&world.store, "other").await;
        assert!(approvals::find(&world.store, other, new.txn_id).await.unwrap().is_none());
        assert!(approvals::request(&world.store, other, new.txn_id).await.unwrap().is_none());
    }

    async fn an_identical_pending_request_is_a_conflict_until_it_is_decided(world: &World) {
        let first = add_approval(world, "same").await;
        let twin = new_approval(world, "same");
        let request = world.keyring.seal(&OsEntropy, &approvals::request_aad(world.ws, twin.txn_id), b"{}");
        let mut tx = world.store.begin().await.unwrap();
        let refused = approvals::insert(&mut tx, &twin, request.clone()).await;
        assert!(refused.unwrap_err().is_conflict());
        let found = approvals::find_pending_duplicate(&mut tx, world.ws, "same", NOW).await.unwrap().unwrap();
        assert_eq!(found.txn_id, first.txn_id);
        tx.commit().await.unwrap();

        let late = first.expires_at;
        assert!(approvals::find_pending_duplicate(&world.store, world.ws, "same", late).await.unwrap().is_none());
        let lapsed = approvals::find_lapsed_twin(&world.store, world.ws, "same", late).await.unwrap();
        assert_eq!(lapsed, Some(first.txn_id));
        assert!(expire(&world.store, &first, 3_600_000).await);
        let mut tx = world.store.begin().await.unwrap();
        approvals::insert(&mut tx, &twin, request).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn one_of_two_approvers_wins_every_time(world: &World) {
        for round in 0..100 {
            let new = add_approval(world, &format!("{round}")).await;
            let (a, b) = tokio::join!(approve(&world.store, &new, 1), approve(&world.store, &new, 1));
            assert!(exactly_one([a, b]));
        }
    }

    async fn approval_and_expiry_never_both_happen(world: &World) {
        for round in 0..100 {
            let new = add_approval(world, &format!("{round}")).await;
            // The clocks of the two callers differ, so each considers its call valid.
            let (approved, expired) =
                tokio::join!(approve(&world.store, &new, 3_599_999), expire(&world.store, &new, 3_600_000));
            assert!(exactly_one([approved, expired]));
            let row = approvals::find(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
            assert_eq!(row.state == ApprovalState::Approved, approved);
            assert_eq!(row.forward_state == ForwardState::Ready, approved);
        }
    }

    async fn approval_and_withdrawal_never_both_happen(world: &World) {
        for round in 0..100 {
            let new = add_approval(world, &format!("{round}")).await;
            let withdraw = approvals::withdraw(&world.store, world.ws, new.agent_id, new.txn_id, at(1));
            let (approved, withdrawn) = tokio::join!(approve(&world.store, &new, 1), withdraw);
            assert!(exactly_one([approved, withdrawn.unwrap()]));
            let row = approvals::find(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
            assert_eq!(row.withdrawn, !approved);
        }
    }

    async fn a_transition_needs_the_window_the_workspace_and_the_agent(world: &World) {
        let new = add_approval(world, "k").await;
        assert!(!approve(&world.store, &new, 3_600_000).await);
        assert!(!expire(&world.store, &new, 3_599_999).await);
        let stranger = AgentId::new(NOW, &OsEntropy);
        assert!(!approvals::withdraw(&world.store, world.ws, stranger, new.txn_id, at(1)).await.unwrap());
        let other = add_workspace(&world.store, "other").await;
        assert!(!approvals::withdraw(&world.store, other, new.agent_id, new.txn_id, at(1)).await.unwrap());
        let elsewhere = NewApproval { workspace_id: other, ..new.clone() };
        assert!(!approve(&world.store, &elsewhere, 1).await);

        let user = UserId::new(NOW, &OsEntropy);
        let mut tx = world.store.begin().await.unwrap();
        let denied = approvals::deny(&mut tx, world.ws, new.txn_id, user, "o@example.com", Some("no"), at(2)).await;
        assert!(denied.unwrap());
        tx.commit().await.unwrap();
        let row = approvals::find(&world.store, world.ws, new.txn_id).await.unwrap().unwrap();
        assert_eq!((row.state, row.forward_state), (ApprovalState::Denied, ForwardState::None));
        assert_eq!((row.decided_by, row.decided_at, row.deny_reason.as_deref()), (Some(user), Some(at(2)), Some("no")));
        assert!(!approve(&world.store, &new, 3).await);
    }

    async fn a_rolled_back_decision_did_not_happen(world: &World) {
        let new = add_approval(world, "k").await;
        let user = UserId::new(NOW, &OsEntropy);
        let mut tx = world.store.begin().await.unwrap();
        assert!(approvals::approve(&mut tx, world.ws, new.txn_id, user, "e", at(1)).await.unwrap());
        drop(tx);
        assert!(approve(&world.store, &new, 1).await);
    }

    async fn what_is_due_is_found_over_all_workspaces(world: &World) {
        assert_eq!(approvals::next_expiry(&world.store).await.unwrap(), None);
        let new = add_approval(world, "k").await;
        assert_eq!(approvals::next_expiry(&world.store).await.unwrap(), Some(new.expires_at));
        assert!(approvals::due(&world.store, at(1), 10).await.unwrap().is_empty());
        let due = approvals::due(&world.store, new.expires_at, 10).await.unwrap();
        assert_eq!(due, [(world.ws, new.txn_id)]);
    }

    async fn lists_page_in_either_order_and_miss_nothing(world: &World) {
        let mut all = Vec::new();
        for number in 0..7 {
            let mut new = new_approval(world, &format!("{number}"));
            // Pairs have the same time, so that the id decides between them.
            new.created_at = at(number / 2);
            let sealed = world.keyring.seal(&OsEntropy, &approvals::request_aad(world.ws, new.txn_id), b"{}");
            let mut tx = world.store.begin().await.unwrap();
            approvals::insert(&mut tx, &new, sealed).await.unwrap();
            tx.commit().await.unwrap();
            all.push((new.created_at, new.txn_id));
        }
        all.sort_by_key(|(at, txn)| (*at, txn.to_string()));
        for rising in [true, false] {
            let mut filter = ApprovalFilter { rising, limit: 2, ..FILTER };
            let mut seen = Vec::new();
            loop {
                let page = approvals::list(&world.store, world.ws, &filter).await.unwrap();
                let Some(last) = page.last() else { break };
                filter.beyond = Some((last.created_at, last.txn_id));
                seen.extend(page.iter().map(|row| (row.created_at, row.txn_id)));
            }
            assert_eq!(seen, all);
            all.reverse();
        }
    }

    async fn every_order_goes_on_where_a_page_ended(world: &World) {
        for name in ["b", "a", "c", "a"] {
            let new = add_approval(world, name).await;
            tamper(world, &format!(
                "UPDATE approvals SET agent_name = '{name}', credential_name = '{name}', target_host = '{name}', \
                 state = '{}' WHERE txn_id = '{}'",
                if name == "a" { "approved" } else { "denied" }, new.txn_id,
            )).await;
        }
        for by in [By::Asked, By::Host, By::Agent, By::Credential, By::State] {
            for rising in [true, false] {
                let mut filter = ApprovalFilter { by, rising, ..FILTER };
                let whole = approvals::list(&world.store, world.ws, &filter).await.unwrap();
                let key = |row: &ApprovalRow| match by {
                    By::Asked => row.created_at.0.to_string(),
                    By::State => row.state.as_str().to_owned(),
                    _ => row.agent_name.clone(),
                };
                let keys: Vec<_> = whole.iter().map(key).collect();
                assert!(if rising { keys.is_sorted() } else { keys.iter().rev().is_sorted() }, "{by:?} {keys:?}");
                let mut seen = Vec::new();
                filter.limit = 1;
                while let Some(row) = approvals::list(&world.store, world.ws, &filter).await.unwrap().pop() {
                    filter.beyond = Some((row.created_at, row.txn_id));
                    seen.push(row.txn_id);
                }
                assert_eq!(seen, whole.iter().map(|row| row.txn_id).collect::<Vec<_>>(), "{by:?} {rising}");
                assert_eq!(seen.len(), 4);
            }
        }
    }

    async fn lists_filter_and_page_newest_first(world: &World) {
        let mut all: Vec<TxnId> = Vec::new();
        for number in 0..5 {
            all.push(add_approval(world, &format!("{number}")).await.txn_id);
        }
        let first = ApprovalFilter { limit: 3, ..FILTER };
        let page = approvals::list(&world.store, world.ws, &first).await.unwrap();
        let last = page.last().unwrap();
        let next = ApprovalFilter { beyond: Some((last.created_at, last.txn_id)), ..FILTER };
        let rest = approvals::list(&world.store, world.ws, &next).await.unwrap();
        let mut seen: Vec<TxnId> = page.iter().chain(&rest).map(|row| row.txn_id).collect();
        assert_eq!(seen.len(), 5);
        seen.sort();
        all.sort();
        assert_eq!(seen, all);
        assert_eq!(approvals::count_pending(&world.store, world.ws, NOW).await.unwrap(), 5);

        let agent = Some(page[0].agent_id);
        let by_agent = approvals::list(&world.store, world.ws, &ApprovalFilter { agent, ..FILTER }).await.unwrap();
        assert_eq!(by_agent, page[..1]);
        let credential = Some(page[1].credential_id);
        let filter = ApprovalFilter { credential, ..FILTER };
        assert_eq!(approvals::list(&world.store, world.ws, &filter).await.unwrap(), page[1..2]);
        let filter = ApprovalFilter { state: Some(ApprovalState::Denied), ..FILTER };
        assert!(approvals::list(&world.store, world.ws, &filter).await.unwrap().is_empty());
    }

    async fn a_locked_approval_shows_every_vote_cast_before(world: &World) {
        for round in 0..50 {
            let new = add_approval(world, &format!("{round}")).await;
            // Each counts the votes before its own. Only the row lock makes that exact.
            let counts = at_once(2, |voter| {
                let (store, ws, txn) = (world.store.clone(), world.ws, new.txn_id);
                async move {
                    let mut tx = store.begin().await.unwrap();
                    let row = approvals::find_for_update(&mut tx, ws, txn).await.unwrap().unwrap();
                    assert_eq!(row.txn_id, txn);
                    let before = votes::list(&mut tx, ws, txn).await.unwrap().len();
                    votes::insert(&mut tx, &vote(ws, txn, i64::try_from(voter).unwrap())).await.unwrap();
                    tx.commit().await.unwrap();
                    before
                }
            })
            .await;
            assert_eq!(counts.iter().sum::<usize>(), 1, "round {round}: {counts:?}");
        }
        let other = add_workspace(&world.store, "other").await;
        let new = add_approval(world, "k").await;
        let mut tx = world.store.begin().await.unwrap();
        assert!(approvals::find_for_update(&mut tx, other, new.txn_id).await.unwrap().is_none());
    }

    async fn a_person_votes_once(world: &World) {
        let new = add_approval(world, "k").await;
        let vote = vote(world.ws, new.txn_id, 0);
        votes::insert(&world.store, &vote).await.unwrap();
        let again = VoteRow { verdict: Verdict::Deny, ..vote.clone() };
        assert!(votes::insert(&world.store, &again).await.unwrap_err().is_conflict());
        let second = VoteRow { user_id: UserId::new(at(1), &OsEntropy), created_at: at(1), ..vote.clone() };
        votes::insert(&world.store, &second).await.unwrap();
        assert_eq!(votes::list(&world.store, world.ws, new.txn_id).await.unwrap(), [vote, second]);
        assert!(votes::list_many(&world.store, world.ws, &[]).await.unwrap().is_empty());
        let other = add_workspace(&world.store, "other").await;
        assert!(votes::list(&world.store, other, new.txn_id).await.unwrap().is_empty());
    }

    async fn an_approval_without_a_passkey_is_confirmed_with_one_once(world: &World) {
        let new = add_approval(world, "k").await;
        let (first, denied) = (vote(world.ws, new.txn_id, 0), vote(world.ws, new.txn_id, 1));
        let denied = VoteRow { verdict: Verdict::Deny, ..denied };
        votes::insert(&world.store, &first).await.unwrap();
        votes::insert(&world.store, &denied).await.unwrap();
        let again = VoteRow { passkey: true, created_at: at(2), grant_seconds: None, ..first.clone() };
        assert!(votes::confirm(&world.store, &again).await.unwrap());
        assert!(!votes::confirm(&world.store, &again).await.unwrap(), "it has a passkey now");
        assert!(!votes::confirm(&world.store, &VoteRow { passkey: true, ..denied.clone() }).await.unwrap());
        assert_eq!(votes::list(&world.store, world.ws, new.txn_id).await.unwrap(), [denied, again]);
    }

    async fn requests_are_found_by_what_stands_in_them(world: &World) {
        let new = add_approval(world, "k").await;
        let find = async |text: &str| {
            let filter = ApprovalFilter { text: Some(text.to_owned()), ..FILTER };
            approvals::list(&world.store, world.ws, &filter).await.unwrap().len()
        };
        let (agent, id) = (new.agent_name.to_uppercase(), new.txn_id.to_string());
        for text in [agent.as_str(), &new.credential_name, "post", &new.target_host, &id[..13]] {
            assert_eq!(find(text).await, 1, "{text}");
        }
        for text in ["no such thing", "%", "_", "\\"] {
            assert_eq!(find(text).await, 0, "{text}");
        }
        let over = ApprovalFilter { settled: true, ..FILTER };
        assert!(approvals::list(&world.store, world.ws, &over).await.unwrap().is_empty());
        assert!(expire(&world.store, &new, 3_600_000).await);
        assert_eq!(approvals::list(&world.store, world.ws, &over).await.unwrap().len(), 1);
    }
}
