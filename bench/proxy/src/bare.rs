//! The least a reverse proxy on hyper can do: no key, no policy, no secret, no scrubbing.
//!
//! `bare ADDRESS [RECORD]` forwards `POST /forward` to the URL in `X-PX-Target` with the method in
//! `X-PX-Method` over pooled keep-alive connections, and streams the answer back. RECORD is a
//! file, or a database by its `postgres://` URL. With it, a line or a row for each request is stored before the request is
//! sent: no proxy that keeps such a record can be quicker on this machine.

mod log;
mod rows;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, combinators::BoxBody};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use log::Log;
use rows::Rows;

type Upstream = Client<HttpConnector, Incoming>;
type Body = BoxBody<Bytes, hyper::Error>;

/// The record of requests, if there is one.
#[derive(Clone)]
enum Record {
    None,
    File(Log),
    Postgres(Rows),
}

impl Record {
    async fn open(place: Option<&str>) -> Result<Self> {
        Ok(match place {
            None => Self::None,
            Some(url) if url.starts_with("postgres") => Self::Postgres(Rows::connect(url).await?),
            Some(path) => Self::File(Log::create(path.as_ref())?),
        })
    }

    /// True once the line is stored, or when nothing is recorded.
    async fn append(&self, line: impl FnOnce() -> String) -> bool {
        match self {
            Self::None => true,
            Self::File(log) => log.append(line()).await,
            Self::Postgres(rows) => rows.append(line()).await,
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().context("usage: bare ADDRESS [RECORD]")?;
    let record = Record::open(arguments.next().as_deref()).await?;
    let listener =
        TcpListener::bind(&address).await.with_context(|| format!("cannot listen on {address}"))?;
    println!("{}", listener.local_addr()?);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let upstream: Upstream = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (upstream, record) = (upstream.clone(), record.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| forward(&upstream, &record, request));
            // A client that hangs up is the end of the connection and nothing else.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn forward(
    upstream: &Upstream,
    record: &Record,
    request: Request<Incoming>,
) -> Result<Response<Body>, hyper::Error> {
    let Some((target, method)) = wanted(request.headers()) else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    if !record.append(|| format!("{method} {target}\n")).await {
        return Ok(status(StatusCode::SERVICE_UNAVAILABLE));
    }
    let (mut head, body) = request.into_parts();
    (head.uri, head.method) = (target, method);
    for name in ["x-px-key", "x-px-credential", "x-px-target", "x-px-method"] {
        head.headers.remove(name);
    }
    head.headers.remove(HOST);
    head.headers.remove(CONNECTION);
    let Ok(mut answer) = upstream.request(Request::from_parts(head, body)).await else {
        return Ok(status(StatusCode::BAD_GATEWAY));
    };
    answer.headers_mut().remove(CONNECTION);
    answer.headers_mut().remove(TRANSFER_ENCODING);
    Ok(answer.map(BodyExt::boxed))
}

fn wanted(headers: &HeaderMap) -> Option<(Uri, Method)> {
    let target = headers.get("x-px-target")?.to_str().ok()?.parse().ok()?;
    let method = match headers.get("x-px-method") {
        None => Method::GET,
        Some(method) => Method::from_bytes(method.as_bytes()).ok()?,
    };
    Some((target, method))
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}
