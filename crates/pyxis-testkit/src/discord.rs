//! A stand-in for Discord: the REST API, and the interactions that it signs and posts.
//!
//! It follows <https://docs.discord.com/developers/reference>. Calls need the bot's token and a named client. Messages
//! are refused as Discord refuses them, and shown as its programs show them. The responses to interactions are checked
//! and kept. `ci/chat-clients.sh` runs Discord's own tools against it.

mod calls;
mod content;
mod interactions;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ed25519_dalek::SigningKey;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::interactions::{ShownResponse, signature};

pub const BOT_TOKEN: &str = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.canary.token";
/// Id of the application.
pub const APPLICATION: &str = "1100000000000000001";
/// A channel with the bot.
pub const CHANNEL: &str = "1200000000000000001";
/// Another channel with the bot.
pub const SECOND_CHANNEL: &str = "1200000000000000005";
/// A channel that the bot cannot see.
pub const HIDDEN_CHANNEL: &str = "1200000000000000002";
/// A category, which has no messages.
pub const CATEGORY: &str = "1200000000000000003";
/// A channel that was deleted.
pub const DELETED_CHANNEL: &str = "1200000000000000004";
/// A person who accepts no direct messages.
pub const CLOSED_PERSON: &str = "1300000000000000099";

/// Seed of the key with which the stand-in signs.
const SEED: [u8; 32] = [42; 32];

/// The key with which the stand-in signs.
fn signing_key() -> SigningKey {
    SigningKey::from_bytes(&SEED)
}

/// Public key of the application.
pub fn public_key() -> [u8; 32] {
    signing_key().verifying_key().to_bytes()
}

/// One API call by the application.
#[derive(Clone, Debug)]
pub struct DiscordCall {
    /// Method and path after the version.
    pub call: String,
    pub body: Value,
}

/// A message as people see it.
#[derive(Clone, Debug)]
pub struct DiscordMessage {
    /// Channel id.
    pub channel: String,
    /// Message id.
    pub id: String,
    /// Text above the embeds.
    pub content: String,
    /// Text above the embeds, and the embeds.
    pub text: String,
    /// True if part of it is markup, a link or a mention.
    pub has_markup: bool,
    /// Buttons: label and component.
    pub buttons: Vec<(String, Value)>,
    /// Number of edits.
    pub edits: usize,
}

impl DiscordMessage {
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

#[derive(Default)]
struct DiscordState {
    calls: Vec<DiscordCall>,
    messages: BTreeMap<(String, String), DiscordMessage>,
    next_id: usize,
    /// Messages by their nonce.
    once: BTreeMap<String, Value>,
    commands: Vec<Value>,
    /// Interactions whose answer was deferred: token, and the answer.
    deferred: BTreeMap<String, Option<String>>,
    limited: VecDeque<f64>,
    down: bool,
    is_put_out: bool,
    has_no_endpoint: bool,
}

/// The stand-in. Dropping it ends everything.
pub struct Discord {
    address: SocketAddr,
    shared: Arc<ServerState>,
    _tasks: JoinSet<()>,
}

struct ServerState {
    inner: Mutex<DiscordState>,
    changed: watch::Sender<()>,
}

impl ServerState {
    fn inner(&self) -> MutexGuard<'_, DiscordState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut DiscordState) -> T) -> T {
        let result = change(&mut self.inner());
        self.changed.send_replace(());
        result
    }
}

impl Discord {
    /// Starts on a free local port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address to listen on");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(ServerState { inner: Mutex::default(), changed: watch::Sender::new(()) });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, _tasks: tasks }
    }

    /// Value for `PX_DISCORD_API_BASE`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All calls so far.
    pub fn calls(&self) -> Vec<DiscordCall> {
        self.shared.inner().calls.clone()
    }

    /// All messages in their current state, oldest first.
    pub fn messages(&self) -> Vec<DiscordMessage> {
        let mut all: Vec<_> = self.shared.inner().messages.values().cloned().collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all
    }

    /// Commands of the application.
    pub fn commands(&self) -> Vec<Value> {
        self.shared.inner().commands.clone()
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
    pub fn limit(&self, seconds: &[f64]) {
        self.shared.change(|inner| inner.limited.extend(seconds));
    }

    /// Answers every call with 503 while down.
    pub fn set_down(&self, down: bool) {
        self.shared.change(|inner| inner.down = down);
    }

    /// Removes the bot from [`CHANNEL`], or adds it again.
    pub fn put_out(&self, out: bool) {
        self.shared.change(|inner| inner.is_put_out = out);
    }

    /// Forgets the endpoint of interactions.
    pub fn forget_endpoint(&self) {
        self.shared.change(|inner| inner.has_no_endpoint = true);
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServerState>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| serve(Arc::clone(&shared), request));
            // The client may disconnect at any time.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn serve(
    shared: Arc<ServerState>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let call = calls::DiscordRequest::read(&head, &bytes);
    let answer = shared.change(|inner| inner.answer(&call));
    let mut response = Response::new(Full::new(answer.body.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("a status");
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    if let Some(seconds) = answer.body["retry_after"].as_f64() {
        // The header is rounded up, unlike the body.
        let header = HeaderValue::try_from(format!("{:.0}", seconds.ceil()));
        headers.insert("retry-after", header.expect("a number"));
    }
    Ok(response)
}
