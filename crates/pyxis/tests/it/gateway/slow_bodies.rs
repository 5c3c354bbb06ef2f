//! Clients whose bodies arrive too slowly (`docs/reference/forwarding.md#limits-on-requests`).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

use crate::support::client::dial;
use crate::support::{Site, until};

/// A body of one byte, after which nothing ever comes.
struct Unfinished(Option<Bytes>);

impl Body for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.take().map_or(Poll::Pending, |bytes| Poll::Ready(Some(Ok(Frame::data(bytes)))))
    }
}

/// Sends a request whose body stops after a byte. Returns status and code of the answer.
async fn slow_over_http_1(site: &Site) -> (u16, Value) {
    let (call, sender) = site.forward("PUT", "/slow").upload();
    sender.send(Bytes::from_static(b"x")).await.unwrap();
    let answer = call.send().await;
    drop(sender);
    (answer.status, answer.json()["code"].clone())
}

/// The same over HTTP/2, after which the connection serves another request.
async fn slow_over_http_2(site: &Site) -> (u16, Value) {
    let address = site.app.address();
    let stream = TokioIo::new(dial(address).await);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}/forward"))
        .header("x-px-key", &site.agent.key)
        .header("x-px-credential", "api")
        .header("x-px-method", "PUT")
        .header("x-px-target", site.upstream.url("/slow"));
    let request = request.body(Unfinished(Some(Bytes::from_static(b"x")))).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let next = Request::get(format!("http://{address}/readyz")).body(Unfinished(None)).unwrap();
    let next = sender.send_request(next).await.unwrap();
    assert_eq!(next.status(), 200);
    (status, serde_json::from_slice::<Value>(&body).unwrap()["code"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_slow_is_408_and_no_request_for_approval() {
    let site = Site::new_with_env("PX_REQUEST_BODY_MAX_SECS", "1").await;
    assert_eq!(slow_over_http_1(&site).await, (408, json!("request_timeout")));
    assert_eq!(slow_over_http_2(&site).await, (408, json!("request_timeout")));
    let records = site.app.audit().await;
    assert!(records.iter().all(|record| record["decision"] != "pending"), "{records:?}");
    assert!(site.upstream.requests().is_empty());
    let txn = site.pause("/next").await;
    let waiting = site.owner.client.get("/approvals").send().await.expect(200).json();
    assert_eq!(waiting["approvals"].as_array().map(Vec::len), Some(1), "{waiting}");
    assert_eq!(waiting["approvals"][0]["txn_id"], json!(txn));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streamed_body_that_is_too_slow_ends_upstream_too_and_its_outcome_is_recorded() {
    let site = Site::new_with_env("PX_REQUEST_BODY_MAX_SECS", "1").await;
    site.policy(&json!({"auto_approve_methods": ["GET", "PUT"]})).await;
    for (count, is_http_2) in [(1, false), (2, true)] {
        let answer = if is_http_2 { slow_over_http_2(&site).await } else { slow_over_http_1(&site).await };
        assert_eq!(answer, (408, json!("request_timeout")), "HTTP/2: {is_http_2}");
        let ended = |all: &[pyxis_testkit::upstream::Received]| {
            all.len() == count && all.iter().all(|request| request.aborted && !request.complete)
        };
        let arrived = site.upstream.until(ended).await;
        assert_eq!(arrived[count - 1].body, "x");
    }
    until("both outcomes", async || {
        let records = site.app.audit().await;
        let sent = records.iter().filter(|record| record["decision"] == "auto");
        let outcomes: Vec<bool> = sent.map(|record| !record["outcome"].is_null()).collect();
        (outcomes == [true, true]).then_some(())
    })
    .await;
    site.forward("GET", "/next").send().await.forwarded(200);
}
