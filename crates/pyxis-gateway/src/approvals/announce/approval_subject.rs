//! Requests and tasks as subjects of approval.

use std::collections::BTreeSet;

use pyxis_core::approval_mode::Channel;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, UserId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::message_subject::MessageSubject;
use pyxis_store::tasks::{self, TaskActionRow, TaskRow};
use pyxis_store::{Tx, users, votes};

use crate::error::Result;
use crate::identity::voters;

/// A request or a task that people are asked to approve.
pub(crate) struct ApprovalSubject {
    pub(super) id: MessageSubject,
    pub(super) workspace: WorkspaceId,
    /// Credentials that a person must be allowed to decide about, all of them.
    credentials: Vec<CredentialId>,
    /// End of the time to decide.
    pub(super) expires_at: UnixMillis,
    /// Number of approvals that the subject needs, whatever a policy says by now.
    pub(super) needed: i64,
    /// People whose approvals count.
    pub(super) voters: BTreeSet<UserId>,
}

/// Way in which a credential's policy announces its requests, and the tasks with them.
pub(super) struct AnnouncementRoute<'a> {
    pub(super) credential: CredentialId,
    pub(super) channel: Channel,
    pub(super) policy: Option<&'a Policy>,
}

/// Credentials of a task, each once.
pub(crate) fn task_credentials(actions: &[TaskActionRow]) -> Vec<CredentialId> {
    let all: BTreeSet<CredentialId> = actions.iter().map(|action| action.credential_id).collect();
    all.into_iter().collect()
}

impl<'a> AnnouncementRoute<'a> {
    pub(super) const fn of_request(row: &ApprovalRow, policy: Option<&'a Policy>) -> Self {
        Self { credential: row.credential_id, channel: row.channel, policy }
    }

    /// The route of a credential's requests now.
    pub(super) fn of_credential(credential: CredentialId, policy: Option<&'a Policy>) -> Self {
        let channel = policy.map_or(Channel::AgentReflected, |policy| policy.channel);
        Self { credential, channel, policy }
    }
}

impl ApprovalSubject {
    /// A request, before anyone voted.
    pub(super) fn of_new_request(row: &ApprovalRow) -> Self {
        Self {
            id: row.txn_id.into(),
            workspace: row.workspace_id,
            credentials: vec![row.credential_id],
            expires_at: row.expires_at,
            needed: row.min_approvals,
            voters: BTreeSet::new(),
        }
    }

    /// A request with the votes so far.
    pub(super) async fn of_request(tx: &mut Tx, row: &ApprovalRow, policy: Option<&Policy>) -> Result<Self> {
        // An edit removes all votes.
        let votes = votes::list(&mut *tx, row.workspace_id, row.txn_id).await?;
        let counted = votes.iter().filter(|vote| voters::counts(vote, row, policy));
        Ok(Self { voters: counted.map(|vote| vote.user_id).collect(), ..Self::of_new_request(row) })
    }

    /// A task. One approval is enough.
    pub(super) fn of_task(row: &TaskRow, actions: &[TaskActionRow]) -> Self {
        Self {
            id: row.id.into(),
            workspace: row.workspace_id,
            credentials: task_credentials(actions),
            expires_at: row.expires_at,
            needed: 1,
            voters: BTreeSet::new(),
        }
    }

    /// True if this person may decide about a subject now.
    pub(crate) async fn may_be_decided_by(
        tx: &mut Tx,
        workspace: WorkspaceId,
        id: MessageSubject,
        person: UserId,
    ) -> Result<bool> {
        let subject = match id {
            MessageSubject::Request(txn) => {
                let row = approvals::find(&mut *tx, workspace, txn).await?;
                row.map(|row| Self::of_new_request(&row))
            }
            MessageSubject::Task(task) => {
                let actions = tasks::actions(&mut *tx, workspace, task).await?;
                let row = tasks::find(&mut *tx, workspace, task).await?;
                row.map(|row| Self::of_task(&row, &actions))
            }
        };
        let Some(subject) = subject else { return Ok(false) };
        Ok(!subject.eligible_among(tx, vec![person]).await?.is_empty())
    }

    /// Those of `people` who may decide: about each credential. In order and without duplicates.
    pub(super) async fn eligible_among(&self, tx: &mut Tx, mut people: Vec<UserId>) -> Result<Vec<UserId>> {
        if self.credentials.is_empty() {
            return Ok(Vec::new());
        }
        for credential in &self.credentials {
            people = voters::eligible_among(tx, self.workspace, *credential, people).await?;
        }
        Ok(people)
    }

    /// People on call for a credential who may decide.
    pub(super) async fn on_call(&self, tx: &mut Tx, route: &AnnouncementRoute<'_>) -> Result<Vec<UserId>> {
        let emails = route.policy.map_or(&[][..], |policy| &policy.on_call);
        let people = voters::eligible_by_email(tx, self.workspace, route.credential, emails).await?;
        self.eligible_among(tx, people).await
    }

    /// Everyone who may decide.
    pub(super) async fn eligible_people(&self, tx: &mut Tx) -> Result<Vec<UserId>> {
        let people = users::list(&mut *tx, self.workspace).await?.into_iter().map(|user| user.id).collect();
        self.eligible_among(tx, people).await
    }
}
