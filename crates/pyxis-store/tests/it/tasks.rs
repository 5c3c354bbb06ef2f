//! Lists of tasks, and the end of what is kept.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{AgentId, CredentialId, TaskId};
use pyxis_core::policy::Method;
use pyxis_core::task::TaskState;
use pyxis_store::tasks::{self, TaskActionRow, TaskFilter, TaskRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at, tamper};

/// Adds a task with one action for each credential; each action has this number of uses of two.
pub(crate) async fn add(
    main: &Workspace,
    state: TaskState,
    expires: UnixMillis,
    of: &[CredentialId],
    uses: i64,
) -> TaskId {
    let id = TaskId::new(NOW, &OsEntropy);
    let row = TaskRow {
        id,
        workspace_id: main.id,
        agent_id: AgentId::new(NOW, &OsEntropy),
        agent_name: "agent".to_owned(),
        purpose: "purpose".to_owned(),
        fingerprint: id.to_string(),
        state,
        minutes: 5,
        created_at: NOW,
        expires_at: expires,
        decided_at: None,
        decided_by_email: None,
        reason: None,
        stopped_by_email: None,
        ended_at: None,
        passkey: None,
    };
    let actions: Vec<TaskActionRow> = (1..)
        .zip(of)
        .map(|(position, credential)| TaskActionRow {
            task_id: id,
            position,
            workspace_id: main.id,
            credential_id: *credential,
            credential_name: "api".to_owned(),
            credential_version: 1,
            method: Method::Post.into(),
            url: "https://api.example.com/".to_owned(),
            content: "[]".to_owned(),
            proposed_uses: 2,
            max_uses: 2,
            uses,
            last_used_at: None,
            shown_url: None,
            shown_content: None,
        })
        .collect();
    let mut tx = main.store.begin().await.unwrap();
    tasks::insert(&mut tx, &row, &actions).await.unwrap();
    tx.commit().await.unwrap();
    id
}

fn credentials() -> Vec<CredentialId> {
    (0..3).map(|_| CredentialId::new(NOW, &OsEntropy)).collect()
}

async fn listed(
    main: &Workspace,
    approvable: Option<&[CredentialId]>,
    state: Option<TaskState>,
) -> Vec<TaskId> {
    let filter = TaskFilter { approvable: approvable.map(<[_]>::to_vec), state, before: None, limit: 100 };
    let rows = tasks::list(&main.store, main.id, &filter, NOW).await.unwrap();
    let mut ids: Vec<TaskId> = rows.into_iter().map(|row| row.id).collect();
    ids.sort();
    ids
}

engines! {
    async fn a_task_is_listed_in_the_state_that_it_has_now(main: &Workspace) {
        let of = credentials();
        let mut added = Vec::new();
        for state in TaskState::ALL {
            for expires in [at(-1), NOW, at(1)] {
                for uses in [0, 1, 2] {
                    let id = add(main, *state, expires, &of, uses).await;
                    added.push((id, state.at(NOW, expires, uses == 2)));
                }
            }
        }
        added.sort_by_key(|(id, _)| *id);
        for state in TaskState::ALL {
            let expected: Vec<TaskId> =
                added.iter().filter(|(_, now)| now == state).map(|(id, _)| *id).collect();
            assert_eq!(listed(main, None, Some(*state)).await, expected, "{state:?}");
            assert_eq!(listed(main, Some(&of), Some(*state)).await, expected, "{state:?}");
        }
        assert_eq!(listed(main, None, None).await.len(), added.len());
        let waiting = added.iter().filter(|(_, now)| *now == TaskState::Proposed).count();
        let count = tasks::count_proposed(&main.store, main.id, Some(&of), NOW).await.unwrap();
        assert_eq!(usize::try_from(count).unwrap(), waiting);
    }

    async fn a_task_is_listed_for_those_who_may_approve_all_of_it(main: &Workspace) {
        let of = credentials();
        let (one, two) = (
            add(main, TaskState::Proposed, at(1), &of[..1], 0).await,
            add(main, TaskState::Proposed, at(1), &of[..2], 0).await,
        );
        for (approvable, expected) in [
            (&of[..], vec![one, two]),
            (&of[..1], vec![one]),
            (&of[1..], vec![]),
            (&of[..0], vec![]),
        ] {
            let mut expected = expected;
            expected.sort();
            assert_eq!(listed(main, Some(approvable), None).await, expected);
            let rows = tasks::list_proposed(&main.store, main.id, Some(approvable), NOW, 9).await.unwrap();
            assert_eq!(rows.len(), expected.len());
            let count = tasks::count_proposed(&main.store, main.id, Some(approvable), NOW).await.unwrap();
            assert_eq!(usize::try_from(count).unwrap(), expected.len());
            // A member of many pages gets full ones: rights come before the limit.
            let rows = tasks::list_proposed(&main.store, main.id, Some(approvable), NOW, 1).await.unwrap();
            assert_eq!(rows.len(), expected.len().min(1));
        }
        let actions = tasks::actions_of(&main.store, main.id, &[one, two]).await.unwrap();
        assert_eq!(actions.len(), 3);
        assert!(tasks::actions_of(&main.store, main.id, &[]).await.unwrap().is_empty());
    }

    async fn a_task_is_deleted_with_its_actions_some_time_after_its_end(main: &Workspace) {
        let of = credentials();
        let mut over = Vec::new();
        for state in TaskState::ALL {
            over.push(add(main, *state, at(10), &of, 0).await);
        }
        let running = add(main, TaskState::Approved, at(1_000), &of, 2).await;
        assert_eq!(tasks::purge(&main.store, at(10)).await.unwrap(), 0);
        // A decision and an early end count before the end that was planned.
        tamper(main, &format!("UPDATE tasks SET decided_at = {} WHERE state = 'denied'", at(5).0)).await;
        tamper(main, &format!("UPDATE tasks SET ended_at = {} WHERE state = 'stopped'", at(5).0)).await;
        assert_eq!(tasks::purge(&main.store, at(6)).await.unwrap(), 2);
        assert_eq!(tasks::purge(&main.store, at(11)).await.unwrap(), 5);
        assert_eq!(listed(main, None, None).await, [running]);
        for id in over {
            assert!(tasks::actions(&main.store, main.id, id).await.unwrap().is_empty());
        }
        assert_eq!(tasks::actions(&main.store, main.id, running).await.unwrap().len(), 3);
    }
}
