//! Responses over HTTP/2 that cannot be read: malformed frames, bad header blocks, too many headers.

use http_body_util::BodyExt;
use pyxis_net::Error;
use pyxis_testkit::tls::Authority;

use crate::support::{Frame, PATIENCE, answers_with_frame, post};

/// Kinds of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200` of the static table.
const OK: u8 = 0x88;
/// The stream of the connection itself.
const CONNECTION: [u8; 4] = [0; 4];

fn frame(kind: u8, flags: u8, id: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[..], &[kind, flags], &id, payload].concat()
}

/// A header line that is in no table, of names and values under 127 bytes.
fn line(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

/// A whole response head without a body: status 200 and these lines.
fn head(id: [u8; 4], lines: &[(&str, &str)]) -> Vec<u8> {
    let lines = lines.iter().flat_map(|(name, value)| line(name, value));
    let block: Vec<u8> = [OK].into_iter().chain(lines).collect();
    frame(HEADERS, END_HEADERS | END_STREAM, id, &block)
}

/// The head of a response with a body of five bytes, and these frames.
fn begun(id: [u8; 4], frames: &[u8]) -> Vec<u8> {
    let block = [vec![OK], line("content-length", "5")].concat();
    [&frame(HEADERS, END_HEADERS, id, &block), frames].concat()
}

/// More header lines than are read, in as many frames as they need.
fn many_lines(id: [u8; 4]) -> Vec<u8> {
    let lines = line("x-line", &"y".repeat(100)).repeat(30_000);
    let mut frames = frame(HEADERS, 0, id, &[OK]);
    for chunk in lines.chunks(16_384) {
        frames.extend(frame(CONTINUATION, 0, id, chunk));
    }
    frames.extend(frame(CONTINUATION, END_HEADERS, id, &[]));
    frames
}

/// One line of 3,000 bytes that enters the table, and one byte for each of its repetitions: megabytes in one frame.
fn compressed_lines(id: [u8; 4]) -> Vec<u8> {
    let name = [&[0x40, 6][..], b"x-line"].concat();
    // RFC 7541, section 5.1: 127, then the rest in groups of seven bits.
    let value = [&[0x7f, 0x80 | 0x39, 0x16][..], &[b'y'; 127 + 0x39 + 0x16 * 128]].concat();
    // Index 62: the first entry after the static table.
    let again = vec![0x80 | 0x3e; 13_000];
    frame(HEADERS, END_HEADERS, id, &[vec![OK], name, value, again].concat())
}

/// The failure of a POST that is answered with these frames.
async fn failure(authority: &Authority, frames: Frame) -> Error {
    let (client, url) = answers_with_frame(authority, frames).await;
    client.send(post(&url, "x"), PATIENCE).await.expect_err("a failure")
}

#[tokio::test]
async fn over_http_2_an_answer_that_cannot_be_read_says_that_the_host_answered() {
    let authority = Authority::new();
    let cases: [(&str, Frame); 22] = [
        ("another protocol", |_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("a frame above the limit", |id| frame(DATA, 0, id, &vec![0; 16_385])),
        ("data of no stream", |_| frame(DATA, 0, CONNECTION, b"x")),
        ("data before the head", |id| frame(DATA, 0, id, b"x")),
        ("a head of a stream that nobody opened", |_| head([0, 0, 0, 99], &[])),
        ("a head of an even stream", |_| head([0, 0, 0, 2], &[])),
        ("a head of no stream", |_| head(CONNECTION, &[])),
        ("an index of no table", |id| frame(HEADERS, END_HEADERS, id, &[0x80])),
        ("a header block that ends early", |id| frame(HEADERS, END_HEADERS, id, &[OK, 0, 5, b'x'])),
        ("padding that is longer than the frame", |id| frame(HEADERS, END_HEADERS | 8, id, &[200, OK])),
        ("a head without a status", |id| frame(HEADERS, END_HEADERS, id, &line("x", "y"))),
        ("a status that is no number", |id| frame(HEADERS, END_HEADERS, id, &line(":status", "abc"))),
        ("a name in capitals", |id| head(id, &[("X-Line", "y")])),
        ("a value with a zero byte", |id| head(id, &[("x-line", "a\0b")])),
        ("a header of connections", |id| head(id, &[("connection", "close")])),
        ("a length of nothing", |id| head(id, &[("content-length", "5")])),
        ("two lengths", |id| head(id, &[("content-length", "0"), ("content-length", "1")])),
        ("another frame between the parts of a head", |id| {
            [frame(HEADERS, 0, id, &[OK]), frame(PING, 0, CONNECTION, &[0; 8])].concat()
        }),
        ("a continuation of nothing", |id| frame(CONTINUATION, END_HEADERS, id, &[OK])),
        ("a ping of seven bytes", |_| frame(PING, 0, CONNECTION, &[0; 7])),
        ("half a setting", |_| frame(SETTINGS, 0, CONNECTION, &[0; 5])),
        ("a window beyond the largest", |_| frame(WINDOW_UPDATE, 0, CONNECTION, &[0x7f, 0xff, 0xff, 0xff])),
    ];
    for (name, frames) in cases {
        let error = failure(&authority, frames).await;
        assert!(matches!(error, Error::Protocol(_)), "{name}: {error:?}");
        // The request may have been carried out, as over HTTP/1.
        assert!(error.was_sent(), "{name}");
        let told = error.public_message();
        assert!(told.starts_with("the host answered") && !told.contains("HTTP"), "{name}: {told}");
    }
}

#[tokio::test]
async fn over_http_2_more_headers_than_are_read_at_all_are_an_answer_too() {
    let authority = Authority::new();
    let cases: [(&str, Frame); 3] = [
        ("many lines", many_lines),
        ("compressed lines", compressed_lines),
        ("a promise that was not allowed", |id| frame(PUSH_PROMISE, END_HEADERS, id, &[0, 0, 0, 2, OK])),
    ];
    for (name, frames) in cases {
        let error = failure(&authority, frames).await;
        assert!(matches!(error, Error::Protocol(_)), "{name}: {error:?}");
        assert!(error.was_sent() && error.public_message().starts_with("the host answered"), "{name}");
    }
}

#[tokio::test]
async fn over_http_2_a_connection_that_ends_within_a_frame_was_broken_off() {
    let authority = Authority::new();
    let cases: [(&str, Frame); 3] = [
        ("nothing", |_| Vec::new()),
        ("half a frame head", |_| vec![0, 0]),
        ("half a frame", |id| head(id, &[("x", "y")])[..11].to_vec()),
    ];
    for (name, frames) in cases {
        let error = failure(&authority, frames).await;
        assert!(matches!(error, Error::Closed { sent: true, .. }), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn over_http_2_a_body_that_cannot_be_read_is_told_from_one_that_was_broken_off() {
    let authority = Authority::new();
    let cases: [(&str, Frame, bool); 5] = [
        ("data beyond the length", |id| begun(id, &frame(DATA, END_STREAM, id, b"abcdef")), true),
        ("a frame above the limit", |id| begun(id, &frame(DATA, 0, id, &vec![0; 16_385])), true),
        ("bad trailers", |id| begun(id, &frame(HEADERS, END_HEADERS | END_STREAM, id, &[0x80])), true),
        // INTERNAL_ERROR
        ("a reset", |id| begun(id, &frame(RST_STREAM, 0, id, &[0, 0, 0, 2])), false),
        ("the end of the connection", |id| begun(id, &[]), false),
    ];
    for (name, frames, is_unreadable) in cases {
        let (client, url) = answers_with_frame(&authority, frames).await;
        let response = client.send(post(&url, "x"), PATIENCE).await.unwrap();
        let error = Error::from(response.into_body().collect().await.expect_err("a failure"));
        assert_eq!(matches!(error, Error::Protocol(_)), is_unreadable, "{name}: {error:?}");
        assert!(error.was_sent(), "{name}");
    }
}
