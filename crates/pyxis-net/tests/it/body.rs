//! Size limits and idle timeouts of bodies.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::HeaderMap;
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use pyxis_net::body::{IdleTimeout, read_capped};
use pyxis_net::{Error, Wait};
use tokio::time::Instant;

type Item = Result<Frame<Bytes>, Error>;

fn pieces(pieces: &[&'static str]) -> StreamBody<impl stream::Stream<Item = Item> + Unpin + use<>> {
    let frames: Vec<Item> =
        pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))).collect();
    StreamBody::new(stream::iter(frames))
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_read_whole() {
    assert_eq!(read_capped(pieces(&[]), 0).await.unwrap(), "");
    assert_eq!(read_capped(pieces(&["abc"]), 3).await.unwrap(), "abc");
    assert_eq!(read_capped(pieces(&["ab", "", "c", "de"]), 5).await.unwrap(), "abcde");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    for body in [&["abcd"][..], &["abc", "d"], &["", "ab", "cd"]] {
        let error = read_capped(pieces(body), 3).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { max: 3 }), "{error:?}");
    }
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_not_read() {
    let body = Full::new(Bytes::from_static(b"abcd"));
    assert!(matches!(read_capped(body, 3).await, Err(Error::TooLarge { max: 3 })));
}

#[tokio::test]
async fn trailers_do_not_count_as_body() {
    let frames: Vec<Item> = vec![Ok(Frame::data("abc".into())), Ok(Frame::trailers(HeaderMap::new()))];
    assert_eq!(read_capped(StreamBody::new(stream::iter(frames)), 3).await.unwrap(), "abc");
}

/// A body with a piece after each pause, then silence.
fn after_pauses(seconds: &'static [u64]) -> StreamBody<impl stream::Stream<Item = Item>> {
    StreamBody::new(stream::unfold(seconds.iter(), |mut rest| async {
        match rest.next() {
            Some(pause) => tokio::time::sleep(Duration::from_secs(*pause)).await,
            None => std::future::pending().await,
        }
        Some((Ok(Frame::data("x".into())), rest))
    }))
}

#[tokio::test(start_paused = true)]
async fn silence_is_measured_from_piece_to_piece() {
    let started = Instant::now();
    let mut body = IdleTimeout::new(Box::pin(after_pauses(&[9, 9, 0, 9])), Duration::from_secs(10));
    for _ in 0..4 {
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
    }
    let error = body.frame().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Timeout(Wait::Idle)), "{error:?}");
    assert_eq!(started.elapsed().as_secs(), 9 + 9 + 9 + 10);
    assert!(body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_taken_for_a_silent_source() {
    let mut body = IdleTimeout::new(Box::pin(after_pauses(&[1, 1])), Duration::from_secs(10));
    assert!(body.frame().await.unwrap().is_ok());
    tokio::time::advance(Duration::from_mins(1)).await;
    assert!(body.frame().await.unwrap().is_ok());
}
