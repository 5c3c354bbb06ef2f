//! Requests and responses on the wire.

use std::net::SocketAddr;
use std::process::Command;

use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use pyxis_net::{BoxError, Error, InvalidRequest, body};
use pyxis_testkit::upstream::{Reply, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::support::{PATIENCE, client, failure, get, post, read};

/// Accepts one connection, answers its first request with `answer`, and returns the request's head.
async fn raw(answer: &'static [u8]) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(answer).await.unwrap();
        String::from_utf8(head).unwrap()
    });
    (addr, serving)
}

const NO_CONTENT: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test]
async fn path_and_query_go_out_byte_for_byte() {
    let paths = [
        "/",
        "//",
        "/a//b/",
        "/a%2Fb%2f/%7e~",
        "/..%2f..%2Fetc",
        "/.%2e/x",
        "/;a=1;b/c",
        "/a/../b",
        "/caf%C3%A9",
        "/a+b%20c",
        "/x?",
        "/?a=1&b=%26&&c",
        "/x?y=/../?z",
        "/x?q=a+b%2Bc|d^e`",
        "/@user:pw/",
        "/a:b@c",
        "/%00",
        "/[x]?[y]={z}",
    ];
    for path in paths {
        let (addr, serving) = raw(NO_CONTENT).await;
        client().send(get(&format!("http://{addr}{path}")), PATIENCE).await.unwrap();
        let head = serving.await.unwrap();
        assert_eq!(head.lines().next(), Some(format!("GET {path} HTTP/1.1").as_str()));
    }
}

#[tokio::test]
async fn the_virtual_host_is_the_one_that_was_judged() {
    let upstream = Upstream::http().await;
    let mut request = get(&upstream.url("/"));
    request.headers_mut().insert(HOST, "internal.example.com".parse().unwrap());
    request.headers_mut().append(HOST, "other.example.com".parse().unwrap());
    client().send(request, PATIENCE).await.unwrap();
    let requests = upstream.received(1).await;
    assert_eq!(requests[0].header("host"), Some(upstream.addr().to_string().as_str()));
}

#[tokio::test]
async fn framing_comes_from_the_body_and_not_from_the_headers() {
    let upstream = Upstream::http().await;
    for (name, value) in [("content-length", "3"), ("content-length", "99"), ("transfer-encoding", "chunked")]
    {
        let mut request = post(&upstream.url("/"), "hello");
        request.headers_mut().insert(name, value.parse().unwrap());
        client().send(request, PATIENCE).await.unwrap();
    }
    client().send(post(&upstream.url("/"), ""), PATIENCE).await.unwrap();
    for (request, length) in upstream.received(4).await.iter().zip(["5", "5", "5", "0"]) {
        assert_eq!(request.header("content-length"), Some(length));
        assert_eq!(request.header("transfer-encoding"), None);
    }
}

#[tokio::test]
async fn a_body_of_unknown_length_arrives_whatever_the_method() {
    let upstream = Upstream::http().await;
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let (feed, body) = fed();
        feed.send(Ok(Frame::data("query".into()))).unwrap();
        drop(feed);
        let request = Request::builder().method(method).uri(upstream.url("/")).body(body).unwrap();
        client().send(request, PATIENCE).await.unwrap();
    }
    for request in upstream.received(3).await {
        assert_eq!(request.text(), "query", "{}", request.method);
        assert_eq!(request.header("transfer-encoding"), Some("chunked"));
    }
}

#[tokio::test]
async fn method_headers_and_body_arrive_as_sent() {
    let upstream = Upstream::http().await;
    let request = Request::builder()
        .method("PROPFIND")
        .uri(upstream.url("/x"))
        .header("x-one", "1")
        .body(body::full("hello"))
        .unwrap();
    client().send(request, PATIENCE).await.unwrap();
    let requests = upstream.received(1).await;
    assert_eq!(requests[0].method.as_str(), "PROPFIND");
    assert_eq!(requests[0].header("x-one"), Some("1"));
    assert_eq!(requests[0].header("content-length"), Some("5"));
    assert_eq!(requests[0].text(), "hello");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let upstream = Upstream::http().await;
    let client = client();
    for number in 1..=5 {
        read(client.send(post(&upstream.url("/"), "x"), PATIENCE).await.unwrap()).await;
        upstream.received(number).await;
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let (first, second) = (Upstream::http().await, Upstream::http().await);
    for status in [301, 302, 303, 307, 308] {
        first.reply(Reply::new(status).header("location", &second.url("/elsewhere")));
        let response = client().send(get(&first.url("/")), PATIENCE).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["location"], second.url("/elsewhere").as_str());
    }
    assert_eq!(second.connections(), 0);
}

#[tokio::test]
async fn a_response_streams_while_the_upstream_still_writes() {
    let upstream = Upstream::http().await;
    let (reply, chunks) = Reply::streaming();
    upstream.reply(reply);
    let mut response = client().send(get(&upstream.url("/events")), PATIENCE).await.unwrap();
    for text in ["one", "two"] {
        chunks.send(text);
        let frame = response.body_mut().frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), text);
    }
    drop(chunks);
    assert!(response.body_mut().frame().await.is_none());
}

#[tokio::test]
async fn dropping_a_response_ends_the_upstreams_stream() {
    let upstream = Upstream::http().await;
    let (reply, chunks) = Reply::streaming();
    upstream.reply(reply);
    let response = client().send(get(&upstream.url("/events")), PATIENCE).await.unwrap();
    drop(response);
    chunks.closed().await;
}

/// A request body fed by the test.
fn fed() -> (mpsc::UnboundedSender<Result<Frame<Bytes>, BoxError>>, pyxis_net::Body) {
    let (feed, mut rest) = mpsc::unbounded_channel();
    let stream = futures_util::stream::poll_fn(move |cx| rest.poll_recv(cx));
    (feed, body::boxed(StreamBody::new(stream)))
}

#[tokio::test]
async fn a_request_streams_while_the_caller_still_writes() {
    let upstream = Upstream::http().await;
    upstream.reply(Reply::ok("early").early());
    let (feed, body) = fed();
    feed.send(Ok(Frame::data("one".into()))).unwrap();
    let request = Request::post(upstream.url("/upload")).body(body).unwrap();
    let response = client().send(request, PATIENCE).await.unwrap();
    upstream.until(|all| all.iter().any(|request| request.body == "one")).await;
    feed.send(Ok(Frame::data("two".into()))).unwrap();
    drop(feed);
    assert_eq!(upstream.received(1).await[0].body, "onetwo");
    assert_eq!(read(response).await, "early");
}

#[tokio::test]
async fn a_broken_request_body_is_told_apart_from_a_broken_upstream() {
    let upstream = Upstream::http().await;
    let (feed, body) = fed();
    feed.send(Ok(Frame::data("one".into()))).unwrap();
    let client = client();
    let request = Request::post(upstream.url("/upload")).body(body).unwrap();
    let sending = tokio::spawn(async move { failure(&client, request).await });
    upstream.until(|all| !all.is_empty()).await;
    feed.send(Err("the agent hung up".into())).unwrap();
    let error = sending.await.unwrap();
    assert!(matches!(error, Error::RequestBody(_)), "{error:?}");
    assert!(error.was_sent());
    upstream.until(|all| all[0].aborted).await;
}

#[tokio::test]
async fn an_upstream_that_hangs_up_or_talks_nonsense_is_a_typed_failure() {
    let upstream = Upstream::http().await;
    upstream.reply(Reply::abort());
    let error = failure(&client(), get(&upstream.url("/"))).await;
    assert!(matches!(error, Error::Closed { sent: true, .. }), "{error:?}");

    let (addr, _serving) = raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n").await;
    let error = failure(&client(), get(&format!("http://{addr}/"))).await;
    assert!(matches!(error, Error::Protocol(_)), "{error:?}");
    assert!(error.was_sent());
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error_and_not_an_end() {
    let upstream = Upstream::http().await;
    let (reply, chunks) = Reply::streaming();
    upstream.reply(reply);
    let response = client().send(get(&upstream.url("/")), PATIENCE).await.unwrap();
    chunks.send("half");
    chunks.abort();
    let error = body::read_capped(response.into_body(), 100).await.unwrap_err();
    assert!(matches!(error, Error::Closed { sent: true, .. }), "{error:?}");
}

#[tokio::test]
async fn nobody_listening_is_a_connect_failure_and_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let error = failure(&client(), post(&format!("http://{addr}/"), "x")).await;
    assert!(matches!(error, Error::Connect(_)), "{error:?}");
    assert!(!error.was_sent());
}

#[tokio::test]
async fn a_request_that_could_not_be_what_was_judged_is_not_sent() {
    let upstream = Upstream::http().await;
    let with_user = format!("http://user:pw@{}/", upstream.addr());
    let mut connect = get(&upstream.url("/"));
    *connect.method_mut() = Method::CONNECT;
    let cases = [get("/relative"), get("ftp://example.com/"), get(&with_user), connect];
    for request in cases {
        let error = failure(&client(), request).await;
        assert!(matches!(error, Error::Invalid(_)), "{error:?}");
        assert!(!error.was_sent());
    }
    let error = failure(&client(), get(&with_user)).await;
    assert!(matches!(error, Error::Invalid(InvalidRequest::UserInfo)));
    assert_eq!(upstream.connections(), 0);
}

/// Changing the environment of a running process is not safe. The request is therefore made by a second run of this
/// test with the proxy settings in place.
#[tokio::test(flavor = "multi_thread")]
async fn proxy_settings_in_the_environment_are_ignored() {
    const INNER: &str = "PX_TEST_PROXIED";
    #[expect(clippy::disallowed_methods, reason = "tells the inner process from the outer one")]
    let inner = std::env::var_os(INNER).is_some();
    if inner {
        let upstream = Upstream::http().await;
        let response = client().send(get(&upstream.url("/")), PATIENCE).await.unwrap();
        assert_eq!(read(response).await, "ok");
        assert_eq!(upstream.requests()[0].target, "/");
        return;
    }
    let proxy = Upstream::http().await;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "client::proxy_settings_in_the_environment_are_ignored"]).env(INNER, "1");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, proxy.url(""));
    }
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    assert_eq!(proxy.connections(), 0);
}
