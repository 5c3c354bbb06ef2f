//! Both directions of an open WebSocket, until it ends.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use pyxis_core::metric;
use pyxis_http::websocket::{CloseCode, FrameReader, FrameWriter, Handshake};
use tokio::io::{AsyncRead, AsyncWrite, split};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::Instrument;

use super::permission::Permission;
use super::pump::{Closing, Pump, PumpEnd, SocketSignal};
use crate::credentials::outbound::SwitchedConnection;
use crate::credentials::outcome::AuditSpan;
use crate::runtime::exchange_metrics::{SocketEnd, Traffic};
use crate::runtime::open_sockets::SocketPlace;
use crate::runtime::state::State;

/// Interval between checks of the permission.
const RECHECK: Duration = Duration::from_secs(2);
/// Failed checks in a row after which the WebSocket is closed: what cannot be checked is not allowed.
const FAILED_CHECKS: u32 = 15;
/// Time for both sides to end after the first close frame.
const GRACE: Duration = Duration::from_secs(5);

const IDLE: Closing = Closing {
    code: CloseCode::GoingAway,
    reason: "idle",
    text: "no frame for too long (PX_WEBSOCKET_IDLE_SECS)",
};
const TOO_LONG: Closing = Closing {
    code: CloseCode::GoingAway,
    reason: "max_time",
    text: "open for too long (PX_WEBSOCKET_MAX_SECS); connect again",
};
const STOPPING: Closing =
    Closing { code: CloseCode::GoingAway, reason: "stopping", text: "Pyxis is stopping; connect again" };
const FORBIDDEN: Closing = Closing {
    code: CloseCode::PolicyViolation,
    reason: "no_longer_allowed",
    text: "Pyxis no longer allows this WebSocket",
};
const UNCHECKED: Closing = Closing {
    code: CloseCode::InternalError,
    reason: "unavailable",
    text: "Pyxis cannot check whether this WebSocket is still allowed",
};

/// An open WebSocket.
pub(super) struct Relay {
    pub(super) state: State,
    pub(super) permission: Permission,
    pub(super) outcome: AuditSpan,
    /// Its place among the open ones.
    pub(super) place: SocketPlace,
}

impl Relay {
    /// Relays in the background, once the agent has its 101.
    pub(super) fn start(self, handshake: Handshake, switched: SwitchedConnection) {
        metrics::counter!(metric::WEBSOCKETS.name).increment(1);
        tokio::spawn(self.run(handshake, switched).in_current_span());
    }

    async fn run(mut self, handshake: Handshake, switched: SwitchedConnection) {
        let SwitchedConnection { connection, needles, .. } = switched;
        let (agent, host) = match (handshake.upgrade.await, connection.await) {
            (Ok(agent), Ok(host)) => (TokioIo::new(agent), TokioIo::new(host)),
            (agent, _) => {
                let closed_by = if agent.is_err() { "agent" } else { "host" };
                self.outcome.closed(end(closed_by), 0);
                return;
            }
        };
        let shared = SocketSignal::new();
        let ((agent_reader, agent_writer), (host_reader, host_writer)) = (split(agent), split(host));
        let to_host = FrameWriter::to_server(host_writer, Arc::clone(&self.state.entropy));
        let mut up = Pump::new(FrameReader::of_client(agent_reader), to_host, &shared);
        let mut down =
            Pump::new(FrameReader::of_server(host_reader), FrameWriter::to_client(agent_writer), &shared)
                .scrubbed(needles);
        let watching = watch(&self.state, &mut self.permission, &shared);
        let ended = Box::pin(relay(&mut up, &mut down, &shared, watching)).await;
        let end = SocketEnd { sent: up.traffic(), received: down.traffic(), ..ended };
        self.outcome.closed(end, down.redactions());
        drop(self.place);
    }
}

fn end(closed_by: &'static str) -> SocketEnd {
    let (sent, received) = (Traffic::default(), Traffic::default());
    SocketEnd { sent, received, closed_by, close_code: None, reason: None }
}

/// Runs both directions to their end.
async fn relay<AR, AW, HR, HW>(
    up: &mut Pump<AR, HW>,
    down: &mut Pump<HR, AW>,
    shared: &SocketSignal,
    watching: impl Future<Output = Infallible>,
) -> SocketEnd
where
    AR: AsyncRead + Unpin,
    AW: AsyncWrite + Unpin,
    HR: AsyncRead + Unpin,
    HW: AsyncWrite + Unpin,
{
    let ended = directions(up, down, shared, watching).await;
    // A side that does not read anymore is left.
    drop(timeout(GRACE, async { tokio::join!(up.shutdown(), down.shutdown()) }).await);
    ended
}

/// Waits for the end of both directions: after a close frame for [`GRACE`], after an end without one not at all.
async fn directions<AR, AW, HR, HW>(
    up: &mut Pump<AR, HW>,
    down: &mut Pump<HR, AW>,
    shared: &SocketSignal,
    watching: impl Future<Output = Infallible>,
) -> SocketEnd
where
    AR: AsyncRead + Unpin,
    AW: AsyncWrite + Unpin,
    HR: AsyncRead + Unpin,
    HW: AsyncWrite + Unpin,
{
    let (mut up, mut down) = (std::pin::pin!(up.run()), std::pin::pin!(down.run()));
    let (mut watching, mut closing) = (std::pin::pin!(watching), std::pin::pin!(shared.closing()));
    let (mut is_up_over, mut is_down_over) = (false, false);
    let (mut first, mut deadline) = (None, None);
    while !(is_up_over && is_down_over) {
        let (side, ended) = tokio::select! {
            ended = &mut up, if !is_up_over => {
                is_up_over = true;
                ("agent", ended)
            }
            ended = &mut down, if !is_down_over => {
                is_down_over = true;
                ("host", ended)
            }
            _ = &mut closing, if deadline.is_none() => {
                deadline = Some(Instant::now() + GRACE);
                continue;
            }
            () = wait_until(deadline), if deadline.is_some() => break,
            never = &mut watching => match never {},
        };
        deadline.get_or_insert_with(|| Instant::now() + GRACE);
        // What ends because Pyxis closes is no end of its own.
        if shared.reason().is_none() {
            let close_code = if let PumpEnd::Closed(code) = ended { code } else { None };
            first.get_or_insert_with(|| SocketEnd { close_code, ..end(side) });
            if ended == PumpEnd::Gone {
                break;
            }
        }
    }
    first.unwrap_or_else(|| {
        let (code, reason) = shared.reason().map(|closing| (closing.code.number(), closing.reason)).unzip();
        SocketEnd { close_code: code, reason, ..end("pyxis") }
    })
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Closes a WebSocket that is idle or open for too long or no longer allowed, or when the server stops.
async fn watch(state: &State, permission: &mut Permission, shared: &SocketSignal) -> Infallible {
    let (idle, end) = (state.config.websocket_idle, Instant::now() + state.config.websocket_time);
    let (mut failed, mut check_at) = (0, Instant::now() + RECHECK);
    loop {
        let idle_at = shared.last_active() + idle;
        let closing = tokio::select! {
            () = state.sockets.stopping() => Some(STOPPING),
            () = sleep_until(end) => Some(TOO_LONG),
            () = sleep_until(idle_at) => (shared.last_active() + idle <= Instant::now()).then_some(IDLE),
            () = sleep_until(check_at) => {
                let holds = permission.holds(&state.store, &state.config_cache, state.now()).await;
                check_at = Instant::now() + RECHECK;
                match holds {
                    Ok(true) => {
                        failed = 0;
                        None
                    }
                    Ok(false) => Some(FORBIDDEN),
                    Err(error) => {
                        tracing::warn!(%error, "cannot check the permission of a WebSocket; will retry");
                        failed += 1;
                        (failed >= FAILED_CHECKS).then_some(UNCHECKED)
                    }
                }
            }
        };
        if let Some(closing) = closing {
            shared.close(closing);
            return std::future::pending().await;
        }
    }
}

#[cfg(test)]
mod tests;
