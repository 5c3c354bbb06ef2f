//! A stand-in for a homeserver, for behavior that a real one does not show on command: downtime, slowness, limits, a
//! complete history.
//!
//! It follows <https://spec.matrix.org/v1.11/client-server-api/> as far as a bot needs it. The same transaction id
//! sends an event once. An edit is an event that replaces another one. A sync waits until something happens or its time
//! is up. It returns only the newest events if there are more than requested.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A message as people see it.
#[derive(Clone, Debug)]
pub struct RoomMessage {
    /// Room id.
    pub room: String,
    /// Event id.
    pub event: String,
    /// Text after the last edit.
    pub text: String,
    /// Formatted text, if sent.
    pub html: Option<String>,
    /// Number of edits.
    pub edits: usize,
    /// Reactions that the bot added, in order.
    pub offered: Vec<String>,
}

#[derive(Default)]
struct HomeserverData {
    messages: BTreeMap<String, RoomMessage>,
    /// Event by room and transaction id.
    keys: BTreeMap<(String, String), String>,
    /// Room and event of everything sent, in order.
    log: Vec<(String, Value)>,
    encrypted: BTreeSet<String>,
    strange: BTreeSet<String>,
    /// Upgraded rooms and their replacements.
    upgraded: BTreeMap<String, String>,
    limited: VecDeque<u64>,
    down: bool,
    /// Number of send requests received.
    sends: usize,
    events: u64,
}

/// A running stand-in. Stops when dropped.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<HomeserverState>,
    accepting: JoinHandle<()>,
}

struct HomeserverState {
    inner: Mutex<HomeserverData>,
    down: watch::Sender<bool>,
    slow: watch::Sender<bool>,
    changed: watch::Sender<()>,
    said: watch::Sender<()>,
}

impl HomeserverState {
    fn inner(&self) -> MutexGuard<'_, HomeserverData> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StandIn {
    /// Starts on a free local port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address to listen on");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(HomeserverState {
            inner: Mutex::default(),
            down: watch::Sender::new(false),
            slow: watch::Sender::new(false),
            changed: watch::Sender::new(()),
            said: watch::Sender::new(()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// Value for `PX_MATRIX_HOMESERVER`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All messages in their current state.
    pub fn messages(&self) -> Vec<RoomMessage> {
        self.shared.inner().messages.values().cloned().collect()
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

    /// Answers every request with 502 while down.
    pub fn set_down(&self, down: bool) {
        self.shared.inner().down = down;
        self.shared.down.send_replace(down);
    }

    /// Delays responses to sends while slow.
    pub fn set_slow(&self, slow: bool) {
        self.shared.slow.send_replace(slow);
    }

    /// Number of send requests received, answered or not.
    pub fn sends(&self) -> usize {
        self.shared.inner().sends
    }

    /// Answers the next sends with 429 and these retry times in milliseconds, one each.
    pub fn limit(&self, millis: &[u64]) {
        self.shared.inner().limited.extend(millis);
    }

    pub fn send_event(&self, room: &str, sender: &str, kind: &str, content: &Value) {
        let mut inner = self.shared.inner();
        let id = format!("$said-{}", inner.log.len());
        let event = json!({ "type": kind, "event_id": id, "sender": sender, "content": content });
        inner.log.push((room.to_owned(), event));
        drop(inner);
        self.shared.said.send_replace(());
    }

    /// Adds a reaction to a message as `sender`.
    pub fn react(&self, message: &RoomMessage, sender: &str, key: &str) {
        let relation = json!({ "rel_type": "m.annotation", "event_id": message.event, "key": key });
        self.send_event(&message.room, sender, "m.reaction", &json!({ "m.relates_to": relation }));
    }

    /// Makes a room encrypted, which cannot be undone.
    pub fn encrypt(&self, room: &str) {
        self.shared.inner().encrypted.insert(room.to_owned());
    }

    /// Upgrades a room: its state names the new room, and an event in it announces it.
    pub fn upgrade(&self, from: &str, to: &str) {
        self.shared.inner().upgraded.insert(from.to_owned(), to.to_owned());
        self.say_state(from, &json!({ "body": "This room has been replaced", "replacement_room": to }));
    }

    /// Sends the upgrade event without changing the room's state.
    pub fn say_state(&self, room: &str, content: &Value) {
        let mut inner = self.shared.inner();
        let id = format!("$said-{}", inner.log.len());
        let event = json!({
            "type": "m.room.tombstone", "event_id": id, "sender": "@admin:px.test", "state_key": "",
            "content": content,
        });
        inner.log.push((room.to_owned(), event));
        drop(inner);
        self.shared.said.send_replace(());
    }

    /// Lets the bot back into a room.
    pub fn open(&self, room: &str) {
        self.shared.inner().strange.remove(room);
    }

    /// Blocks the bot from a room.
    pub fn shut(&self, room: &str) {
        self.shared.inner().strange.insert(room.to_owned());
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<HomeserverState>) {
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
    shared: Arc<HomeserverState>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let (status, answer) = answer(&shared, &head.method, head.uri.path(), head.uri.query(), &body).await;
    let mut response = Response::new(Full::new(answer.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    Ok(response)
}

async fn answer(
    shared: &HomeserverState,
    method: &Method,
    path: &str,
    query: Option<&str>,
    body: &Value,
) -> (u16, Value) {
    if shared.inner().down {
        return (502, json!("Bad Gateway"));
    }
    let path = path.strip_prefix("/_matrix/client/v3/").unwrap_or_default();
    let segments: Vec<String> =
        path.split('/').map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (method.as_str(), segments.as_slice()) {
        ("GET", ["account", "whoami"]) => (200, json!({ "user_id": "@pyxis:px.test" })),
        ("POST", ["join", room]) if shared.inner().strange.contains(*room) => forbidden(),
        ("POST", ["join", room]) => (200, json!({ "room_id": room })),
        ("GET", ["rooms", room, "state", "m.room.encryption"]) => shared.inner().encryption(room),
        ("GET", ["rooms", room, "state", "m.room.tombstone"]) => shared.inner().tombstone(room),
        ("PUT", ["rooms", room, "send", kind, key]) => {
            shared.inner().sends += 1;
            shared.changed.send_replace(());
            // The sender lives as long as the stand-in.
            let _ = shared.slow.subscribe().wait_for(|slow| !*slow).await;
            let answer = shared.inner().send(room, kind, key, body);
            shared.changed.send_replace(());
            answer
        }
        ("GET", ["sync"]) => wait_for_events(shared, query.unwrap_or_default()).await,
        ("GET", ["rooms", room, "messages"]) => shared.inner().earlier(room, query.unwrap_or_default()),
        _ => (404, json!({ "errcode": "M_UNRECOGNIZED", "error": "Unrecognized request" })),
    }
}

fn forbidden() -> (u16, Value) {
    (403, json!({ "errcode": "M_FORBIDDEN", "error": "You are not invited to this room." }))
}

/// The value of a query parameter.
fn query_parameter(query: &str, name: &str) -> Option<String> {
    let found = query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
    Some(percent_decode_str(found).decode_utf8_lossy().into_owned())
}

/// Parses a log position from a token.
fn parse_position(token: &str) -> usize {
    token.trim_start_matches('s').parse().expect("a token of ours")
}

/// Waits until there are new events, the time is up, or the server goes down.
async fn wait_for_events(shared: &HomeserverState, query: &str) -> (u16, Value) {
    let millis = query_parameter(query, "timeout").and_then(|text| text.parse().ok()).unwrap_or(0);
    let since = query_parameter(query, "since").map(|token| parse_position(&token));
    let (mut down, mut said) = (shared.down.subscribe(), shared.said.subscribe());
    let news = async {
        while since.is_none_or(|since| shared.inner().log.len() <= since) {
            if said.changed().await.is_err() {
                return;
            }
        }
    };
    let ended = async {
        tokio::select! {
            () = news => false,
            _ = down.wait_for(|down| *down) => true,
        }
    };
    if tokio::time::timeout(Duration::from_millis(millis), ended).await == Ok(true) {
        return (502, json!("Bad Gateway"));
    }
    let filter: Value =
        serde_json::from_str(&query_parameter(query, "filter").unwrap_or_default()).unwrap_or_default();
    let limit = filter["room"]["timeline"]["limit"].as_u64().unwrap_or(10);
    shared.inner().events_since(since, usize::try_from(limit).unwrap_or(usize::MAX))
}

impl HomeserverData {
    /// The newest events after a position, by room.
    fn events_since(&self, since: Option<usize>, limit: usize) -> (u16, Value) {
        let end = self.log.len();
        let since = since.unwrap_or(end).min(end);
        let rooms: BTreeSet<&String> = self.log[since..].iter().map(|(room, _)| room).collect();
        let mut join = serde_json::Map::new();
        for room in rooms {
            let here: Vec<_> = (since..end).filter(|at| self.log[*at].0 == **room).collect();
            let shown = &here[here.len().saturating_sub(limit)..];
            let timeline = json!({
                "events": shown.iter().map(|at| &self.log[*at].1).collect::<Vec<_>>(),
                "limited": shown.len() < here.len(),
                "prev_batch": format!("s{}", shown.first().copied().unwrap_or(end)),
            });
            join.insert(room.clone(), json!({ "timeline": timeline }));
        }
        (200, json!({ "next_batch": format!("s{end}"), "rooms": { "join": join } }))
    }

    /// Events of a room before one position, newest first, back to another one.
    fn earlier(&self, room: &str, query: &str) -> (u16, Value) {
        let named = |name: &str| query_parameter(query, name).map(|token| parse_position(&token));
        let (from, to) = (named("from").unwrap_or(self.log.len()), named("to").unwrap_or(0));
        let limit = query_parameter(query, "limit").and_then(|text| text.parse().ok()).unwrap_or(10);
        let all: Vec<usize> = (to..from).rev().filter(|at| self.log[*at].0 == room).collect();
        let shown = &all[..all.len().min(limit)];
        let chunk: Vec<_> = shown.iter().map(|at| &self.log[*at].1).collect();
        let mut page = json!({ "start": format!("s{from}"), "chunk": chunk });
        if let Some(last) = shown.last().filter(|_| shown.len() < all.len()) {
            page["end"] = format!("s{last}").into();
        }
        (200, page)
    }

    fn tombstone(&self, room: &str) -> (u16, Value) {
        match self.upgraded.get(room) {
            Some(to) => (200, json!({ "replacement_room": to })),
            None => (404, json!({ "errcode": "M_NOT_FOUND", "error": "Event not found." })),
        }
    }

    fn encryption(&self, room: &str) -> (u16, Value) {
        if self.strange.contains(room) {
            return forbidden();
        }
        if self.encrypted.contains(room) {
            return (200, json!({ "algorithm": "m.megolm.v1.aes-sha2" }));
        }
        (404, json!({ "errcode": "M_NOT_FOUND", "error": "Event not found." }))
    }

    fn send(&mut self, room: &str, kind: &str, key: &str, body: &Value) -> (u16, Value) {
        if let Some(millis) = self.limited.pop_front() {
            let error = json!({ "errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": millis });
            return (429, error);
        }
        if self.strange.contains(room) {
            return forbidden();
        }
        let place = (room.to_owned(), key.to_owned());
        if let Some(event) = self.keys.get(&place) {
            return (200, json!({ "event_id": event }));
        }
        self.events += 1;
        let event = format!("$event-{}", self.events);
        self.keys.insert(place, event.clone());
        match kind {
            "m.room.message" => self.show(room, &event, body),
            "m.reaction" => self.offer_update(&body["m.relates_to"]),
            _ => {}
        }
        (200, json!({ "event_id": event }))
    }

    fn offer_update(&mut self, relation: &Value) {
        let message = relation["event_id"].as_str().and_then(|event| self.messages.get_mut(event));
        let key = relation["key"].as_str().expect("a key");
        message.expect("a reaction to what was posted").offered.push(key.to_owned());
    }

    fn show(&mut self, room: &str, event: &str, body: &Value) {
        let relation = &body["m.relates_to"];
        if relation["rel_type"] == "m.replace" {
            let edited = relation["event_id"].as_str().and_then(|event| self.messages.get_mut(event));
            let edited = edited.expect("an edit of what was posted");
            let content = &body["m.new_content"];
            content["body"].as_str().expect("a text").clone_into(&mut edited.text);
            edited.html = content["formatted_body"].as_str().map(str::to_owned);
            edited.edits += 1;
            return;
        }
        let text = body["body"].as_str().expect("a text").to_owned();
        let html = body["formatted_body"].as_str().map(str::to_owned);
        let (room, offered) = (room.to_owned(), Vec::new());
        let posted = RoomMessage { room, event: event.to_owned(), text, html, edits: 0, offered };
        self.messages.insert(event.to_owned(), posted);
    }
}
