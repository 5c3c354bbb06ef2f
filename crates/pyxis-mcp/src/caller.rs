//! The agent behind a message, known by its key.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, USER_AGENT, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use pyxis_core::secret::SecretString;
use pyxis_gateway as gateway;
use pyxis_gateway::entry_points::{self, AgentIdentity};

/// Header of the agent key, for clients that cannot set `Authorization`.
const KEY: &str = "x-px-key";

/// The authenticated caller of a message.
#[derive(Clone)]
pub(crate) struct McpCaller {
    /// Its key, sent along with every request that a tool makes.
    pub(crate) key: Arc<SecretString>,
    /// The agent.
    pub(crate) agent: AgentIdentity,
    /// `User-Agent`, for clients that say nothing else about themselves.
    pub(crate) user_agent: Option<String>,
}

/// Lets only messages with the key of an enabled agent through (RFC 6750).
pub(crate) async fn identify(
    State(gateway): State<gateway::State>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(key) = key(request.headers()) else {
        return challenge(gateway::Error::MissingKey);
    };
    match entry_points::authenticate(&gateway, &key).await {
        Ok(agent) => {
            let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
            let user_agent = user_agent.map(str::to_owned);
            request.extensions_mut().insert(McpCaller {
                key: Arc::new(SecretString::new(key)),
                agent,
                user_agent,
            });
            next.run(request).await
        }
        Err(error) => challenge(error),
    }
}

/// The key in `Authorization: Bearer` or `X-PX-Key`.
fn key(headers: &HeaderMap) -> Option<String> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim().to_owned())
    });
    bearer.or_else(|| headers.get(KEY)?.to_str().ok().map(str::to_owned)).filter(|key| !key.is_empty())
}

/// A refusal. A missing or wrong key says how to send one.
fn challenge(error: gateway::Error) -> Response {
    let mut response = error.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer realm=\"Pyxis\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    }
    response.map(Body::new)
}
