//! Handlers of the endpoints that send requests, with their description.

use axum::extract::{Request, State as Extract};
use axum::response::Response;
use pyxis_http::openapi::responses::Internal;
use pyxis_http::openapi::{Id, Uri};
use pyxis_http::request_id::ServiceRoute;
use pyxis_signing::keys::MessageSignature;
use pyxis_signing::payload::SignRequest;

use super::forward::{base_url_proxy, forward};
use super::sign::sign;
use crate::approvals::agent_response::Paused;
use crate::problems::{
    BadForward, BadKey, BadPayload, BadSign, CannotForward, CredentialNotFound, ForwardRefused,
    IdempotencyKeyReused, NoWebSocket, OtherWebSocketVersion, PendingBodyTooLarge, RateLimited, SignRefused,
    StillUnderWay, UpstreamFailed, UpstreamTimeout,
};
use crate::runtime::state::State;
use crate::values::ForwardMethod;

/// Send a request with a stored credential.
///
/// Always POST, whatever the upstream method. The body and all headers except control headers go to the target.
/// Hop-by-hop headers, `Cookie`, `Forwarded`, `X-Forwarded-*`, `X-OAuth-*` and headers that the credential sets
/// are left out. Redirects are not followed. A secret in the response is replaced with `[REDACTED:name]`.
///
/// A request identical to a pending one joins it, so that people are asked once.
///
/// The handshake of a WebSocket is sent as `GET /forward` with the same headers. The answer is the target's 101, or as for
/// any request.
#[utoipa::path(
    post,
    path = "/forward",
    tag = "Agent",
    operation_id = "forward",
    security(("agentKey" = [])),
    params(
        ("X-PX-Credential" = String, Header, min_length = 1, description = "Name of the credential.", example = "github"),
        ("X-PX-Target" = inline(Uri), Header, description = "Full target URL with its query. `https`, or `http` if the credential allows it; no user name, no control characters. A fragment is dropped.", example = "https://api.github.com/user"),
        ("X-PX-Method" = inline(Option<ForwardMethod>), Header, description = "Method of the upstream request, in any case. CONNECT and TRACE are refused."),
        ("X-PX-Reason" = Option<String>, Header, max_length = 1024, description = "Reason, for the approver. At most 1024 bytes. A policy can require it.", example = "Open an issue about the failing build"),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description = "Requests with the same key happen once and have the same outcome for 24 hours. 1 to 255 bytes."),
        ("Prefer" = Option<String>, Header, description = "`wait=N` (RFC 7240) holds the connection for a decision, at most 60 seconds. Other preferences are ignored.", example = "wait=30"),
    ),
    request_body(content_type = "*/*", description = "The body for the target, with its own `Content-Type`. Streamed if no approval is needed; otherwise stored, up to `PX_PENDING_BODY_MAX_BYTES` (10 MiB)."),
    responses(
        (status = 202, description = "Approval is needed. The header `PX-Txn` distinguishes this from a target's own 202.", headers(("PX-Txn" = Id, description = "The transaction."), ("Location" = Uri, description = "The same as `poll_url`."), ("Retry-After" = u64, description = "Seconds after which to ask again."), ("Cache-Control" = String, description = "Always `no-store`.")), body = Paused, example = json!({
            "status": "pending",
            "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
            "poll_url": "https://pyxis.example.org/agent/approvals/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
            "approval_url": "https://pyxis.example.org/approve/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
            "expires_at": "2026-01-31T10:05:00.250Z",
            "expires_in": 3600,
            "notification_channel": "agent_reflected",
            "agent_hint": "A person must approve this POST request to api.github.com. Ask them to open https://pyxis.example.org/approve/7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11"
        })),
        (status = 400, response = BadForward),
        (status = 403, response = ForwardRefused),
        (status = 404, response = CredentialNotFound),
        (status = 409, response = StillUnderWay),
        (status = 413, response = PendingBodyTooLarge),
        (status = 422, response = IdempotencyKeyReused),
        (status = 426, response = OtherWebSocketVersion),
        (status = 429, response = RateLimited),
        (status = 501, response = NoWebSocket),
        (status = 502, response = UpstreamFailed),
        (status = 503, response = CannotForward),
        (status = 504, response = UpstreamTimeout),
        (status = "default", description = "The target's own response: any status, its headers and its body, without `PX-Error`. A target can also respond with the statuses above.", content_type = "*/*"),
    ),
)]
pub(crate) async fn post_forward(Extract(state): Extract<State>, request: Request) -> Response {
    forward(&state, request).await
}

/// Request a signature with a stored key.
///
/// Always needs approval, regardless of policy, mode and grants. The poll response has the signature:
/// `response.body` is the JSON text of `Signed`. The approver sees the decoded payload.
#[utoipa::path(
    post,
    path = "/sign",
    tag = "Agent",
    operation_id = "sign",
    security(("agentKey" = [])),
    params(
        ("X-PX-Credential" = String, Header, min_length = 1, description = "Name of a signing key.", example = "treasury"),
        ("X-PX-Reason" = Option<String>, Header, max_length = 1024, description = "Reason, for the approver. At most 1024 bytes."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description = "Requests with the same key happen once and have the same outcome for 24 hours. 1 to 255 bytes."),
        ("Prefer" = Option<String>, Header, description = "`wait=N` (RFC 7240) holds the connection for a decision, at most 60 seconds.", example = "wait=30"),
    ),
    request_body(content = SignRequest, example = json!({
            "payload": "Sign in to example.com",
            "encoding": "utf8",
            "algorithm": "secp256k1",
            "hash": "keccak256",
            "format": "eip191",
            "description": "Sign in"
        })),
    responses(
        (status = 200, description = "Approved while `Prefer: wait` held the connection.", body = MessageSignature),
        (status = 202, description = "Approval is needed.", headers(("PX-Txn" = Id, description = "The transaction."), ("Location" = Uri, description = "The same as `poll_url`."), ("Retry-After" = u64, description = "Seconds after which to ask again."), ("Cache-Control" = String, description = "Always `no-store`.")), body = Paused),
        (status = 400, response = BadSign),
        (status = 403, response = SignRefused),
        (status = 404, response = CredentialNotFound),
        (status = 409, response = StillUnderWay),
        (status = 413, response = PendingBodyTooLarge),
        (status = 422, response = BadPayload),
        (status = 429, response = RateLimited),
    ),
)]
pub(crate) async fn post_sign(Extract(state): Extract<State>, request: Request) -> Response {
    sign(&state, request).await
}

/// Send a request through a base URL.
///
/// For tools that only take a base URL and a key: set the base URL to `{base_url}/p/{credential}` and the key to
/// the agent key. Every method works, not only POST. Checks, approvals and records are those of `/forward`. A
/// request that needs approval is held (`PX_ENTRANCE_WAIT_SECS`, or `Prefer: wait=N`); after that the response is
/// a 202. The handshake of a WebSocket opens it.
#[utoipa::path(
    post,
    path = "/p/{credential}/{path}",
    tag = "Agent",
    operation_id = "enter",
    security(("agentBearer" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential."),
        ("path" = String, Path, description = "Path of the target, with slashes; a query follows as usual. The host is the credential's first exact allowed host."),
        ("X-PX-Reason" = Option<String>, Header, max_length = 1024, description = "Reason, for the approver. At most 1024 bytes."),
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description = "As for `/forward`."),
        ("Prefer" = Option<String>, Header, description = "`wait=N` (RFC 7240), at most 60 seconds."),
    ),
    request_body(content_type = "*/*", description = "The body for the target."),
    responses(
        (status = 202, description = "Approval is needed and pending. The header `PX-Txn` distinguishes this from a target's own 202.", headers(("PX-Txn" = Id, description = "The transaction.")), body = Paused),
        (status = 400, response = BadForward),
        (status = 401, response = BadKey),
        (status = 403, response = ForwardRefused),
        (status = 404, response = CredentialNotFound),
        (status = 409, response = StillUnderWay),
        (status = 413, response = PendingBodyTooLarge),
        (status = 422, response = IdempotencyKeyReused),
        (status = 426, response = OtherWebSocketVersion),
        (status = 429, response = RateLimited),
        (status = 500, response = Internal),
        (status = 501, response = NoWebSocket),
        (status = 502, response = UpstreamFailed),
        (status = 503, response = CannotForward),
        (status = 504, response = UpstreamTimeout),
        (status = "default", description = "The target's own response.", content_type = "*/*"),
    ),
)]
pub(crate) async fn through_base_url(Extract(state): Extract<State>, request: Request) -> Response {
    let mut response = base_url_proxy::entrance(&state, request).await;
    response.extensions_mut().insert(ServiceRoute("/p/{credential}/{*path}"));
    response
}
