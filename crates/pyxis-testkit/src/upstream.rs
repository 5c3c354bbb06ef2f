//! A scriptable HTTP server on loopback: HTTP/1.1 and HTTP/2, plain or TLS.
//!
//! ```ignore
//! let upstream = Upstream::http().await;
//! upstream.reply(Reply::new(201).header("etag", "a").body("made"));
//! // … the code under test calls upstream.url("/things?x=1") …
//! let [request] = upstream.received(1).await.try_into().unwrap();
//! assert_eq!(request.target, "/things?x=1");
//! ```

mod reply;
mod serve;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, Version};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use reply::{Chunks, Release, Reply};

use crate::tls::{Authority, HTTP_1_1, HTTP_2};

/// A request as received.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: Method,
    /// Path and query, byte for byte.
    pub target: String,
    /// HTTP/1.1 or HTTP/2.
    pub version: Version,
    /// `Host`, or `:authority` over HTTP/2.
    pub host: String,
    pub headers: HeaderMap,
    /// The body. While it arrives, only its beginning (up to 64 KiB); complete once `complete` is true.
    pub body: Bytes,
    /// The trailers, if any.
    pub trailers: Option<HeaderMap>,
    /// True once the whole body has arrived.
    pub complete: bool,
    /// True if the client disconnected during the body.
    pub aborted: bool,
    /// Index of the connection, counted from 0.
    pub connection: usize,
}

impl Received {
    /// The value of a header. `None` if it is missing or not text. Panics if it occurs more than once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        assert!(values.next().is_none(), "header {name} came more than once");
        value.to_str().ok()
    }

    /// The body as text. Panics if it is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }
}

/// A running server. Stops when dropped.
pub struct Upstream {
    addr: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

type Answering = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

struct State {
    script: Mutex<Script>,
    /// Changes whenever a request is recorded.
    recorded: watch::Sender<()>,
    /// Changes when all connections must close.
    hang_up: watch::Sender<()>,
}

struct Script {
    replies: VecDeque<Reply>,
    otherwise: Answering,
    received: Vec<Received>,
    connections: usize,
}

impl State {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        let result = change(&mut self.script());
        self.recorded.send_replace(());
        result
    }
}

impl Upstream {
    /// Starts a plain server on a free port of 127.0.0.1. Supports HTTP/1.1, and HTTP/2 with prior knowledge.
    pub async fn http() -> Self {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), None).await
    }

    /// Starts a TLS server on a free port of 127.0.0.1 that offers HTTP/2 and HTTP/1.1. Its certificate for `names` is
    /// issued by `authority`.
    pub async fn https(authority: &Authority, names: &[&str]) -> Self {
        let config = authority.server(names, &[HTTP_2, HTTP_1_1]);
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), Some(config)).await
    }

    /// Starts a server on `addr`, with TLS if configured.
    pub async fn listen(addr: SocketAddr, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(addr).await.expect("an address to listen on");
        let addr = listener.local_addr().expect("the address of the listener");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let script = Script {
            replies: VecDeque::new(),
            otherwise: Arc::new(|_| Reply::ok("ok")),
            received: Vec::new(),
            connections: 0,
        };
        let state = Arc::new(State {
            script: Mutex::new(script),
            recorded: watch::Sender::new(()),
            hang_up: watch::Sender::new(()),
        });
        let accepting = tokio::spawn(serve::accept(listener, tls, state.clone()));
        Self { addr, scheme, state, accepting }
    }

    /// Listening address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Listening port.
    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    /// A URL with the IP address: `http://127.0.0.1:<port><path>`.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.addr)
    }

    /// A URL with a host name: `http://<host>:<port><path>`.
    pub fn url_at(&self, host: &str, path: &str) -> String {
        format!("{}://{host}:{}{path}", self.scheme, self.port())
    }

    /// Queues the response to the next request that has none yet.
    pub fn reply(&self, reply: Reply) -> &Self {
        self.state.script().replies.push_back(reply);
        self
    }

    /// Sets the response for requests without a queued reply. Default: `200` and `ok`.
    pub fn reply_with(&self, answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> &Self {
        self.state.script().otherwise = Arc::new(answer);
        self
    }

    /// Requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Received> {
        self.state.script().received.clone()
    }

    /// Number of accepted connections.
    pub fn connections(&self) -> usize {
        self.state.script().connections
    }

    /// Waits until `count` requests have arrived completely, and returns all requests.
    pub async fn received(&self, count: usize) -> Vec<Received> {
        self.until(|all| all.iter().filter(|request| request.complete).count() >= count).await
    }

    /// Waits until the requests satisfy `reached`, and returns them.
    pub async fn until(&self, reached: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let mut recorded = self.state.recorded.subscribe();
        loop {
            recorded.borrow_and_update();
            let requests = self.requests();
            if reached(&requests) {
                return requests;
            }
            recorded.changed().await.expect("the server runs");
        }
    }

    /// Closes every open connection without a response.
    pub fn hang_up(&self) {
        self.state.hang_up.send_replace(());
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
        self.hang_up();
    }
}
