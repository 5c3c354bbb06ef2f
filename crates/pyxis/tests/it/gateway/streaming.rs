//! Bodies stream both ways; timeouts and broken upstreams (`docs/reference/forwarding.md#limits-on-requests`).

use std::net::SocketAddr;

use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::client::dial;
use crate::support::upload::send_zeros;
use crate::support::{SECRET, Site};

const LARGE: usize = 64 * 1024 * 1024;

/// Most growth of the process while 64 MiB pass through it.
const ROOM_KIB: usize = 24 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_arrives_before_the_next_is_sent() {
    let site = Site::new().await;
    let (reply, events) = Reply::streaming();
    site.upstream.reply(reply.header("content-type", "text/event-stream"));
    let mut answer = site.forward("GET", "/events").open().await;
    assert_eq!(answer.status, 200);
    for number in 0..3 {
        let event = format!("data: {number}\n\n");
        events.send(event.clone());
        let mut seen = Vec::new();
        while seen.len() < event.len() {
            seen.extend_from_slice(&answer.chunk().await.expect("an event"));
        }
        assert_eq!(String::from_utf8(seen).unwrap(), event);
    }
    drop(events);
    assert_eq!(answer.chunk().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_goes_away_ends_the_upstreams_stream() {
    let site = Site::new().await;
    let (reply, events) = Reply::streaming();
    site.upstream.reply(reply.header("content-type", "text/event-stream"));
    let mut answer = site.forward("GET", "/events").open().await;
    events.send("data: 1\n\n");
    answer.chunk().await.expect("an event");
    drop(answer);
    events.closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_upload_is_not_held_in_memory() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["PUT"]})).await;
    site.forward("PUT", "/warm").body(vec![0; 1024 * 1024]).send().await.forwarded(200);
    let before = site.app.resident_kib();
    let (call, sender) = site.forward("PUT", "/large").upload();
    let sending = tokio::spawn(send_zeros(sender, LARGE));
    let answer = call.send().await.forwarded(200);
    sending.await.unwrap();
    let after = site.app.resident_kib();
    assert_eq!(answer.text(), "ok");
    assert_eq!(site.upstream.received(2).await[1].body.len(), LARGE);
    assert!(after < before + ROOM_KIB, "{before} KiB before, {after} KiB after");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_download_is_not_held_in_memory() {
    let site = Site::new().await;
    site.upstream.reply(Reply::ok(vec![b'x'; 1024 * 1024]));
    site.forward("GET", "/warm").send().await.forwarded(200);
    let before = site.app.resident_kib();
    site.upstream.reply(Reply::ok(vec![b'x'; LARGE]));
    let mut answer = site.forward("GET", "/large").open().await;
    let (mut length, mut most) = (0, before);
    while let Some(chunk) = answer.chunk().await {
        length += chunk.len();
        most = most.max(site.app.resident_kib());
    }
    assert_eq!(length, LARGE);
    assert!(most < before + ROOM_KIB, "{before} KiB before, {most} KiB meanwhile");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_begins_to_flow_before_it_is_complete() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["POST"]})).await;
    // A body that may be a form could name another method, and is read first.
    let (call, sender) =
        site.forward("POST", "/").header("content-type", "application/octet-stream").upload();
    let answering = tokio::spawn(call.send());
    sender.send("first".into()).await.unwrap();
    let seen = site.upstream.until(|all| all.first().is_some_and(|request| !request.body.is_empty())).await;
    assert!(!seen[0].complete);
    sender.send(" second".into()).await.unwrap();
    drop(sender);
    answering.await.unwrap().forwarded(200);
    assert_eq!(site.upstream.received(1).await[0].text(), "first second");
}

/// Speaks HTTP/1.1 by hand: the head, and the body only when told to continue.
async fn expecting_continue(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = dial(address).await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut buffer = [0; 1024];
    let read = stream.read(&mut buffer).await.unwrap();
    let first = String::from_utf8_lossy(&buffer[..read]).into_owned();
    if !first.starts_with("HTTP/1.1 100") {
        return first;
    }
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    rest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expect_continue_is_answered_locally() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["POST"]})).await;
    let head = format!(
        "POST /forward HTTP/1.1\r\nHost: px\r\nX-PX-Key: {}\r\nX-PX-Credential: api\r\nX-PX-Method: POST\r\n\
         X-PX-Target: {}\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n",
        site.agent.key,
        site.upstream.url("/"),
    );
    let answer = expecting_continue(site.app.address(), &head, "hello").await;
    assert!(answer.contains("200 OK"), "{answer}");
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!((request.text(), request.header("expect")), ("hello", None));
}

#[tokio::test]
async fn head_brings_headers_and_no_body() {
    let site = Site::new().await;
    site.upstream.reply(Reply::ok("twelve bytes").header("etag", "\"e\""));
    let answer = site.forward("HEAD", "/").send().await.forwarded(200);
    assert_eq!((answer.header("etag"), answer.body.len()), (Some("\"e\""), 0));
    // The agent's own request was a POST, whose response has exactly the length that it declares.
    assert_eq!(answer.header("content-length"), Some("0"));
}

#[tokio::test]
async fn a_head_of_ones_own_tells_the_length_that_a_get_would_have() {
    let site = Site::new().await;
    site.upstream.reply(Reply::ok("twelve bytes"));
    let bearer = format!("Bearer {}", site.agent.key);
    let call = site.app.anonymous().call("HEAD", "/p/api/x").header("authorization", &bearer);
    let answer = call.send().await.forwarded(200);
    assert_eq!((answer.header("content-length"), answer.body.len()), (Some("12"), 0));
}

#[tokio::test]
async fn statuses_without_a_body_pass() {
    let site = Site::new().await;
    for status in [204, 304] {
        site.upstream.reply(Reply::new(status));
        assert_eq!(site.forward("GET", "/").send().await.forwarded(status).body.len(), 0);
    }
    for status in [400, 401, 403, 404, 429, 500, 503] {
        site.upstream.reply(Reply::new(status).body("theirs"));
        assert_eq!(site.forward("GET", "/").send().await.forwarded(status).text(), "theirs");
    }
}

#[tokio::test]
async fn an_upstream_that_says_nothing_times_out() {
    let site = Site::new_with_env("PX_FORWARD_TIMEOUT_SECS", "1").await;
    let (reply, _release) = Reply::ok("late").hold();
    site.upstream.reply(reply);
    site.forward("GET", "/").send().await.problem(504, "upstream_timeout");
}

#[tokio::test]
async fn an_upstream_that_breaks_off_or_is_gone_is_an_upstream_error() {
    let site = Site::new().await;
    site.upstream.reply(Reply::abort());
    site.forward("GET", "/").send().await.problem(502, "upstream_error");
    let gone = Upstream::http().await;
    let (address, url) = (gone.addr().to_string(), gone.url("/"));
    drop(gone);
    site.credential(
        "gone",
        &json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": [address]}),
    )
    .await;
    site.agent.forward("gone", "GET", &url).send().await.problem(502, "upstream_error");
}

#[tokio::test]
async fn a_body_that_breaks_off_does_not_look_complete() {
    let site = Site::new().await;
    let (reply, pieces) = Reply::streaming();
    site.upstream.reply(reply);
    let mut answer = site.forward("GET", "/").open().await;
    pieces.send("half");
    answer.chunk().await.expect("the first half");
    pieces.abort();
    assert!(answer.try_read().await.is_err());
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_an_upstream_error() {
    let site = Site::new().await;
    let upstream = Upstream::https(&Authority::new(), &["127.0.0.1"]).await;
    let fields =
        json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": [upstream.addr().to_string()]});
    site.credential("tls", &fields).await;
    site.agent.forward("tls", "GET", &upstream.url("/")).send().await.problem(502, "upstream_error");
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn connections_to_the_upstream_are_kept() {
    let site = Site::new().await;
    for _ in 0..10 {
        site.forward("GET", "/").send().await.forwarded(200);
    }
    // A connection may not be back yet when the next request needs it.
    let connections = site.upstream.connections();
    assert!(connections <= 3, "{connections}");
}
