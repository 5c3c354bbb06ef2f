//! `/app/events`: the number of pending requests as server-sent events. `?txn=` adds the state of that transaction, and
//! `?task=` that of a task.
//!
//! The store's events are only hints; the number is always read again. Each message first checks the session again, so
//! a stream never outlives it by more than a heartbeat.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use http::HeaderMap;
use pyxis_core::id::{TaskId, TxnId, WorkspaceId};
use pyxis_gateway::admin::{rights, sessions};
use pyxis_gateway::approvals::view;
use pyxis_gateway::tasks::view as task_view;
use pyxis_store::StoreEvent as News;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::cookies::Cookie;
use crate::form::Page;
use crate::pages::{inbox, tasks};
use crate::session::SignedIn;
use crate::streams::SseGuard;
use crate::{Error, State};

const HEARTBEAT: Duration = Duration::from_secs(15);
/// Interval of follow-ups. No event reports the request and outcome of a counted use.
const FOLLOW_UP: Duration = Duration::from_secs(1);
/// Times that the page of a task is read again after a use. Later outcomes wait for a heartbeat.
const FOLLOW_UPS: u8 = 15;

#[derive(Default, Deserialize)]
pub(crate) struct ApprovalEvent {
    #[serde(default)]
    txn: String,
    #[serde(default)]
    task: String,
}

/// Item that the page shows.
#[derive(Clone, Copy)]
enum Subject {
    Inbox,
    Transaction(TxnId),
    Task(TaskId),
}

pub(crate) async fn stream(
    Page { state, who, query: ApprovalEvent { txn, task } }: Page<SignedIn, ApprovalEvent>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let subject = if !txn.is_empty() {
        let txn = inbox::txn(&txn)?;
        let row = view::row(&state.gateway, who.person.workspace(), txn).await?;
        who.require_approve(row.credential_id)?;
        Subject::Transaction(txn)
    } else if !task.is_empty() {
        Subject::Task(tasks::load(&state.gateway.store, state.gateway.now(), &who, &task).await?.row.id)
    } else {
        Subject::Inbox
    };
    let open = state.streams.open(who.person.user.id).ok_or(Error::TooManyStreams)?;
    let token = state.cookies.read(&headers, Cookie::Session).unwrap_or_default().to_owned();
    let watcher = Watcher {
        events: state.gateway.store.subscribe(),
        stopping: state.stopping.clone(),
        workspace: who.person.workspace(),
        subject,
        state,
        token: pyxis_core::secret::SecretString::new(token),
        beat: every(HEARTBEAT),
        follow_up: every(FOLLOW_UP),
        follow_ups: 0,
        last_sent: None,
        _open: open,
    };
    Ok(Sse::new(messages(watcher)).into_response())
}

fn every(period: Duration) -> Interval {
    let mut beat = tokio::time::interval_at(Instant::now() + period, period);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

struct Watcher {
    state: State,
    workspace: WorkspaceId,
    subject: Subject,
    token: pyxis_core::secret::SecretString,
    events: broadcast::Receiver<News>,
    stopping: watch::Receiver<bool>,
    beat: Interval,
    follow_up: Interval,
    /// Follow-ups that are left of the last use of the task.
    follow_ups: u8,
    /// The last message sent.
    last_sent: Option<LastSeen>,
    _open: SseGuard,
}

fn messages(watcher: Watcher) -> impl Stream<Item = Result<Event, Infallible>> {
    futures_util::stream::unfold(watcher, async |mut watcher| {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    })
}

/// Content of a message.
#[derive(Clone, PartialEq, Eq, Serialize)]
struct LastSeen {
    pending: u64,
    /// Number of tasks that the person may decide.
    tasks: i64,
    /// See [`view::version_tag`].
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// Reasons to wake the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    /// An approval of this workspace changed.
    Changed,
    /// Something may have changed.
    Perhaps,
    /// The shown task was used.
    Used,
    Heartbeat,
}

impl Watcher {
    /// The next message; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        if self.last_sent.is_none() {
            let standing = self.read_state().await?;
            return Some(self.make_event(standing));
        }
        loop {
            let wake = self.wake().await?;
            let standing = self.read_state().await?;
            let differs = self.last_sent.as_ref() != Some(&standing);
            match wake {
                Wake::Changed => return Some(self.make_event(standing)),
                _ if differs => return Some(self.make_event(standing)),
                Wake::Heartbeat => return Some(Event::default().comment("")),
                Wake::Perhaps | Wake::Used => {}
            }
        }
    }

    fn make_event(&mut self, standing: LastSeen) -> Event {
        let data = json!(standing).to_string();
        self.last_sent = Some(standing);
        Event::default().event("inbox").data(data)
    }

    /// `None` when the process stops.
    async fn wake(&mut self) -> Option<Wake> {
        loop {
            tokio::select! {
                () = stopped(&mut self.stopping) => return None,
                _ = self.beat.tick() => return Some(Wake::Heartbeat),
                _ = self.follow_up.tick(), if self.follow_ups > 0 => {
                    self.follow_ups -= 1;
                    return Some(Wake::Perhaps);
                }
                event = self.events.recv() => match event {
                    Ok(event) => match effect(self.workspace, self.subject, event) {
                        Some(Wake::Changed) => return Some(self.drain()),
                        Some(Wake::Used) => {
                            self.follow_ups = FOLLOW_UPS;
                            self.follow_up.reset();
                            return Some(Wake::Used);
                        }
                        Some(wake) => return Some(wake),
                        None => {}
                    },
                    Err(broadcast::error::RecvError::Lagged(_)) => return Some(Wake::Perhaps),
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }
    }

    /// Merges many changes at once into one message.
    fn drain(&mut self) -> Wake {
        while self.events.try_recv().is_ok() {}
        Wake::Changed
    }

    /// The current state; `None` if the session has ended or the store is gone.
    async fn read_state(&self) -> Option<LastSeen> {
        let gateway = &self.state.gateway;
        let person = sessions::find(&gateway.store, self.token.expose(), gateway.now()).await.ok()?;
        let among = rights::load(&gateway.store, &person.user).await.ok()?.approvable();
        let mark = match self.subject {
            Subject::Transaction(txn) => Some(view::version_tag(gateway, self.workspace, txn).await.ok()?),
            Subject::Task(id) => {
                let task = task_view::load(&gateway.store, self.workspace, id, gateway.now()).await.ok()?;
                let requests = task_view::requests(&gateway.store, &task).await.ok()?;
                Some(tasks::change_mark(&task, &requests))
            }
            Subject::Inbox => None,
        };
        let (store, among) = (&gateway.store, among.as_deref());
        let waiting = task_view::count_proposed(store, self.workspace, among, gateway.now()).await.ok()?;
        let pending = view::pending(&gateway.store, gateway.now(), self.workspace, among).await.ok()?;
        Some(LastSeen { pending, tasks: waiting, mark })
    }
}

/// Effect of an event on a page, if it has any.
fn effect(own: WorkspaceId, subject: Subject, event: News) -> Option<Wake> {
    match event {
        News::Approval { workspace, .. } => (workspace == own).then_some(Wake::Changed),
        News::Task { workspace, .. } => (workspace == own).then_some(Wake::Perhaps),
        // A use of a task changes only its own page.
        News::TaskUse { workspace, task } => {
            let is_shown = matches!(subject, Subject::Task(shown) if shown == task);
            (workspace == own && is_shown).then_some(Wake::Used)
        }
        News::Unknown => Some(Wake::Perhaps),
        News::Configuration => None,
    }
}

/// Resolves when the process stops; never, if the sender is gone.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    #[test]
    fn a_use_of_a_task_wakes_only_the_pages_that_show_it() {
        let (at, entropy) = (UnixMillis(0), SeededEntropy::new(1));
        let (own, foreign) = (WorkspaceId::new(at, &entropy), WorkspaceId::new(at, &entropy));
        let (task, other) = (TaskId::new(at, &entropy), TaskId::new(at, &entropy));
        let used = News::TaskUse { workspace: own, task };
        assert_eq!(effect(own, Subject::Task(task), used), Some(Wake::Used));
        assert_eq!(effect(own, Subject::Task(other), used), None);
        assert_eq!(effect(own, Subject::Inbox, used), None);
        assert_eq!(effect(foreign, Subject::Task(task), used), None);
        // A proposal or a decision changes the number in the navigation of every page.
        let decided = News::Task { workspace: own, task };
        for subject in [Subject::Task(other), Subject::Inbox] {
            assert_eq!(effect(own, subject, decided), Some(Wake::Perhaps));
            assert_eq!(effect(foreign, subject, decided), None);
        }
    }
}
