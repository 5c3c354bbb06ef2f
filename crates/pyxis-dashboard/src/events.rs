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
    let about = if !txn.is_empty() {
        let txn = inbox::txn(&txn)?;
        let row = view::row(&state.gateway, who.person.workspace(), txn).await?;
        who.require_approve(row.credential_id)?;
        Subject::Transaction(txn)
    } else if !task.is_empty() {
        Subject::Task(tasks::load(&state, &who, &task).await?.row.id)
    } else {
        Subject::Inbox
    };
    let open = state.streams.open(who.person.user.id).ok_or(Error::TooManyStreams)?;
    let token = state.cookies.read(&headers, Cookie::Session).unwrap_or_default().to_owned();
    let mut beat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watcher = Watcher {
        news: state.gateway.store.subscribe(),
        stopping: state.stopping.clone(),
        workspace: who.person.workspace(),
        about,
        state,
        token: pyxis_core::secret::SecretString::new(token),
        beat,
        said: None,
        _open: open,
    };
    Ok(Sse::new(messages(watcher)).into_response())
}

struct Watcher {
    state: State,
    workspace: WorkspaceId,
    about: Subject,
    token: pyxis_core::secret::SecretString,
    news: broadcast::Receiver<News>,
    stopping: watch::Receiver<bool>,
    beat: Interval,
    /// The last message sent.
    said: Option<LastSeen>,
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
enum Wake {
    /// An approval of this workspace changed.
    Changed,
    /// Something may have changed.
    Perhaps,
    Heartbeat,
}

impl Watcher {
    /// The next message; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        if self.said.is_none() {
            let standing = self.read_state().await?;
            return Some(self.make_event(standing));
        }
        loop {
            let wake = self.wake().await?;
            let standing = self.read_state().await?;
            let differs = self.said.as_ref() != Some(&standing);
            match wake {
                Wake::Changed => return Some(self.make_event(standing)),
                _ if differs => return Some(self.make_event(standing)),
                Wake::Heartbeat => return Some(Event::default().comment("")),
                Wake::Perhaps => {}
            }
        }
    }

    fn make_event(&mut self, standing: LastSeen) -> Event {
        let data = json!(standing).to_string();
        self.said = Some(standing);
        Event::default().event("inbox").data(data)
    }

    /// `None` when the process stops.
    async fn wake(&mut self) -> Option<Wake> {
        loop {
            tokio::select! {
                () = stopped(&mut self.stopping) => return None,
                _ = self.beat.tick() => return Some(Wake::Heartbeat),
                news = self.news.recv() => match news {
                    Ok(News::Approval { workspace, .. }) if workspace == self.workspace => {
                        return Some(self.drain());
                    }
                    // A use of a task changes only its own page.
                    Ok(News::Task { workspace, .. }) if workspace == self.workspace => {
                        return Some(Wake::Perhaps);
                    }
                    Ok(News::Unknown) | Err(broadcast::error::RecvError::Lagged(_)) => {
                        return Some(Wake::Perhaps);
                    }
                    Ok(News::Approval { .. } | News::Task { .. } | News::Configuration) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }
    }

    /// Merges many changes at once into one message.
    fn drain(&mut self) -> Wake {
        while self.news.try_recv().is_ok() {}
        Wake::Changed
    }

    /// The current state; `None` if the session has ended or the store is gone.
    async fn read_state(&self) -> Option<LastSeen> {
        let gateway = &self.state.gateway;
        let person = sessions::find(&gateway.store, self.token.expose(), gateway.now()).await.ok()?;
        let among = rights::load(&gateway.store, &person.user).await.ok()?.approvable();
        let mark = match self.about {
            Subject::Transaction(txn) => Some(view::version_tag(gateway, self.workspace, txn).await.ok()?),
            Subject::Task(id) => {
                let task = task_view::load(&gateway.store, self.workspace, id, gateway.now()).await.ok()?;
                Some(tasks::change_mark(&task))
            }
            Subject::Inbox => None,
        };
        let (store, among) = (&gateway.store, among.as_deref());
        let waiting = task_view::count_proposed(store, self.workspace, among, gateway.now()).await.ok()?;
        let pending = view::pending(gateway, self.workspace, among).await.ok()?;
        Some(LastSeen { pending, tasks: waiting, mark })
    }
}

/// Resolves when the process stops; never, if the sender is gone.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending::<()>().await;
    }
}
