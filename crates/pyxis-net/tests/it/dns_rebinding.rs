//! Names whose DNS answers change, mix or fail.

use std::sync::Arc;
use std::time::Duration;

use pyxis_net::guard::Special;
use pyxis_net::{Blocked, Client, ClientConfig, Error, Guard};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::upstream::Upstream;

use crate::support::{PATIENCE, at, config, failure, get, read};

const PUBLIC: &str = "93.184.216.34";

fn guarded(resolver: &Arc<ScriptedResolver>) -> Client {
    Client::new(&ClientConfig { resolver: resolver.clone(), ..ClientConfig::new(Guard::default()) }).unwrap()
}

#[tokio::test]
async fn a_name_that_rebinds_between_check_and_dial_reaches_nobody() {
    let upstream = Upstream::http().await;
    let resolver = ScriptedResolver::new()
        .answer("api.example.com", &[PUBLIC])
        .answer("api.example.com", &["127.0.0.1"]);
    let client = guarded(&Arc::new(resolver));
    client.check(&at("api.example.com", upstream.port())).await.unwrap();

    let error = failure(&client, get(&upstream.url_at("api.example.com", "/"))).await;

    assert_eq!(error.blocked(), Some(Blocked::Address(Special::Loopback)));
    assert!(!error.was_sent());
    assert_eq!(upstream.connections(), 0);
    assert!(!error.to_string().contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_mixed_answer_reaches_nobody_even_if_the_allowed_address_comes_first() {
    let upstream = Upstream::http().await;
    let resolver = ScriptedResolver::new().answer("api.example.com", &["127.0.0.1", "10.0.0.1"]);
    let client = Client::new(&config(resolver)).unwrap();
    let error = failure(&client, get(&upstream.url_at("api.example.com", "/"))).await;
    assert_eq!(error.blocked(), Some(Blocked::Address(Special::Private)));
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn a_name_without_addresses_passes_the_check_and_fails_at_the_dial() {
    let resolver = ScriptedResolver::new().answer("empty.example.com", &[]);
    let client = guarded(&Arc::new(resolver));
    for name in ["empty.example.com", "unknown.example.com"] {
        client.check(&at(name, 443)).await.unwrap();
        let error = failure(&client, get(&format!("https://{name}/"))).await;
        assert!(matches!(error, Error::Resolve(_)), "{error:?}");
        assert!(!error.was_sent());
    }
}

#[tokio::test]
async fn a_resolver_that_stays_silent_delays_the_check_but_does_not_block_it() {
    let resolver = ScriptedResolver::new().silence("slow.example.com");
    let config = ClientConfig { check_timeout: Duration::from_millis(10), ..config(resolver) };
    Client::new(&config).unwrap().check(&at("slow.example.com", 443)).await.unwrap();
}

#[tokio::test]
async fn the_check_asks_the_resolver_once_and_every_dial_asks_again() {
    let upstream = Upstream::http().await;
    let resolver = Arc::new(ScriptedResolver::new().answer("api.example.com", &["127.0.0.1"]));
    let config = ClientConfig { resolver: resolver.clone(), ..config(ScriptedResolver::new()) };
    let client = Client::new(&config).unwrap();
    for _ in 0..3 {
        client.check(&at("api.example.com", upstream.port())).await.unwrap();
    }
    assert_eq!(resolver.queries("api.example.com"), 1);
    client.send(get(&upstream.url_at("api.example.com", "/")), PATIENCE).await.unwrap();
    assert_eq!(resolver.queries("api.example.com"), 2);
}

#[tokio::test]
async fn the_check_forgets_an_answer_after_its_time() {
    let resolver =
        ScriptedResolver::new().answer("a.example.com", &[PUBLIC]).answer("a.example.com", &["10.0.0.1"]);
    let config = ClientConfig { check_ttl: Duration::ZERO, ..config(resolver) };
    let client = Client::new(&config).unwrap();
    client.check(&at("a.example.com", 443)).await.unwrap();
    let error = client.check(&at("a.example.com", 443)).await.unwrap_err();
    assert_eq!(error.blocked(), Some(Blocked::Address(Special::Private)));
}

#[tokio::test]
async fn a_refused_form_is_never_resolved_without_an_allow_list() {
    let resolver = Arc::new(ScriptedResolver::new().answer("localhost", &[PUBLIC]));
    let client = guarded(&resolver);
    let error = client.check(&at("localhost", 443)).await.unwrap_err();
    assert_eq!(error.blocked(), Some(Blocked::LocalName));
    let error = failure(&client, get("http://localhost:8080/")).await;
    assert_eq!(error.blocked(), Some(Blocked::LocalName));
    assert_eq!(resolver.queries("localhost"), 0);
}

#[tokio::test]
async fn a_name_refused_by_form_works_when_all_of_it_is_inside_the_allow_list() {
    let upstream = Upstream::http().await;
    let resolver = ScriptedResolver::new()
        .answer("localhost", &["127.0.0.1"])
        .answer("outside", &["127.0.0.1", PUBLIC])
        .fail("gone");
    let client = Client::new(&config(resolver)).unwrap();
    client.check(&at("localhost", upstream.port())).await.unwrap();
    let response = client.send(get(&upstream.url_at("localhost", "/")), PATIENCE).await.unwrap();
    assert_eq!(read(response).await, "ok");
    for name in ["outside", "gone"] {
        let error = client.check(&at(name, upstream.port())).await.unwrap_err();
        assert_eq!(error.blocked(), Some(Blocked::SingleLabel), "{name}");
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn the_private_client_reaches_loopback_over_connections_of_its_own() {
    let upstream = Upstream::http().await;
    let client = Client::new(&ClientConfig::new(Guard::default())).unwrap();
    let url = upstream.url("/");
    assert!(client.private().check(&at("127.0.0.1", upstream.port())).await.is_ok());
    read(client.private().send(get(&url), PATIENCE).await.unwrap()).await;

    // The public zone must not reuse the private zone's pooled connection.
    let error = failure(&client, get(&url)).await;
    assert_eq!(error.blocked(), Some(Blocked::Address(Special::Loopback)));
    read(client.private().send(get(&url), PATIENCE).await.unwrap()).await;
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_pooled_connection_never_serves_another_name() {
    let upstream = Upstream::http().await;
    let resolver = ScriptedResolver::new()
        .answer("a.example.com", &["127.0.0.1"])
        .answer("b.example.com", &["10.0.0.1"]);
    let client = Client::new(&config(resolver)).unwrap();
    read(client.send(get(&upstream.url_at("a.example.com", "/")), PATIENCE).await.unwrap()).await;
    let error = failure(&client, get(&upstream.url_at("b.example.com", "/"))).await;
    assert_eq!(error.blocked(), Some(Blocked::Address(Special::Private)));
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn addresses_are_tried_in_order_until_one_answers() {
    let upstream = Upstream::http().await;
    let resolver = ScriptedResolver::new().answer("api.example.com", &["127.0.0.2", "127.0.0.1"]);
    let client = Client::new(&config(resolver)).unwrap();
    let response = client.send(get(&upstream.url_at("api.example.com", "/")), PATIENCE).await.unwrap();
    assert_eq!(response.status(), 200);
}
