//! The smallest HTTP client that lets a test say every header itself.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::response::{HttpResponse, StreamedResponse};
use super::upload::Upload;

/// Address that the program listens on; another port after a restart.
#[derive(Clone, Debug)]
pub(crate) struct Address(Arc<Mutex<SocketAddr>>);

impl Address {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self(Arc::new(Mutex::new(address)))
    }

    pub(crate) fn get(&self) -> SocketAddr {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, address: SocketAddr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

/// A sender of requests, with the headers that authenticate it.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    address: Address,
    identity: HeaderMap,
}

impl Client {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, identity: HeaderMap::new() }
    }

    /// The same, with `name: value` in every request.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value);
        self.identity.insert(name, value);
        self
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Call {
        Call {
            address: self.address.get(),
            method: method.parse().expect("a method"),
            path: path.to_owned(),
            headers: self.identity.clone(),
            body: Empty::new().map_err(|never| match never {}).boxed_unsync(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call("GET", path)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Call {
        self.call("POST", path).json(body)
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Call {
        self.call("PUT", path).json(body)
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Call {
        self.call("PATCH", path).json(body)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call("DELETE", path)
    }
}

/// A request without a whole response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// There was no connection, so a client can send it again.
    NotSent,
    /// The connection ended first.
    Cut,
}

pub(super) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// A request under construction.
pub(crate) struct Call {
    address: SocketAddr,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Body,
}

impl Call {
    /// Adds a header, even if it is already there.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value);
        self.headers.append(name, value);
        self
    }

    /// Adds a header whose value is not ASCII.
    pub(crate) fn header_bytes(mut self, name: &str, value: &[u8]) -> Self {
        let name: HeaderName = name.parse().expect("a header name");
        self.headers.append(name, HeaderValue::from_bytes(value).expect("a header value"));
        self
    }

    /// Sets a header, replacing existing ones.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value);
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.set(CONTENT_TYPE.as_str(), "application/json").body(body.to_string())
    }

    /// A body that the test sends piece by piece.
    pub(crate) fn upload(mut self) -> (Self, tokio::sync::mpsc::Sender<Bytes>) {
        let (sender, upload) = Upload::new();
        self.body = upload.boxed_unsync();
        (self, sender)
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(self) -> HttpResponse {
        self.open().await.read().await
    }

    /// The whole response, if the program lives long enough to send it.
    pub(crate) async fn attempt(self) -> Option<HttpResponse> {
        self.try_open().await.ok()?.try_read().await.ok()
    }

    /// Like [`Call::attempt`]; says whether the program listened at all.
    pub(crate) async fn attempt_once(self) -> Result<HttpResponse, Unanswered> {
        let opened = self.try_open().await.map_err(|error| {
            if error.is::<std::io::Error>() { Unanswered::NotSent } else { Unanswered::Cut }
        })?;
        opened.try_read().await.map_err(|_| Unanswered::Cut)
    }

    /// Sends it and returns as soon as the head of the response is here.
    pub(crate) async fn open(self) -> StreamedResponse {
        self.try_open().await.expect("an answer")
    }

    /// Like [`Call::open`]; fails if the program does not listen, or closes without a response.
    pub(crate) async fn try_open(self) -> Result<StreamedResponse, Box<dyn std::error::Error + Send + Sync>> {
        let stream = try_dial(self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends when the response has been read or dropped; an error shows up at the response.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut request = Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.path.parse().expect("a path");
        *request.headers_mut() = self.headers;
        if !request.headers().contains_key(HOST) {
            let host = self.address.to_string().parse().expect("a host");
            request.headers_mut().insert(HOST, host);
        }
        let response = sender.send_request(request).await?;
        Ok(StreamedResponse::new(response, connection))
    }
}

pub(crate) async fn dial(address: SocketAddr) -> TcpStream {
    try_dial(address).await.expect("the program listens")
}

#[expect(clippy::disallowed_methods, reason = "a test dials the program itself")]
async fn try_dial(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn pair(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    (name.parse().expect("a header name"), value.parse().expect("a header value"))
}
