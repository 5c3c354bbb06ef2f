//! `pyxis mcp`: the MCP server over standard input and output.
//!
//! A bridge to a running server. Each line is one message and becomes one request; the answers are lines again, in the
//! order in which they arrive. The bridge understands only what the HTTP headers repeat of a message, and the session
//! of an older client.

mod events;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request};
use pyxis_core::agent_client::MCP_SESSION;
use pyxis_net::Client;
use pyxis_net::body::{empty, full, read_capped};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::events::EventReader;
use super::run::access::Access;
use super::{quiet, settings};
use crate::app;
use crate::cli::{Global, McpBridge};

/// Longest message, in bytes. The server takes no longer ones.
const MAX_MESSAGE: u64 = 16 * 1024 * 1024;
/// Longest answer, in bytes.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;
/// Longest time until an answer begins. A call may wait a minute for a person.
const TIMEOUT: Duration = Duration::from_mins(3);
/// Longest time to wait for the end of the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Header with the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// Failure of a call whose stream ends too early.
const UNFINISHED: &str =
    "Pyxis ended the stream before the result; send the call again to join a request that waits for a person";
/// JSON-RPC code of a message that cannot be read.
const PARSE_ERROR: i64 = -32700;
/// JSON-RPC code of what is not a message.
const INVALID_REQUEST: i64 = -32600;
/// Failure of what is not a message.
const NO_MESSAGE: &str = "not a JSON-RPC 2.0 message: send one object per line, with a `method` that is a string; batches are not supported";
/// JSON-RPC code of a server that cannot be reached.
const UNREACHABLE: i64 = -32000;

/// The way to the server.
struct Bridge {
    client: Client,
    url: String,
    authorization: HeaderValue,
    negotiated: Mutex<Negotiated>,
}

/// Result of the handshake of an older client.
#[derive(Clone, Default)]
struct Negotiated {
    version: Option<String>,
    /// Session that the server gave, which it may forget.
    session: Option<HeaderValue>,
}

pub(super) async fn run(global: &Global, options: McpBridge) -> Result<()> {
    let config = settings(&quiet(global.flags()))?;
    let Access { url, key, .. } = Access::with_key(&config, &options.access)?;
    let url = format!("{url}{}", pyxis_mcp::PATH);
    let mut authorization = HeaderValue::try_from(format!("Bearer {}", key.expose()))
        .context("not an agent key: it has characters that no key has")?;
    authorization.set_sensitive(true);
    // The server's address is the operator's own, and often a private one.
    let client = app::client(&config)?.private();
    let bridge = Arc::new(Bridge { client, url, authorization, negotiated: Mutex::default() });
    let (answers, queue) = mpsc::channel(64);
    let writer = tokio::spawn(write(queue));
    read(&bridge, answers).await?;
    bridge.end_session().await;
    writer.await?
}

/// Sends each line as it comes, until the input ends and everything is answered.
async fn read(bridge: &Arc<Bridge>, answers: mpsc::Sender<String>) -> Result<()> {
    let mut input = BufReader::new(stdin());
    let mut running = JoinSet::new();
    loop {
        let mut line = Vec::new();
        let length = (&mut input).take(MAX_MESSAGE).read_until(b'\n', &mut line).await?;
        if length == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (bridge, answers) = (Arc::clone(bridge), answers.clone());
        let message = serde_json::from_slice::<Value>(&line);
        // What follows a handshake is sent with the version that it negotiates, and in a session that is ready.
        let is_handshake = message.as_ref().is_ok_and(|message| {
            matches!(message["method"].as_str(), Some("initialize" | "notifications/initialized"))
        });
        let sending = async move {
            let failed = match message {
                Ok(message) if !is_message(&message) => {
                    Some(failure(&id_of(&message), INVALID_REQUEST, NO_MESSAGE))
                }
                Ok(message) => bridge.forward(&message, &line, &answers).await,
                Err(error) => Some(failure(&Value::Null, PARSE_ERROR, &error.to_string())),
            };
            if let Some(failed) = failed {
                // The writer ends only with the process.
                drop(answers.send(failed).await);
            }
        };
        if is_handshake {
            sending.await;
        } else {
            running.spawn(sending);
        }
        while running.try_join_next().is_some() {}
    }
    running.join_all().await;
    Ok(())
}

async fn write(mut queue: mpsc::Receiver<String>) -> Result<()> {
    let mut output = stdout();
    while let Some(answer) = queue.recv().await {
        output.write_all(answer.as_bytes()).await?;
        output.write_all(b"\n").await?;
        output.flush().await?;
    }
    Ok(())
}

impl Bridge {
    /// Sends the answers to one message: none to a notification. Returns the failure of a request.
    async fn forward(&self, message: &Value, line: &[u8], answers: &mpsc::Sender<String>) -> Option<String> {
        let error = self.exchange(message, line, answers).await.err()?;
        let is_request = !message["id"].is_null() && message["method"].is_string();
        is_request.then(|| failure(&message["id"], UNREACHABLE, &format!("{error:#}")))
    }

    async fn exchange(&self, message: &Value, line: &[u8], answers: &mpsc::Sender<String>) -> Result<()> {
        let request = self.request(message, line)?;
        let response = self.client.send(request, TIMEOUT).await;
        let response = response.with_context(|| format!("cannot reach Pyxis at {}", self.url))?;
        let (head, body) = response.into_parts();
        let is_handshake = message["method"] == "initialize";
        if is_handshake {
            self.negotiated().session = head.headers.get(MCP_SESSION).cloned();
        }
        if is_stream(&head.headers) {
            let mut events = EventReader::new(body, MAX_RESPONSE);
            let mut is_answered = message["method"].is_null() || message["id"].is_null();
            while let Some(answer) = events.next().await? {
                is_answered |= events::answers(&answer, &message["id"]);
                self.pass_on(is_handshake, answer, answers).await;
            }
            ensure!(is_answered, UNFINISHED);
            return Ok(());
        }
        let body = read_capped(body, MAX_RESPONSE).await.context("the answer of Pyxis broke off")?;
        match events::message(&body) {
            Some(answer) => self.pass_on(is_handshake, answer, answers).await,
            None if !head.status.is_success() => {
                anyhow::bail!("Pyxis answered {}: {}", head.status, refusal_text(&body));
            }
            None => {}
        }
        Ok(())
    }

    async fn pass_on(&self, is_handshake: bool, answer: String, answers: &mpsc::Sender<String>) {
        if is_handshake {
            self.note_version(&answer);
        }
        // The writer ends only with the process.
        drop(answers.send(answer).await);
    }

    /// Tells the server that the session is over, so that it makes room. A server that is away forgets it anyway.
    async fn end_session(&self) {
        let Negotiated { version, session } = self.negotiated().clone();
        let Some(session) = session else { return };
        let request = Request::delete(&self.url).header(AUTHORIZATION, &self.authorization);
        let mut request = request.header(MCP_SESSION, session);
        if let Some(version) = version {
            request = request.header(VERSION, version);
        }
        if let Ok(request) = request.body(empty()) {
            drop(self.client.send(request, CLOSE_TIMEOUT).await);
        }
    }

    fn negotiated(&self) -> MutexGuard<'_, Negotiated> {
        self.negotiated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, message: &Value, line: &[u8]) -> Result<Request<pyxis_net::body::Body>> {
        let params = &message["params"];
        let own = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let negotiated = self.negotiated().clone();
        let mut request = Request::post(&self.url)
            .header(AUTHORIZATION, &self.authorization)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(version) = own.or(negotiated.version.as_deref()) {
            request = request.header(VERSION, version);
        }
        let has_session = own.is_none() && message["method"] != "initialize";
        if let Some(session) = negotiated.session.filter(|_| has_session) {
            request = request.header(MCP_SESSION, session);
        }
        // Messages that name their version repeat these in headers.
        if own.is_some() {
            let name = ["name", "uri", "taskId"].iter().find_map(|member| params[*member].as_str());
            for (header, value) in [("mcp-method", message["method"].as_str()), ("mcp-name", name)] {
                if let Some(value) = value {
                    request = request.header(header, value);
                }
            }
        }
        Ok(request.body(full(line.trim_ascii().to_vec()))?)
    }

    fn note_version(&self, answer: &str) {
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        if let Some(version) = answer["result"]["protocolVersion"].as_str() {
            self.negotiated().version = Some(version.to_owned());
        }
    }
}

/// True for a request, a notification or a response.
fn is_message(message: &Value) -> bool {
    let is_response =
        || message.get("method").is_none() && (message.get("result").or(message.get("error"))).is_some();
    message.is_object() && (message["method"].is_string() || is_response())
}

/// The id of a request, or null.
fn id_of(message: &Value) -> Value {
    message.get("id").filter(|id| id.is_string() || id.is_i64()).cloned().unwrap_or_default()
}

fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Text of a refusal, in a line.
fn refusal_text(body: &[u8]) -> String {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    problem["detail"]
        .as_str()
        .map_or_else(|| String::from_utf8_lossy(body).chars().take(200).collect(), str::to_owned)
}

fn failure(id: &Value, code: i64, text: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }).to_string()
}
