//! `/app/events`: how many requests wait, as server-sent events.
//!
//! The store's events are hints; the number is always read anew. The session is asked for again before
//! anything is said, so a stream never outlives it by more than a heartbeat.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State as Extract;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use http::HeaderMap;
use pyxis_core::id::WorkspaceId;
use pyxis_gateway::approvals::view;
use pyxis_gateway::service::sessions;
use pyxis_store::Event as News;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::cookies::Cookie;
use crate::session::Manager;
use crate::{Error, State};

const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) async fn stream(
    Extract(state): Extract<State>,
    Manager(who): Manager,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let permit = std::sync::Arc::clone(&state.streams).try_acquire_owned();
    let permit = permit.map_err(|_| Error::TooManyStreams)?;
    let token = state.cookies.read(&headers, Cookie::Session).unwrap_or_default().to_owned();
    let mut beat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watcher = Watcher {
        news: state.gateway.store.subscribe(),
        stopping: state.stopping.clone(),
        workspace: who.person.workspace(),
        state,
        token: pyxis_core::secret::SecretString::new(token),
        beat,
        said: None,
        _permit: permit,
    };
    Ok(Sse::new(messages(watcher)).into_response())
}

struct Watcher {
    state: State,
    workspace: WorkspaceId,
    token: pyxis_core::secret::SecretString,
    news: broadcast::Receiver<News>,
    stopping: watch::Receiver<bool>,
    beat: Interval,
    /// The number that was sent last.
    said: Option<u64>,
    _permit: OwnedSemaphorePermit,
}

fn messages(watcher: Watcher) -> impl Stream<Item = Result<Event, Infallible>> {
    futures_util::stream::unfold(watcher, async |mut watcher| {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    })
}

/// Why the stream woke.
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
            let pending = self.pending().await?;
            return Some(self.say(pending));
        }
        loop {
            let wake = self.wake().await?;
            let pending = self.pending().await?;
            let differs = self.said != Some(pending);
            match wake {
                Wake::Changed => return Some(self.say(pending)),
                _ if differs => return Some(self.say(pending)),
                Wake::Heartbeat => return Some(Event::default().comment("")),
                Wake::Perhaps => {}
            }
        }
    }

    fn say(&mut self, pending: u64) -> Event {
        self.said = Some(pending);
        Event::default().event("inbox").data(json!({ "pending": pending }).to_string())
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
                    Ok(News::Unknown) | Err(broadcast::error::RecvError::Lagged(_)) => {
                        return Some(Wake::Perhaps);
                    }
                    Ok(News::Approval { .. } | News::Configuration) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }
    }

    /// Many changes at once are one message.
    fn drain(&mut self) -> Wake {
        while self.news.try_recv().is_ok() {}
        Wake::Changed
    }

    /// What waits; `None` when the session has ended or the store is gone.
    async fn pending(&self) -> Option<u64> {
        let gateway = &self.state.gateway;
        sessions::find(gateway, self.token.expose()).await.ok()?;
        view::pending(gateway, self.workspace).await.ok()
    }
}

/// Never, if nobody is left to say so.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending::<()>().await;
    }
}
