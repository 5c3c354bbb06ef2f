//! A connection between the program and the stand-in of a platform, on which calls meet [`Faults`].
//!
//! It carries HTTP/1.1. Of a refused call and of one that is cut before, the stand-in receives nothing.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::faults::{Fault, Faults};

/// A running connection. Stops when dropped.
pub struct Wire {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Wire {
    /// Starts on a free local port. `base` is the `http` URL of the stand-in.
    pub async fn to(base: &str, faults: Arc<Faults>) -> Self {
        let peer = base.trim_start_matches("http://").parse().expect("a base with an address");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address to listen on");
        let address = listener.local_addr().expect("an address");
        Self { address, accepting: tokio::spawn(accept(listener, peer, faults)) }
    }

    /// Base of the URLs of the stand-in by this connection.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, peer: SocketAddr, faults: Arc<Faults>) {
    while let Ok((stream, _)) = listener.accept().await {
        if faults.is_down() {
            continue;
        }
        let faults = Arc::clone(&faults);
        tokio::spawn(async move {
            let service = service_fn(|request| relay(&faults, peer, request));
            let serving = server::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                // The client may disconnect at any time.
                _ = serving => {}
                () = faults.cut_off() => {}
            }
        });
    }
}

async fn relay(
    faults: &Faults,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let fault = faults.draw();
    match fault {
        Fault::CutBefore => Err(io::ErrorKind::ConnectionReset.into()),
        Fault::Refused(status) => Ok(refused(status)),
        Fault::Limited(seconds) => Ok(limited(seconds)),
        Fault::None | Fault::CutAfter => {
            let answer = forward(peer, Request::from_parts(head, Full::new(body))).await?;
            if fault == Fault::None { Ok(answer) } else { Err(io::ErrorKind::ConnectionReset.into()) }
        }
    }
}

async fn forward(peer: SocketAddr, mut request: Request<Full<Bytes>>) -> io::Result<Response<Full<Bytes>>> {
    request.headers_mut().remove(TRANSFER_ENCODING);
    #[expect(clippy::disallowed_methods, reason = "a test dials its own stand-in")]
    let stream = TcpStream::connect(peer).await?;
    let (mut sender, connection) = client::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // It ends with the sender, whose error says all that is to be said.
    let serving = async {
        let _ = connection.await;
        std::future::pending::<()>().await;
    };
    let answering = async {
        let (mut head, body) = sender.send_request(request).await.map_err(io::Error::other)?.into_parts();
        head.headers.remove(TRANSFER_ENCODING);
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Response::from_parts(head, Full::new(body)))
    };
    tokio::select! {
        answer = answering => answer,
        () = serving => Err(io::ErrorKind::ConnectionReset.into()),
    }
}

/// The page of a proxy in front of the platform.
fn refused(status: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"<h1>Try again later</h1>")));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}

/// A limit in the words of every platform: they do not contradict each other.
fn limited(seconds: u64) -> Response<Full<Bytes>> {
    let body = json!({
        "ok": false, "error": "ratelimited", "error_code": 429, "description": "Too Many Requests",
        "parameters": { "retry_after": seconds }, "errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": seconds * 1000,
        "message": "You are being rate limited.", "retry_after": seconds, "global": false,
    });
    let mut response = Response::new(Full::new(body.to_string().into()));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}
