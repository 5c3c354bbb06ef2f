//! A stand-in for Slack: the Web API, Socket Mode, and signed requests.
//!
//! It follows <https://docs.slack.dev/>. Methods refuse the tokens, encodings, texts and blocks that Slack refuses. A
//! WebSocket takes a ticket that is good once, begins with a hello, and is sent envelopes that must be acknowledged. A
//! window opens once for a press, within three seconds. `ci/chat-clients.sh` runs Slack's own clients against it.

mod blocks;
mod methods;
mod reports;
mod sockets;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use self::reports::{form, signature};

pub const BOT_TOKEN: &str = "xoxb-canary-token";
/// App-level token.
pub const APP_TOKEN: &str = "xapp-canary-token";
pub const SIGNING_SECRET: &str = "canary-signing-secret";
/// Team of the app and of its people.
pub const TEAM: &str = "T0TEAM";
/// A channel with the bot.
pub const CHANNEL: &str = "C0OPS";
/// A channel without the bot.
pub const OTHER_CHANNEL: &str = "C0OTHER";
pub const ARCHIVED_CHANNEL: &str = "C0OLD";

/// One API call by the app.
#[derive(Clone, Debug)]
pub struct SlackCall {
    /// Method name.
    pub method: String,
    /// Arguments.
    pub body: Value,
}

/// A message as people see it.
#[derive(Clone, Debug)]
pub struct SlackMessage {
    /// Channel id.
    pub channel: String,
    /// Time, which is its id in the channel.
    pub ts: String,
    /// Text of a notification.
    pub notice: String,
    /// Text of the header and the sections, unescaped as people see it.
    pub text: String,
    /// Buttons: label and element.
    pub buttons: Vec<(String, Value)>,
    /// Number of edits.
    pub edits: usize,
}

impl SlackMessage {
    /// Labels of the buttons.
    pub fn labels(&self) -> Vec<&str> {
        self.buttons.iter().map(|(label, _)| label.as_str()).collect()
    }

    /// The button with this label. Panics if there is none.
    pub fn button(&self, label: &str) -> &Value {
        let found = self.buttons.iter().find(|(found, _)| found == label);
        &found.unwrap_or_else(|| panic!("no button {label}: {:?}", self.buttons)).1
    }
}

/// An envelope that was sent over a WebSocket.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Id to be acknowledged.
    pub id: String,
    /// Number of the WebSocket, from 1.
    pub socket: usize,
    /// Time from sending to the acknowledgment, if there was one.
    pub acknowledged: Option<std::time::Duration>,
}

/// A window that the app opened for a person.
#[derive(Clone, Debug)]
struct OpenWindow {
    user: String,
    view: Value,
}

/// An open WebSocket.
struct OpenSocket {
    /// Number, from 1.
    number: usize,
    sender: mpsc::UnboundedSender<sockets::Command>,
    /// True once Slack said that it will end.
    is_ending: bool,
}

#[derive(Default)]
struct SlackState {
    calls: Vec<SlackCall>,
    messages: BTreeMap<(String, String), SlackMessage>,
    next_id: usize,
    /// Messages that one person sees: channel, person and text.
    ephemeral: Vec<(String, String, String)>,
    /// Triggers that were not used yet: person and time.
    triggers: BTreeMap<String, (String, Instant)>,
    windows: Vec<OpenWindow>,
    tickets: Vec<String>,
    opened: Vec<String>,
    lines: Vec<OpenSocket>,
    sockets: usize,
    pongs: usize,
    waiting: VecDeque<Value>,
    envelopes: Vec<(Envelope, Instant)>,
    limited: VecDeque<u64>,
    down: bool,
    is_expiring_triggers: bool,
    is_put_out: bool,
}

/// The stand-in. Dropping it ends everything.
pub struct Slack {
    address: SocketAddr,
    shared: Arc<ServerState>,
    _tasks: JoinSet<()>,
}

struct ServerState {
    inner: Mutex<SlackState>,
    changed: watch::Sender<()>,
}

impl ServerState {
    fn inner(&self) -> MutexGuard<'_, SlackState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut SlackState) -> T) -> T {
        let result = change(&mut self.inner());
        self.changed.send_replace(());
        result
    }
}

impl Slack {
    /// Starts on free local ports.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address to listen on");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(ServerState { inner: Mutex::default(), changed: watch::Sender::new(()) });
        let mut tasks = JoinSet::new();
        let sockets = sockets::listen(&shared, &mut tasks).await;
        tasks.spawn(accept(listener, Arc::clone(&shared), sockets));
        Self { address, shared, _tasks: tasks }
    }

    /// Value for `PX_SLACK_API_BASE`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All calls so far.
    pub fn calls(&self) -> Vec<SlackCall> {
        self.shared.inner().calls.clone()
    }

    /// All messages in their current state, oldest first.
    pub fn messages(&self) -> Vec<SlackMessage> {
        let mut all: Vec<_> = self.shared.inner().messages.values().cloned().collect();
        all.sort_by(|one, other| one.ts.cmp(&other.ts));
        all
    }

    /// Messages that one person sees in a channel: channel, person and text.
    pub fn ephemeral(&self) -> Vec<(String, String, String)> {
        self.shared.inner().ephemeral.clone()
    }

    /// All envelopes that were sent.
    pub fn envelopes(&self) -> Vec<Envelope> {
        self.shared.inner().envelopes.iter().map(|(envelope, _)| envelope.clone()).collect()
    }

    /// Number of WebSockets opened so far.
    pub fn sockets(&self) -> usize {
        self.shared.inner().sockets
    }

    /// Numbers of the WebSockets that are open.
    pub fn open_sockets(&self) -> Vec<usize> {
        self.shared.inner().lines.iter().map(|line| line.number).collect()
    }

    /// Number of answers to pings.
    pub fn pongs(&self) -> usize {
        self.shared.inner().pongs
    }

    /// Windows that are open for a person, oldest first.
    pub fn windows(&self, user: &str) -> Vec<Value> {
        let inner = self.shared.inner();
        inner.windows.iter().filter(|open| open.user == user).map(|open| open.view.clone()).collect()
    }

    /// Waits until `reached` returns a value.
    pub async fn until<T>(&self, reached: impl Fn(&Self) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        loop {
            changed.borrow_and_update();
            if let Some(value) = reached(self) {
                return value;
            }
            changed.changed().await.expect("the stand-in runs");
        }
    }

    /// Answers the next posts and edits with 429 and these times in seconds, one each.
    pub fn limit(&self, seconds: &[u64]) {
        self.shared.change(|inner| inner.limited.extend(seconds));
    }

    /// Answers every request with 503 while down.
    pub fn set_down(&self, down: bool) {
        self.shared.change(|inner| inner.down = down);
    }

    /// Removes the bot from [`CHANNEL`], or lets it in again.
    pub fn put_out(&self, out: bool) {
        self.shared.change(|inner| inner.is_put_out = out);
    }

    /// Lets the triggers of presses expire at once.
    pub fn expire_triggers(&self, expire: bool) {
        self.shared.change(|inner| inner.is_expiring_triggers = expire);
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServerState>, sockets: SocketAddr) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| serve(Arc::clone(&shared), sockets, request));
            // The client may disconnect at any time.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn serve(
    shared: Arc<ServerState>,
    sockets: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let call = methods::SlackRequest::read(&head, &bytes);
    let answer = shared.change(|inner| inner.answer(&call, sockets));
    let mut response = Response::new(Full::new(answer.body.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("a status");
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert("content-type", json);
    if let Some(seconds) = answer.retry_after {
        response.headers_mut().insert("retry-after", seconds.into());
    }
    Ok(response)
}

fn refusal(error: &str) -> Value {
    json!({ "ok": false, "error": error })
}
