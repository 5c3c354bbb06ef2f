//! `pyxis mcp`: the MCP server over standard input and output.
//!
//! A bridge to a running server. Each line is one message and becomes one request; the answers are lines again, in the
//! order in which they arrive. The bridge understands only what the HTTP headers repeat of a message.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use pyxis_net::Client;
use pyxis_net::body::{full, read_capped};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{connect, quiet, settings};
use crate::app;
use crate::cli::{Global, McpBridge};
use crate::config::env::{Env, ProcessEnv};

/// Longest message, in bytes. The server takes no longer ones.
const MAX_MESSAGE: u64 = 16 * 1024 * 1024;
/// Longest answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Longest time until an answer begins. A call may wait a minute for a person.
const PATIENCE: Duration = Duration::from_mins(3);
/// JSON-RPC code of a message that cannot be read.
const PARSE_ERROR: i64 = -32700;
/// JSON-RPC code of a server that cannot be reached.
const UNREACHABLE: i64 = -32000;

/// The way to the server.
struct Bridge {
    client: Client,
    url: String,
    authorization: HeaderValue,
    /// Version that the client negotiated, if it did.
    version: Mutex<Option<String>>,
}

pub(super) async fn run(global: &Global, options: McpBridge) -> Result<()> {
    let McpBridge { url, agent_key_env: key_env } = options;
    let url = connect::server_url(global, url)?;
    let key = ProcessEnv.var(&key_env).with_context(|| {
        format!("{key_env} is not set; put the agent key there (`pyxis agent add NAME` makes one)")
    })?;
    let mut authorization = HeaderValue::try_from(format!("Bearer {key}"))
        .with_context(|| format!("{key_env}: not an agent key"))?;
    authorization.set_sensitive(true);
    // The server's address is the operator's own, and often a private one.
    let client = app::client(&settings(&quiet(global.flags()))?)?.private();
    let bridge = Arc::new(Bridge { client, url, authorization, version: Mutex::new(None) });
    let (answers, queue) = mpsc::channel(64);
    let writer = tokio::spawn(write(queue));
    read(&bridge, answers).await?;
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
        // What follows a handshake is sent with the version that it negotiates.
        let is_handshake = message.as_ref().is_ok_and(|message| message["method"] == "initialize");
        let sending = async move {
            let found = match message {
                Ok(message) => bridge.forward(&message, &line).await,
                Err(error) => vec![failure(&Value::Null, PARSE_ERROR, &error.to_string())],
            };
            for answer in found {
                // The writer ends only with the process.
                drop(answers.send(answer).await);
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
    /// The answers to one message: none for a notification.
    async fn forward(&self, message: &Value, line: &[u8]) -> Vec<String> {
        match self.exchange(message, line).await {
            Ok(answers) => answers,
            Err(_) if message["id"].is_null() => Vec::new(),
            Err(error) => vec![failure(&message["id"], UNREACHABLE, &format!("{error:#}"))],
        }
    }

    async fn exchange(&self, message: &Value, line: &[u8]) -> Result<Vec<String>> {
        let request = self.request(message, line)?;
        let response = self.client.send(request, PATIENCE).await;
        let response = response.with_context(|| format!("cannot reach Pyxis at {}", self.url))?;
        let (head, body) = response.into_parts();
        let body = read_capped(body, MAX_ANSWER).await.context("the answer of Pyxis broke off")?;
        let answers = messages(&Response::from_parts(head.clone(), ()), &body);
        if answers.is_empty() && !head.status.is_success() {
            anyhow::bail!("Pyxis answered {}: {}", head.status, refusal_text(&body));
        }
        if message["method"] == "initialize" {
            self.note_version(&answers);
        }
        Ok(answers)
    }

    fn request(&self, message: &Value, line: &[u8]) -> Result<Request<pyxis_net::body::Body>> {
        let params = &message["params"];
        let own = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        let negotiated = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut request = Request::post(&self.url)
            .header(AUTHORIZATION, &self.authorization)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        if let Some(version) = own.or(negotiated.as_deref()) {
            request = request.header("mcp-protocol-version", version);
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

    fn note_version(&self, answers: &[String]) {
        let version = answers.iter().find_map(|answer| {
            let answer: Value = serde_json::from_str(answer).ok()?;
            answer["result"]["protocolVersion"].as_str().map(str::to_owned)
        });
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }
}

/// The messages of an answer, each on one line.
fn messages(head: &Response<()>, body: &[u8]) -> Vec<String> {
    if head.status() == StatusCode::ACCEPTED || body.is_empty() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(body);
    let kind = head.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let parts: Vec<&str> = if kind.starts_with("text/event-stream") {
        text.lines().filter_map(|line| line.strip_prefix("data:")).collect()
    } else {
        vec![&text]
    };
    let is_message = |value: &Value| value["jsonrpc"] == "2.0";
    let parsed = parts.into_iter().filter_map(|part| serde_json::from_str::<Value>(part).ok());
    parsed.filter(is_message).map(|value| value.to_string()).collect()
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
