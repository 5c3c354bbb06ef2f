//! Content of a chat message about a proposed task, whatever the platform.
//!
//! A task is read, trimmed and decided on its page, so the message only has a link to it.

use std::collections::{BTreeMap, BTreeSet};

use pyxis_core::brand::SECURED_BY;
use pyxis_core::id::TaskId;
use pyxis_core::task::TaskState;
use pyxis_store::chat_messages::ChatMessageRow;
use pyxis_store::message_subject::MessageState;
use pyxis_store::tasks::{TaskActionRow, TaskRow};

use super::flat::one_line;
use super::link_card::LinkCard;
use super::message_content::{DecideIn, MessageBrand, MessageContent, fits_in, time_of_day};
use super::payload::MARK;
use crate::approvals::announce::chats::nonce;
use crate::approvals::announce::tasks::shown_host;
use crate::approvals::tasks::view;
use crate::config::Config;
use crate::error::Result;
use crate::runtime::state::State;

/// Maximum number of hosts that a message lists.
const HOSTS: usize = 8;
/// Longest host in a message, in characters.
const HOST: usize = 100;

/// The message about a task as it should be now; `None` when the task is deleted.
pub(super) async fn load(
    state: &State,
    message: &ChatMessageRow,
    task: TaskId,
) -> Result<Option<MessageContent>> {
    let seen = match view::load(&state.store, message.workspace_id, task, state.now()).await {
        Err(crate::Error::NotFound(_)) => return Ok(None),
        other => other?,
    };
    let brand = MessageBrand::load(&state.store, &state.config, message.workspace_id).await?;
    // As stored. The end of the time to decide is stored, too, and updates this message.
    let (row, shown) = (&seen.row, MessageState::from(seen.row.state));
    let ((hosts, count), place) = (hosts(&seen.actions), DecideIn::TaskPage);
    let actions = format!("{}: {}", seen.actions.len(), hosts.join("; "));
    let status = status(row, &seen.actions);
    let card = link_card(row, &brand.name, actions, (status, page(&state.config, task)));
    let compose = |hosts: &[String]| {
        let hosts = hosts.iter().map(|host| format!("{MARK}{host}"));
        let link = (shown == MessageState::Pending).then(|| format!("{}: {}", place.way(), card.url));
        [card.title.clone(), card.text.clone(), format!("Purpose: “{}”", one_line(&row.purpose))]
            .into_iter()
            .chain([format!("Actions: {}", seen.actions.len())])
            .chain(hosts)
            .chain(card.status.iter().cloned())
            .chain(link)
            .chain([SECURED_BY.to_owned()])
            .collect::<Vec<_>>()
    };
    let mut lines = compose(&hosts);
    if !fits_in(&lines, message.platform.spec().message_max) {
        lines = compose(&[format!("{count} hosts not shown here")]);
    }
    Ok(Some(MessageContent {
        subject: message.subject,
        state: shown,
        expires_at: row.expires_at,
        nonce: nonce(&state.keyring, message.id),
        place,
        whole: false,
        grantable: false,
        brand,
        lines,
        link: card,
    }))
}

pub(super) fn page(config: &Config, task: TaskId) -> String {
    format!("{}/app/tasks/{task}", config.base_url)
}

fn link_card(row: &TaskRow, brand: &str, actions: String, (status, url): (Vec<String>, String)) -> LinkCard {
    let (agent, brand) = (one_line(&row.agent_name), one_line(brand));
    LinkCard {
        title: format!("{brand} · {}", headline(row.state)),
        text: format!("{agent} proposes a task"),
        facts: vec![("Agent", agent), ("Actions", actions), ("Purpose", one_line(&row.purpose))],
        brand,
        status,
        link: DecideIn::TaskPage.label(),
        url,
    }
}

/// Lines with the hosts of the proposed actions, each with its methods, and the number of hosts.
fn hosts(actions: &[TaskActionRow]) -> (Vec<String>, usize) {
    let mut methods: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for action in actions {
        let host: String = one_line(&shown_host(action)).chars().take(HOST).collect();
        methods.entry(host).or_default().insert(action.method.as_str());
    }
    let count = methods.len();
    let line = |(host, methods): (String, BTreeSet<&str>)| {
        let methods: Vec<String> = methods.into_iter().map(one_line).collect();
        format!("{} {host}", methods.join(", "))
    };
    let mut lines: Vec<String> = methods.into_iter().take(HOSTS).map(line).collect();
    if count > HOSTS {
        lines.push(format!("and {} more hosts", count - HOSTS));
    }
    (lines, count)
}

/// End of the proposal and of the task, or what became of them.
fn status(row: &TaskRow, actions: &[TaskActionRow]) -> Vec<String> {
    let decided_at = row.decided_at.unwrap_or(row.expires_at);
    let decided = |word: &str| {
        let by = row.decided_by_email.as_deref().unwrap_or("someone");
        format!("{word} by {} at {}", one_line(by), time_of_day(decided_at))
    };
    let reason = || row.reason.as_deref().map(|reason| format!("Reason: “{}”", one_line(reason)));
    match row.state {
        TaskState::Proposed => {
            let length = format!("Lasts {} minutes from its approval", row.minutes);
            vec![length, format!("Expires at {}", time_of_day(row.expires_at))]
        }
        TaskState::Approved | TaskState::Ended => {
            let kept = actions.iter().filter(|action| action.max_uses > 0).count();
            vec![
                decided("Approved"),
                format!("Approved actions: {kept} of {}", actions.len()),
                format!("Ends at {} at the latest", time_of_day(row.expires_at)),
            ]
        }
        TaskState::Denied => std::iter::once(decided("Denied")).chain(reason()).collect(),
        TaskState::Withdrawn => match row.reason.as_deref() {
            Some(why) => vec![format!("Withdrawn: {}", one_line(why))],
            None => vec!["The agent withdrew the proposal.".to_owned()],
        },
        TaskState::Expired => vec!["No one decided in time.".to_owned()],
        TaskState::Stopped => {
            let at = time_of_day(row.ended_at.unwrap_or(row.expires_at));
            let (stopped, why) = match row.stopped_by_email.as_deref() {
                Some(by) => (format!("Stopped by {} at {at}", one_line(by)), None),
                None => (format!("Stopped at {at}"), reason()),
            };
            [decided("Approved"), stopped].into_iter().chain(why).collect()
        }
    }
}

const fn headline(state: TaskState) -> &'static str {
    match state {
        TaskState::Proposed => "Task needs approval",
        TaskState::Approved | TaskState::Ended => "Task approved",
        TaskState::Denied => "Task denied",
        TaskState::Withdrawn => "Task withdrawn",
        TaskState::Expired => "Task expired",
        TaskState::Stopped => "Task stopped",
    }
}
