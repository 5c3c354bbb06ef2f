//! Exact request bytes and the resulting status lines.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::{Body as HttpBody, Frame};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use pyxis_http::body::{self, BodyError};
use pyxis_http::serve::{
    BODY_TIMEOUT, BODY_TOTAL, HEAD_TIMEOUT, KEEP_ALIVE, MAX_HEADER_BYTES, MAX_HEADER_FIELDS, MAX_URI_BYTES,
    SLOWEST_BODY, serve,
};

/// Maximum body size that the handler reads.
const LIMIT: usize = 1000;

/// Answers with the path and the body, read up to a limit. Paths below `/unread` leave the body unread.
async fn handle(request: Request<Body>) -> Result<Response, Infallible> {
    let path = request.uri().path().to_owned();
    let body = if path.starts_with("/unread") {
        Ok(Bytes::new())
    } else {
        body::read(request.into_body(), LIMIT).await
    };
    Ok(match body {
        Ok(body) => format!("{path} {}", String::from_utf8_lossy(&body)).into_response(),
        Err(BodyError::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(BodyError::Broken) => (StatusCode::BAD_REQUEST, "broken").into_response(),
    })
}

/// Answers with the length of the body, of any length.
async fn drain(request: Request<Body>) -> Result<Response, Infallible> {
    let mut body = request.into_body();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Ok(StatusCode::BAD_REQUEST.into_response()) };
        length += frame.data_ref().map_or(0, Bytes::len);
    }
    Ok(length.to_string().into_response())
}

async fn serve_with<F>(handler: fn(Request<Body>) -> F) -> SocketAddr
where
    F: Future<Output = Result<Response, Infallible>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, tower::service_fn(handler), std::future::pending()));
    address
}

#[expect(clippy::disallowed_methods, reason = "a test dials its own server")]
async fn dial_to(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Connects to a new server.
async fn dial() -> TcpStream {
    dial_to(serve_with(handle).await).await
}

/// Sends `bytes` and reads until the server closes.
async fn exchange(bytes: &[u8]) -> String {
    let mut stream = dial().await;
    stream.write_all(bytes).await.unwrap();
    rest(&mut stream).await
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// Reads until `end` arrives.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        answer.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}

fn status_line(answer: &str) -> &str {
    answer.lines().next().unwrap_or_default()
}

/// Asserts a response made by the server itself, with this status and code, after which it closes.
#[track_caller]
fn assert_refused(answer: &str, status: &str, code: &str) {
    assert_eq!(status_line(answer), format!("HTTP/1.1 {status}"), "{answer}");
    for line in [
        &format!("px-error: {code}"),
        "content-type: application/problem+json",
        "connection: close",
        // Any page may read the reason.
        "access-control-allow-origin: *",
    ] {
        assert!(answer.lines().any(|found| found == line), "{line}: {answer}");
    }
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

#[tokio::test]
async fn a_malformed_request_gets_400_with_a_problem_body() {
    for request in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a:\r\n\r\n",
        "GET http://a:99999/ HTTP/1.1\r\nHost: a:99999\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3,3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
    ] {
        assert_refused(&exchange(request.as_bytes()).await, "400 Bad Request", "malformed_request");
    }
    let other = exchange(b"GET / HTTP/3.0\r\nHost: a\r\n\r\n").await;
    assert_refused(&other, "505 HTTP Version Not Supported", "http_version");
}

#[tokio::test]
async fn http_1_0_needs_no_host_and_the_target_may_be_absolute() {
    let old = exchange(b"GET /old HTTP/1.0\r\n\r\n").await;
    assert!(old.starts_with("HTTP/1.0 200 OK") && old.ends_with("/old "), "{old}");
    let absolute = b"GET http://A.example/x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    let absolute = exchange(absolute).await;
    assert!(absolute.starts_with("HTTP/1.1 200 OK") && absolute.ends_with("/x "), "{absolute}");
}

#[tokio::test]
async fn a_head_over_the_limits_gets_431_or_414_before_it_has_ended() {
    let large = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "y".repeat(MAX_HEADER_BYTES));
    let answer = exchange(large.as_bytes()).await;
    assert_refused(&answer, "431 Request Header Fields Too Large", "headers_too_large");
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(MAX_HEADER_FIELDS));
    let answer = exchange(many.as_bytes()).await;
    assert_refused(&answer, "431 Request Header Fields Too Large", "headers_too_large");
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(MAX_URI_BYTES));
    assert_refused(&exchange(long.as_bytes()).await, "414 URI Too Long", "uri_too_long");
    // A request of exactly the maximum size is served.
    let value = "y".repeat(MAX_HEADER_BYTES - "Host: a\r\nConnection: close\r\nX: \r\n\r\n".len());
    let fits = format!("GET /fits HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: {value}\r\n\r\n");
    assert_eq!(status_line(&exchange(fits.as_bytes()).await), "HTTP/1.1 200 OK");
    let many = "X: y\r\n".repeat(MAX_HEADER_FIELDS - 2);
    let fits = format!("GET /fits HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{many}\r\n");
    assert_eq!(status_line(&exchange(fits.as_bytes()).await), "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_turn_and_the_bad_one_is_the_last() {
    let requests = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi\
                    POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\n\r\n\
                    GET /3 HTTP/1.1\r\n\r\n\
                    GET /4 HTTP/1.1\r\nHost: a\r\n\r\n";
    let in_turn = |answer: &str| {
        let statuses: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).map(|rest| &rest[..3]).collect();
        assert_eq!(statuses, ["200", "200", "400"], "{answer}");
        assert!(answer.contains("/1 hi") && answer.contains("/2 ho") && !answer.contains("/4"), "{answer}");
    };
    in_turn(&exchange(requests.as_bytes()).await);
    // The same request in pieces of every size.
    for size in [1, 2, 3, 7, 24, 25, 61] {
        let mut stream = dial().await;
        stream.set_nodelay(true).unwrap();
        for piece in requests.as_bytes().chunks(size) {
            if stream.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        in_turn(&rest(&mut stream).await);
    }
}

#[tokio::test]
async fn an_announced_body_over_the_limit_is_never_asked_for() {
    for expect in ["", "Expect: 100-continue\r\n"] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n{expect}\r\n");
        let answer = exchange(request.as_bytes()).await;
        assert_eq!(status_line(&answer), "HTTP/1.1 413 Payload Too Large", "{answer}");
        assert!(!answer.contains("100 Continue"), "{answer}");
    }
    let mut stream = dial().await;
    let request = b"POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(request).await.unwrap();
    assert_eq!(until(&mut stream, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hi").await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("/x hi"), "{answer}");
}

#[tokio::test]
async fn a_client_that_sends_on_still_reads_why_it_was_refused() {
    for target in ["/", "/unread"] {
        let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
        let stream = dial().await;
        let (mut reading, mut writing) = stream.into_split();
        let sending = tokio::spawn(async move {
            writing.write_all(head.as_bytes()).await.unwrap();
            let sent = writing.write_all(&vec![b'x'; 8_000_000]).await;
            (writing, sent)
        });
        let mut answer = String::new();
        reading.read_to_string(&mut answer).await.unwrap();
        let expected = if target == "/" { "HTTP/1.1 413 Payload Too Large" } else { "HTTP/1.1 200 OK" };
        assert_eq!(status_line(&answer), expected);
        assert!(sending.await.unwrap().1.is_ok(), "the connection was reset");
    }
}

#[tokio::test]
async fn a_damaged_chunk_ends_the_body_and_the_connection() {
    for chunks in ["2\nhi\n0\n\n", "zz\r\n", "2\r\nhiX\r\n0\r\n\r\n", "2\r\nhi\r\n0\r\n\n"] {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = exchange(format!("{head}{chunks}").as_bytes()).await;
        assert_eq!(status_line(&answer), "HTTP/1.1 400 Bad Request", "{chunks:?} {answer}");
    }
}

// With paused time, these tests advance the clock only while everything else is idle.

#[tokio::test(start_paused = true)]
async fn a_head_that_takes_too_long_gets_408_and_none_at_all_gets_nothing() {
    let answer = exchange(b"GET / HTTP/1.1\r\nHo").await;
    assert_refused(&answer, "408 Request Timeout", "request_timeout");
    assert_eq!(exchange(b"").await, "");
    // The start of an HTTP/2 connection counts as a head, too.
    assert_refused(&exchange(b"PRI * HTTP").await, "408 Request Timeout", "request_timeout");
}

#[tokio::test(start_paused = true)]
async fn a_head_in_drops_has_no_more_time_than_one_in_a_piece() {
    let mut stream = dial().await;
    let began = tokio::time::Instant::now();
    for byte in "GET / HTTP/1.1\r\nX: ".bytes().chain(std::iter::repeat(b'y')) {
        if began.elapsed() > HEAD_TIMEOUT || stream.write_all(&[byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_refused(&rest(&mut stream).await, "408 Request Timeout", "request_timeout");
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_next_request_is_closed_after_its_time_and_not_before() {
    let second = Duration::from_secs(1);
    let mut stream = dial().await;
    for path in ["/first", "/second"] {
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        until(&mut stream, &format!("{path} ")).await;
        tokio::time::sleep(KEEP_ALIVE.saturating_sub(second)).await;
    }
    let began = tokio::time::Instant::now();
    assert_eq!(rest(&mut stream).await, "", "closed without a word");
    assert!(began.elapsed() <= 2 * second, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_gets_408() {
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n5\r\nh");
        assert_refused(&exchange(request.as_bytes()).await, "408 Request Timeout", "request_timeout");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_goes_on_may_take_its_time() {
    let mut stream = dial().await;
    let head = b"POST /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10\r\n\r\n";
    stream.write_all(head).await.unwrap();
    for _ in 0..10 {
        tokio::time::sleep(BODY_TIMEOUT / 2).await;
        stream.write_all(b"x").await.unwrap();
    }
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("/slow xxxxxxxxxx"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_body_in_drops_gets_408_after_the_total_time() {
    let mut stream = dial().await;
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n").await.unwrap();
    let began = tokio::time::Instant::now();
    let answer = loop {
        let second = tokio::time::sleep(Duration::from_secs(1));
        let mut answer = [0; 4096];
        tokio::select! {
            read = stream.read(&mut answer) => {
                let first = String::from_utf8_lossy(&answer[..read.unwrap()]).into_owned();
                break first + &rest(&mut stream).await;
            }
            () = second => stream.write_all(b"x").await.unwrap(),
        }
    };
    let took = began.elapsed();
    assert!((BODY_TOTAL..BODY_TOTAL + Duration::from_secs(2)).contains(&took), "{took:?}");
    assert_refused(&answer, "408 Request Timeout", "request_timeout");
    assert!(answer.contains("the body arrived too slowly"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_long_body_at_the_slowest_rate_has_no_total_time() {
    let mut stream = dial_to(serve_with(drain).await).await;
    let seconds = usize::try_from(BODY_TOTAL.as_secs()).unwrap() * 2;
    let piece = vec![b'x'; usize::try_from(SLOWEST_BODY).unwrap()];
    let (head, length) = ("POST / HTTP/1.1\r\nHost: a\r\nConnection: close", seconds * piece.len());
    stream.write_all(format!("{head}\r\nContent-Length: {length}\r\n\r\n").as_bytes()).await.unwrap();
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stream.write_all(&piece).await.unwrap();
    }
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with(&length.to_string()), "{answer}");
}

/// A body fed through a channel.
struct Feed(mpsc::UnboundedReceiver<Bytes>);

impl HttpBody for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Connects over HTTP/2 with prior knowledge.
async fn h2<B>() -> http2::SendRequest<B>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    let stream = dial().await;
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn h2_answer(request: http::request::Builder) -> (StatusCode, Option<String>) {
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let response = h2().await.send_request(request).await.unwrap();
    let code = response.headers().get("px-error").map(|code| code.to_str().unwrap().to_owned());
    assert!(!response.headers().contains_key("connection"));
    assert_eq!(response.headers().contains_key("access-control-allow-origin"), code.is_some());
    (response.status(), code)
}

#[tokio::test]
async fn over_http_2_the_same_limits_hold() {
    let get = || Request::get("http://a.example/x");
    let refused = |status: u16, code: &str| (StatusCode::from_u16(status).unwrap(), Some(code.to_owned()));
    assert_eq!(h2_answer(get()).await, (StatusCode::OK, None));
    assert_eq!(h2_answer(get().header("host", "A.example")).await, (StatusCode::OK, None));
    assert_eq!(h2_answer(get().header("host", "b.example")).await, refused(400, "malformed_request"));
    let twice = get().header("host", "a.example").header("host", "a.example");
    assert_eq!(h2_answer(twice).await, refused(400, "malformed_request"));
    for port in ["99999", "b", ""] {
        let target = Request::get(format!("http://a.example:{port}/x"));
        assert_eq!(h2_answer(target).await, refused(400, "malformed_request"), "{port:?}");
    }
    let twice = get().header("content-length", "0").header("content-length", "0");
    assert_eq!(h2_answer(twice).await, refused(400, "malformed_request"));
    for bytes in [20_000, 60_000] {
        assert_eq!(h2_answer(get().header("x", "y".repeat(bytes))).await, (StatusCode::OK, None), "{bytes}");
    }
    for bytes in [70_000, 300_000] {
        let answer = h2_answer(get().header("x", "y".repeat(bytes))).await;
        assert_eq!(answer, refused(431, "headers_too_large"), "{bytes}");
    }
    let many =
        (0..=MAX_HEADER_FIELDS).fold(get(), |request, number| request.header(format!("x-{number}"), "y"));
    assert_eq!(h2_answer(many).await, refused(431, "headers_too_large"));
}

#[tokio::test]
async fn over_http_2_an_announced_body_over_the_limit_is_refused_unread() {
    let (_open, pieces) = mpsc::unbounded_channel();
    let request = Request::post("http://a.example/x").header("content-length", "1001");
    let request = request.body(Feed(pieces)).unwrap();
    let response = h2().await.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn over_http_2_a_body_that_contradicts_its_length_is_not_served() {
    for (length, text) in [("5", "hi"), ("1", "hi")] {
        let request = Request::post("http://a.example/x").header("content-length", length);
        let request = request.body(Full::new(Bytes::from_static(text.as_bytes()))).unwrap();
        let served =
            h2().await.send_request(request).await.is_ok_and(|response| response.status().is_success());
        assert!(!served, "{length} {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn over_http_2_a_body_that_stalls_gets_408() {
    let (open, pieces) = mpsc::unbounded_channel();
    let request = Request::post("http://a.example/x").body(Feed(pieces)).unwrap();
    open.send(Bytes::from_static(b"hi")).unwrap();
    let response = h2().await.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{") && body.windows(15).any(|part| part == b"request_timeout"), "{body:?}");
    drop(open);
}
