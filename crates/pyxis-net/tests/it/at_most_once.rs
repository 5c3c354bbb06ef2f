//! A request is sent at most once, and errors report correctly whether it was.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use pyxis_net::{Client, ClientConfig, Error, body};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};

use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{Frame, PATIENCE, answers_with_frame, client, config, post, read};

/// Sends numbered POSTs while the server drops its connections at every possible moment. Compares the client's results
/// with the requests that the server saw.
async fn hang_up_between_and_during(upstream: Upstream, client: Client, url: String) {
    let mut unsent = Vec::new();
    let mut answered = Vec::new();
    for number in 0..300_u32 {
        let text = number.to_string();
        let request = Request::post(&url).body(body::full(text.clone())).unwrap();
        let sending = client.send(request, PATIENCE);
        if number % 3 == 0 {
            upstream.hang_up();
        }
        let yields = async {
            for _ in 0..number % 17 {
                tokio::task::yield_now().await;
            }
            if number % 2 == 0 {
                upstream.hang_up();
            }
        };
        match tokio::join!(sending, yields).0 {
            Ok(response) => {
                // The body may break off as well; the request was executed anyway.
                let _ = response.into_body().collect().await;
                answered.push(text);
            }
            Err(error) if !error.was_sent() => unsent.push(text),
            Err(_) => {}
        }
    }
    let requests = upstream.requests();
    let seen = |text: &str| requests.iter().filter(|request| request.body == text).count();
    for number in 0..300_u32 {
        assert!(seen(&number.to_string()) <= 1, "{number} was sent twice");
    }
    assert!(requests.len() <= 300, "{} requests arrived", requests.len());
    assert!(unsent.iter().all(|text| seen(text) == 0), "a request called unsent had been sent");
    assert!(answered.iter().all(|text| seen(text) == 1));
    assert!(!answered.is_empty());
}

#[tokio::test]
async fn a_post_is_never_sent_twice_over_http1_whenever_the_server_hangs_up() {
    let upstream = Upstream::http().await;
    let url = upstream.url("/");
    hang_up_between_and_during(upstream, client(), url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_is_never_sent_twice_over_http1_when_hanging_up_truly_races() {
    let upstream = Upstream::http().await;
    let url = upstream.url("/");
    hang_up_between_and_during(upstream, client(), url).await;
}

#[tokio::test]
async fn a_post_is_never_sent_twice_over_http2_whenever_the_server_hangs_up() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &["api.example.com"]).await;
    let url = upstream.url_at("api.example.com", "/");
    let resolver = ScriptedResolver::new().answer("api.example.com", &["127.0.0.1"]);
    let config = ClientConfig { extra_roots: vec![authority.root()], ..config(resolver) };
    hang_up_between_and_during(upstream, Client::new(&config).unwrap(), url).await;
}

#[tokio::test]
async fn a_post_that_was_read_but_not_answered_is_not_repeated() {
    let upstream = Upstream::http().await;
    let client = client();
    read(client.send(post(&upstream.url("/"), "first"), PATIENCE).await.unwrap()).await;
    upstream.reply(Reply::abort());
    let error = client.send(post(&upstream.url("/"), "second"), PATIENCE).await.unwrap_err();
    assert!(error.was_sent());
    let bodies: Vec<_> = upstream.requests().iter().map(|request| request.text().to_owned()).collect();
    assert_eq!(bodies, ["first", "second"]);
}

/// A host whose idle close always collides with the next request. It answers one request per connection, reads the next
/// one and closes. Counts complete requests and connections.
async fn closes_when_reused(head: &'static str) -> (SocketAddr, Arc<Mutex<(usize, usize)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let counts = Arc::new(Mutex::new((0, 0)));
    let seen = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            seen.lock().unwrap().1 += 1;
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                for answers in [true, false] {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\nx") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        request.push(byte);
                    }
                    seen.lock().unwrap().0 += 1;
                    if answers {
                        stream.write_all(head.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    (addr, counts)
}

#[tokio::test]
async fn no_request_over_a_fresh_connection_meets_an_idle_close() {
    let (addr, counts) = closes_when_reused("HTTP/1.1 204 No Content\r\n\r\n").await;
    let (url, client) = (format!("http://{addr}/"), client());
    let fresh = client.fresh();
    for _ in 0..200 {
        assert_eq!(fresh.send(post(&url, "x"), PATIENCE).await.unwrap().status(), 204);
    }
    assert_eq!(*counts.lock().unwrap(), (200, 200));

    // The same over kept connections: the second request is read and lost, and the error says so.
    assert_eq!(client.send(post(&url, "x"), PATIENCE).await.unwrap().status(), 204);
    let error = client.send(post(&url, "x"), PATIENCE).await.unwrap_err();
    assert!(matches!(error, Error::Closed { sent: true, .. }) && error.was_sent(), "{error:?}");
    assert_eq!(*counts.lock().unwrap(), (202, 201));
}

/// Moves the clock by `time` in one step.
async fn later(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
}

#[tokio::test]
async fn a_connection_is_not_used_again_once_its_host_may_close_it() {
    let (upstream, client) = (Upstream::http().await, client());
    upstream.reply_with(|_| Reply::ok("ok").header("keep-alive", "timeout=5, max=100"));
    let ask = async || read(client.send(post(&upstream.url("/"), "x"), PATIENCE).await.unwrap()).await;
    ask().await;
    // Every use restarts the timeout.
    for _ in 0..3 {
        later(Duration::from_millis(3_500)).await;
        ask().await;
        assert_eq!(upstream.connections(), 1);
    }
    later(Duration::from_millis(4_100)).await;
    ask().await;
    assert_eq!(upstream.connections(), 2);
}

#[tokio::test]
async fn a_connection_that_its_host_keeps_for_a_second_is_used_once() {
    let (upstream, client) = (Upstream::http().await, client());
    upstream.reply_with(|_| Reply::ok("ok").header("keep-alive", "timeout=1"));
    for _ in 0..3 {
        read(client.send(post(&upstream.url("/"), "x"), PATIENCE).await.unwrap()).await;
    }
    assert_eq!(upstream.connections(), 3);
}

#[tokio::test]
async fn an_idle_time_longer_than_the_pools_own_changes_nothing() {
    let (upstream, client) = (Upstream::http().await, client());
    upstream.reply_with(|_| Reply::ok("ok").header("keep-alive", "timeout=3600"));
    for _ in 0..3 {
        read(client.send(post(&upstream.url("/"), "x"), PATIENCE).await.unwrap()).await;
        later(Duration::from_mins(1)).await;
    }
    assert_eq!(upstream.connections(), 1);
}

fn reset(id: [u8; 4], reason: u8) -> Vec<u8> {
    [&[0, 0, 4, 3, 0][..], &id, &[0, 0, 0, reason]].concat()
}

#[tokio::test]
async fn only_a_refused_stream_is_known_to_be_unprocessed() {
    let authority = Authority::new();
    let frames: [(Frame, bool); 5] = [
        // REFUSED_STREAM
        (|id| reset(id, 7), true),
        // NO_ERROR, INTERNAL_ERROR and CANCEL
        (|id| reset(id, 0), false),
        (|id| reset(id, 2), false),
        (|id| reset(id, 8), false),
        // GOAWAY after the request's stream
        (|id| [&[0, 0, 8, 7, 0, 0, 0, 0, 0][..], &id, &[0, 0, 0, 0]].concat(), false),
    ];
    for (number, (frame, unprocessed)) in frames.into_iter().enumerate() {
        let (client, url) = answers_with_frame(&authority, frame).await;
        let error = client.send(post(&url, "x"), PATIENCE).await.unwrap_err();
        assert_eq!(matches!(error, Error::Unprocessed(_)), unprocessed, "{number}: {error:?}");
        assert_eq!(error.was_sent(), !unprocessed, "{number}: {error:?}");
    }
}
