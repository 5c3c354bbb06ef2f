//! Routes of the authorization server. They are described by their RFCs and by the metadata, not by `/openapi.json`.

use axum::extract::{DefaultBodyLimit, Request, State as Extract};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header::{CACHE_CONTROL, PRAGMA};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::window;
use pyxis_http::client_ip::{Peer, client_ip, limit_key};
use pyxis_http::problem::kinds;
use pyxis_http::{Problem, cors};
use pyxis_store::{Store, anonymous_limits};
use serde_json::Value;

use super::protocol_error::{OauthError, OauthErrorCode};
use super::token_form::TokenForm;
use super::{client_authentication, metadata, registration, request_body, tokens};
use crate::config::Config;
use crate::runtime::state::State;

/// Requests to the token and revocation endpoints from one address in a minute.
const TOKENS_PER_ADDRESS: i64 = 60;

/// Every route but the consent page, which is the dashboard's.
pub fn router(state: State) -> Router {
    let resource = get(protected_resource);
    let server = get(authorization_server);
    let documents = Router::new()
        .route("/.well-known/oauth-protected-resource", resource.clone())
        .route("/.well-known/oauth-protected-resource/mcp", resource)
        .route("/.well-known/oauth-authorization-server", server.clone())
        // Some clients take the path of the MCP server for that of the issuer.
        .route("/.well-known/oauth-authorization-server/mcp", server.clone())
        .route("/.well-known/openid-configuration/mcp", server)
        .method_not_allowed_fallback(refuse_method)
        .layer(cors::open_to_oauth_clients([Method::GET, Method::HEAD]));
    let endpoints = Router::new()
        .route("/oauth/register", post(register))
        .route("/oauth/token", post(token))
        .route("/oauth/revoke", post(revoke))
        .method_not_allowed_fallback(refuse_method)
        .layer(DefaultBodyLimit::max(request_body::MAX_BODY))
        .layer(cors::open_to_oauth_clients([Method::POST]));
    documents.merge(endpoints).with_state(state)
}

/// The `Allow` header comes from the route.
async fn refuse_method() -> Problem {
    Problem::from_kind(
        kinds::METHOD_NOT_ALLOWED,
        "method not allowed; the Allow header lists the methods of this path",
    )
}

async fn protected_resource(Extract(state): Extract<State>) -> Json<Value> {
    Json(metadata::protected_resource(&state.config))
}

async fn authorization_server(Extract(state): Extract<State>) -> Json<Value> {
    Json(metadata::authorization_server(&state.config))
}

async fn register(Extract(state): Extract<State>, request: Request) -> Result<Response, OauthError> {
    let address = address(&state.config, &request);
    let body = request_body::read(request).await?;
    let metadata = serde_json::from_slice(&body).map_err(|_| {
        OauthError::new(OauthErrorCode::InvalidClientMetadata, "the body must be client metadata as JSON")
    })?;
    let registered =
        registration::register(&state.store, &*state.entropy, state.now(), &address, metadata).await?;
    Ok(unstored((StatusCode::CREATED, Json(registered)).into_response()))
}

/// The client's address as rate limits count it. Without a peer, as in tests of the router alone, all callers share one.
fn address(config: &Config, request: &Request) -> String {
    let peer = request.extensions().get::<Peer>().copied();
    let trusted = &config.trusted_proxies;
    peer.map(|Peer(peer)| limit_key(client_ip(peer, request.headers(), trusted))).unwrap_or_default()
}

/// Counts a request with codes or tokens, which anyone can send.
async fn admit(store: &Store, now: UnixMillis, address: &str) -> Result<(), OauthError> {
    let client = format!("oauth-token {address}");
    let start = window::minute_start(now);
    if anonymous_limits::admit(store, &client, start, TOKENS_PER_ADDRESS).await? {
        return Ok(());
    }
    Err(OauthError::new(
        OauthErrorCode::TemporarilyUnavailable,
        "too many token requests from this address; try again in a minute",
    ))
}

async fn token(
    Extract(state): Extract<State>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, OauthError> {
    admit(&state.store, state.now(), &address(&state.config, &request)).await?;
    let form = TokenForm::read(request).await?;
    let client = client_authentication::authenticate(&state.store, state.now(), &headers, &form).await?;
    Ok(unstored(Json(tokens::issue(&state, &client, &form).await?).into_response()))
}

async fn revoke(
    Extract(state): Extract<State>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, OauthError> {
    admit(&state.store, state.now(), &address(&state.config, &request)).await?;
    let form = TokenForm::read(request).await?;
    let client = client_authentication::authenticate(&state.store, state.now(), &headers, &form).await?;
    tokens::revoke(&state.store, &state.audited, &client, &form).await?;
    Ok(unstored(StatusCode::OK.into_response()))
}

/// A response that no cache may keep, because it can have secrets.
fn unstored(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}
