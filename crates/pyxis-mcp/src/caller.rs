//! The agent behind a message, known by its key or by the access token of a connected program.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use pyxis_gateway as gateway;
use pyxis_gateway::ClientPresence;
use pyxis_gateway::connections;
use pyxis_gateway::entry_points::{self, AgentIdentity};

/// Header of the agent key, for clients that cannot set `Authorization`.
const KEY: &str = "x-px-key";

/// The authenticated caller of a message.
#[derive(Clone)]
pub(crate) struct McpCaller {
    pub(crate) agent: AgentIdentity,
    /// `User-Agent`, for clients that say nothing else about themselves.
    pub(crate) user_agent: Option<String>,
    pub(crate) presence: ClientPresence,
}

impl McpCaller {
    pub(crate) fn new(agent: AgentIdentity, headers: &HeaderMap) -> Self {
        let user_agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let presence = ClientPresence::default();
        Self { agent, user_agent: user_agent.map(str::to_owned), presence }
    }
}

/// Authentication of callers, and where those without a key can get a token.
#[derive(Clone)]
pub(crate) struct CallerCheck {
    pub(crate) gateway: gateway::State,
    /// True if this process serves the consent page.
    pub(crate) has_consent_page: bool,
}

/// Lets only messages of an enabled agent through (RFC 6750).
pub(crate) async fn identify(State(check): State<CallerCheck>, mut request: Request, next: Next) -> Response {
    let Some(bearer) = bearer(request.headers()) else {
        return check.challenge(gateway::Error::MissingKey, false);
    };
    match entry_points::authenticate(&check.gateway, &bearer).await {
        Ok(agent) => {
            let caller = McpCaller::new(agent, request.headers());
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => check.challenge(error, true),
    }
}

/// The key or token in `Authorization: Bearer` or `X-PX-Key`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<String> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    });
    bearer.or_else(|| headers.get(KEY)?.to_str().ok().map(str::to_owned)).filter(|key| !key.is_empty())
}

impl CallerCheck {
    /// A refusal. A missing or wrong key says how to send one, and where to get a token (RFC 9728, section 5.1).
    fn challenge(&self, error: gateway::Error, was_sent: bool) -> Response {
        let mut response = error.into_response();
        if response.status() == StatusCode::UNAUTHORIZED {
            let mut scheme = "Bearer realm=\"Pyxis\"".to_owned();
            if was_sent {
                scheme
                    .push_str(", error=\"invalid_token\", error_description=\"unknown, expired or revoked\"");
            }
            if self.has_consent_page {
                let url = connections::resource_metadata_url(&self.gateway.config);
                scheme.extend([", resource_metadata=\"", &url, "\", scope=\"", connections::SCOPE, "\""]);
            }
            if let Ok(scheme) = HeaderValue::try_from(scheme) {
                response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            }
        }
        response.map(Body::new)
    }
}
