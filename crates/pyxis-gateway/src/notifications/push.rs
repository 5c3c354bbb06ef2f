//! Browser notifications: Web Push (RFC 8030) with VAPID (RFC 8292), encrypted for the browser (RFC 8291).
//!
//! A push service sees the recipient and the time, but never the content. The encrypted content has no body and no
//! secret either: only the agent, the credential, the host, and the URL for the decision.

mod burst;
pub mod contact;
mod encrypt;
mod subject;
mod vapid;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use burst::BurstPlace;
use encrypt::{Recipient, SALT, encrypt};
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use hyper::body::Incoming;
use p256::{PublicKey, SecretKey};
use pyxis_core::brand::SECURED_BY;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::{PushSubscriptionId, WorkspaceId};
use pyxis_core::secret::SecretBytes;
use pyxis_core::{entropy, metric};
use pyxis_net::body::read_capped;
use pyxis_net::{Client, HostPort};
use pyxis_store::Store;
use pyxis_store::cipher::Keyring;
use pyxis_store::push::{self, PushMessageRow, PushSubscriptionRow};
use serde_json::json;
use subject::Subject;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::notifications::brand;
use crate::runtime::metrics_recorder::DeliveryCounters;
use crate::runtime::state::State;
use crate::runtime::survival::caught;
use crate::runtime::work::Stop;

const TTL: HeaderName = HeaderName::from_static("ttl");
const URGENCY: HeaderName = HeaderName::from_static("urgency");
const TOPIC: HeaderName = HeaderName::from_static("topic");

/// Maximum concurrent messages.
const AT_ONCE: usize = 32;
/// Timeout of one message.
const CALL: Duration = Duration::from_secs(10);
/// Lifetime of a claim. A claimed message is sent immediately.
const CLAIM: Duration = Duration::from_secs(30);
/// Maximum sleep, in case another process stored a message.
const NAP: Duration = Duration::from_secs(2);
/// Maximum delay between attempts.
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// Maximum size of an error response that is read, in bytes; longer ones are left out.
const MAX_RESPONSE: usize = 16 * 1024;
/// Maximum length of a stored error response, in characters.
const WORDS: usize = 200;
/// Length of a browser's authentication secret, in bytes.
const AUTH: usize = 16;

/// Public key that browsers subscribe to.
pub(crate) fn public_key(keyring: &Keyring) -> String {
    vapid::public_key(&vapid::key(keyring))
}

/// Normalizes a browser's keys for sealing. `None` if they are invalid.
pub(crate) fn read_keys(p256dh: &str, auth: &str) -> Option<SecretBytes> {
    let (key, auth) = (decode(p256dh)?, decode(auth)?);
    if PublicKey::from_sec1_bytes(&key).is_err() || auth.len() != AUTH {
        return None;
    }
    Some(SecretBytes::new([auth, key].concat()))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// Sends until stopped, then finishes the messages in progress.
pub(crate) async fn run(state: State, mut stop: Stop) {
    let mut under_way = JoinSet::new();
    loop {
        let nap = match caught("push", start_due(&state, &mut under_way)).await {
            Ok(nap) => nap,
            Err(error) => {
                tracing::warn!(%error, "cannot read notifications; will retry");
                NAP
            }
        };
        tokio::select! {
            () = state.work.push().notified() => {}
            () = tokio::time::sleep(nap) => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    while under_way.join_next().await.is_some() {}
}

/// Sends all due messages, and returns once each has been attempted.
pub async fn send_due(state: &State) -> Result<()> {
    let mut under_way = JoinSet::new();
    while start_due(state, &mut under_way).await?.is_zero() {}
    while under_way.join_next().await.is_some() {}
    Ok(())
}

/// Starts due messages in addition to those in progress. Waits only if there is no capacity, so that an unresponsive
/// push service does not delay others. Returns the time until more can be due.
async fn start_due(state: &State, under_way: &mut JoinSet<()>) -> Result<Duration> {
    if under_way.len() == AT_ONCE {
        under_way.join_next().await;
    }
    while under_way.try_join_next().is_some() {}
    let (now, free) = (state.now(), AT_ONCE - under_way.len());
    let most = u32::try_from(free).unwrap_or(1);
    let due = push::claim(&state.store, now, now.plus(CLAIM), most).await?;
    let more = due.len() == free;
    for message in due {
        let state = state.clone();
        under_way.spawn(async move {
            if let Err(error) = caught("push", serve(&state, &message)).await {
                tracing::warn!(txn = %message.txn_id, %error, "cannot send or record a notification");
            }
        });
    }
    if more {
        return Ok(Duration::ZERO);
    }
    let next = push::next_due(&state.store, now).await?;
    Ok(next.map_or(NAP, |next| next.since(state.now()).min(NAP)).max(Duration::from_millis(1)))
}

/// Result of one attempt.
enum PushOutcome {
    Taken,
    /// The subscription is permanently gone.
    Gone,
    /// The message is rejected as it is: status, and beginning of the response.
    Refused(u16, String),
    Later(Option<Duration>),
}

async fn serve(state: &State, message: &PushMessageRow) -> Result<()> {
    let workspace = message.workspace_id;
    let now = state.now();
    let waiting = Subject::load(&state.store, message, now).await?;
    let browser = push::find(&state.store, workspace, message.subscription_id).await?;
    let (Some(subject), Some(browser)) = (waiting, browser) else {
        return Ok(push::done(&state.store, message).await?);
    };
    // A person who lost the right while the push service was down, or in quiet hours, is no longer notified.
    let is_late = message.attempts > 0 || subject.created_at().plus(CLAIM) < now;
    if is_late && !subject.may_be_decided_by(&state.store, browser.user_id).await? {
        return Ok(push::done(&state.store, message).await?);
    }
    let place = BurstPlace::take(state, workspace, browser.id).await?;
    let told = Notification::new(&subject, place.digest);
    let request = match request(state, &subject, &told, &browser).await {
        Ok(request) => request,
        Err(error) => {
            place.give_back(&state.store, workspace, browser.id).await?;
            return Err(error);
        }
    };
    let outcome = attempt(&state.net, request).await;
    if !matches!(outcome, PushOutcome::Taken) {
        place.give_back(&state.store, workspace, browser.id).await?;
    }
    record(state, message, browser.id, outcome).await
}

/// Sends a notification once, and counts the attempt.
async fn attempt(net: &Client, request: Request<pyxis_net::Body>) -> PushOutcome {
    let outcome = match timeout(CALL, send(net, request)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => {
            tracing::debug!(%error, "cannot reach a push service");
            PushOutcome::Later(None)
        }
        Err(_) => PushOutcome::Later(None),
    };
    DeliveryCounters::new("push").attempted(matches!(outcome, PushOutcome::Taken));
    outcome
}

/// Records the outcome of an attempt, and when the next one is due.
async fn record(
    state: &State,
    message: &PushMessageRow,
    browser: PushSubscriptionId,
    outcome: PushOutcome,
) -> Result<()> {
    let workspace = message.workspace_id;
    match outcome {
        PushOutcome::Taken => {
            push::succeeded(&state.store, workspace, browser, state.now()).await?;
            push::done(&state.store, message).await?;
        }
        // Removes its messages too.
        PushOutcome::Gone => drop(push::remove(&state.store, workspace, browser).await?),
        // The subscription stays, because the cause may be this server's contact or clock, which can be fixed.
        PushOutcome::Refused(status, why) => {
            tracing::warn!(status, why, browser = %browser, "a push service refused a notification");
            let (_, label) = metric::status_label(status);
            metrics::counter!(metric::PUSH_REFUSED.name, "status" => label).increment(1);
            push::record_refusal(&state.store, workspace, browser, (status, &why), state.now()).await?;
            push::done(&state.store, message).await?;
        }
        PushOutcome::Later(wait) => {
            let doublings = u32::try_from(message.attempts).unwrap_or(u32::MAX).min(9);
            let wait = wait.unwrap_or(Duration::from_secs(1 << doublings).min(LONGEST_WAIT));
            push::failed(&state.store, message, state.now().plus(wait)).await?;
            // It may be due before the sender's next check.
            state.work.push().notify_one();
        }
    }
    Ok(())
}

/// Words of a notification.
struct Notification {
    /// Part of the title, after the name of the workspace.
    title: String,
    text: String,
    path: String,
    /// Name by which a later notification replaces this one.
    tag: String,
}

impl Notification {
    /// The notification about a subject, or about this number of subjects.
    fn new(subject: &Subject, digest: Option<i64>) -> Self {
        let Some(count) = digest else {
            return Self {
                title: "approval needed".to_owned(),
                text: subject.text(),
                path: subject.path(),
                tag: subject.tag(),
            };
        };
        let text = match count {
            1 => "1 more is waiting for approval. Open the inbox.".to_owned(),
            count => format!("{count} more are waiting for approval. Open the inbox."),
        };
        Self {
            title: "approvals needed".to_owned(),
            text,
            path: "/app/inbox".to_owned(),
            // A browser may belong to people of several workspaces.
            tag: subject.workspace().to_string(),
        }
    }
}

/// Content of a notification.
async fn payload(
    store: &Store,
    config: &Config,
    workspace: WorkspaceId,
    told: &Notification,
) -> Result<Vec<u8>> {
    let brand = brand::get(store, workspace).await?;
    let name = brand.display_name.unwrap_or_else(|| pyxis_core::brand::DEFAULT_NAME.to_owned());
    let branded = brand.has_logo || brand.accent.is_some();
    let icon = branded.then(|| brand::logo_url(config, workspace));
    let payload = json!({
        "title": format!("{name}: {}", told.title),
        "body": format!("{}\n{SECURED_BY}", told.text),
        "path": told.path,
        "tag": told.tag,
        "icon": icon,
    });
    Ok(payload.to_string().into_bytes())
}

async fn request(
    state: &State,
    subject: &Subject,
    told: &Notification,
    browser: &PushSubscriptionRow,
) -> Result<Request<pyxis_net::Body>> {
    let internal = |error| Error::Internal(error);
    let opened = state.keyring.open(&push::keys_aad(subject.workspace(), browser.id), &browser.sealed_keys);
    let keys = opened.map_err(|error| internal(Box::new(error)))?;
    let (auth, key) = keys.expose().split_at_checked(AUTH).ok_or(Error::not_found("keys"))?;
    let recipient = Recipient {
        key: PublicKey::from_sec1_bytes(key).map_err(|error| internal(Box::new(error)))?,
        auth: SecretBytes::new(auth.to_vec()),
    };
    let body = encrypt(
        &recipient,
        &fresh_key(&*state.entropy),
        entropy::bytes::<SALT>(&*state.entropy),
        &payload(&state.store, &state.config, subject.workspace(), told).await?,
    );
    let body = body.ok_or(Error::Conflict("the notification is too long"))?;
    let uri: Uri =
        browser.endpoint.parse().map_err(|_| Error::InvalidTarget("the stored endpoint".to_owned()))?;
    let origin = format!("https://{}", uri.authority().map_or("", http::uri::Authority::as_str));
    let contact = contact::choose(state.config.push_contact.as_deref(), &state.config.base_url);
    let authorization = vapid::authorization(&vapid::key(&state.keyring), &origin, &contact, state.now());
    let mut request = Request::new(pyxis_net::body::full(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("aes128gcm"));
    headers.insert(TTL, subject.expires_at().since(state.now()).as_secs().into());
    headers.insert(URGENCY, HeaderValue::from_static("high"));
    // A repeated message replaces the previous one.
    let topic = told.tag.replace('-', "");
    for (name, value) in [(AUTHORIZATION, authorization), (TOPIC, topic)] {
        headers.insert(name, HeaderValue::try_from(value).map_err(|error| internal(Box::new(error)))?);
    }
    Ok(request)
}

fn fresh_key(entropy: &dyn Entropy) -> SecretKey {
    // Nearly any 32 bytes are a valid key. If not, the next ones are.
    std::iter::repeat_with(|| SecretKey::from_slice(&entropy::bytes::<32>(entropy)))
        .find_map(std::result::Result::ok)
        .expect("an endless supply")
}

async fn send(
    net: &Client,
    request: Request<pyxis_net::Body>,
) -> std::result::Result<PushOutcome, pyxis_net::Error> {
    let host = HostPort::from_uri(request.uri()).map_err(pyxis_net::InvalidRequest::from)?;
    net.check(&host).await?;
    let response = net.send(request, CALL).await?;
    let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Ok(match response.status() {
        status if status.is_success() => PushOutcome::Taken,
        StatusCode::NOT_FOUND | StatusCode::GONE => PushOutcome::Gone,
        StatusCode::TOO_MANY_REQUESTS => PushOutcome::Later(wait.map(Duration::from_secs)),
        status if status.is_client_error() || status.is_redirection() => {
            PushOutcome::Refused(status.as_u16(), read_excerpt(response.into_body()).await)
        }
        _ => PushOutcome::Later(None),
    })
}

/// Beginning of a response, for display.
async fn read_excerpt(body: Incoming) -> String {
    let bytes = read_capped(body, MAX_RESPONSE).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.trim().chars().take(WORDS).map(pyxis_core::preview::visible).collect()
}
