//! Certificates and HTTP/2 via ALPN.

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;
use http::{HeaderMap, Request, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use pyxis_net::{BoxError, Client, ClientConfig, Error, body, tls};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::tls::{Authority, HTTP_1_1};
use pyxis_testkit::upstream::{Reply, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{PATIENCE, at, config, failure, get, read};

const NAME: &str = "api.example.com";

fn trusting(authority: &Authority) -> Client {
    let resolver =
        ScriptedResolver::new().answer(NAME, &["127.0.0.1"]).answer("b.example.com", &["127.0.0.1"]);
    let extra_roots = tls::roots_from_pem(authority.pem().as_bytes()).unwrap();
    Client::new(&ClientConfig { extra_roots, ..config(resolver) }).unwrap()
}

#[tokio::test]
async fn http2_is_spoken_where_the_upstream_offers_it() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &[NAME]).await;
    let client = trusting(&authority);
    let response = client.send(get(&upstream.url_at(NAME, "/a%2Fb?x=1")), PATIENCE).await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    let requests = upstream.received(1).await;
    assert_eq!(requests[0].version, Version::HTTP_2);
    assert_eq!(requests[0].target, "/a%2Fb?x=1");
    assert_eq!(requests[0].host, format!("{NAME}:{}", upstream.port()));
}

#[tokio::test]
async fn http1_is_spoken_where_the_upstream_offers_nothing_else() {
    let authority = Authority::new();
    for protocols in [&[HTTP_1_1][..], &[]] {
        let server = authority.server(&[NAME], protocols);
        let upstream = Upstream::listen("127.0.0.1:0".parse().unwrap(), Some(server)).await;
        let response = trusting(&authority).send(get(&upstream.url_at(NAME, "/")), PATIENCE).await.unwrap();
        assert_eq!(response.version(), Version::HTTP_11);
        assert_eq!(read(response).await, "ok");
    }
}

#[tokio::test]
async fn requests_at_the_same_time_share_one_http2_connection() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &[NAME]).await;
    let client = trusting(&authority);
    let url = upstream.url_at(NAME, "/");
    read(client.send(get(&url), PATIENCE).await.unwrap()).await;
    let answers =
        join_all((0..50).map(|_| async { read(client.send(get(&url), PATIENCE).await.unwrap()).await }));
    assert!(answers.await.iter().all(|body| body == "ok"));
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn trailers_travel_both_ways_over_http2() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &[NAME]).await;
    upstream.reply(Reply::ok("answer").trailer("x-checksum", "abc"));
    let mut trailers = HeaderMap::new();
    trailers.insert("x-digest", "123".parse().unwrap());
    let frames: Vec<Result<Frame<Bytes>, BoxError>> =
        vec![Ok(Frame::data("question".into())), Ok(Frame::trailers(trailers))];
    let body = body::boxed(StreamBody::new(stream::iter(frames)));
    let request = Request::post(upstream.url_at(NAME, "/")).body(body).unwrap();
    let response = trusting(&authority).send(request, PATIENCE).await.unwrap();
    let collected = response.into_body().collect().await.unwrap();
    assert_eq!(collected.trailers().unwrap()["x-checksum"], "abc");
    let requests = upstream.received(1).await;
    assert_eq!(requests[0].trailers.as_ref().unwrap()["x-digest"], "123");
}

#[tokio::test]
async fn a_get_with_a_body_of_unknown_length_is_well_formed_over_http2() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &[NAME]).await;
    let frames: Vec<Result<Frame<Bytes>, BoxError>> = vec![Ok(Frame::data("query".into()))];
    let body = body::boxed(StreamBody::new(stream::iter(frames)));
    let request = Request::get(upstream.url_at(NAME, "/")).body(body).unwrap();
    let response = trusting(&authority).send(request, PATIENCE).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(upstream.received(1).await[0].text(), "query");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_before_anything_is_sent() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &["b.example.com", "127.0.0.1"]).await;
    let client = trusting(&authority);
    let error = failure(&client, get(&upstream.url_at(NAME, "/"))).await;
    assert!(matches!(error, Error::Tls(_)), "{error:?}");
    assert!(!error.was_sent());
    assert_eq!(upstream.requests().len(), 0);
    assert_eq!(
        client.send(get(&upstream.url_at("b.example.com", "/")), PATIENCE).await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    let upstream = Upstream::https(&Authority::new(), &[NAME]).await;
    let resolver = ScriptedResolver::new().answer(NAME, &["127.0.0.1"]);
    for client in [Client::new(&config(resolver)).unwrap(), trusting(&Authority::new())] {
        let error = failure(&client, get(&upstream.url_at(NAME, "/"))).await;
        assert!(matches!(error, Error::Tls(_)), "{error:?}");
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn an_address_needs_a_certificate_for_that_address() {
    let authority = Authority::new();
    let right = Upstream::https(&authority, &["127.0.0.1"]).await;
    let wrong = Upstream::https(&authority, &["127.0.0.2"]).await;
    let client = trusting(&authority);
    assert_eq!(client.send(get(&right.url("/")), PATIENCE).await.unwrap().status(), 200);
    let error = failure(&client, get(&wrong.url("/"))).await;
    assert!(matches!(error, Error::Tls(_)), "{error:?}");
}

#[tokio::test]
async fn a_plain_server_is_not_mistaken_for_a_tls_one() {
    let upstream = Upstream::http().await;
    let url = format!("https://{}/", upstream.addr());
    let error = failure(&trusting(&Authority::new()), get(&url)).await;
    assert!(matches!(error, Error::Tls(_)), "{error:?}");
    assert!(!error.was_sent());
}

#[test]
fn a_file_without_usable_roots_is_refused() {
    assert!(matches!(tls::roots_from_pem(b""), Err(tls::RootsError::Empty)));
    assert!(matches!(tls::roots_from_pem(b"not a certificate"), Err(tls::RootsError::Empty)));
    let broken = b"-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----\n";
    assert!(matches!(tls::roots_from_pem(broken), Err(tls::RootsError::Pem(_))));
    let nonsense =
        tls::roots_from_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let config = ClientConfig { extra_roots: nonsense, ..config(ScriptedResolver::new()) };
    assert!(matches!(Client::new(&config), Err(tls::RootsError::Certificate(_))));
}

#[tokio::test]
async fn a_mail_connection_turns_on_tls_for_the_name_that_was_dialed_and_offers_no_protocol_of_http() {
    let authority = Authority::new();
    for (certified, is_right) in [(NAME, true), ("b.example.com", false)] {
        // A server that speaks HTTP alone refuses a client that offers other protocols, but not one that offers none.
        let acceptor = TlsAcceptor::from(authority.server(&[certified], &[b"smtp"]));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"220 go\r\n").await.unwrap();
            let mut stream = acceptor.accept(stream).await?;
            let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            stream.write_all(b"hello").await?;
            Ok::<_, std::io::Error>(protocol)
        });
        let (client, target) = (trusting(&authority), at(NAME, port));
        let mut stream = client.mail_tunnel(&target).await.unwrap();
        stream.read_exact(&mut [0; 8]).await.unwrap();
        match client.start_tls(&target, stream).await {
            Ok(mut stream) => {
                assert!(is_right, "the certificate is for another name");
                let mut text = [0; 5];
                stream.read_exact(&mut text).await.unwrap();
                assert_eq!(&text, b"hello");
                assert_eq!(serving.await.unwrap().unwrap(), None);
            }
            Err(error) => {
                assert!(!is_right && matches!(error, Error::Tls(_)), "{error:?}");
                assert!(serving.await.unwrap().is_err());
            }
        }
    }
}
