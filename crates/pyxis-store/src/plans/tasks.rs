//! Lists of tasks are read in the order of an index, and their actions in one statement.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::id::{AgentId, CredentialId, TaskId, WorkspaceId};
use pyxis_core::task::TaskState;

use super::{Recorder, migrated, plan};
use crate::Engine;
use crate::tasks::{self, TaskFilter};

/// Statements of the list, the inbox and its live updates.
pub(super) async fn statements(engine: Engine) -> Vec<String> {
    let recorder = Recorder::new(engine);
    let (r, at, entropy) = (&recorder, UnixMillis(0), SeededEntropy::new(1));
    let ws = WorkspaceId::new(at, &entropy);
    let agent = AgentId::new(at, &entropy);
    let some: Vec<CredentialId> = (0..3).map(|_| CredentialId::new(at, &entropy)).collect();
    let ids: Vec<TaskId> = (0..50).map(|_| TaskId::new(at, &entropy)).collect();
    for approvable in [None, Some(some)] {
        let _ = tasks::list_proposed(r, ws, approvable.as_deref(), at, 200).await;
        let _ = tasks::count_proposed(r, ws, approvable.as_deref(), at).await;
        for state in [None].into_iter().chain(TaskState::ALL.iter().copied().map(Some)) {
            let before = Some((at, ids[0]));
            let filter = TaskFilter { approvable: approvable.clone(), state, before, limit: 51 };
            let _ = tasks::list(r, ws, &filter, at).await;
        }
    }
    let _ = tasks::actions_of(r, ws, &ids).await;
    let _ = tasks::count_waiting(r, ws, agent, at).await;
    recorder.into_noted()
}

#[tokio::test]
async fn a_page_of_tasks_is_read_in_index_order() {
    let (_directory, connection) = migrated().await;
    let statements = statements(Engine::Sqlite).await;
    assert_eq!(statements.len(), 22);
    for text in statements {
        let steps = plan(&connection, &text);
        assert!(steps[0].starts_with("SEARCH"), "{text}\n{steps:#?}");
        assert!(!steps.iter().any(|step| step.starts_with("SCAN")), "{text}\n{steps:#?}");
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
        assert!(!sorts, "{text}\n{steps:#?}");
        if text.contains("state = 'proposed' AND expires_at >") && text.contains("ORDER BY created_at, id") {
            assert!(steps[0].contains("tasks_waiting"), "{text}\n{steps:#?}");
        }
    }
}
