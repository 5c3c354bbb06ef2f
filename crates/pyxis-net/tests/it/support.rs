//! Shared test helpers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use pyxis_net::{Body, Client, ClientConfig, Error, Guard, HostPort, body};
use pyxis_testkit::resolver::ScriptedResolver;

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
