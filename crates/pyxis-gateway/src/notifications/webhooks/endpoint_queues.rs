//! One queue for each endpoint with pending deliveries, so that a slow endpoint does not delay others.
//!
//! A queue exists while there is work. It claims a few deliveries at a time, durably and briefly. Any node may have a
//! queue for the same endpoint, and claims of a dead node expire.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pyxis_core::id::{WebhookId, WorkspaceId};
use pyxis_core::webhook::ATTEMPT_TIMEOUT;
use pyxis_store::{deliveries, webhooks};
use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};

use super::attempt::{self, Endpoint};
use crate::error::Result;
use crate::runtime::state::State;
use crate::runtime::survival::caught;
use crate::runtime::work::Stop;

/// Maximum concurrent attempts per endpoint.
const AT_ONCE: usize = 32;
/// Lifetime of a claim: one attempt plus the time to record its result.
const CLAIM: Duration = ATTEMPT_TIMEOUT.saturating_add(Duration::from_secs(10));
/// Maximum sleep, in case another process stored a delivery.
const NAP: Duration = Duration::from_secs(2);
/// Delay after a store failure.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Queues of this process.
#[derive(Default)]
struct EndpointQueues {
    running: JoinSet<()>,
    by_endpoint: HashMap<WebhookId, EndpointQueue>,
}

struct EndpointQueue {
    task: Id,
    more: Arc<Notify>,
}

/// Delivers until stopped, then finishes the attempts in progress.
pub(crate) async fn run(state: State, mut stop: Stop) {
    let mut queues = EndpointQueues::default();
    loop {
        let nap = match caught("webhooks", queues.start_due(&state, &stop)).await {
            Ok(nap) => nap,
            Err(error) => {
                tracing::warn!(%error, "cannot read deliveries; will retry");
                NAP
            }
        };
        tokio::select! {
            () = state.work.deliveries().notified() => {}
            () = tokio::time::sleep(nap) => {}
            Some(ended) = queues.running.join_next_with_id(), if !queues.running.is_empty() => {
                queues.forget(ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    while queues.running.join_next().await.is_some() {}
}

/// Delivers everything due, and returns once each has been attempted.
pub async fn deliver_due(state: &State) -> Result<()> {
    let (_stop, stopping) = tokio::sync::watch::channel(false);
    let mut queues = EndpointQueues::default();
    while !webhooks::due(&state.store, state.now()).await?.is_empty() {
        queues.start_due(state, &stopping).await?;
        while queues.running.join_next().await.is_some() {}
        queues.by_endpoint.clear();
    }
    Ok(())
}

impl EndpointQueues {
    /// Starts missing queues and wakes the others. Returns the time until more can be due.
    async fn start_due(&mut self, state: &State, stop: &Stop) -> Result<Duration> {
        let now = state.now();
        for (workspace, webhook) in webhooks::due(&state.store, now).await? {
            if let Some(queue) = self.by_endpoint.get(&webhook) {
                queue.more.notify_one();
                continue;
            }
            let more = Arc::new(Notify::new());
            let work = run_queue(state.clone(), workspace, webhook, Arc::clone(&more), stop.clone());
            let task = self.running.spawn(work).id();
            self.by_endpoint.insert(webhook, EndpointQueue { task, more });
        }
        let next = deliveries::next_due(&state.store, now).await?;
        let nap = next.map_or(NAP, |next| next.since(state.now()).min(NAP));
        Ok(nap.max(Duration::from_millis(1)))
    }

    fn forget(&mut self, task: Id) {
        self.by_endpoint.retain(|_, queue| queue.task != task);
    }
}

async fn run_queue(
    state: State,
    workspace: WorkspaceId,
    webhook: WebhookId,
    more: Arc<Notify>,
    mut stop: Stop,
) {
    let mut under_way = JoinSet::new();
    loop {
        let stopping = *stop.borrow();
        if !stopping && under_way.len() <= AT_ONCE / 2 {
            let free = u32::try_from(AT_ONCE - under_way.len()).unwrap_or(1);
            let taking = start_deliveries(&state, workspace, webhook, free, &mut under_way);
            if let Err(error) = caught("webhooks", taking).await {
                tracing::warn!(%webhook, %error, "cannot claim deliveries; will retry");
                tokio::select! {
                    () = tokio::time::sleep(RETRY_DELAY) => {}
                    _ = stop.wait_for(|stop| *stop) => {}
                }
            }
        }
        if under_way.is_empty() {
            return;
        }
        tokio::select! {
            _ = under_way.join_next() => {}
            () = more.notified() => {}
        }
        while under_way.try_join_next().is_some() {}
    }
}

/// Claims due deliveries and starts an attempt for each.
async fn start_deliveries(
    state: &State,
    workspace: WorkspaceId,
    webhook: WebhookId,
    most: u32,
    under_way: &mut JoinSet<()>,
) -> Result<()> {
    let now = state.now();
    let claimed = deliveries::claim(&state.store, webhook, now, now.plus(CLAIM), most).await?;
    if claimed.is_empty() {
        return Ok(());
    }
    let Some(endpoint) = Endpoint::load(&state.store, &state.keyring, now, workspace, webhook).await? else {
        return Ok(());
    };
    let endpoint = Arc::new(endpoint);
    for claimed in claimed {
        let (state, endpoint) = (state.clone(), Arc::clone(&endpoint));
        under_way.spawn(async move {
            if let Err(error) = caught("webhooks", attempt::make(&state, &endpoint, &claimed)).await {
                tracing::warn!(delivery = %claimed.id, %error, "cannot attempt or record a delivery");
            }
        });
    }
    Ok(())
}
