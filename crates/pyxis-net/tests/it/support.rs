//! Shared test helpers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use pyxis_net::{Body, Client, ClientConfig, Error, Guard, HostPort, body};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::tls::{Authority, HTTP_2};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Generous timeout for a loaded machine. Tests only wait that long if they fail.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn loopback_guard() -> Guard {
    Guard::new(vec!["127.0.0.0/8".parse().unwrap()], vec![])
}

/// A configuration that may reach loopback.
pub(crate) fn config(resolver: ScriptedResolver) -> ClientConfig {
    ClientConfig { resolver: Arc::new(resolver), ..ClientConfig::new(loopback_guard()) }
}

/// A client that may reach loopback and resolves no names.
pub(crate) fn client() -> Client {
    Client::new(&config(ScriptedResolver::new())).unwrap()
}

pub(crate) fn get(url: &str) -> Request<Body> {
    Request::get(url).body(body::empty()).unwrap()
}

pub(crate) fn post(url: &str, text: &'static str) -> Request<Body> {
    Request::post(url).body(body::full(text)).unwrap()
}

pub(crate) async fn read(response: Response<Incoming>) -> Bytes {
    body::read_capped(response.into_body(), 1 << 20).await.unwrap()
}

pub(crate) fn at(host: &str, port: u16) -> HostPort {
    HostPort::new(host, port)
}

/// Sends a request and returns the expected failure.
pub(crate) async fn failure(client: &Client, request: Request<Body>) -> Error {
    client.send(request, PATIENCE).await.expect_err("a failure")
}

/// Builds frames for the stream with this id.
pub(crate) type Frame = fn([u8; 4]) -> Vec<u8>;

/// Starts a host that reads one HTTP/2 request head, sends these frames and closes. Returns a client that trusts it,
/// and its URL.
pub(crate) async fn answers_with_frame(authority: &Authority, frame: Frame) -> (Client, String) {
    let acceptor = TlsAcceptor::from(authority.server(&["api.example.com"], &[HTTP_2]));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        // Empty settings.
        stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        stream.read_exact(&mut [0; 24]).await.unwrap();
        let id = loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.unwrap();
            let [high, middle, low, kind, _, id @ ..] = head;
            let length = u32::from_be_bytes([0, high, middle, low]);
            stream.read_exact(&mut vec![0; usize::try_from(length).unwrap()]).await.unwrap();
            // HEADERS
            if kind == 1 {
                break id;
            }
        };
        // A client that has seen enough may end the connection before all is written.
        let _ = stream.write_all(&frame(id)).await;
        let _ = stream.shutdown().await;
        while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
    });
    let resolver = ScriptedResolver::new().answer("api.example.com", &["127.0.0.1"]);
    let config = ClientConfig { extra_roots: vec![authority.root()], ..config(resolver) };
    (Client::new(&config).unwrap(), format!("https://api.example.com:{port}/"))
}
