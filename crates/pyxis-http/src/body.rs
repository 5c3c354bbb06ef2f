//! Request bodies, read up to a limit.

use axum::body::Body;
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// Reason that a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body, or its announced length, exceeds the limit.
    #[error("the body is too large")]
    TooLarge,
    /// The body ended early or is damaged.
    #[error("the body ended early")]
    Broken,
}

/// Reads a whole body of at most `max` bytes. A body announced as longer is never polled, so a client with
/// `Expect: 100-continue` does not send it.
pub async fn read(body: Body, max: usize) -> Result<Bytes, BodyError> {
    if announces_more_than(&body, max) {
        return Err(BodyError::TooLarge);
    }
    match Limited::new(body, max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Err(_) => Err(BodyError::Broken),
    }
}

/// True if the announced length is more than `max` bytes.
pub fn announces_more_than(body: &Body, max: usize) -> bool {
    body.size_hint().lower() > max as u64
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::Frame;

    use super::*;

    /// A body in pieces, without an announced length.
    struct Pieces(VecDeque<io::Result<&'static str>>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            Poll::Ready(self.0.pop_front().map(|piece| piece.map(|text| Frame::data(Bytes::from(text)))))
        }
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit_and_no_further() {
        assert_eq!(read(Body::from("12345"), 5).await, Ok(Bytes::from_static(b"12345")));
        assert_eq!(read(Body::from("123456"), 5).await, Err(BodyError::TooLarge));
        let pieces = |pieces: Vec<io::Result<&'static str>>| Body::new(Pieces(pieces.into()));
        assert_eq!(read(pieces(vec![Ok("123"), Ok("45")]), 5).await, Ok(Bytes::from_static(b"12345")));
        assert_eq!(read(pieces(vec![Ok("123"), Ok("456")]), 5).await, Err(BodyError::TooLarge));
        let broken = pieces(vec![Ok("123"), Err(io::ErrorKind::UnexpectedEof.into())]);
        assert_eq!(read(broken, 5).await, Err(BodyError::Broken));
    }
}
