//! Background loops, one for each kind of work and none per transaction.
//!
//! Every loop has a `tick` that does its work once, so that tests need no time to pass. A panic in a tick is an error
//! of that tick. A loop that panics elsewhere restarts ([`crate::runtime::survival`]).

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::actor::ActorId;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;
use pyxis_store::audit::HeadMatch;
use pyxis_store::nodes::DEAD_AFTER;
use pyxis_store::{
    StoreEvent, approvals, audit, ceremonies, chat_identities, connections, deliveries, idempotency,
    kept_responses, limits, long_work, promotions, sessions, sign_in_links, staged_policies, tasks,
    undelivered, usage, widget_sessions,
};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::approvals::announce::escalation;
use crate::approvals::tasks::expire as expire_task;
use crate::approvals::{dead_nodes, execute, expire};
use crate::error::{Error, Result};
use crate::notifications::channels;
use crate::notifications::push;
use crate::notifications::webhooks::endpoint_queues;
use crate::runtime::state::State;
use crate::runtime::survival::{caught, restarted};

pub use crate::runtime::work::Stop;

/// Heartbeat interval.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Maximum sleep of the expiry loop, in case another process stored something.
const EXPIRY_NAP: Duration = Duration::from_secs(5);
/// Interval for writing last-use times and signing the audit head.
const BOOKKEEPING: Duration = Duration::from_secs(15);
/// Interval for deleting data past its retention.
const CLEANING: Duration = Duration::from_mins(10);
/// Retention of finished webhook deliveries, during which they can be viewed and resent.
const DELIVERIES_KEPT: Duration = Duration::from_hours(30 * 24);
/// Retention of tasks after their end, during which people can look back.
const TASKS_KEPT: Duration = Duration::from_hours(30 * 24);
/// Retention of API key request counts per quarter of an hour.
const USAGE_KEPT: Duration = Duration::from_hours(400 * 24);

/// Starts all loops, which end when `stop` turns true. Recovery has finished when this returns.
pub async fn start(state: &State, stop: &Stop) -> Result<JoinSet<()>> {
    dead_nodes::heartbeat(state).await?;
    // If the master key was replaced before this node counted as alive, it could not load a later data key.
    state.keyring.check_master(&state.store).await.map_err(|error| Error::Internal(error.into()))?;
    recover(state).await?;
    let mut loops = JoinSet::new();
    spawn_loop(&mut loops, "waiters", state, stop, wake_waiters);
    spawn_loop(&mut loops, "sending", state, stop, send_approved);
    spawn_loop(&mut loops, "websockets", state, stop, close_websockets);
    spawn_loop(&mut loops, "expiry", state, stop, expire_on_time);
    spawn_loop(&mut loops, "webhooks", state, stop, endpoint_queues::run);
    channels::start(state, stop, &mut loops);
    spawn_loop(&mut loops, "push", state, stop, push::run);
    spawn_loop(&mut loops, "heartbeat", state, stop, |state, stop| {
        every(HEARTBEAT, "heartbeat", state, stop, |state| Box::pin(heartbeat_tick(state)))
    });
    spawn_loop(&mut loops, "bookkeeping", state, stop, |state, stop| {
        every(BOOKKEEPING, "bookkeeping", state, stop, |state| Box::pin(bookkeeping_tick(state)))
    });
    spawn_loop(&mut loops, "first uses", state, stop, write_first_uses);
    spawn_loop(&mut loops, "cleaning", state, stop, |state, stop| {
        every(CLEANING, "cleaning", state, stop, |state| Box::pin(long_work(cleaning_tick(state))))
    });
    Ok(loops)
}

/// Spawns a loop that survives panics.
pub fn spawn_loop<F>(
    loops: &mut JoinSet<()>,
    name: &'static str,
    state: &State,
    stop: &Stop,
    run: impl Fn(State, Stop) -> F + Send + Sync + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let (state, stop) = (state.clone(), stop.clone());
    loops.spawn(restarted(name, stop.clone(), move || run(state.clone(), stop.clone())));
}

type Tick<'a> = std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

async fn every(
    period: Duration,
    name: &'static str,
    state: State,
    mut stop: Stop,
    tick: for<'a> fn(&'a State) -> Tick<'a>,
) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        if let Err(error) = caught(name, tick(&state)).await {
            tracing::warn!(%error, "a background task failed; will retry");
        }
    }
}

/// Forwards events of the store to waiting requests.
async fn wake_waiters(state: State, mut stop: Stop) {
    let mut events = state.store.subscribe();
    // After a panic, events before this subscription are unknown.
    state.waiters.wake_all();
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            _ = stop.wait_for(|stop| *stop) => return state.waiters.stop(),
        };
        match event {
            Ok(StoreEvent::Approval { txn, .. }) => {
                state.waiters.wake(txn);
                state.work.wake_notifiers();
            }
            Ok(StoreEvent::Task { task, .. }) => {
                state.waiters.wake(task);
                state.work.wake_notifiers();
            }
            // A use decides nothing.
            Ok(StoreEvent::Configuration | StoreEvent::TaskUse { .. }) => {}
            Ok(StoreEvent::Unknown) | Err(broadcast::error::RecvError::Lagged(_)) => {
                state.waiters.wake_all();
                state.work.to_send().notify_one();
                state.work.wake_notifiers();
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// Sends approved requests: immediately those approved here, and any others found in the store.
async fn send_approved(state: State, mut stop: Stop) {
    let mut under_way = JoinSet::new();
    loop {
        if let Err(error) = caught("sending", send_tick(&state, &mut under_way)).await {
            tracing::warn!(%error, "cannot read approved requests; will retry");
        }
        tokio::select! {
            () = state.work.to_send().notified() => {}
            () = tokio::time::sleep(HEARTBEAT) => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
        while under_way.try_join_next().is_some() {}
    }
    // Requests in progress are finished; the process waits for them within its drain time.
    while under_way.join_next().await.is_some() {}
}

async fn send_tick(state: &State, under_way: &mut JoinSet<()>) -> Result<()> {
    let mut todo = state.work.drain_approved();
    if todo.is_empty() {
        let free = u32::try_from(state.work.slots().available_permits()).unwrap_or(1);
        let unused_since = state.now().minus(execute::OPENED_WITHIN);
        todo = approvals::list_approved(&state.store, state.now(), unused_since, free.max(1)).await?;
    }
    for (workspace, txn) in todo {
        let Ok(slot) = Arc::clone(state.work.slots()).acquire_owned().await else { return Ok(()) };
        let state = state.clone();
        let span = tracing::trace_span!(target: "pyxis::trace", "execute", pyxis.txn = %txn);
        let work = async move {
            if let Err(error) = caught("sending", Box::pin(execute::execute(&state, workspace, txn))).await {
                tracing::warn!(%txn, %error, "cannot execute an approved request yet; will retry");
            }
            drop(slot);
        };
        under_way.spawn(work.instrument(span));
    }
    Ok(())
}

/// Closes every WebSocket when the server stops.
async fn close_websockets(state: State, mut stop: Stop) {
    if stop.wait_for(|stop| *stop).await.is_ok() {
        state.sockets.stop().await;
    }
}

/// Executes all approved pending requests, and returns when they are done.
pub async fn send_all(state: &State) -> Result<()> {
    let mut under_way = JoinSet::new();
    send_tick(state, &mut under_way).await?;
    while under_way.join_next().await.is_some() {}
    Ok(())
}

async fn expire_on_time(state: State, mut stop: Stop) {
    loop {
        let ticked = async {
            // A failure of one does not hold up the other.
            let (expired, escalated) = (expire_tick(&state).await, escalate_tick(&state).await);
            Ok::<_, crate::error::Error>([expired?, escalated?].into_iter().flatten().min())
        };
        let nap = match caught("expiry", ticked).await {
            Ok(next) => next.map_or(EXPIRY_NAP, |next| next.since(state.now()).min(EXPIRY_NAP)),
            Err(error) => {
                tracing::warn!(%error, "cannot expire or escalate overdue requests; will retry");
                EXPIRY_NAP
            }
        };
        tokio::select! {
            () = tokio::time::sleep(nap.max(Duration::from_millis(1))) => {}
            () = state.work.expiry().notified() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Expires due requests and proposed tasks. Returns the time of the next expiry.
pub async fn expire_tick(state: &State) -> Result<Option<UnixMillis>> {
    // A failure of one does not hold up the other.
    let (requests, tasks) =
        (expire::expire_due(state).await, expire_task::expire_due(&state.store, &*state.clock).await);
    requests?;
    let next_task = tasks?;
    let next_request = approvals::next_expiry(&state.store).await?;
    Ok([next_task, next_request].into_iter().flatten().min())
}

/// Performs due escalation steps. Returns the time of the next step.
pub async fn escalate_tick(state: &State) -> Result<Option<UnixMillis>> {
    escalation::perform_due(state).await
}

/// After a start, settles work that a dead process left unfinished.
pub async fn recover(state: &State) -> Result<()> {
    // A promotion right after the first start is noticed only if the timeline before it is stored.
    watch_for_promotion(state).await;
    let dead_before = if state.config.sole_node { None } else { Some(state.now().minus(DEAD_AFTER)) };
    dead_nodes::settle_requests(state, dead_before).await
}

async fn heartbeat_tick(state: &State) -> Result<()> {
    let now = state.now();
    // Before the node counts as alive: other nodes seal with a new data key once each living one had time to load it.
    load_data_keys(state).await;
    dead_nodes::heartbeat(state).await?;
    watch_for_promotion(state).await;
    if state.heartbeats.record(now, DEAD_AFTER) {
        dead_nodes::settle_requests(state, Some(now.minus(DEAD_AFTER))).await?;
    }
    give_up_tick(state).await
}

/// Loads data keys that `pyxis key rotate --data` added.
async fn load_data_keys(state: &State) {
    if let Err(error) = state.keyring.refresh(&state.store, state.now()).await {
        tracing::warn!(%error, "cannot load the data keys; will retry");
    }
}

async fn watch_for_promotion(state: &State) {
    if let Err(error) = promotion_tick(state).await {
        tracing::warn!(%error, "cannot tell whether a standby of the database was promoted");
    }
}

/// Records that a standby of the database was promoted, once for all nodes.
pub async fn promotion_tick(state: &State) -> Result<()> {
    let Some(timeline) = promotions::unseen(&state.store).await? else { return Ok(()) };
    let (now, remembered) = (state.now(), promotions::remembered(&state.store));
    let mut tx = state.store.begin().await?;
    if let Some(before) = promotions::record(&mut tx, timeline, remembered, now).await? {
        let mut record = audit::AuditRecord::new(now, AuditEvent::DatabasePromoted);
        record.actor = ActorId::System;
        record.detail = format!(r#"{{"timeline":{timeline},"before":{before}}}"#);
        audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
        tracing::error!(
            timeline,
            before,
            "a standby of the database was promoted; pyxis audit in-flight lists the requests that were open"
        );
    }
    tx.commit().await?;
    promotions::remember_stored(&state.store, timeline);
    Ok(())
}

/// Ends requests that this process sent but no longer executes, because their end could not be stored.
pub async fn give_up_tick(state: &State) -> Result<()> {
    // Read first: a request without an end in the store is executed here until it has one.
    let sending = approvals::list_sending(&state.store, state.node).await?;
    for (workspace, txn) in sending.into_iter().filter(|(_, txn)| !state.work.is_in_flight(*txn)) {
        let mut tx = state.store.begin().await?;
        if approvals::mark_outcome_unknown(&mut tx, workspace, txn, state.node, state.now()).await? {
            dead_nodes::record_lost(state, &mut tx, workspace, txn).await?;
            tx.commit().await?;
            state.metrics().outcome_unknown.increment(1);
        }
    }
    Ok(())
}

/// Writes the first use of an agent at once.
async fn write_first_uses(state: State, mut stop: Stop) {
    loop {
        tokio::select! {
            () = state.last_used.wait_for_first_use() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        if let Err(error) = state.last_used.write(&state.store).await {
            tracing::warn!(%error, "cannot record the first use of an agent's key");
        }
    }
}

/// Writes last-use times and signs the head of the audit trail.
pub async fn bookkeeping_tick(state: &State) -> Result<()> {
    state.last_used.write(&state.store).await?;
    sign_head(state).await
}

/// Signs the head of the audit trail, unless records named by an earlier head are missing. A new signature would hide the
/// truncation.
async fn sign_head(state: &State) -> Result<()> {
    let path = state.config.anchor.as_deref();
    if let Some(before) = state.anchor.newest(path).await?
        && audit::find_head(&state.store, &state.audit_keys, &before).await? != HeadMatch::Found
    {
        metrics::counter!(metric::AUDIT_DAMAGED.name).increment(1);
        tracing::error!(
            seq = before.seq,
            "a record named by a signed audit head is missing; run pyxis audit verify"
        );
        return Ok(());
    }
    let mut tx = state.store.begin().await?;
    let checkpoint = audit::checkpoint(&mut tx, &state.audit_keys, state.now()).await?;
    tx.commit().await?;
    state.anchor.store_head(path, checkpoint).await;
    Ok(())
}

/// Deletes data past its retention.
pub async fn cleaning_tick(state: &State) -> Result<()> {
    let now = state.now();
    approvals::purge_bodies(&state.store, now.minus(state.config.retention)).await?;
    undelivered::purge(&state.store, now.minus(state.config.retention)).await?;
    tasks::purge(&state.store, now.minus(TASKS_KEPT)).await?;
    idempotency::purge(&state.store, now).await?;
    kept_responses::purge(&state.store, now).await?;
    limits::purge(&state.store, now.minus(Duration::from_hours(2))).await?;
    sessions::purge(&state.store, now).await?;
    sign_in_links::purge(&state.store, now).await?;
    widget_sessions::purge(&state.store, now).await?;
    ceremonies::purge(&state.store, now).await?;
    staged_policies::purge(&state.store, now).await?;
    chat_identities::purge_codes(&state.store, now).await?;
    connections::purge(&state.store, now, now.minus(Duration::from_hours(24))).await?;
    deliveries::purge(&state.store, now.minus(DELIVERIES_KEPT)).await?;
    let mut tx = state.store.begin().await?;
    usage::purge(&mut tx, now.minus(USAGE_KEPT)).await?;
    tx.commit().await?;
    Ok(())
}
