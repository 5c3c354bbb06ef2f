//! Socket Mode: one node keeps a WebSocket open, and opens the next one before Slack ends it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use pyxis_core::chat::ChatPlatform;
use pyxis_core::secret::SecretString;
use pyxis_store::leases;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::reports::Report;
use super::socket::{Heard, Socket};
use super::{Bot, actions};
use crate::error::Result;
use crate::notifications::channels::inbound::Work;
use crate::notifications::channels::{first_room, reader};
use crate::runtime::state::State;
use crate::runtime::survival::caught;
use crate::runtime::work::Stop;

/// The lease of the one node that is connected.
const LEASE: &str = "slack updates";
/// Life of the lease, and the time after which it is renewed.
const HOLD: Duration = Duration::from_secs(45);
const RENEWAL: Duration = Duration::from_secs(15);
/// Least time between two connections.
const MIN_CONNECTION_INTERVAL: Duration = Duration::from_secs(1);
/// Reports of one connection that are worked on at once. More are not read before there is room.
const AT_ONCE: usize = 32;
/// Time for reports under way, after the end of their connection.
const GRACE: Duration = Duration::from_secs(10);

/// Keeps connected until told to stop. Without an app-level token Slack posts instead.
pub(super) async fn run(state: State, bot: Arc<Bot>, stop: Stop) {
    let channel = bot.config.channel.as_deref();
    if let Err(error) =
        first_room::set(&state.store, &state.audited, ChatPlatform::SLACK, "slack_channel", channel).await
    {
        tracing::warn!(%error, "cannot set the first workspace's Slack channel");
    }
    let Some(app_token) = bot.config.app_token.clone() else { return };
    // Every connection has a sender; the receiver ends when all of them are done.
    let (alive, mut over) = mpsc::channel::<Infallible>(1);
    let context = ConnectionContext { state: state.clone(), bot, _alive: alive };
    let reading = async move {
        loop {
            if let Err(error) = caught("slack", Box::pin(round(&context, &app_token))).await {
                tracing::warn!(%error, "cannot stay connected to Slack; will retry");
                sleep(reader::WAIT).await;
            }
        }
    };
    Box::pin(reader::poll_loop(&state.store, state.node, LEASE, stop, reading)).await;
    drop(timeout(GRACE, over.recv()).await);
}

#[derive(Clone)]
struct ConnectionContext {
    state: State,
    bot: Arc<Bot>,
    /// Held as long as the connection works.
    _alive: mpsc::Sender<Infallible>,
}

/// Keeps connected as long as this node is the one that does.
async fn round(context: &ConnectionContext, app_token: &SecretString) -> Result<()> {
    let state = &context.state;
    if !reader::is_ours(&state.store, state.node, state.now(), LEASE, HOLD).await? {
        return Ok(());
    }
    // Connections end when this is dropped.
    let (_until, ended) = watch::channel(());
    tokio::select! {
        never = stay_connected(context, app_token, &ended) => match never {},
        lost = keep_lease(state) => lost,
    }
}

/// Returns when another node has the lease, or this one cannot tell any more.
async fn keep_lease(state: &State) -> Result<()> {
    let mut renewed_at = Instant::now();
    loop {
        sleep(RENEWAL).await;
        let now = state.now();
        match leases::acquire(&state.store, LEASE, state.node, now, now.plus(HOLD)).await {
            Ok(true) => renewed_at = Instant::now(),
            Ok(false) => return Ok(()),
            Err(error) if renewed_at.elapsed() + RENEWAL > HOLD => return Err(error.into()),
            Err(error) => tracing::warn!(%error, "cannot renew a lease; will retry"),
        }
    }
}

/// Opens a connection whenever the last one is about to end or has ended.
async fn stay_connected(
    context: &ConnectionContext,
    app_token: &SecretString,
    ended: &watch::Receiver<()>,
) -> Infallible {
    loop {
        let started = Instant::now();
        match Socket::open(&context.state, &context.bot, app_token).await {
            Ok(socket) => {
                tracing::debug!("connected to Slack");
                let (renew, renewal) = oneshot::channel();
                tokio::spawn(serve(context.clone(), socket, ended.clone(), renew));
                // An error means that it ended without notice.
                drop(renewal.await);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot connect to Slack; will retry");
                reader::back_off(&error).await;
            }
        }
        sleep(MIN_CONNECTION_INTERVAL.saturating_sub(started.elapsed())).await;
    }
}

/// Serves a connection to its end, and finishes the reports that it brought. A report is acknowledged after its outcome
/// is recorded, so that no crash loses what Slack counts as delivered. A report that takes longer than Slack waits is
/// acknowledged before that.
async fn serve(
    context: ConnectionContext,
    mut socket: Socket,
    mut ended: watch::Receiver<()>,
    renew: oneshot::Sender<()>,
) {
    let mut renew = Some(renew);
    let mut reports = Reports::default();
    let is_open = loop {
        let heard = tokio::select! {
            heard = socket.next(), if reports.has_room() => heard,
            Some(done) = reports.next() => {
                if let Some(envelope) = done.envelope
                    && let Err(error) = socket.acknowledge(&envelope).await
                {
                    tracing::warn!(%error, "cannot acknowledge a report of Slack");
                    break false;
                }
                continue;
            }
            _ = ended.changed() => break true,
        };
        match heard {
            Ok(Heard::Envelope { id, update }) => reports.start(&context, id, update),
            Ok(Heard::Disconnect { reason }) => {
                if matches!(reason.as_str(), "warning" | "refresh_requested") {
                    tracing::debug!(reason, "Slack is about to end a connection");
                    if let Some(renew) = renew.take() {
                        renew.send(()).ok();
                    }
                } else {
                    // Socket Mode was switched off, or there are too many connections.
                    tracing::warn!(reason, "Slack ends a connection");
                }
            }
            Ok(Heard::KeepAlive(frame)) => {
                if let Err(error) = socket.keep_alive(frame).await {
                    tracing::debug!(%error, "a connection to Slack ended");
                    break false;
                }
            }
            Ok(Heard::Hello | Heard::Other) => {}
            Err(error) => {
                tracing::debug!(%error, "a connection to Slack ended");
                break false;
            }
        }
    };
    drop(renew);
    let finishing = async {
        while let Some(done) = reports.next().await {
            // What was decided stays decided, even if Slack tells the person otherwise.
            if is_open
                && let Some(envelope) = done.envelope
                && let Err(error) = socket.acknowledge(&envelope).await
            {
                tracing::debug!(%error, "cannot acknowledge a report of Slack");
            }
        }
    };
    drop(timeout(GRACE, finishing).await);
    if is_open {
        socket.close().await;
    }
}

/// Reports of one connection that are worked on.
#[derive(Default)]
struct Reports(JoinSet<Done>);

/// End of a part of the work on a report.
#[derive(Default)]
struct Done {
    /// To be acknowledged.
    envelope: Option<String>,
    /// Remaining work.
    rest: Option<Work<()>>,
}

impl Reports {
    fn has_room(&self) -> bool {
        self.0.len() < AT_ONCE
    }

    fn start(&mut self, context: &ConnectionContext, envelope: String, update: Report) {
        let (state, bot) = (context.state.clone(), Arc::clone(&context.bot));
        let mut work =
            Work::start(ChatPlatform::SLACK, async move { actions::handle(&state, &bot, update).await });
        self.0.spawn(async move {
            match work.promptly().await {
                Some(Ok(())) => Done { envelope: Some(envelope), rest: None },
                // Slack then shows the person that it did not work.
                Some(Err(error)) => {
                    tracing::warn!(%error, "cannot handle a report of Slack");
                    Done::default()
                }
                None => Done { envelope: Some(envelope), rest: Some(work) },
            }
        });
    }

    /// Waits for the next part that is done; `None` if nothing is worked on. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Done> {
        let mut done = self.0.join_next().await?.unwrap_or_default();
        if let Some(rest) = done.rest.take() {
            self.0.spawn(async move {
                if let Err(error) = rest.finished().await {
                    tracing::warn!(%error, "cannot handle a report of Slack");
                }
                Done::default()
            });
        }
        Some(done)
    }
}
