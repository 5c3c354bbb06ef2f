//! A stand-in for an ntfy server: publishing, access, limits and the relevant errors.
//!
//! It follows <https://docs.ntfy.sh/publish/>. A wrong token is refused everywhere, a message needs a valid topic, and a
//! limited or closed topic refuses with the server's codes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Method;
use serde_json::{Value, json};

use crate::upstream::{Received, Reply, Upstream};

/// Access token.
pub const TOKEN: &str = "tk_canary0123456789";

#[derive(Default)]
struct NtfyState {
    messages: Vec<Value>,
    needs_token: bool,
    /// Topics that answer with 429, and the `Retry-After` that they send.
    limited: BTreeMap<String, Option<u64>>,
    /// Topics that nobody may write to.
    closed: Vec<String>,
    down: bool,
}

/// A running stand-in. Stops when dropped.
pub struct Ntfy {
    upstream: Upstream,
    inner: Arc<Mutex<NtfyState>>,
}

impl Ntfy {
    /// Starts on a free local port.
    pub async fn start() -> Self {
        let (upstream, inner) = (Upstream::http().await, Arc::new(Mutex::new(NtfyState::default())));
        let shared = Arc::clone(&inner);
        upstream.reply_with(move |request| lock(&shared).answer(request));
        Self { upstream, inner }
    }

    /// Value for `PX_NTFY_URL`.
    pub fn url(&self) -> String {
        self.upstream.url("")
    }

    /// Accepted messages, oldest first.
    pub fn messages(&self) -> Vec<Value> {
        lock(&self.inner).messages.clone()
    }

    /// Accepted messages of a topic.
    pub fn topic(&self, topic: &str) -> Vec<Value> {
        self.messages().into_iter().filter(|message| message["topic"] == topic).collect()
    }

    /// All requests, accepted or not.
    pub fn requests(&self) -> Vec<Received> {
        self.upstream.requests()
    }

    /// Requests that tried to publish.
    pub fn attempts(&self) -> usize {
        self.requests().iter().filter(|request| request.method == Method::POST).count()
    }

    /// Waits until `reached` returns a value.
    pub async fn until<T>(&self, reached: impl Fn(&Self) -> Option<T>) -> T {
        let mut seen = 0;
        loop {
            if let Some(value) = reached(self) {
                return value;
            }
            seen = self.upstream.until(|all| all.len() > seen).await.len();
        }
    }

    /// Refuses everything without [`TOKEN`].
    pub fn require_token(&self) {
        lock(&self.inner).needs_token = true;
    }

    /// Answers messages in a topic with 429, with or without a time to wait, until [`Self::admit`].
    pub fn limit(&self, topic: &str, retry_after: Option<u64>) {
        lock(&self.inner).limited.insert(topic.to_owned(), retry_after);
    }

    /// Accepts messages in a topic again.
    pub fn admit(&self, topic: &str) {
        let mut inner = lock(&self.inner);
        inner.limited.remove(topic);
        inner.closed.retain(|closed| closed != topic);
    }

    /// Refuses messages in a topic.
    pub fn close(&self, topic: &str) {
        lock(&self.inner).closed.push(topic.to_owned());
    }

    /// Answers every request with 502 while down.
    pub fn set_down(&self, down: bool) {
        lock(&self.inner).down = down;
    }
}

fn lock(inner: &Mutex<NtfyState>) -> MutexGuard<'_, NtfyState> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NtfyState {
    fn answer(&mut self, request: &Received) -> Reply {
        if self.down {
            return Reply::new(502);
        }
        let token = request.header("authorization");
        let right = format!("Bearer {TOKEN}");
        let valid = token.map_or(!self.needs_token, |token| token == right);
        let health = request.target == "/v1/health";
        // An anonymous caller may ask for its account; a wrong token is refused even for the health.
        if !valid && (token.is_some() || !(health || request.target == "/v1/account")) {
            let status = if token.is_some() { 401 } else { 403 };
            return refusal(status, u32::from(status) * 100 + 1, "unauthorized");
        }
        match (&request.method, request.target.as_str()) {
            (&Method::GET, "/v1/health") => Reply::json(r#"{"healthy":true}"#),
            (&Method::GET, "/v1/account") => Reply::json(r#"{"username":"pyxis","role":"user"}"#),
            (&Method::GET, path) if path.ends_with("/auth") => Reply::json(r#"{"success":true}"#),
            (&Method::POST, "/") => self.publish(request),
            _ => refusal(404, 40401, "page not found"),
        }
    }

    fn publish(&mut self, request: &Received) -> Reply {
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return refusal(400, 40017, "invalid request: request body must be message JSON");
        };
        let topic = message["topic"].as_str().unwrap_or_default().to_owned();
        let text = message["message"].as_str().unwrap_or_default();
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if topic.is_empty() || topic.len() > 64 || !topic.bytes().all(known) {
            return refusal(400, 40009, "invalid request: topic invalid");
        }
        if request.body.len() > 8192 || text.len() > 4096 {
            return refusal(413, 41303, "JSON body too large");
        }
        if self.closed.contains(&topic) {
            return refusal(403, 40301, "forbidden");
        }
        if let Some(wait) = self.limited.get(&topic) {
            let reply = refusal(429, 42901, "limit reached: too many requests, please be nice");
            return match wait {
                Some(seconds) => reply.header("retry-after", &seconds.to_string()),
                None => reply,
            };
        }
        self.messages.push(message);
        let id = format!("msg{}", self.messages.len());
        Reply::json(&json!({ "id": id, "time": 1, "event": "message", "topic": topic }).to_string())
    }
}

fn refusal(status: u16, code: u32, words: &str) -> Reply {
    let body = json!({ "code": code, "http": status, "error": words }).to_string();
    Reply::new(status).header("content-type", "application/json").body(body)
}
