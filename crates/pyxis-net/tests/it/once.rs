//! A request is sent at most once, and an error tells the truth about it.

use http_body_util::BodyExt;
use pyxis_net::{Client, ClientConfig, body};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};

use http::Request;

use crate::support::{PATIENCE, client, config, post, read};

/// Sends numbered POSTs while the server drops its connections at every possible moment, and
/// compares what the client believes with what the server saw.
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
                // The body may break off as well; the request was executed all the same.
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
