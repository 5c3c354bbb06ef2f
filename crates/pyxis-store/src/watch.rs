//! Detects changes by other processes and forwards their events.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::broadcast;
use tokio_postgres::AsyncMessage;

use crate::db::postgres::Server;
use crate::db::sqlite::session;
use crate::db::{Backend, sql};
use crate::event::StoreEvent;
use crate::{OpenDatabase, StoreError};

/// Interval at which SQLite is checked for commits of other processes.
const POLL: Duration = Duration::from_millis(500);
/// Delay before a lost LISTEN connection is reopened.
const RECONNECT: Duration = Duration::from_secs(1);
/// Interval at which the server must answer on the LISTEN connection, which otherwise only receives.
const CHECK: Duration = Duration::from_secs(5);

/// Starts the watcher of a store unless it is running. The task holds the store weakly.
pub(crate) fn watch(inner: &Arc<OpenDatabase>) {
    if inner.watched.swap(true, Ordering::SeqCst) {
        return;
    }
    let store = Arc::downgrade(inner);
    match &inner.backend {
        Backend::Sqlite(_) => drop(tokio::spawn(poll_sqlite(store))),
        Backend::Postgres(database) => {
            drop(tokio::spawn(listen_postgres(store, Arc::clone(database.server()))));
        }
    }
}

/// Polls `data_version`. On the writer's connection it changes only when *another* connection commits, and within this
/// process nothing else writes.
async fn poll_sqlite(store: Weak<OpenDatabase>) {
    let mut seen = None;
    while let Some(inner) = store.upgrade() {
        let Backend::Sqlite(database) = &inner.backend else { return };
        let version =
            database.run_outside_tx(session(|session| session.optional(&sql("PRAGMA data_version")))).await;
        match version {
            Ok(Some((version,))) => {
                let version: i64 = version;
                if seen.replace(version).is_some_and(|before| before != version) {
                    send_events(&inner.events, &[StoreEvent::Configuration, StoreEvent::Unknown]);
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "cannot watch the database for changes"),
        }
        drop(inner);
        tokio::time::sleep(POLL).await;
    }
}

async fn listen_postgres(store: Weak<OpenDatabase>, server: Arc<Server>) {
    let mut lost = false;
    while let Some(events) = store.upgrade().map(|inner| inner.events.clone()) {
        if let Err(error) = listen_once(&store, &server, &events, lost).await {
            tracing::warn!(%error, "listening for changes was interrupted");
        }
        lost = true;
        tokio::time::sleep(RECONNECT).await;
    }
}

/// Listens until the connection ends, the server no longer answers, or the store is gone.
async fn listen_once(
    store: &Weak<OpenDatabase>,
    server: &Server,
    events: &broadcast::Sender<StoreEvent>,
    lost: bool,
) -> Result<(), StoreError> {
    let (client, mut connection) = server.open().await?;
    let mut messages = futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    let answered = async {
        server.answer(client.batch_execute(concat!("LISTEN ", "pyxis"))).await?;
        if lost {
            send_events(events, &[StoreEvent::Configuration, StoreEvent::Unknown]);
        }
        loop {
            tokio::time::sleep(CHECK).await;
            server.answer(client.batch_execute("")).await?;
        }
    };
    tokio::pin!(answered);
    let mut check = tokio::time::interval(RECONNECT);
    loop {
        tokio::select! {
            ended = &mut answered => return ended,
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(note))) => {
                    send_events(events, &[StoreEvent::from_payload(note.payload())]);
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(StoreError::unavailable(error)),
                None => return Ok(()),
            },
            _ = check.tick() => if store.strong_count() == 0 {
                return Ok(());
            },
        }
    }
}

/// Sends events to subscribers, if any.
fn send_events(bus: &broadcast::Sender<StoreEvent>, events: &[StoreEvent]) {
    for event in events {
        drop(bus.send(*event));
    }
}
