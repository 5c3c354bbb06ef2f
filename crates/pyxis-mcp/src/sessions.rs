//! Sessions for clients of protocol versions before 2026-07-28
//! (`docs/decisions/0020-keep-mcp-sessions-only-as-a-convenience.md`).
//!
//! A session lets the server ask its client during a call. It is a convenience: a message of a session that this node
//! does not know is answered as if it had none.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode};
use pyxis_core::agent_client::MCP_SESSION;
use pyxis_core::id::AgentId;
use pyxis_core::secret::SecretString;
use pyxis_gateway as gateway;
use pyxis_gateway::entry_points;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use tokio::sync::watch;

use crate::caller::{McpCaller, bearer};
use crate::client_info::NEWEST;
use crate::response_stream;
use crate::session_limits::SessionSlot;
use crate::session_registry::{STREAMS, SessionHandle, SessionRegistry, SessionState};
use crate::{handshake, message_limits};

/// Subject of the refusal of a session that is not open.
const NO_SESSION: &str = "session (send `initialize` to begin one)";
/// Refusal of one more stream of a session.
const TOO_MANY_STREAMS: &str = "this session has 4 open streams; close one first";
const _: () = assert!(STREAMS == 4, "the refusal names their number");
/// Longest life of a stream that a client opens without a call. It may open the next one at once.
const STREAM_LIFE: Duration = Duration::from_mins(5);

/// The server, with sessions and without.
pub(crate) struct Sessions<S> {
    stateless: StreamableHttpService<S, NeverSessionManager>,
    stateful: StreamableHttpService<S, LocalSessionManager>,
    registry: Arc<SessionRegistry>,
    gateway: gateway::State,
    stopped: watch::Receiver<bool>,
}

impl<S: ServerHandler + Clone> Sessions<S> {
    /// `stopped` becomes true when the process stops.
    pub(crate) fn new(
        gateway: gateway::State,
        stopped: watch::Receiver<bool>,
        config: &StreamableHttpServerConfig,
        server: &S,
    ) -> Self {
        let registry = Arc::new(SessionRegistry::new());
        let (first, second) = (server.clone(), server.clone());
        let stateless = StreamableHttpService::new(
            move || Ok(first.clone()),
            Arc::new(NeverSessionManager::default()),
            config.clone().with_legacy_session_mode(false).with_json_response(true),
        );
        let stateful = StreamableHttpService::new(
            move || Ok(second.clone()),
            registry.manager(),
            config.clone().with_legacy_session_mode(true),
        );
        Self { stateless, stateful, registry, gateway, stopped }
    }

    /// Answers a request of a known caller.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        match message_limits::checked(request).await {
            Ok((request, form)) => form.corrected(self.answer_read(request).await),
            Err(refusal) => refusal,
        }
    }

    async fn answer_read(&self, mut request: Request) -> Response {
        let Some(id) = session_id(request.headers()) else { return self.without_session(request).await };
        if !is_newest(request.headers()) {
            match self.state(&id, agent(&request)).await {
                SessionState::Own(session) => return self.in_session(request, id, &session).await,
                SessionState::Unknown if request.method() == Method::POST => {}
                SessionState::Refused | SessionState::Unknown => {
                    return gateway::Error::not_found(NO_SESSION).into_response().map(Body::new);
                }
            }
        }
        request.headers_mut().remove(MCP_SESSION);
        self.without_session(request).await
    }

    async fn state(&self, id: &str, agent: Option<AgentId>) -> SessionState {
        match agent {
            Some(agent) => self.registry.state(id, agent).await,
            None => SessionState::Unknown,
        }
    }

    /// Answers a request that names no session. A handshake begins one, if there is room.
    async fn without_session(&self, request: Request) -> Response {
        if request.method() != Method::POST || is_newest(request.headers()) {
            return self.stateless.handle(request).await.map(Body::new);
        }
        let Ok((is_handshake, request)) = handshake::detect(request).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        let slot = match agent(&request).filter(|_| is_handshake) {
            Some(agent) => self.registry.reserve(agent).await,
            None => None,
        };
        match slot {
            Some(slot) => self.begin(request, slot).await,
            None => self.stateless.handle(request).await.map(Body::new),
        }
    }

    /// Passes a handshake to the SDK, and counts the session that it makes.
    async fn begin(&self, request: Request, slot: SessionSlot) -> Response {
        let (stateful, registry) = (self.stateful.clone(), Arc::clone(&self.registry));
        // Runs to its end, even if the client leaves: every session must count.
        let begun = tokio::spawn(async move {
            let response = stateful.handle(request).await;
            if let Some(id) = session_id(response.headers()) {
                registry.insert(id, slot);
            }
            response.map(Body::new)
        });
        begun.await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot begin an MCP session");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        })
    }

    /// Answers a request of a session that belongs to its caller.
    async fn in_session(&self, request: Request, id: String, session: &SessionHandle) -> Response {
        match *request.method() {
            Method::POST => self.call(request).await,
            Method::GET => self.open_stream(request, session).await,
            Method::DELETE => {
                let response = self.stateful.handle(request).await.map(Body::new);
                if response.status().is_success() {
                    self.registry.end(id);
                }
                response
            }
            _ => self.stateful.handle(request).await.map(Body::new),
        }
    }

    /// Answers a message. The handler of a call gets its stream.
    async fn call(&self, mut request: Request) -> Response {
        let (stream, end) = response_stream::pair();
        request.extensions_mut().insert(stream);
        end.attach_to(self.stateful.handle(request).await.map(Body::new))
    }

    /// Opens a stream without a call, or the rest of one that broke off.
    async fn open_stream(&self, request: Request, session: &SessionHandle) -> Response {
        let Ok(permit) = Arc::clone(&session.streams).try_acquire_owned() else {
            return gateway::Error::Conflict(TOO_MANY_STREAMS).into_response().map(Body::new);
        };
        let key = SecretString::new(bearer(request.headers()).unwrap_or_default());
        let response = self.stateful.handle(request).await.map(Body::new);
        let (gateway, stopped) = (self.gateway.clone(), self.stopped.clone());
        response_stream::until(response, async move {
            // Released when the stream ends.
            let _permit = permit;
            end_of_stream(&gateway, &key, stopped).await;
        })
    }
}

/// Resolves when a stream without a call must end: its life is over, its key is refused, or the process stops.
async fn end_of_stream(gateway: &gateway::State, key: &SecretString, mut stopped: watch::Receiver<bool>) {
    let stop = async {
        // Without a sender, nothing stops.
        if stopped.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = tokio::time::sleep(STREAM_LIFE) => {}
        () = entry_points::until_refused(gateway, key) => {}
        () = stop => {}
    }
}

/// The authenticated agent.
fn agent(request: &Request) -> Option<AgentId> {
    request.extensions().get::<McpCaller>().map(|caller| caller.agent.id)
}

/// True for a message of the newest version, which has no sessions.
fn is_newest(headers: &HeaderMap) -> bool {
    headers.get("mcp-protocol-version").is_some_and(|version| version == NEWEST)
}

/// The session that a request or response names. An id that is no text names none that exists.
fn session_id(headers: &HeaderMap) -> Option<String> {
    Some(String::from_utf8_lossy(headers.get(MCP_SESSION)?.as_bytes()).into_owned())
}
