//! Bodies: boxing, idle timeouts and size limits.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::{Error, Wait};

/// Any error of a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A boxed request body.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Boxes any body, so that clients and pools are compiled only once.
pub fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A body of in-memory bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    boxed(Full::new(bytes.into()))
}

/// A body without data.
pub fn empty() -> Body {
    full(Bytes::new())
}

/// Reads a whole body of at most `max` bytes and drops trailers. Fails with [`Error::TooLarge`] as soon as the body is
/// known to be longer; if it announces that, nothing is read.
pub async fn read_capped<B>(mut body: B, max: usize) -> Result<Bytes, Error>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Error>,
{
    if body.size_hint().lower() > max as u64 {
        return Err(Error::TooLarge { max });
    }
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(max);
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Into::into)?.into_data() else { continue };
        if first.len() + whole.len() + data.len() > max {
            return Err(Error::TooLarge { max });
        }
        // Most bodies arrive in one piece, which is then passed on without a copy.
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.reserve(announced.max(first.len() + data.len()));
            whole.extend_from_slice(&std::mem::take(&mut first));
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}

/// A body that fails with [`Error::Timeout`] when its source stays silent for too long. Only time spent waiting for the
/// source counts, not time between polls.
pub struct IdleTimeout<B> {
    body: B,
    idle: Duration,
    // Created at the first wait, so a body that is already there never uses the timer.
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    over: bool,
}

impl<B> IdleTimeout<B> {
    /// Limits silence in `body` to `idle`.
    pub fn new(body: B, idle: Duration) -> Self {
        Self { body, idle, timer: None, waiting: false, over: false }
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = Instant::now() + self.idle;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if !self.waiting {
            self.waiting = true;
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }
}

impl<B> http_body::Body for IdleTimeout<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Error>,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(this.poll_timer(cx));
        this.over = true;
        Poll::Ready(Some(Err(Error::Timeout(Wait::Idle))))
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
