//! One direction of a WebSocket.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pyxis_http::websocket::{CloseCode, FramePiece, FrameReader, FrameWriter, Opcode, ReadError};
use pyxis_scrub::{Needles, Pieces, Scrubber};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::runtime::exchange_metrics::Traffic;

/// Reason for which Pyxis closes a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) code: CloseCode,
    /// Word for the audit trail.
    pub(super) reason: &'static str,
    /// Sentence for both sides.
    pub(super) text: &'static str,
}

/// Signal that both directions share.
#[derive(Debug)]
pub(super) struct SocketSignal {
    closing: watch::Sender<Option<Closing>>,
    started: Instant,
    /// Milliseconds from the start to the last frame.
    active: AtomicU64,
}

impl SocketSignal {
    pub(super) fn new() -> Arc<Self> {
        let closing = watch::Sender::new(None);
        Arc::new(Self { closing, started: Instant::now(), active: AtomicU64::new(0) })
    }

    /// Closes both directions, unless they are closing for another reason.
    pub(super) fn close(&self, closing: Closing) {
        self.closing.send_if_modified(|current| {
            let is_first = current.is_none();
            current.get_or_insert(closing);
            is_first
        });
    }

    /// Reason for which Pyxis closes, if it does.
    pub(super) fn reason(&self) -> Option<Closing> {
        *self.closing.borrow()
    }

    /// Waits until Pyxis closes.
    pub(super) async fn closing(&self) -> Closing {
        let mut closing = self.closing.subscribe();
        let found = closing.wait_for(Option::is_some).await.ok().and_then(|closing| *closing);
        match found {
            Some(closing) => closing,
            None => std::future::pending().await,
        }
    }

    /// Time of the last frame, in either direction.
    pub(super) fn last_active(&self) -> Instant {
        self.started + Duration::from_millis(self.active.load(Ordering::Relaxed))
    }

    fn note_activity(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.active.store(millis, Ordering::Relaxed);
    }
}

/// End of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PumpEnd {
    /// A close frame was passed on, with this status code.
    Closed(Option<u16>),
    /// The connection ended without one.
    Gone,
    /// Pyxis closes, and the side that this direction leads to was told.
    Stopped,
}

/// Reads frames of one side and writes them to the other. Nothing is read while the other side does not take what was
/// read before.
pub(super) struct Pump<R, W> {
    reader: FrameReader<R>,
    writer: FrameWriter<W>,
    scrubbing: Option<Scrubbing>,
    traffic: Traffic,
    shared: Arc<SocketSignal>,
    /// Kind of the message of which a fragment was written, but not the last.
    open: Option<Opcode>,
}

/// Removal of secrets.
struct Scrubbing {
    needles: Arc<Needles>,
    /// Scrubber of the message under way.
    message: Scrubber,
    /// Redactions in control frames.
    control: u64,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Pump<R, W> {
    pub(super) fn new(reader: FrameReader<R>, writer: FrameWriter<W>, shared: &Arc<SocketSignal>) -> Self {
        let shared = Arc::clone(shared);
        Self { reader, writer, scrubbing: None, traffic: Traffic::default(), shared, open: None }
    }

    /// Removes secrets from what is passed on.
    pub(super) fn scrubbed(mut self, needles: Arc<Needles>) -> Self {
        let message = Scrubber::new(Arc::clone(&needles));
        self.scrubbing = Some(Scrubbing { needles, message, control: 0 });
        self
    }

    pub(super) const fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Number of secrets that were removed.
    pub(super) fn redactions(&self) -> u64 {
        self.scrubbing.as_ref().map_or(0, |scrubbing| scrubbing.message.hits() + scrubbing.control)
    }

    /// Passes frames on until this direction ends.
    pub(super) async fn run(&mut self) -> PumpEnd {
        let shared = Arc::clone(&self.shared);
        let mut closing = std::pin::pin!(shared.closing());
        loop {
            let read = tokio::select! {
                biased;
                closing = &mut closing => return self.say_goodbye(closing).await,
                read = self.reader.next() => read,
            };
            let piece = match read {
                Ok(Some(piece)) => piece,
                Ok(None) | Err(ReadError::Connection(_)) => return PumpEnd::Gone,
                Err(ReadError::Violation(violation)) => {
                    tracing::debug!(%violation, "a side of a WebSocket broke the protocol");
                    self.shared.close(VIOLATION);
                    continue;
                }
            };
            self.shared.note_activity();
            let close_code = (piece.opcode == Opcode::Close).then(|| code(&piece.payload));
            tokio::select! {
                biased;
                written = self.forward_piece(piece) => if written.is_err() { return PumpEnd::Gone },
                // A frame is written in part, so that no other can follow.
                _ = &mut closing => return PumpEnd::Gone,
            }
            if let Some(code) = close_code {
                return PumpEnd::Closed(code);
            }
        }
    }

    /// Ends the connection to the side that this direction leads to.
    pub(super) async fn shutdown(&mut self) -> io::Result<()> {
        self.writer.shutdown().await
    }

    /// Tells the side that this direction leads to, and discards what the other one still sends, so that it can read its
    /// own close frame.
    async fn say_goodbye(&mut self, closing: Closing) -> PumpEnd {
        if self.writer.close(closing.code, closing.text).await.is_err() {
            return PumpEnd::Gone;
        }
        while let Ok(Some(piece)) = self.reader.next().await {
            if piece.opcode == Opcode::Close {
                break;
            }
        }
        PumpEnd::Stopped
    }

    async fn forward_piece(&mut self, piece: FramePiece) -> io::Result<()> {
        if piece.opcode.is_control() {
            let payload = self.scrub_control(piece.payload);
            return self.writer.write(true, piece.opcode, &payload).await;
        }
        self.traffic.bytes += piece.payload.len() as u64;
        self.traffic.messages += u64::from(piece.is_last);
        let payload = self.scrub(piece.payload, piece.is_last);
        if payload.is_empty() && !piece.is_last {
            return Ok(());
        }
        let opcode = self.open.map_or(piece.opcode, |_| Opcode::Continuation);
        self.open = (!piece.is_last).then_some(piece.opcode);
        self.writer.write(piece.is_last, opcode, &payload).await
    }

    /// The part of a message that is certain. A secret may be cut anywhere between fragments.
    fn scrub(&mut self, payload: Bytes, is_last: bool) -> Bytes {
        let Some(scrubbing) = &mut self.scrubbing else { return payload };
        let mut pieces = scrubbing.message.push(payload);
        if is_last {
            pieces.extend(scrubbing.message.finish());
        }
        joined(pieces)
    }

    fn scrub_control(&mut self, payload: Bytes) -> Bytes {
        let Some(scrubbing) = &mut self.scrubbing else { return payload };
        match scrubbing.needles.scrub_bytes(&payload) {
            std::borrow::Cow::Borrowed(_) => payload,
            std::borrow::Cow::Owned(clean) => {
                scrubbing.control += 1;
                clean.into()
            }
        }
    }
}

/// Both sides are told when one of them breaks the protocol.
const VIOLATION: Closing = Closing {
    code: CloseCode::ProtocolError,
    reason: "protocol_error",
    text: "one side broke the WebSocket protocol",
};

fn joined(pieces: Pieces) -> Bytes {
    let mut pieces = pieces.into_iter();
    match (pieces.next(), pieces.len()) {
        (None, _) => Bytes::new(),
        (Some(only), 0) => only,
        (Some(first), _) => std::iter::once(first).chain(pieces).flatten().collect::<Vec<u8>>().into(),
    }
}

/// Status code of a close frame, if it has one.
fn code(payload: &[u8]) -> Option<u16> {
    payload.first_chunk().map(|code| u16::from_be_bytes(*code))
}
