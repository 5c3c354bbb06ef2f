//! Record of who was asked about a request or a task: for its agent without identities, for approvers with them.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{UserId, WorkspaceId};
use pyxis_http::openapi::Time;
use pyxis_store::announcements::{self, AnnouncementRow, RecipientKind};
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::message_subject::MessageSubject;
use pyxis_store::{Store, escalation_steps, users};
use serde::Serialize;
use utoipa::ToSchema;

use crate::approvals::announce::escalation;
use crate::error::Result;
use crate::identity::voters::policy_of;
use crate::values;

/// Announcement of a request or a task to a room or to people, without saying which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Announcement)]
pub struct AnonymousAnnouncement {
    /// Name of a chat platform, or `push` for browser notifications.
    #[schema(example = "slack")]
    channel: String,
    /// `room` or `people`.
    #[schema(value_type = values::AnnouncementKind)]
    kind: &'static str,
    /// Number of people; absent for a room.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, nullable = false)]
    count: Option<usize>,
    /// Time of the announcement.
    #[schema(value_type = Time)]
    at: String,
}

/// Rooms and people that were asked about a pending request, and the time of the next step, for its agent.
#[derive(Clone, Debug, Serialize)]
pub struct AnnouncementRecord {
    asked: Vec<AnonymousAnnouncement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step_at: Option<String>,
}

impl AnnouncementRecord {
    pub(super) async fn load(store: &Store, row: &ApprovalRow, now: UnixMillis) -> Result<Self> {
        Ok(Self {
            asked: load_anonymous(store, row.workspace_id, row.txn_id.into(), now).await?,
            next_step_at: next_step(store, row).await?.map(UnixMillis::to_rfc3339),
        })
    }

    /// Announcements, and the time of the next step.
    pub(super) fn into_parts(self) -> (Vec<AnonymousAnnouncement>, Option<String>) {
        (self.asked, self.next_step_at)
    }
}

/// Announcement of a request, for people who may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedAnnouncement {
    /// Name of a chat platform, or `push`.
    pub channel: String,
    /// Id of the room on its platform; `None` for people.
    pub room: Option<String>,
    /// Email addresses.
    pub people: Vec<String>,
    pub at: UnixMillis,
}

/// Announcements of a request to one room, or to people on one channel at one time.
struct Group {
    channel: String,
    at: UnixMillis,
    kind: RecipientKind,
    recipients: Vec<String>,
}

/// Announcements for the agent, oldest first. One that quiet hours hold back is left out until its time: the agent need
/// not know when a person is away.
pub(crate) async fn load_anonymous(
    store: &Store,
    workspace: WorkspaceId,
    subject: MessageSubject,
    now: UnixMillis,
) -> Result<Vec<AnonymousAnnouncement>> {
    let anonymous = |group: Group| AnonymousAnnouncement {
        channel: group.channel,
        kind: if group.kind == RecipientKind::Room { "room" } else { "people" },
        count: (group.kind == RecipientKind::Person).then_some(group.recipients.len()),
        at: group.at.to_rfc3339(),
    };
    let made = groups(store, workspace, subject).await?.into_iter().filter(|group| group.at <= now);
    Ok(made.map(anonymous).collect())
}

/// Announcements for people, oldest first.
pub(super) async fn load_named(store: &Store, row: &ApprovalRow) -> Result<Vec<NamedAnnouncement>> {
    let mut named = Vec::new();
    for group in groups(store, row.workspace_id, row.txn_id.into()).await? {
        let mut people = Vec::new();
        let mut room = None;
        for recipient in group.recipients {
            if group.kind == RecipientKind::Room {
                room = Some(recipient);
            } else if let Ok(id) = recipient.parse::<UserId>() {
                people.extend(users::find(store, row.workspace_id, id).await?.map(|user| user.email));
            }
        }
        named.push(NamedAnnouncement { channel: group.channel, room, people, at: group.at });
    }
    Ok(named)
}

/// Time of the next escalation step of a pending request, by its policy as it is now.
pub(super) async fn next_step(store: &Store, row: &ApprovalRow) -> Result<Option<UnixMillis>> {
    if row.state != ApprovalState::Pending {
        return Ok(None);
    }
    let steps = escalation_steps::list(store, row.txn_id).await?;
    if steps.is_empty() {
        return Ok(None);
    }
    let policy = policy_of(store, row.workspace_id, row.credential_id).await?;
    let next = steps.iter().find(|step| escalation::current(policy.as_ref(), step).is_some());
    Ok(next.map(|step| step.due_at))
}

async fn groups(store: &Store, workspace: WorkspaceId, subject: MessageSubject) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for AnnouncementRow { channel, kind, recipient, at, .. } in
        announcements::list(store, workspace, subject).await?
    {
        let belongs = |group: &&mut Group| {
            kind == RecipientKind::Person && (group.kind, &group.channel, group.at) == (kind, &channel, at)
        };
        match groups.last_mut().filter(belongs) {
            Some(group) => group.recipients.push(recipient),
            None => groups.push(Group { channel, at, kind, recipients: vec![recipient] }),
        }
    }
    Ok(groups)
}
