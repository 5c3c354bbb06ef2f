//! A task as an approval leaves it, and its digest, which a passkey signs.

use std::time::Duration;

use pyxis_core::approval_mode::Role;
use pyxis_core::digest;
use pyxis_core::id::{TaskId, UserId};
use pyxis_core::task::{self, ApprovedAction};
use pyxis_store::tasks::{TaskActionRow, TaskRow};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// Separates the digest from every other use of SHA-256.
const DOMAIN: &str = "pyxis: approve a task, version 1\n";

/// The part of a task that a person approves.
#[derive(Clone, Debug, Default)]
pub struct Approval {
    /// Actions that remain; `None` for all, as proposed.
    pub actions: Option<Vec<ApprovedAction>>,
    /// Length in minutes; `None` as proposed.
    pub minutes: Option<u32>,
}

/// A task as an approval leaves it.
pub(super) struct TrimmedTask {
    /// Number of uses of each proposed action; 0 for a removed one.
    pub(super) kept: Vec<u32>,
    pub(super) length: Duration,
}

impl TrimmedTask {
    /// Fails for an approval that is not the proposal or a part of it, and for one that exceeds the role's limits.
    pub(super) fn new(
        row: &TaskRow,
        actions: &[TaskActionRow],
        role: Role,
        approval: &Approval,
    ) -> Result<Self> {
        let proposed: Vec<u32> =
            actions.iter().map(|action| u32::try_from(action.proposed_uses).unwrap_or(0)).collect();
        let kept = task::trim(&proposed, approval.actions.as_deref())
            .map_err(|error| Error::field("actions", error.to_string()))?;
        let minutes = u32::try_from(row.minutes).unwrap_or(0);
        let length = task::approved_length(role, minutes, approval.minutes)
            .map_err(|error| Error::field("minutes", error.to_string()))?;
        Ok(Self { kept, length })
    }
}

/// Digest of a task as a person approves it, in hex. The audit record has everything in it, so that it can be computed
/// again.
pub(super) fn digest(row: &TaskRow, actions: &[TaskActionRow], trimmed: &TrimmedTask) -> Result<String> {
    let mut remaining: Vec<Value> = Vec::new();
    for (action, uses) in actions.iter().zip(&trimmed.kept).filter(|(_, uses)| **uses > 0) {
        let (method, url) = (action.method.as_str(), action.redacted_url());
        let content = action.shown_conditions()?;
        remaining.push(json!([action.position, action.credential_name, method, url, content, uses]));
    }
    let minutes = trimmed.length.as_secs() / 60;
    let text = json!([row.id, row.agent_name, row.purpose, minutes, remaining]).to_string();
    Ok(digest::sha256_hex(format!("{DOMAIN}{text}").as_bytes()))
}

/// Text that an assertion for this approval is bound to. No binding of a request looks like it.
pub(super) fn binding(id: TaskId, digest: &str, user: UserId) -> String {
    format!("approve task {id} {digest} by {user}")
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;
    use pyxis_core::id::{AgentId, CredentialId, WorkspaceId};
    use pyxis_core::policy::Method;
    use pyxis_core::task::TaskState;

    use super::*;

    fn row() -> TaskRow {
        let (at, entropy) = (UnixMillis(0), SeededEntropy::new(1));
        TaskRow {
            id: "0190a2b4-7c00-7000-8000-000000000001".parse().unwrap(),
            workspace_id: WorkspaceId::new(at, &entropy),
            agent_id: AgentId::new(at, &entropy),
            agent_name: "bot".to_owned(),
            purpose: "Close the \"stale\" issues".to_owned(),
            fingerprint: String::new(),
            state: TaskState::Proposed,
            minutes: 60,
            created_at: at,
            expires_at: at,
            decided_at: None,
            decided_by_email: None,
            reason: None,
            stopped_by_email: None,
            ended_at: None,
            passkey: None,
        }
    }

    fn action(position: i64, url: &str) -> TaskActionRow {
        let row = row();
        TaskActionRow {
            task_id: row.id,
            position,
            workspace_id: row.workspace_id,
            credential_id: CredentialId::new(UnixMillis(0), &SeededEntropy::new(2)),
            credential_name: "github".to_owned(),
            credential_version: 1,
            method: Method::Patch.into(),
            url: url.to_owned(),
            content: r#"["json /state = \"closed\""]"#.to_owned(),
            proposed_uses: 20,
            max_uses: 20,
            uses: 0,
            last_used_at: None,
            shown_url: None,
            shown_content: None,
        }
    }

    fn digest_of(row: &TaskRow, actions: &[TaskActionRow], kept: &[u32], minutes: u64) -> String {
        let trimmed = TrimmedTask { kept: kept.to_vec(), length: Duration::from_mins(minutes) };
        digest(row, actions, &trimmed).unwrap()
    }

    #[test]
    fn the_digest_is_of_the_json_behind_the_domain() {
        let (one, two) = (action(1, "https://api.example.com/a"), action(2, "https://api.example.com/b"));
        let text = concat!(
            "pyxis: approve a task, version 1\n",
            r#"["0190a2b4-7c00-7000-8000-000000000001","bot","Close the \"stale\" issues",30,"#,
            r#"[[2,"github","PATCH","https://api.example.com/b",["json /state = \"closed\""],5]]]"#
        );
        assert_eq!(digest_of(&row(), &[one, two], &[0, 5], 30), digest::sha256_hex(text.as_bytes()));
    }

    #[test]
    fn the_digest_depends_on_everything_that_a_person_approves() {
        let (one, two) = (action(1, "https://api.example.com/a"), action(2, "https://api.example.com/b"));
        let whole = digest_of(&row(), &[one.clone(), two.clone()], &[5, 5], 60);
        let pair = [one.clone(), two.clone()];
        let mut others = vec![
            digest_of(&row(), &pair, &[5, 0], 60),
            digest_of(&row(), &pair, &[5, 6], 60),
            digest_of(&row(), &pair, &[5, 5], 59),
            digest_of(&row(), &[two.clone(), one.clone()], &[5, 5], 60),
        ];
        others.push(digest_of(&TaskRow { purpose: "Another".to_owned(), ..row() }, &pair, &[5, 5], 60));
        others.push(digest_of(&TaskRow { agent_name: "another".to_owned(), ..row() }, &pair, &[5, 5], 60));
        let id = "0190a2b4-7c00-7000-8000-000000000002".parse().unwrap();
        others.push(digest_of(&TaskRow { id, ..row() }, &pair, &[5, 5], 60));
        let changed: [fn(&mut TaskActionRow); 4] = [
            |action| action.url.push('c'),
            |action| action.method = Method::Post.into(),
            |action| action.credential_name = "gitlab".to_owned(),
            |action| action.content = "[]".to_owned(),
        ];
        for change in changed {
            let mut other = two.clone();
            change(&mut other);
            others.push(digest_of(&row(), &[one.clone(), other], &[5, 5], 60));
        }
        for (index, other) in others.iter().enumerate() {
            assert_ne!(*other, whole, "{index}");
        }
    }
}
