//! A client connection as hyper sees it, with complete, well-formed heads only.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::HEAD_TIMEOUT;
use super::body_wait::{BodyWait, SlowBodyFlag};
use super::head::{Rest, Stream};
use super::refusal::MalformedRequest;

/// Stand-in for a refused request, so that its response is sent in order. [`ConnectionState`] stores its number.
const REFUSED: &[u8] = b"GET / HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n";

/// Buffer size, in bytes, from which data is read directly into hyper's buffer. hyper's first reads are smaller, to
/// detect the version.
const WIDE: usize = 1024;

/// Time for which bytes that the client still sends are discarded. This lets the client read the response before the
/// connection is reset.
const LINGER: Duration = Duration::from_secs(5);

/// Maximum consecutive reads whose bytes are discarded.
const DISCARDS: usize = 32;

/// State shared by a connection and its service.
#[derive(Debug, Default)]
pub(super) struct ConnectionState {
    /// Number of requests that reached the service.
    requests: AtomicU64,
    /// Number of the refused request, or 0. Written after the reason.
    refused: AtomicU64,
    reason: AtomicU8,
    /// Set once a body was too slow.
    slow_body: SlowBodyFlag,
    /// True once the connection has changed its protocol.
    switched: AtomicBool,
}

impl ConnectionState {
    /// Counts an HTTP/1 request. Returns the reason if it is the refused one.
    pub(super) fn next(&self) -> Option<MalformedRequest> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let refused = self.refused.load(Ordering::Acquire) == number;
        refused.then(|| MalformedRequest::from_number(self.reason.load(Ordering::Relaxed))).flatten()
    }

    /// Ends the checks: the service has agreed to another protocol on this connection.
    pub(super) fn switch(&self) {
        self.switched.store(true, Ordering::Release);
    }

    fn is_switched(&self) -> bool {
        self.switched.load(Ordering::Acquire)
    }

    fn refuse(&self, number: u64, reason: MalformedRequest) {
        self.reason.store(reason as u8, Ordering::Relaxed);
        self.refused.store(number, Ordering::Release);
    }

    /// Reason that a body ended too early, if one did.
    pub(super) fn slow_body(&self) -> Option<MalformedRequest> {
        self.slow_body.get()
    }
}

/// A connection whose request heads are checked before hyper reads them.
pub(super) struct ScreenedStream<S> {
    stream: S,
    scanned: Stream,
    shared: Arc<ConnectionState>,
    /// Bytes not yet passed to hyper. The first `good` of them are safe to pass on.
    held: Vec<u8>,
    good: usize,
    /// Deadline for the current head.
    timer: Option<Pin<Box<Sleep>>>,
    waits: Wait,
    body: BodyWait,
    /// Number of the request that `body` belongs to.
    body_of: u64,
    ended: End,
    /// Deadline for discarding incoming bytes.
    linger: Option<Pin<Box<Sleep>>>,
}

/// Kind of data that the timer waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Nothing,
    Head,
    Body,
}

/// Reason that reading stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    No,
    /// A request was refused. hyper closes the connection after the response.
    Refused,
    /// A chunked body is damaged.
    Broken,
    /// A body was too slow.
    SlowBody,
    /// No request arrived.
    Idle,
}

impl<S: AsyncRead + Unpin> ScreenedStream<S> {
    pub(super) fn new(stream: S, shared: Arc<ConnectionState>, body_total: Duration) -> Self {
        Self {
            stream,
            scanned: Stream::default(),
            shared,
            held: Vec::new(),
            good: 0,
            timer: None,
            waits: Wait::Nothing,
            body: BodyWait::new(body_total),
            body_of: 0,
            ended: End::No,
            linger: None,
        }
    }

    /// Passes the good bytes to hyper.
    fn deliver(&mut self, buf: &mut ReadBuf<'_>) {
        let here = self.good.min(buf.remaining());
        buf.put_slice(&self.held[..here]);
        self.held.drain(..here);
        self.good -= here;
        if self.held.is_empty() && self.held.capacity() > 4 * WIDE {
            self.held = Vec::new();
        }
    }

    /// Scans the held bytes that are not yet known to be good.
    fn scan_held(&mut self) {
        let scan = self.scanned.scan(&self.held[self.good..]);
        self.good += scan.good;
        self.end_if_unusable(scan.rest);
    }

    /// Ends the connection if the remaining bytes are unusable.
    fn end_if_unusable(&mut self, rest: Rest) {
        match rest {
            Rest::Unfinished => {}
            Rest::Refused(reason) => self.refuse(reason),
            Rest::Broken => {
                self.held.truncate(self.good);
                self.ended = End::Broken;
            }
        }
    }

    /// Replaces a head with the stand-in request.
    fn refuse(&mut self, reason: MalformedRequest) {
        self.shared.refuse(self.scanned.heads() + 1, reason);
        self.held.truncate(self.good);
        self.held.extend_from_slice(REFUSED);
        self.good = self.held.len();
        self.ended = End::Refused;
    }

    /// Reads once. Returns the number of bytes, 0 at the end of the stream.
    fn poll_fill(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        if self.held.is_empty() && buf.remaining() >= WIDE {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
            let bytes = &buf.filled()[before..];
            let read = bytes.len();
            if read == 0 {
                return Poll::Ready(Ok(0));
            }
            let scan = self.scanned.scan(bytes);
            if scan.rest == Rest::Unfinished {
                self.held.extend_from_slice(&bytes[scan.good..]);
            }
            buf.set_filled(before + scan.good);
            self.end_if_unusable(scan.rest);
            return Poll::Ready(Ok(read));
        }
        let mut bytes = [0; 4 * WIDE];
        let mut read = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        self.held.extend_from_slice(read.filled());
        self.scan_held();
        Poll::Ready(Ok(read.filled().len()))
    }

    /// Kind of data that is awaited now. None between requests, where hyper applies its own limit.
    fn awaited(&self) -> Wait {
        if self.scanned.in_body() {
            Wait::Body
        } else if self.held.len() > self.good || self.scanned.is_new() {
            Wait::Head
        } else {
            Wait::Nothing
        }
    }

    /// Waits on, and handles a wait that exceeds its limit.
    fn poll_give_up(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let awaited = self.awaited();
        let is_new = self.waits != awaited;
        self.waits = awaited;
        match awaited {
            Wait::Nothing => return Poll::Pending,
            Wait::Head => {
                // A head's time starts with its first byte.
                ready!(self.poll_head_late(is_new, cx));
                if self.held.is_empty() {
                    self.ended = End::Idle;
                } else {
                    self.refuse(MalformedRequest::SlowHead);
                }
            }
            Wait::Body => {
                let reason = ready!(self.body.poll_too_slow(cx));
                self.shared.slow_body.set(reason);
                self.ended = End::SlowBody;
            }
        }
        Poll::Ready(())
    }

    fn poll_head_late(&mut self, is_new: bool, cx: &mut Context<'_>) -> Poll<()> {
        if is_new {
            let deadline = Instant::now() + HEAD_TIMEOUT;
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(deadline),
                None => self.timer = Some(Box::pin(sleep_until(deadline))),
            }
        }
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(cx))
    }

    /// Ends a wait for a body, and begins with the next body after a new head.
    fn end_wait(&mut self, bytes: usize) {
        self.body.end_wait(bytes);
        if self.body_of != self.scanned.heads() {
            self.body_of = self.scanned.heads();
            self.body.restart();
        }
    }

    /// True if the client may still be sending unread data.
    fn is_unread(&self) -> bool {
        self.scanned.in_body() || self.ended == End::Refused || self.held.len() > self.good
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ScreenedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        if this.shared.is_switched() {
            // A client must not send before it is answered. Bytes that were refused until then are no frame either.
            this.good = this.held.len();
            if this.good == 0 {
                return Pin::new(&mut this.stream).poll_read(cx, buf);
            }
        }
        loop {
            if this.good > 0 {
                this.deliver(buf);
            }
            if buf.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
            match this.ended {
                End::No => {}
                End::Idle => return Poll::Ready(Ok(())),
                // End of stream here would make hyper drop the response.
                End::Refused => return Poll::Pending,
                End::Broken => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "damaged chunk")));
                }
                End::SlowBody => return Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            }
            match this.poll_fill(cx, buf) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(bytes)) => {
                    this.end_wait(bytes);
                    if this.waits == Wait::Body || this.awaited() != Wait::Head {
                        this.waits = Wait::Nothing;
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => ready!(this.poll_give_up(cx)),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ScreenedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    /// Closes for writing, then discards incoming bytes. A socket closed with unread bytes resets the connection, and
    /// the client may never see the response.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        if !this.is_unread() {
            return Poll::Ready(Ok(()));
        }
        let linger = this.linger.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + LINGER)));
        // Checked before any read, so that a client that never stops sending cannot postpone the deadline.
        if linger.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut bytes = [0; 4 * WIDE];
        for _ in 0..DISCARDS {
            let mut read = ReadBuf::new(&mut bytes);
            match Pin::new(&mut this.stream).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
        // More data may follow; yield to other connections first.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// A client that never stops sending.
    struct Endless;

    impl AsyncRead for Endless {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let piece = buf.initialize_unfilled();
            piece.fill(b'x');
            let length = piece.len();
            buf.advance(length);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Endless {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_stops_sending_is_left_at_the_deadline() {
        let mut stream = ScreenedStream::new(Endless, Arc::default(), Duration::MAX);
        stream.refuse(MalformedRequest::SlowHead);
        let mut stream = Pin::new(&mut stream);
        let first = poll_fn(|cx| Poll::Ready(stream.as_mut().poll_shutdown(cx))).await;
        assert!(first.is_pending(), "it may still want to read its response");
        tokio::time::advance(LINGER).await;
        let last = poll_fn(|cx| Poll::Ready(stream.as_mut().poll_shutdown(cx))).await;
        assert!(matches!(last, Poll::Ready(Ok(()))));
    }
}
