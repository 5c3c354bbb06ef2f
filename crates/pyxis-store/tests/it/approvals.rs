//! Approvals: insertion, lists, and the transitions out of pending.

use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::entropy::OsEntropy;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{AgentId, TxnId, UserId, WorkspaceId};
use pyxis_store::Store;
use pyxis_store::approvals::{self, ApprovalColumn as By, ApprovalFilter, ApprovalRow, NewApproval};
use pyxis_store::votes::{self, Verdict, VoteRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_approval, at, at_once, exactly_one, new_approval, tamper};

const FILTER: ApprovalFilter = ApprovalFilter {
    state: None,
    settled: false,
    text: None,
    agent: None,
    credential: None,
    risk: None,
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
    async fn an_approval_reads_back_for_its_own_agent_and_workspace_only(main: &Workspace) {
        let new = add_approval(main, "k").await;
        let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert_eq!((row.state, row.forward_state, row.withdrawn), (ApprovalState::Pending, ForwardState::None, false));
        assert_eq!((row.expires_at, row.reason.as_deref()), (new.expires_at, Some("because")));
        let target = main.keyring.open(&approvals::target_aad(main.id, new.txn_id), &row.sealed_target).unwrap();
        assert_eq!(target.expose(), b"https://api.example.com/v1");
        let request = approvals::request(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert!(main.keyring.open(&approvals::request_aad(main.id, new.txn_id), &request).is_ok());
        assert!(approvals::response(&main.store, main.id, new.txn_id).await.unwrap().is_none());

        let mine = approvals::find_for_agent(&main.store, main.id, new.agent_id, new.txn_id).await.unwrap();
        assert_eq!(mine, Some(row));
        let stranger = AgentId::new(NOW, &OsEntropy);
        let theirs = approvals::find_for_agent(&main.store, main.id, stranger, new.txn_id).await.unwrap();
        assert!(theirs.is_none());
        let other = main.add_workspace("other").await;
        assert!(approvals::find(&main.store, other, new.txn_id).await.unwrap().is_none());
        assert!(approvals::request(&main.store, other, new.txn_id).await.unwrap().is_none());
    }

    async fn what_was_open_at_a_time_is_listed_and_what_ended_before_is_not(main: &Workspace) {
        let at_time = |dedupe, time| NewApproval { created_at: at(time), ..new_approval(main, dedupe) };
        let (pending, expired, late) = (at_time("p", 10), at_time("e", 11), at_time("l", 500));
        let expired = NewApproval { expires_at: at(100), ..expired };
        for new in [&pending, &expired, &late] {
            let aad = approvals::request_aad(main.id, new.txn_id);
            let mut tx = main.store.begin().await.unwrap();
            approvals::insert(&mut tx, new, main.keyring.seal(&OsEntropy, &aad, b"{}")).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert!(expire(&main.store, &expired, 100).await);
        let open = async |from, to| {
            let rows = approvals::list_in_flight(&main.store, main.id, at(from), at(to)).await.unwrap();
            rows.into_iter().map(|row| row.txn_id).collect::<Vec<_>>()
        };
        assert_eq!(open(50, 200).await, [pending.txn_id, expired.txn_id]);
        assert_eq!(open(100, 100).await, [pending.txn_id, expired.txn_id]);
        assert_eq!(open(101, 499).await, [pending.txn_id]);
        assert_eq!(open(101, 500).await, [pending.txn_id, late.txn_id]);
        assert!(open(0, 9).await.is_empty());
    }

    async fn an_identical_pending_request_is_a_conflict_until_it_is_decided(main: &Workspace) {
        let first = add_approval(main, "same").await;
        let twin = new_approval(main, "same");
        let request = main.keyring.seal(&OsEntropy, &approvals::request_aad(main.id, twin.txn_id), b"{}");
        let mut tx = main.store.begin().await.unwrap();
        let refused = approvals::insert(&mut tx, &twin, request.clone()).await;
        assert!(refused.unwrap_err().is_conflict());
        let found = approvals::find_pending_duplicate(&mut tx, main.id, "same", NOW).await.unwrap().unwrap();
        assert_eq!(found.txn_id, first.txn_id);
        tx.commit().await.unwrap();

        let late = first.expires_at;
        assert!(approvals::find_pending_duplicate(&main.store, main.id, "same", late).await.unwrap().is_none());
        let lapsed = approvals::find_lapsed_twin(&main.store, main.id, "same", late).await.unwrap();
        assert_eq!(lapsed, Some(first.txn_id));
        assert!(expire(&main.store, &first, 3_600_000).await);
        let mut tx = main.store.begin().await.unwrap();
        approvals::insert(&mut tx, &twin, request).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn one_of_two_approvers_wins_every_time(main: &Workspace) {
        for round in 0..100 {
            let new = add_approval(main, &format!("{round}")).await;
            let (a, b) = tokio::join!(approve(&main.store, &new, 1), approve(&main.store, &new, 1));
            assert!(exactly_one([a, b]));
        }
    }

    async fn approval_and_expiry_never_both_happen(main: &Workspace) {
        for round in 0..100 {
            let new = add_approval(main, &format!("{round}")).await;
            // The clocks of the two callers differ, so each considers its call valid.
            let (approved, expired) =
                tokio::join!(approve(&main.store, &new, 3_599_999), expire(&main.store, &new, 3_600_000));
            assert!(exactly_one([approved, expired]));
            let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
            assert_eq!(row.state == ApprovalState::Approved, approved);
            assert_eq!(row.forward_state == ForwardState::Ready, approved);
        }
    }

    async fn approval_and_withdrawal_never_both_happen(main: &Workspace) {
        for round in 0..100 {
            let new = add_approval(main, &format!("{round}")).await;
            let withdraw = approvals::withdraw(&main.store, main.id, new.agent_id, new.txn_id, at(1));
            let (approved, withdrawn) = tokio::join!(approve(&main.store, &new, 1), withdraw);
            assert!(exactly_one([approved, withdrawn.unwrap()]));
            let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
            assert_eq!(row.withdrawn, !approved);
        }
    }

    async fn a_transition_needs_the_window_the_workspace_and_the_agent(main: &Workspace) {
        let new = add_approval(main, "k").await;
        assert!(!approve(&main.store, &new, 3_600_000).await);
        assert!(!expire(&main.store, &new, 3_599_999).await);
        let stranger = AgentId::new(NOW, &OsEntropy);
        assert!(!approvals::withdraw(&main.store, main.id, stranger, new.txn_id, at(1)).await.unwrap());
        let other = main.add_workspace("other").await;
        assert!(!approvals::withdraw(&main.store, other, new.agent_id, new.txn_id, at(1)).await.unwrap());
        let elsewhere = NewApproval { workspace_id: other, ..new.clone() };
        assert!(!approve(&main.store, &elsewhere, 1).await);

        let user = UserId::new(NOW, &OsEntropy);
        let mut tx = main.store.begin().await.unwrap();
        let denied = approvals::deny(&mut tx, main.id, new.txn_id, user, "o@example.com", Some("no"), at(2)).await;
        assert!(denied.unwrap());
        tx.commit().await.unwrap();
        let row = approvals::find(&main.store, main.id, new.txn_id).await.unwrap().unwrap();
        assert_eq!((row.state, row.forward_state), (ApprovalState::Denied, ForwardState::None));
        assert_eq!((row.decided_by, row.decided_at, row.deny_reason.as_deref()), (Some(user), Some(at(2)), Some("no")));
        assert!(!approve(&main.store, &new, 3).await);
    }

    async fn a_rolled_back_decision_did_not_happen(main: &Workspace) {
        let new = add_approval(main, "k").await;
        let user = UserId::new(NOW, &OsEntropy);
        let mut tx = main.store.begin().await.unwrap();
        assert!(approvals::approve(&mut tx, main.id, new.txn_id, user, "e", at(1)).await.unwrap());
        drop(tx);
        assert!(approve(&main.store, &new, 1).await);
    }

    async fn what_is_due_is_found_over_all_workspaces(main: &Workspace) {
        assert_eq!(approvals::next_expiry(&main.store).await.unwrap(), None);
        let new = add_approval(main, "k").await;
        assert_eq!(approvals::next_expiry(&main.store).await.unwrap(), Some(new.expires_at));
        assert!(approvals::due(&main.store, at(1), 10).await.unwrap().is_empty());
        let due = approvals::due(&main.store, new.expires_at, 10).await.unwrap();
        assert_eq!(due, [(main.id, new.txn_id)]);
    }

    async fn lists_page_in_either_order_and_miss_nothing(main: &Workspace) {
        let mut all = Vec::new();
        for number in 0..7 {
            let mut new = new_approval(main, &format!("{number}"));
            // Pairs have the same time, so that the id decides between them.
            new.created_at = at(number / 2);
            let sealed = main.keyring.seal(&OsEntropy, &approvals::request_aad(main.id, new.txn_id), b"{}");
            let mut tx = main.store.begin().await.unwrap();
            approvals::insert(&mut tx, &new, sealed).await.unwrap();
            tx.commit().await.unwrap();
            all.push((new.created_at, new.txn_id));
        }
        all.sort_by_key(|(at, txn)| (*at, txn.to_string()));
        for rising in [true, false] {
            let mut filter = ApprovalFilter { rising, limit: 2, ..FILTER };
            let mut seen = Vec::new();
            loop {
                let page = approvals::list(&main.store, main.id, &filter).await.unwrap();
                let Some(last) = page.last() else { break };
                filter.beyond = Some((last.created_at, last.txn_id));
                seen.extend(page.iter().map(|row| (row.created_at, row.txn_id)));
            }
            assert_eq!(seen, all);
            all.reverse();
        }
    }

    async fn every_order_goes_on_where_a_page_ended(main: &Workspace) {
        for name in ["b", "a", "c", "a"] {
            let new = add_approval(main, name).await;
            tamper(main, &format!(
                "UPDATE approvals SET agent_name = '{name}', credential_name = '{name}', target_host = '{name}', \
                 state = '{}' WHERE txn_id = '{}'",
                if name == "a" { "approved" } else { "denied" }, new.txn_id,
            )).await;
        }
        for by in [By::Asked, By::Host, By::Agent, By::Credential, By::State] {
            for rising in [true, false] {
                let mut filter = ApprovalFilter { by, rising, ..FILTER };
                let whole = approvals::list(&main.store, main.id, &filter).await.unwrap();
                let key = |row: &ApprovalRow| match by {
                    By::Asked => row.created_at.0.to_string(),
                    By::State => row.state.as_str().to_owned(),
                    _ => row.agent_name.clone(),
                };
                let keys: Vec<_> = whole.iter().map(key).collect();
                assert!(if rising { keys.is_sorted() } else { keys.iter().rev().is_sorted() }, "{by:?} {keys:?}");
                let mut seen = Vec::new();
                filter.limit = 1;
                while let Some(row) = approvals::list(&main.store, main.id, &filter).await.unwrap().pop() {
                    filter.beyond = Some((row.created_at, row.txn_id));
                    seen.push(row.txn_id);
                }
                assert_eq!(seen, whole.iter().map(|row| row.txn_id).collect::<Vec<_>>(), "{by:?} {rising}");
                assert_eq!(seen.len(), 4);
            }
        }
    }

    async fn lists_filter_and_page_newest_first(main: &Workspace) {
        let mut all: Vec<TxnId> = Vec::new();
        for number in 0..5 {
            all.push(add_approval(main, &format!("{number}")).await.txn_id);
        }
        let first = ApprovalFilter { limit: 3, ..FILTER };
        let page = approvals::list(&main.store, main.id, &first).await.unwrap();
        let last = page.last().unwrap();
        let next = ApprovalFilter { beyond: Some((last.created_at, last.txn_id)), ..FILTER };
        let rest = approvals::list(&main.store, main.id, &next).await.unwrap();
        let mut seen: Vec<TxnId> = page.iter().chain(&rest).map(|row| row.txn_id).collect();
        assert_eq!(seen.len(), 5);
        seen.sort();
        all.sort();
        assert_eq!(seen, all);
        assert_eq!(approvals::count_pending(&main.store, main.id, NOW).await.unwrap(), 5);

        let agent = Some(page[0].agent_id);
        let by_agent = approvals::list(&main.store, main.id, &ApprovalFilter { agent, ..FILTER }).await.unwrap();
        assert_eq!(by_agent, page[..1]);
        let credential = Some(page[1].credential_id);
        let filter = ApprovalFilter { credential, ..FILTER };
        assert_eq!(approvals::list(&main.store, main.id, &filter).await.unwrap(), page[1..2]);
        let filter = ApprovalFilter { state: Some(ApprovalState::Denied), ..FILTER };
        assert!(approvals::list(&main.store, main.id, &filter).await.unwrap().is_empty());
    }

    async fn a_locked_approval_shows_every_vote_cast_before(main: &Workspace) {
        for round in 0..50 {
            let new = add_approval(main, &format!("{round}")).await;
            // Each counts the votes before its own. Only the row lock makes that exact.
            let counts = at_once(2, |voter| {
                let (store, ws, txn) = (main.store.clone(), main.id, new.txn_id);
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
        let other = main.add_workspace("other").await;
        let new = add_approval(main, "k").await;
        let mut tx = main.store.begin().await.unwrap();
        assert!(approvals::find_for_update(&mut tx, other, new.txn_id).await.unwrap().is_none());
    }

    async fn a_person_votes_once(main: &Workspace) {
        let new = add_approval(main, "k").await;
        let vote = vote(main.id, new.txn_id, 0);
        votes::insert(&main.store, &vote).await.unwrap();
        let again = VoteRow { verdict: Verdict::Deny, ..vote.clone() };
        assert!(votes::insert(&main.store, &again).await.unwrap_err().is_conflict());
        let second = VoteRow { user_id: UserId::new(at(1), &OsEntropy), created_at: at(1), ..vote.clone() };
        votes::insert(&main.store, &second).await.unwrap();
        assert_eq!(votes::list(&main.store, main.id, new.txn_id).await.unwrap(), [vote, second]);
        assert!(votes::list_many(&main.store, main.id, &[]).await.unwrap().is_empty());
        let other = main.add_workspace("other").await;
        assert!(votes::list(&main.store, other, new.txn_id).await.unwrap().is_empty());
    }

    async fn an_approval_without_a_passkey_is_confirmed_with_one_once(main: &Workspace) {
        let new = add_approval(main, "k").await;
        let (first, denied) = (vote(main.id, new.txn_id, 0), vote(main.id, new.txn_id, 1));
        let denied = VoteRow { verdict: Verdict::Deny, ..denied };
        votes::insert(&main.store, &first).await.unwrap();
        votes::insert(&main.store, &denied).await.unwrap();
        let again = VoteRow { passkey: true, created_at: at(2), grant_seconds: None, ..first.clone() };
        assert!(votes::confirm(&main.store, &again).await.unwrap());
        assert!(!votes::confirm(&main.store, &again).await.unwrap(), "it has a passkey now");
        assert!(!votes::confirm(&main.store, &VoteRow { passkey: true, ..denied.clone() }).await.unwrap());
        assert_eq!(votes::list(&main.store, main.id, new.txn_id).await.unwrap(), [denied, again]);
    }

    async fn requests_are_found_by_what_stands_in_them(main: &Workspace) {
        let new = add_approval(main, "k").await;
        let find = async |text: &str| {
            let filter = ApprovalFilter { text: Some(text.to_owned()), ..FILTER };
            approvals::list(&main.store, main.id, &filter).await.unwrap().len()
        };
        let (agent, id) = (new.agent_name.to_uppercase(), new.txn_id.to_string());
        for text in [agent.as_str(), &new.credential_name, "post", &new.target_host, &id[..13]] {
            assert_eq!(find(text).await, 1, "{text}");
        }
        for text in ["no such thing", "%", "_", "\\"] {
            assert_eq!(find(text).await, 0, "{text}");
        }
        let over = ApprovalFilter { settled: true, ..FILTER };
        assert!(approvals::list(&main.store, main.id, &over).await.unwrap().is_empty());
        assert!(expire(&main.store, &new, 3_600_000).await);
        assert_eq!(approvals::list(&main.store, main.id, &over).await.unwrap().len(), 1);
    }
}
