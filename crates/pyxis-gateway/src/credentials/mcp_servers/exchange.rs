//! One conversation with an MCP server: the list of its tools, in the newest protocol version or an older one.

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::agent_client::MCP_SESSION;
use pyxis_core::mcp_tool::{MAX_TOOLS, ToolDefinition};
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_store::audit;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Asker, attach, message, wire_id};
use crate::credentials::outbound::{ConnectionUse, Outbound};
use crate::credentials::outcome::AuditSpan;
use crate::credentials::records;
use crate::error::{Error, Result};
use crate::runtime::mcp_cache::{ServerSession, ServerTools};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// Longest answer, in bytes.
const MAX_RESPONSE: usize = 2 * 1024 * 1024;
/// Pages of a list.
const MAX_PAGES: usize = 10;
/// Protocol version offered to servers that do not know the newest one.
const EARLIER: &str = "2025-11-25";

/// A conversation, on the audit trail as one record.
pub(super) struct Exchange<'a> {
    state: &'a State,
    credential: &'a ResolvedCredential,
    target: &'a Target,
    span: AuditSpan,
}

/// A server's answer to one message.
struct Reply {
    status: StatusCode,
    session: Option<HeaderValue>,
    message: Option<Value>,
}

impl<'a> Exchange<'a> {
    /// Records the conversation before anything is sent.
    pub(super) async fn begin(
        state: &'a State,
        credential: &'a ResolvedCredential,
        target: &'a Target,
        asker: &Asker,
    ) -> Result<Self> {
        let started = Instant::now();
        let asker = (asker.actor.clone(), asker.name.as_str());
        let record = records::listing(&state.config, state.node, state.now(), credential, target, asker);
        let in_flight = state.in_flight.register();
        let mut tx = state.store.begin().await?;
        let seqs = audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
        tx.commit().await?;
        let seq = seqs.first().copied().unwrap_or_default();
        let span = AuditSpan::new(state, credential.row.workspace_id, seq, started, in_flight);
        Ok(Self { state, credential, target, span })
    }

    /// The server's tools.
    pub(super) async fn list(mut self) -> Result<ServerTools> {
        match self.list_any_version().await {
            Ok(tools) => Ok(tools),
            Err(error) => {
                self.span.failed(&error);
                Err(error)
            }
        }
    }

    async fn list_any_version(&mut self) -> Result<ServerTools> {
        let newest = ServerSession { version: message::VERSION.to_owned(), id: None };
        let first = self.page(&newest, None).await?;
        if first.message.as_ref().is_some_and(|message| message["result"]["tools"].is_array()) {
            return self.pages(newest, first).await;
        }
        if matches!(first.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(unexpected_status(first.status));
        }
        let session = self.initialize().await?;
        let first = self.page(&session, None).await?;
        self.pages(session, first).await
    }

    /// Begins a session with a server that does not know the newest version.
    async fn initialize(&mut self) -> Result<ServerSession> {
        let hello = json!({
            "jsonrpc": "2.0", "id": message::ID, "method": "initialize",
            "params": {
                "protocolVersion": EARLIER, "capabilities": {},
                "clientInfo": { "name": "pyxis", "version": env!("CARGO_PKG_VERSION") },
            },
        });
        let none = ServerSession { version: EARLIER.to_owned(), id: None };
        let reply = self.send(&none, "initialize", &hello).await?;
        let message = reply.message.ok_or_else(|| unexpected_status(reply.status))?;
        let version = message["result"]["protocolVersion"].as_str();
        let version =
            version.filter(|version| version.len() == 10).ok_or_else(|| unexpected_status(reply.status))?;
        let session = ServerSession { version: version.to_owned(), id: reply.session };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.send(&session, "notifications/initialized", &ready).await?;
        Ok(session)
    }

    /// Reads the pages after the first.
    async fn pages(&mut self, session: ServerSession, first: Reply) -> Result<ServerTools> {
        let (mut tools, mut reply) = (Vec::<ToolDefinition>::new(), first);
        for _ in 0..MAX_PAGES {
            let message = reply.message.take().ok_or_else(|| unexpected_status(reply.status))?;
            let listed =
                message["result"]["tools"].as_array().ok_or_else(|| unexpected_status(reply.status))?;
            for tool in listed.iter().filter_map(ToolDefinition::read) {
                if tools.len() < MAX_TOOLS && !tools.iter().any(|known| known.name == tool.name) {
                    tools.push(tool);
                }
            }
            let Some(cursor) = message["result"]["nextCursor"].as_str() else { break };
            reply = self.page(&session, Some(cursor)).await?;
        }
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(ServerTools { tools, session })
    }

    async fn page(&mut self, session: &ServerSession, cursor: Option<&str>) -> Result<Reply> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        self.send(session, "tools/list", &message::request("tools/list", params)).await
    }

    async fn send(&mut self, session: &ServerSession, method: &str, sent: &Value) -> Result<Reply> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(USER_AGENT, HeaderValue::from_static("pyxis"));
        if let Ok(method) = HeaderValue::try_from(method) {
            headers.insert(HeaderName::from_static("mcp-method"), method);
        }
        attach(session, &mut headers);
        let (credential, target) = (self.credential, self.target);
        let outbound =
            Outbound { credential, method: Method::Post, target, headers, connection: ConnectionUse::Pooled };
        let body = pyxis_net::body::full(sent.to_string());
        let mut answer = wire_id::send(self.state, outbound, body).await?;
        self.span.record_head(answer.status);
        let mut bytes = Vec::new();
        let (mut search, mut found) = (message::AnswerSearch::default(), None);
        while found.is_none() && bytes.len() <= MAX_RESPONSE {
            match answer.body.frame().await {
                None => break,
                Some(Ok(frame)) => bytes.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Err(Error::Upstream(error.to_string().into())),
            }
            found = search.find(&bytes);
        }
        self.span.relayed(&answer.body);
        Ok(Reply { status: answer.status, session: answer.headers.get(MCP_SESSION).cloned(), message: found })
    }
}

/// The server does not answer as one of MCP.
fn unexpected_status(status: StatusCode) -> Error {
    Error::Upstream(format!("the MCP server did not list its tools ({status})").into())
}
