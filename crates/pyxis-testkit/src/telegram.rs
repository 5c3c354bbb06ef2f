//! A stand-in for the Bot API: offsets, long polls, limits, and the relevant errors.
//!
//! It follows <https://core.telegram.org/bots/api>. An offset removes acknowledged updates. A poll waits until
//! something happens or its time is up, and a second poll ends the first with 409. Polling is refused while a webhook
//! is set. Texts and buttons that the real API would refuse are refused.

mod methods;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bot token.
pub const TOKEN: &str = "123456:canary-token";

/// One API call by the bot.
#[derive(Clone, Debug)]
pub struct TelegramCall {
    /// Method name.
    pub method: String,
    /// Parameters.
    pub body: Value,
}

/// A message as people see it.
#[derive(Clone, Debug)]
pub struct TelegramMessage {
    /// Chat id.
    pub chat: String,
    /// Message id.
    pub id: i64,
    /// Text after the last edit.
    pub text: String,
    /// Buttons: label and payload.
    pub buttons: Vec<(String, Value)>,
    /// Number of edits.
    pub edits: usize,
}

impl TelegramMessage {
    /// Labels of the buttons.
    pub fn labels(&self) -> Vec<&str> {
        self.buttons.iter().map(|(label, _)| label.as_str()).collect()
    }

    /// Callback data of the button with this label.
    pub fn button(&self, label: &str) -> &str {
        let found = self.buttons.iter().find(|(found, _)| found == label);
        let found = found.unwrap_or_else(|| panic!("no button {label} in {:?}", self.buttons));
        found.1["callback_data"].as_str().expect("callback data")
    }
}

#[derive(Default)]
struct TelegramState {
    calls: Vec<TelegramCall>,
    updates: VecDeque<Value>,
    next_update: i64,
    next_message: i64,
    messages: BTreeMap<(String, i64), TelegramMessage>,
    presses: Vec<String>,
    answers: Vec<(String, String)>,
    /// Retry times in seconds; each answers one post or edit with 429.
    limited: VecDeque<u64>,
    down: bool,
    /// True if responses to posts are delayed.
    held: bool,
    webhook: Option<Value>,
    polls: u64,
    /// Groups that became supergroups.
    moved: BTreeMap<String, i64>,
    /// Chats that refuse the bot, with status and message.
    barred: BTreeMap<String, (u16, String)>,
}

/// A running stand-in. Stops when dropped.
pub struct Telegram {
    address: SocketAddr,
    shared: Arc<ServerState>,
    accepting: JoinHandle<()>,
}

struct ServerState {
    inner: Mutex<TelegramState>,
    changed: watch::Sender<()>,
}

impl ServerState {
    fn inner(&self) -> MutexGuard<'_, TelegramState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut TelegramState) -> T) -> T {
        let result = change(&mut self.inner());
        self.changed.send_replace(());
        result
    }
}

impl Telegram {
    /// Starts on a free local port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address to listen on");
        let address = listener.local_addr().expect("an address");
        let inner = TelegramState { next_update: 700, next_message: 1, ..TelegramState::default() };
        let shared = Arc::new(ServerState { inner: Mutex::new(inner), changed: watch::Sender::new(()) });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// Value for `PX_TELEGRAM_API_BASE`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All calls so far.
    pub fn calls(&self) -> Vec<TelegramCall> {
        self.shared.inner().calls.clone()
    }

    /// All messages in their current state, oldest first.
    pub fn messages(&self) -> Vec<TelegramMessage> {
        let mut all: Vec<_> = self.shared.inner().messages.values().cloned().collect();
        all.sort_by_key(|message| message.id);
        all
    }

    /// Answers to button presses: callback id and text.
    pub fn answers(&self) -> Vec<(String, String)> {
        self.shared.inner().answers.clone()
    }

    /// The webhook set by the bot.
    pub fn webhook(&self) -> Option<Value> {
        self.shared.inner().webhook.clone()
    }

    /// Number of unacknowledged updates.
    pub fn waiting(&self) -> usize {
        self.shared.inner().updates.len()
    }

    /// True once the bot acknowledged an update.
    pub fn has_acknowledged(&self, update: &Value) -> bool {
        !self.shared.inner().updates.iter().any(|waiting| waiting["update_id"] == update["update_id"])
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

    /// Answers the next posts and edits with 429 and these retry times in seconds, one each.
    pub fn limit(&self, seconds: &[u64]) {
        self.shared.change(|inner| inner.limited.extend(seconds));
    }

    /// Answers every request with 502 while down.
    pub fn set_down(&self, down: bool) {
        self.shared.change(|inner| inner.down = down);
    }

    /// Delays responses to posts while slow.
    pub fn set_slow(&self, slow: bool) {
        self.shared.change(|inner| inner.held = slow);
    }

    /// Turns a group into a supergroup. The bot learns of it only from errors.
    pub fn migrate(&self, from: i64, to: i64) {
        self.shared.change(|inner| inner.moved.insert(from.to_string(), to));
    }

    /// Sends the messages that announce the migration in both chats.
    pub fn tell_of_migration(&self, from: i64, to: i64) {
        let group = json!({ "id": from, "type": "group" });
        let supergroup = json!({ "id": to, "type": "supergroup" });
        self.shared.change(|inner| {
            for (chat, field, other) in
                [(group, "migrate_to_chat_id", to), (supergroup, "migrate_from_chat_id", from)]
            {
                inner.push(json!({ "message": { "message_id": 1, "date": 1, "chat": chat, field: other } }));
            }
        });
    }

    /// Makes a chat refuse the bot with this status and message.
    pub fn bar(&self, chat: i64, status: u16, words: &str) {
        self.shared.change(|inner| inner.barred.insert(chat.to_string(), (status, words.to_owned())));
    }

    /// Makes a chat refuse the bot, and sends an update about it.
    pub fn put_out(&self, chat: i64, status: u16, words: &str) {
        self.bar(chat, status, words);
        self.shared.change(|inner| inner.tell_of_membership(chat, "member", "kicked"));
    }

    /// Lets the bot back into a chat and sends an update about it.
    pub fn let_in(&self, chat: i64) {
        self.shared.change(|inner| {
            inner.barred.remove(&chat.to_string());
            inner.tell_of_membership(chat, "kicked", "member");
        });
    }

    /// Presses a button. Returns the update that the next poll receives.
    pub fn press(&self, message: &TelegramMessage, label: &str, user: i64) -> Value {
        let data = message.button(label).to_owned();
        self.press_with(message, &data, user)
    }

    /// Like [`press`](Self::press), with arbitrary callback data.
    pub fn press_with(&self, message: &TelegramMessage, data: &str, user: i64) -> Value {
        let chat: i64 = message.chat.parse().unwrap_or(1);
        self.shared.change(|inner| {
            let id = format!("press-{}", inner.presses.len());
            inner.presses.push(id.clone());
            inner.push(json!({ "callback_query": {
                "id": id, "from": person(user), "data": data, "chat_instance": "1",
                "message": { "message_id": message.id, "date": 1, "chat": { "id": chat, "type": "private" } },
            } }))
        })
    }

    /// Sends a private message to the bot. Returns the update.
    pub fn write(&self, user: i64, text: &str) -> Value {
        self.shared.change(|inner| {
            let chat = json!({ "id": user, "type": "private" });
            inner.push(json!({ "message": {
                "message_id": 1, "date": 1, "chat": chat, "from": person(user), "text": text,
            } }))
        })
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl TelegramState {
    fn tell_of_membership(&mut self, chat: i64, before: &str, now: &str) {
        self.push(json!({ "my_chat_member": {
            "chat": { "id": chat, "type": "supergroup" }, "from": person(1), "date": 1,
            "old_chat_member": { "status": before }, "new_chat_member": { "status": now },
        } }));
    }

    fn push(&mut self, mut update: Value) -> Value {
        update["update_id"] = self.next_update.into();
        self.next_update += 1;
        self.updates.push_back(update.clone());
        update
    }
}

fn person(id: i64) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": "Ada", "username": format!("user{id}") })
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
    let path = request.uri().path().to_owned();
    let bytes =
        request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let (status, answer) = answer(&shared, &path, body).await;
    let mut response = Response::new(Full::new(answer.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn answer(shared: &ServerState, path: &str, body: Value) -> (u16, Value) {
    let Some(method) = path.strip_prefix(&format!("/bot{TOKEN}/")).map(str::to_owned) else {
        return refusal(401, "Unauthorized");
    };
    let barred = shared.change(|inner| {
        inner.calls.push(TelegramCall { method: method.clone(), body: body.clone() });
        if inner.down {
            return Some((502, json!("Bad Gateway")));
        }
        let posts = matches!(method.as_str(), "sendMessage" | "editMessageText");
        let limited = if posts { inner.limited.pop_front() } else { None };
        limited.map(|seconds| {
            let (status, mut answer) = refusal(429, &format!("Too Many Requests: retry after {seconds}"));
            answer["parameters"] = json!({ "retry_after": seconds });
            (status, answer)
        })
    });
    if let Some(barred) = barred {
        return barred;
    }
    if method == "getUpdates" {
        poll(shared, &body).await
    } else {
        if method == "sendMessage" {
            let mut changed = shared.changed.subscribe();
            loop {
                let held = shared.inner().held;
                if !held || changed.changed().await.is_err() {
                    break;
                }
            }
        }
        shared.change(|inner| inner.call(&method, &body))
    }
}

fn refusal(code: u16, description: &str) -> (u16, Value) {
    (code, json!({ "ok": false, "error_code": code, "description": description }))
}

fn result(result: &Value) -> (u16, Value) {
    (200, json!({ "ok": true, "result": result }))
}

/// Acknowledges by offset, then waits for updates or until the time is up.
async fn poll(shared: &ServerState, body: &Value) -> (u16, Value) {
    let number = |name: &str| body[name].as_i64().unwrap_or(0);
    let time = Duration::from_secs(u64::try_from(number("timeout")).unwrap_or(0));
    let mine = shared.change(|inner| {
        let offset = number("offset");
        inner.updates.retain(|update| update["update_id"].as_i64().is_some_and(|id| id >= offset));
        inner.polls += 1;
        inner.polls
    });
    let mut changed = shared.changed.subscribe();
    let waiting = async {
        loop {
            changed.borrow_and_update();
            {
                let inner = shared.inner();
                if inner.webhook.is_some() {
                    return refusal(409, "Conflict: can't use getUpdates method while webhook is active");
                }
                if inner.polls != mine {
                    return refusal(409, "Conflict: terminated by other getUpdates request");
                }
                if inner.down {
                    return (502, json!("Bad Gateway"));
                }
                if !inner.updates.is_empty() {
                    let first: Vec<_> = inner.updates.iter().take(100).cloned().collect();
                    return result(&first.into());
                }
            }
            if changed.changed().await.is_err() {
                return refusal(500, "stopped");
            }
        }
    };
    tokio::time::timeout(time, waiting).await.unwrap_or_else(|_| result(&json!([])))
}
