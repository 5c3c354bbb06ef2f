//! Timeouts by phase, and whether anything had been sent by then.

use std::time::Duration;

use pyxis_net::{Client, ClientConfig, Error, Wait};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::upstream::{Reply, Upstream};
use tokio::net::TcpListener;

use crate::support::{PATIENCE, client, config, failure, get, post, read};

const SHORT: Duration = Duration::from_millis(30);

#[tokio::test]
async fn an_upstream_that_does_not_begin_to_answer_may_have_the_request() {
    let upstream = Upstream::http().await;
    let (reply, release) = Reply::ok("late").hold();
    upstream.reply(reply);
    let client = client();
    let error = client.send(post(&upstream.url("/"), "x"), Duration::from_secs(3)).await.unwrap_err();
    assert!(matches!(error, Error::Timeout(Wait::FirstByte)), "{error:?}");
    assert!(error.was_sent());
    assert_eq!(upstream.received(1).await[0].text(), "x");
    release.send();
    assert_eq!(read(client.send(get(&upstream.url("/")), PATIENCE).await.unwrap()).await, "ok");
}

#[tokio::test]
async fn a_silent_resolver_runs_into_the_connect_timeout() {
    let resolver = ScriptedResolver::new().silence("slow.example.com");
    let config = ClientConfig { connect_timeout: SHORT, ..config(resolver) };
    let error = failure(&Client::new(&config).unwrap(), get("http://slow.example.com/")).await;
    assert!(matches!(error, Error::Timeout(Wait::Connect)), "{error:?}");
    assert!(!error.was_sent());
}

#[tokio::test]
async fn a_server_that_never_finishes_the_handshake_runs_into_the_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = ClientConfig { connect_timeout: SHORT, ..config(ScriptedResolver::new()) };
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let error = failure(&Client::new(&config).unwrap(), get(&url)).await;
    assert!(matches!(error, Error::Timeout(Wait::Connect)), "{error:?}");
    assert!(!error.was_sent());
}

#[tokio::test]
async fn time_for_the_first_byte_includes_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let error = client().send(get(&url), SHORT).await.unwrap_err();
    assert!(matches!(error, Error::Timeout(Wait::Connect)), "{error:?}");
    assert!(!error.was_sent());
}
