//! Tasks: the list, the page of one task, and its decisions.

use axum::response::Response;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TaskId;
use pyxis_core::task::{ApprovedAction, MEMBER_MINUTES, TaskState};
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::passkeys as admin_passkeys;
use pyxis_gateway::approvals::viewer_status::NOT_YOURS;
use pyxis_gateway::tasks::ceremony as task_ceremony;
use pyxis_gateway::tasks::decide::{self, Approval};
use pyxis_gateway::tasks::view::{self, TaskFilter, TaskView};
use pyxis_store::Store;
use pyxis_store::audit::AuditEntry;
use pyxis_store::tasks::TaskActionRow;
use serde::Deserialize;

use super::agents::unprocessable;
use super::{audit_rows, ceremony, sentence};
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::tasks::{ActionLine, TaskBadge, TaskLine, TaskPage, TasksPage};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State, text};

const LIST: &str = "/app/tasks";
/// Tasks on one page.
const SHOWN: u32 = 50;
/// Lengths to choose from, in minutes, in addition to the proposed one.
const LENGTHS: [u32; 8] = [5, 15, 30, 60, 120, 240, 480, 1440];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskQuery {
    /// Id of the last task of the previous page.
    before: String,
}

pub(crate) async fn list(
    Page { state, who, query: TaskQuery { before } }: Page<SignedIn, TaskQuery>,
) -> Result<Response, Error> {
    let (gateway, workspace) = (&state.gateway, who.person.workspace());
    let before = match before.parse() {
        Ok(id) => Some(view::load(&gateway.store, workspace, id, gateway.now()).await?.row),
        Err(_) => None,
    };
    let filter = TaskFilter {
        approvable: who.rights.approvable(),
        state: None,
        before: before.map(|row| (row.created_at, row.id)),
        limit: SHOWN,
    };
    let found = view::list(&gateway.store, workspace, &filter, gateway.now()).await?;
    let is_full = found.len() >= SHOWN as usize;
    let older = found.last().filter(|_| is_full).map(|last| format!("{LIST}?before={}", last.row.id));
    html(&TasksPage {
        shell: who.shell(&state).await?,
        tasks: found.iter().map(|task| line(state.gateway.now(), task)).collect(),
        older,
    })
}

/// Proposed tasks that the person may decide, oldest first.
pub(super) async fn proposed(
    store: &Store,
    clock: &dyn Clock,
    who: &SignedIn,
) -> Result<Vec<TaskLine>, Error> {
    let approvable = who.rights.approvable();
    let now = clock.now();
    let found = view::proposed(store, who.person.workspace(), approvable.as_deref(), now).await?;
    Ok(found.iter().map(|task| line(clock.now(), task)).collect())
}

/// A task that this person may see.
pub(crate) async fn load(
    store: &Store,
    now: UnixMillis,
    who: &SignedIn,
    id: &str,
) -> Result<TaskView, Error> {
    let id = parse(id)?;
    let task = view::load(store, who.person.workspace(), id, now).await?;
    if task.is_within(who.rights.approvable().as_deref()) {
        Ok(task)
    } else {
        Err(Service::NotEligible(NOT_YOURS).into())
    }
}

/// Parses a task's id. A malformed one is not found.
fn parse(id: &str) -> Result<TaskId, Error> {
    id.parse().map_err(|_| Error::NotFound)
}

pub(crate) async fn show(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let task = load(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    page(&state, &who, &task, None).await
}

pub(crate) async fn approve(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let task = load(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    let approval = match approval(&task, &fields) {
        Ok(approval) => approval,
        Err(problems) => {
            return Ok(unprocessable(page(&state, &who, &task, Some((&fields, problems))).await?));
        }
    };
    let by = (&who.person.actor(), DecisionSurface::Dashboard);
    let (gateway, id) = (&state.gateway, task.row.id);
    let decided = match ceremony::answer(&fields) {
        Some(given) => task_ceremony::approve(gateway, by, id, &approval, &given).await,
        None => decide::approve(gateway, by, id, &approval).await,
    };
    respond(&state, &who, &task, &fields, decided, Notice::TaskApproved).await
}

/// The challenge for approving a task, as the form trims it, with a passkey.
pub(crate) async fn begin(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let task = load(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    let begun = match approval(&task, &fields) {
        Ok(approval) => {
            task_ceremony::begin(&state.gateway, &who.person.actor(), task.row.id, &approval).await
        }
        Err(problems) => {
            let field = if problems.first_of("actions").is_some() { "actions" } else { "minutes" };
            Err(Service::field(field, problems.first_of(field).unwrap_or_default()))
        }
    };
    ceremony::challenge(begun)
}

pub(crate) async fn deny(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let task = load(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    let by = (&who.person.actor(), DecisionSurface::Dashboard);
    let reason = Some(fields.text("reason"));
    let decided = decide::deny(&state.gateway, by, task.row.id, reason).await;
    respond(&state, &who, &task, &fields, decided, Notice::TaskDenied).await
}

pub(crate) async fn stop(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let task = load(&state.gateway.store, state.gateway.now(), &who, &id).await?;
    let by = (&who.person.actor(), DecisionSurface::Dashboard);
    let decided = decide::stop(&state.gateway, by, task.row.id).await;
    respond(&state, &who, &task, &fields, decided, Notice::TaskStopped).await
}

/// The part of the task that the form keeps.
fn approval(task: &TaskView, fields: &Fields) -> Result<Approval, Problems> {
    let (mut problems, mut kept) = (Problems::default(), Vec::new());
    for action in &task.actions {
        let position = u32::try_from(action.position).unwrap_or(0);
        if !fields.is_checked(&format!("keep-{position}")) {
            continue;
        }
        match fields.trimmed(&format!("uses-{position}")).parse() {
            Ok(max_uses) => kept.push(ApprovedAction { position, max_uses }),
            Err(_) => problems.add("actions", format!("Enter the number of requests of action {position}.")),
        }
    }
    let minutes = fields.trimmed("minutes").parse().ok();
    if minutes.is_none() {
        problems.add("minutes", "Choose how long the task runs.");
    }
    if problems.is_empty() { Ok(Approval { actions: Some(kept), minutes }) } else { Err(problems) }
}

async fn respond(
    state: &State,
    who: &SignedIn,
    task: &TaskView,
    fields: &Fields,
    decided: Result<TaskView, Service>,
    done: Notice,
) -> Result<Response, Error> {
    let notice = match decided {
        Ok(_) => done,
        Err(Service::Conflict(_)) => Notice::TaskOver,
        Err(Service::NotEligible(_)) => Notice::NotEligible,
        Err(Service::PasskeyRequired { .. }) => Notice::TaskNeedsPasskey,
        Err(Service::PasskeyRefused(_)) => Notice::PasskeyFailed,
        Err(Service::InvalidField { field, detail }) => {
            let mut problems = Problems::default();
            let place = match field.as_str() {
                "minutes" => "minutes",
                "reason" => "reason",
                _ => "actions",
            };
            problems.add(place, sentence(&detail));
            return Ok(unprocessable(page(state, who, task, Some((fields, problems))).await?));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, &format!("{LIST}/{}", task.row.id)))
}

/// The page of a task, perhaps with a form that was refused.
async fn page(
    state: &State,
    who: &SignedIn,
    task: &TaskView,
    refused: Option<(&Fields, Problems)>,
) -> Result<Response, Error> {
    let (fields, problems) = match refused {
        Some((fields, problems)) => (Some(fields), problems),
        None => (None, Problems::default()),
    };
    let now = state.gateway.now();
    let is_manager = who.person.user.role.is_manager();
    let requests = view::requests(&state.gateway.store, task).await?;
    let passkeys = match task.state {
        TaskState::Proposed => view::passkey_positions(&state.gateway.store, task).await?,
        _ => Vec::new(),
    };
    let lacks_passkey = !passkeys.is_empty()
        && admin_passkeys::list(&state.gateway.store, &who.person.user).await?.is_empty();
    html(&TaskPage {
        shell: who.shell(state).await?,
        task: line(state.gateway.now(), task),
        mark: change_mark(task, &requests),
        actions: task
            .actions
            .iter()
            .map(|action| ActionLine {
                needs_passkey: passkeys.contains(&action.position),
                ..action_line(state.gateway.now(), action, fields)
            })
            .collect(),
        lacks_passkey,
        lengths: lengths(task.row.minutes, is_manager, fields),
        requests: requests.iter().map(|entry| audit_rows::row(entry, now)).collect(),
        typed: fields.map(|fields| fields.text("reason")).unwrap_or_default(),
        problems,
    })
}

/// Version of what the page of a task shows: its state, uses, newest request, and number of outcomes.
pub(crate) fn change_mark(task: &TaskView, requests: &[AuditEntry]) -> String {
    let newest = requests.iter().map(|entry| entry.record.seq).max().unwrap_or(0);
    let outcomes = requests.iter().filter(|entry| entry.outcome.is_some()).count();
    format!("{}-{}-{newest}-{outcomes}", task.state.as_str(), task.uses().0)
}

fn line(now: UnixMillis, task: &TaskView) -> TaskLine {
    let row = &task.row;
    let (uses, most) = task.uses();
    TaskLine {
        id: row.id.to_string(),
        agent: row.agent_name.clone(),
        purpose: row.purpose.clone(),
        state: badge(task.state),
        length: length(row.minutes),
        action_count: text::count_noun(task.actions.len() as u64, "action"),
        uses,
        most,
        created: Timestamp::new(row.created_at, now),
        expires: Timestamp::new(row.expires_at, now),
        decided: row
            .decided_by_email
            .clone()
            .zip(row.decided_at)
            .map(|(by, at)| (by, Timestamp::new(at, now))),
        passkey_name: row.passkey.clone(),
        reason: row.reason.clone(),
        stopped_by: row.stopped_by_email.clone(),
        ended: row.ended_at.map(|at| Timestamp::new(at, now)),
    }
}

const fn badge(state: TaskState) -> TaskBadge {
    match state {
        TaskState::Proposed => TaskBadge::Proposed,
        TaskState::Approved => TaskBadge::Running,
        TaskState::Denied => TaskBadge::Denied,
        TaskState::Withdrawn => TaskBadge::Withdrawn,
        TaskState::Expired => TaskBadge::Expired,
        TaskState::Stopped => TaskBadge::Stopped,
        TaskState::Ended => TaskBadge::Ended,
    }
}

fn action_line(now: UnixMillis, action: &TaskActionRow, fields: Option<&Fields>) -> ActionLine {
    let position = action.position;
    let keep = fields.is_none_or(|fields| fields.is_checked(&format!("keep-{position}")));
    let typed = fields.map_or_else(
        || action.proposed_uses.to_string(),
        |fields| fields.trimmed(&format!("uses-{position}")),
    );
    ActionLine {
        position,
        credential: action.credential_name.clone(),
        method: action.method.to_string(),
        url: action.redacted_url().to_owned(),
        // A view has only actions whose conditions can be read.
        content: action.shown_conditions().unwrap_or_default(),
        proposed: action.proposed_uses,
        most: action.max_uses,
        uses: action.uses,
        keep,
        needs_passkey: false,
        typed,
        last: action.last_used_at.map(|at| Timestamp::new(at, now)),
    }
}

/// Lengths that this person can approve, the longest one chosen.
fn lengths(proposed: i64, is_manager: bool, fields: Option<&Fields>) -> Vec<Choice> {
    let proposed = u32::try_from(proposed).unwrap_or(0);
    let longest = if is_manager { proposed } else { proposed.min(MEMBER_MINUTES) };
    let mut minutes: Vec<u32> = LENGTHS.into_iter().filter(|minutes| *minutes < longest).collect();
    minutes.push(longest);
    let typed = fields.and_then(|fields| fields.trimmed("minutes").parse().ok());
    let chosen = typed.filter(|typed| minutes.contains(typed)).unwrap_or(longest);
    let choice = |minutes: u32| Choice {
        value: minutes.to_string(),
        label: length(minutes.into()),
        chosen: minutes == chosen,
    };
    minutes.into_iter().map(choice).collect()
}

/// `45 min`.
fn length(minutes: i64) -> String {
    text::duration(u64::try_from(minutes).unwrap_or(0) * 60)
}
