//! A single delivery attempt.

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{WebhookId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_core::webhook::{ATTEMPT_TIMEOUT, next_attempt};
use pyxis_net::{Client, HostPort};
use pyxis_store::Store;
use pyxis_store::cipher::{Aad, Keyring, Sealed};
use pyxis_store::deliveries::{self, Attempt, Claimed, DeliveryStatus};
use pyxis_store::webhooks::{self, WebhookRow};
use tokio::time::{Instant, timeout};

use super::signed_event::SignedEvent;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Maximum size of a response that is read, in bytes.
const MAX_RESPONSE: usize = 16 * 1024;
/// Maximum length of a stored response, in characters.
const EXCERPT: usize = 1000;

/// Destination and secrets for a batch of deliveries.
pub(super) struct Endpoint {
    uri: Uri,
    host: HostPort,
    secrets: Vec<SecretString>,
}

impl Endpoint {
    /// Loads the current endpoint. `None` if nothing is to be sent.
    pub(super) async fn load(
        store: &Store,
        keyring: &Keyring,
        now: UnixMillis,
        workspace: WorkspaceId,
        id: WebhookId,
    ) -> Result<Option<Self>> {
        let Some(row) = webhooks::find(store, workspace, id).await? else { return Ok(None) };
        if row.disabled_at.is_some() {
            return Ok(None);
        }
        let uri: Uri = row.url.parse().map_err(|_| Error::InvalidTarget("the stored url".to_owned()))?;
        let host = HostPort::from_uri(&uri).map_err(|error| Error::InvalidTarget(error.to_string()))?;
        Ok(Some(Self { uri, host, secrets: secrets(keyring, now, &row)? }))
    }
}

/// Signing secrets, newest first.
fn secrets(keyring: &Keyring, now: UnixMillis, row: &WebhookRow) -> Result<Vec<SecretString>> {
    let mut secrets =
        vec![open(keyring, &webhooks::secret_aad(row.workspace_id, row.id), &row.sealed_secret)?];
    let both = row.previous_until_at.is_some_and(|until| until > now);
    if let Some(previous) = row.sealed_previous.as_ref().filter(|_| both) {
        secrets.push(open(keyring, &webhooks::previous_aad(row.workspace_id, row.id), previous)?);
    }
    Ok(secrets)
}

fn open(keyring: &Keyring, aad: &Aad, sealed: &Sealed) -> Result<SecretString> {
    let bytes = keyring.open(aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    let text = std::str::from_utf8(bytes.expose()).map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(SecretString::new(text.to_owned()))
}

/// Response of a receiver.
struct EndpointResponse {
    status: StatusCode,
    excerpt: Option<String>,
}

/// Sends a claimed delivery once and records the result.
pub(super) async fn make(state: &State, endpoint: &Endpoint, claimed: &Claimed) -> Result<()> {
    let started = Instant::now();
    let sealed = deliveries::body_aad(claimed.workspace_id, claimed.id);
    let opened = state.keyring.open(&sealed, &claimed.sealed_body);
    let body = opened.map_err(|error| Error::Internal(Box::new(error)))?;
    let event = SignedEvent { event: claimed.event.as_str(), delivery: &claimed.id.to_string() };
    let body = Bytes::copy_from_slice(body.expose());
    let request = event.request(state.now(), &endpoint.uri, &endpoint.secrets, body);
    let answer = match timeout(ATTEMPT_TIMEOUT, send(&state.net, endpoint, request)).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no response within {} seconds", ATTEMPT_TIMEOUT.as_secs())),
    };
    let millis = i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX);
    let attempt = evaluate_attempt(state.now(), claimed, answer, millis);
    state.metrics().attempted(attempt.status);
    if !deliveries::record(&state.store, claimed, &attempt).await? {
        tracing::debug!(delivery = %claimed.id, "another node attempted it too, or a person sent it again");
    }
    Ok(())
}

async fn send(
    net: &Client,
    endpoint: &Endpoint,
    request: Request<pyxis_net::Body>,
) -> std::result::Result<EndpointResponse, pyxis_net::Error> {
    // A kept-alive connection was checked when it was opened; the address may have changed since.
    net.check(&endpoint.host).await?;
    let response = net.send(request, ATTEMPT_TIMEOUT).await?;
    let status = response.status();
    Ok(EndpointResponse { status, excerpt: read(response.into_body()).await })
}

/// Reads the beginning of the response. An error here does not affect its status.
async fn read(mut body: Incoming) -> Option<String> {
    let mut head = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        head.extend_from_slice(&data[..data.len().min(MAX_RESPONSE - head.len())]);
        if head.len() == MAX_RESPONSE {
            break;
        }
    }
    let text: String =
        String::from_utf8_lossy(&head).chars().take(EXCERPT).map(pyxis_core::preview::visible).collect();
    (!text.is_empty()).then_some(text)
}

/// New status of a delivery after an attempt. Any 2xx is a success; everything else is a failure.
fn evaluate_attempt(
    now: UnixMillis,
    claimed: &Claimed,
    answer: std::result::Result<EndpointResponse, String>,
    millis: i64,
) -> Attempt {
    let at = now;
    let failed = u32::try_from(claimed.attempts + 1).unwrap_or(u32::MAX);
    let (acknowledged, error) = match &answer {
        Ok(answer) if answer.status.is_success() => (true, None),
        Ok(answer) if answer.status.is_redirection() => (
            false,
            Some(format!(
                "the endpoint responded with {}; redirects are not followed",
                answer.status.as_u16()
            )),
        ),
        Ok(answer) => (false, Some(format!("the endpoint responded with {}", answer.status.as_u16()))),
        Err(error) => (false, Some(error.clone())),
    };
    let next_at = if acknowledged { None } else { next_attempt(failed, at) };
    let status = match (acknowledged, next_at) {
        (true, _) => DeliveryStatus::Delivered,
        (false, Some(_)) => DeliveryStatus::Pending,
        (false, None) => DeliveryStatus::Failed,
    };
    let answer = answer.ok();
    Attempt {
        status,
        next_at,
        at,
        millis,
        response_status: answer.as_ref().map(|answer| answer.status.as_u16().into()),
        response_excerpt: answer.and_then(|answer| answer.excerpt),
        error,
    }
}
