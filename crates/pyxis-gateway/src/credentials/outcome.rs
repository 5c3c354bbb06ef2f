//! Outcome of a request that was sent, recorded exactly once however it ends.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use pyxis_core::id::WorkspaceId;
use tokio::time::Instant;

use crate::credentials::outbound::relay::ScrubbedBody;
use crate::credentials::records;
use crate::error::{BoxError, Error};
use crate::runtime::exchange_metrics::{ExchangeMetrics, SocketEnd, micros};
use crate::runtime::in_flight::InFlightRequest;
use crate::runtime::state::State;

/// Pending outcome of an audited request. Dropping it records whatever is known by then.
pub(crate) struct AuditSpan {
    state: State,
    workspace: WorkspaceId,
    seq: i64,
    started: Instant,
    facts: ExchangeMetrics,
    /// Dropped after the outcome was handed over.
    _in_flight: InFlightRequest,
}

impl AuditSpan {
    /// The outcome of the request recorded as `seq`, which was in flight before it was recorded.
    pub(crate) fn new(
        state: &State,
        workspace: WorkspaceId,
        seq: i64,
        started: Instant,
        in_flight: InFlightRequest,
    ) -> Self {
        let facts = ExchangeMetrics::default();
        Self { state: state.clone(), workspace, seq, started, facts, _in_flight: in_flight }
    }

    /// Records the arrival of the response head.
    pub(crate) fn record_head(&mut self, status: StatusCode) {
        self.facts.status = Some(status);
        self.facts.head_micros = Some(micros(self.started));
    }

    /// Records the end of the body.
    pub(crate) fn relayed(&mut self, body: &ScrubbedBody) {
        (self.facts.bytes, self.facts.redactions) = (body.relayed(), body.redactions());
    }

    /// Records the end of a WebSocket, with the number of redactions.
    pub(crate) fn closed(mut self, socket: SocketEnd, redactions: u64) {
        (self.facts.bytes, self.facts.redactions) = (socket.received.bytes, redactions);
        self.facts.socket = Some(socket);
    }

    /// Records that there is no response.
    pub(crate) fn failed(mut self, error: &Error) {
        self.facts.error = Some(error.code());
    }

    fn broke_off(&mut self, code: &'static str) {
        self.facts.error = Some(code);
    }
}

impl Drop for AuditSpan {
    fn drop(&mut self) {
        self.facts.total_micros = micros(self.started);
        if self.facts.status.is_none() && self.facts.error.is_none() {
            // No one was waiting for the response anymore.
            self.facts.error = Some("agent_gone");
        }
        self.state.metrics().ended(&self.facts);
        let record = records::outcome(self.state.now(), self.workspace, self.seq, &self.facts);
        self.state.audit.append_detached(record);
    }
}

/// A streamed body that records the outcome when it ends, fails or is abandoned.
pub(crate) struct OutcomeBody {
    body: ScrubbedBody,
    outcome: AuditSpan,
    ended: bool,
}

impl OutcomeBody {
    pub(crate) fn new(body: ScrubbedBody, outcome: AuditSpan) -> Self {
        Self { body, outcome, ended: false }
    }
}

impl Body for OutcomeBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            None => self.ended = true,
            Some(Err(_)) => {
                self.ended = true;
                self.outcome.broke_off("upstream_error");
            }
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl Drop for OutcomeBody {
    fn drop(&mut self) {
        self.outcome.relayed(&self.body);
        if !self.ended {
            self.outcome.broke_off("agent_gone");
        }
    }
}
