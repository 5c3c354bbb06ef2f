//! The parts of a response other than its body, and bodies that never end
//! (`docs/reference/behavior/proxy.md#scrubbing`).

use std::io::Write;
use std::net::SocketAddr;

use flate2::Compression;
use flate2::write::GzEncoder;
use pyxis_testkit::upstream::Reply;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::client::dial;
use crate::support::response::StreamedResponse;
use crate::support::{SECRET, Site};

const MARK: &str = "[REDACTED:api]";

/// An upstream that answers one request with exactly these bytes, and the credential `raw` for it; returns its target.
async fn raw_upstream(site: &Site, answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let fields = json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": [host]});
    site.credential("raw", &fields).await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    format!("http://{host}/")
}

/// The bytes that the program returns on the wire for this request.
async fn on_the_wire(address: SocketAddr, request: &str) -> String {
    let mut stream = dial(address).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_words_behind_a_status_do_not_reach_the_agent() {
    let site = Site::new().await;
    let reply = format!("HTTP/1.1 200 Welcome {SECRET}\r\nContent-Length: 2\r\n\r\nok");
    let target = raw_upstream(&site, reply).await;
    let request = format!(
        "POST /forward HTTP/1.1\r\nHost: px\r\nX-PX-Key: {}\r\nX-PX-Credential: raw\r\nX-PX-Method: GET\r\n\
         X-PX-Target: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        site.agent.key,
    );
    let answer = on_the_wire(site.app.address(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"), "{answer}");
    assert!(!answer.contains(SECRET) && !answer.contains("Welcome"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_value_of_a_trailer_is_scrubbed_over_http_1_too() {
    let site = Site::new().await;
    let reply = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n\
         4\r\nbody\r\n0\r\nX-Sum: sum of {SECRET}\r\n\r\n",
    );
    let target = raw_upstream(&site, reply).await;
    let call = site.agent.forward("raw", "GET", &target).header("te", "trailers");
    let answer = call.send().await.forwarded(200);
    assert_eq!(answer.text(), "body");
    assert_eq!(answer.trailers["x-sum"].to_str().unwrap(), "sum of [REDACTED:raw]");
    answer.hides(SECRET);
}

/// Reads exactly as much as expected, in any number of pieces.
async fn next(answer: &mut StreamedResponse, expected: &str) {
    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        seen.extend_from_slice(&answer.chunk().await.expect("more of the stream"));
    }
    assert_eq!(String::from_utf8(seen).unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_of_a_compressed_stream_arrives_scrubbed_before_the_next_is_sent() {
    let site = Site::new().await;
    let (reply, events) = Reply::streaming();
    let reply = reply.header("content-type", "text/event-stream").header("content-encoding", "gzip");
    site.upstream.reply(reply);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let mut send = |text: &str| {
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.flush().unwrap();
        events.send(std::mem::take(gzip.get_mut()));
    };
    send("data: hello\n\n");
    let mut answer = site.forward("GET", "/events").open().await;
    assert_eq!((answer.status, answer.headers.get("content-encoding")), (200, None));
    next(&mut answer, "data: hello\n\n").await;

    send(&format!("data: you are {SECRET}\n\n"));
    next(&mut answer, &format!("data: you are {MARK}\n\n")).await;

    // A secret that is cut waits for the rest; anything before it does not.
    let (head, tail) = SECRET.split_at(9);
    send(&format!("data: again {head}"));
    next(&mut answer, "data: again ").await;
    send(&format!("{tail}\n\n"));
    next(&mut answer, &format!("{MARK}\n\n")).await;

    send("data: bye\n\n");
    next(&mut answer, "data: bye\n\n").await;
    events.send(gzip.finish().unwrap());
    drop(events);
    assert_eq!(answer.chunk().await, None);
}
