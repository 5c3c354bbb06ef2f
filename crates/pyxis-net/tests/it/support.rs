//! What several modules need.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use pyxis_net::{Body, Client, ClientConfig, Error, Guard, HostPort, body};
use pyxis_testkit::resolver::ScriptedResolver;

/// Long enough for a loaded machine; no test waits for it unless it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn loopback_guard() -> Guard {
    Guard::new(vec!["127.0.0.0/8".parse().unwrap()], vec![])
}

/// A configuration that may reach loopback.
pub(crate) fn config(resolver: ScriptedResolver) -> ClientConfig {
    ClientConfig { resolver: Arc::new(resolver), ..ClientConfig::new(loopback_guard()) }
}

/// A client that may reach loopback, and knows no name.
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

/// Sends and expects a failure.
pub(crate) async fn failure(client: &Client, request: Request<Body>) -> Error {
    client.send(request, PATIENCE).await.expect_err("a failure")
}
