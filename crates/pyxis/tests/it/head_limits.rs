//! Limits on message heads: of requests to the program and to the signer, and of responses on their way to agents.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::signer::process::Signer;
use crate::support::client::dial;
use crate::support::{App, SECRET, Setup, Site};

/// Everything received until the server closes.
async fn exchange(address: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut stream = dial(address).await;
    stream.write_all(request.as_ref()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Checks status and `PX-Error` of a problem body, and that nothing else came.
#[track_caller]
fn assert_problem(answer: &str, status: u16, code: &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(head.contains("\r\ncontent-type: application/problem+json"), "{answer}");
    assert!(head.contains(&format!("\r\npx-error: {code}")), "{answer}");
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("no problem: {answer}"));
    assert_eq!((&body["status"], &body["code"]), (&json!(status), &json!(code)), "{answer}");
}

/// Malformed requests that every server of the program refuses, on any path.
async fn refuses_what_is_malformed(address: SocketAddr) {
    for request in [
        "POST /forward HTTP/1.1\r\n\r\n",
        "POST /forward HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET http://a/health HTTP/1.1\r\nHost: b\r\n\r\n",
        "POST /forward HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /forward HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        "POST /forward HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /forward HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "POST /forward HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "GET /health HTTP/1.1\r\nHost: a:99999\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a:b\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a:\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET /health HTTP/1.1\nHost: a\n\n",
        "GET /health HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: a\r\nX: y\0z\r\n\r\n",
    ] {
        let answer = exchange(address, request).await;
        assert_problem(&answer, 400, "malformed_request");
        assert!(answer.contains("\r\naccess-control-allow-origin: *\r\n"), "a page may read it: {answer}");
    }
    let large = format!("GET /health HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(65 * 1024));
    assert_problem(&exchange(address, large).await, 431, "headers_too_large");
    let many = format!("GET /health HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(100));
    assert_problem(&exchange(address, many).await, 431, "headers_too_large");
}

/// The status and code of the answer to a request over HTTP/2 with prior knowledge.
async fn over_http_2(address: SocketAddr, request: http::request::Builder) -> (u16, Value) {
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(dial(address).await)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    (status, body["code"].clone())
}

async fn refuses_it_over_http_2(address: SocketAddr) {
    let get = || Request::get(format!("http://{address}/nothing"));
    let other = get().header("host", "other.example");
    assert_eq!(over_http_2(address, other).await, (400, json!("malformed_request")));
    let large = get().header("x", "y".repeat(65 * 1024));
    assert_eq!(over_http_2(address, large).await, (431, json!("headers_too_large")));
    let fine = get().header("x", "y".repeat(60 * 1024));
    assert_ne!(over_http_2(address, fine).await.0, 431);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_refuses_a_head_that_is_malformed_or_too_large() {
    let app = App::start(Setup::new()).await;
    refuses_what_is_malformed(app.address()).await;
    refuses_it_over_http_2(app.address()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_signer_refuses_a_head_that_is_malformed_or_too_large() {
    let signer = Signer::start(&[]);
    refuses_what_is_malformed(signer.address()).await;
    refuses_it_over_http_2(signer.address()).await;
    // A form is read to be signed, up to a limit.
    let form = "POST / HTTP/1.1\r\nHost: a\r\nX-OAuth-Credential: my-app\r\nX-OAuth-Target: http://127.0.0.1:1/\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1048577\r\n\
                Expect: 100-continue\r\n\r\n";
    assert_problem(&exchange(signer.address(), form).await, 413, "body_too_large");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announced_body_over_the_limit_gets_413_and_no_100() {
    let site = Site::new_with_env("PX_PENDING_BODY_MAX_BYTES", "1000").await;
    let (key, target) = (&site.agent.key, site.upstream.url("/"));
    let token = site.app.owner_token();
    for expect in ["", "Expect: 100-continue\r\n"] {
        for more in ["", "Idempotency-Key: one\r\n"] {
            let forward = format!(
                "POST /forward HTTP/1.1\r\nHost: a\r\nX-PX-Key: {key}\r\nX-PX-Credential: api\r\n\
                 X-PX-Method: POST\r\nX-PX-Target: {target}\r\nContent-Length: 1001\r\n{more}{expect}\r\n"
            );
            assert_problem(&exchange(site.app.address(), forward).await, 413, "body_too_large");
        }
        let admin = format!(
            "POST /admin/agents HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 1048577\r\n{expect}\r\n"
        );
        assert_problem(&exchange(site.app.address(), admin).await, 413, "body_too_large");
    }
    assert!(site.upstream.requests().is_empty());
}

/// A host that answers every request with exactly these bytes, and the credential `raw` for it; returns its target.
async fn raw_host(site: &Site, answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let fields = json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": [host]});
    site.credential("raw", &fields).await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(&answer).await.unwrap();
        }
    });
    format!("http://{host}/")
}

/// A GET through `/forward`, as raw bytes.
async fn get_raw(site: &Site, target: &str) -> String {
    let request = format!(
        "POST /forward HTTP/1.1\r\nHost: px\r\nX-PX-Key: {}\r\nX-PX-Credential: raw\r\nX-PX-Target: {target}\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n",
        site.agent.key,
    );
    exchange(site.app.address(), request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_with_a_thousand_lines_reaches_the_agent_whole() {
    let site = Site::new().await;
    let lines =
        (0..999).map(|number| format!("x-{number}: {}\r\n", "y".repeat(200))).collect::<Vec<_>>().concat();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{lines}\r\nok");
    let target = raw_host(&site, answer.into_bytes()).await;
    let relayed = get_raw(&site, &target).await;
    assert!(relayed.starts_with("HTTP/1.1 200 OK\r\n") && relayed.ends_with("\r\n\r\nok"));
    for number in [0, 99, 100, 101, 500, 998] {
        assert!(relayed.contains(&format!("\r\nx-{number}: yyy")), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_cannot_be_read_says_that_the_host_answered() {
    let site = Site::new().await;
    for answer in
        [format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(1001)), "garbage\r\n\r\n".to_owned()]
    {
        let target = raw_host(&site, answer.into_bytes()).await;
        let answer = get_raw(&site, &target).await;
        assert_problem(&answer, 502, "upstream_error");
        assert!(answer.contains("the host answered, but") && !answer.contains("not HTTP"), "{answer}");
        site.owner.client.delete("/admin/credentials/raw").send().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_post_that_is_answered_101_or_unreadably_says_what_became_of_it() {
    let site = Site::new().await;
    for (answer, error, status) in [
        (
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            "upstream_error",
            json!(101),
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "upstream_error", json!(101)),
        ("garbage\r\n\r\n", "outcome_unknown", Value::Null),
    ] {
        let target = raw_host(&site, answer.into()).await;
        let txn = site.agent.forward("raw", "POST", &target).send().await.txn();
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!((&outcome["error"], &outcome["upstream_status"]), (&json!(error), &status), "{outcome}");
        site.owner.client.delete("/admin/credentials/raw").send().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_damaged_from_its_start_is_told_in_the_head() {
    let site = Site::new().await;
    for body in ["zz\r\nhi\r\n0\r\n\r\n", ""] {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let target = raw_host(&site, answer.into_bytes()).await;
        let answer = get_raw(&site, &target).await;
        assert_problem(&answer, 502, "upstream_error");
        assert!(answer.contains("200"), "it names the status of the host: {answer}");
        site.owner.client.delete("/admin/credentials/raw").send().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_byte_above_7f_survives_the_relay_and_the_poll_answer() {
    let site = Site::new().await;
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: caf\xe9\r\nX-Name: caf\xc3\xa9\r\n\
                   X-Accel-Buffering: no\r\nX-Accel-Redirect: /etc\r\n\r\nok";
    let target = raw_host(&site, answer.to_vec()).await;
    let opened = site.agent.forward("raw", "GET", &target).send().await;
    let names: Vec<&[u8]> =
        opened.headers.get_all("x-name").iter().map(http::HeaderValue::as_bytes).collect();
    assert_eq!(names, [&b"caf\xe9"[..], b"caf\xc3\xa9"]);
    assert_eq!(opened.headers["x-accel-buffering"], "no");
    assert!(!opened.headers.contains_key("x-accel-redirect"));
    // The same with an approval.
    let txn = site.agent.forward("raw", "POST", &target).body("x").send().await.txn();
    site.owner.approve(&txn).await;
    let response = site.agent.outcome(&txn).await["response"].clone();
    let headers = response["headers"].as_array().unwrap();
    let polled: Vec<(usize, &Value)> = headers
        .iter()
        .enumerate()
        .filter(|(_, pair)| pair[0] == "x-name")
        .map(|(index, pair)| (index, &pair[1]))
        .collect();
    assert_eq!(polled.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [&json!("café"), &json!("café")]);
    let bytes = STANDARD.encode(b"caf\xe9");
    assert_eq!(response["headers_base64"], json!([{"index": polled[0].0, "name": "x-name", "value": bytes}]));
    assert!(headers.iter().any(|pair| pair[0] == "x-accel-buffering"));
    // If every value is UTF-8, nothing more is said.
    site.upstream.reply(Reply::ok("ok"));
    let txn = site.pause("/").await;
    site.owner.approve(&txn).await;
    assert!(site.agent.outcome(&txn).await["response"].get("headers_base64").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_out_is_the_canonical_path_and_the_query_as_it_came() {
    let site = Site::new().await;
    for (asked, sent) in [
        ("/a%41%7Eb", "/aA~b"),
        ("/a%2fb", "/a%2Fb"),
        ("/a/./b/../c", "/a/c"),
        ("/a;p=1//b/", "/a;p=1//b/"),
        ("/?a=%41%7E%2f&b=/./../c", "/?a=%41%7E%2f&b=/./../c"),
        ("/?q='x'&r=\"y\"", "/?q=%27x%27&r=%22y%22"),
    ] {
        site.forward("GET", asked).send().await.expect(200);
        assert_eq!(site.upstream.requests().last().unwrap().target, sent, "{asked}");
        assert_eq!(
            site.owner.explain("api", "GET", &site.upstream.url(asked)).await["rule"],
            "gated_default"
        );
    }
}
