//! Push subscriptions of a person's browsers.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::hex;
use pyxis_core::id::{PushSubscriptionId, UserId, WorkspaceId};
use pyxis_core::target::{Scheme, Target};
use pyxis_net::Client;
use pyxis_net::HostPort;
use pyxis_store::audit::AuditedStore;
use pyxis_store::cipher::Keyring;
use pyxis_store::push::{self, PushSubscriptionRow};
use pyxis_store::{Store, users};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::notifications::push::read_keys;
use crate::runtime::state::State;
use pyxis_core::actor::Actor;

pub use crate::notifications::push::{contact, send_due};

/// Maximum length of an endpoint, in bytes.
const MAX_ENDPOINT: usize = 2048;
/// Maximum number of subscriptions per person.
const MAX_BROWSERS: usize = 20;

/// Subscription data from a browser.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// URL of the push service for this browser.
    pub endpoint: String,
    /// Public key, base64url.
    pub p256dh: String,
    /// Authentication secret, base64url.
    pub auth: String,
    /// Display name.
    pub label: String,
}

/// Public key that browsers subscribe to.
pub fn public_key(keyring: &Keyring) -> String {
    crate::notifications::push::public_key(keyring)
}

/// Adds a subscription. Replaces an earlier one with the same endpoint.
pub async fn subscribe(state: &State, actor: &Actor, user: UserId, new: Subscription) -> Result<()> {
    let keys = read_keys(&new.p256dh, &new.auth)
        .ok_or_else(|| Error::field("p256dh", "not the keys of a browser subscription"))?;
    let host = check_endpoint(&state.net, &new.endpoint).await?;
    let id = PushSubscriptionId::new(state.now(), &*state.entropy);
    let aad = push::keys_aad(actor.workspace, id);
    let row = PushSubscriptionRow {
        id,
        workspace_id: actor.workspace,
        user_id: user,
        endpoint_hash: hex::encode(&Sha256::digest(&new.endpoint)),
        endpoint: new.endpoint,
        sealed_keys: state.keyring.seal(&*state.entropy, &aad, keys.expose()),
        label: new.label.chars().filter(|c| !c.is_control()).take(100).collect(),
        created_at: state.now(),
        last_success_at: None,
        refused_status: None,
        refused_why: None,
        refused_at: None,
    };
    let mut change = state.audited.begin(actor).await?;
    if push::list_for_user(&mut change.tx, actor.workspace, user).await?.len() >= MAX_BROWSERS {
        return Err(Error::Conflict("a person can have at most 20 browsers; remove one first"));
    }
    push::subscribe(&mut change.tx, &row).await?;
    Ok(change.commit(AuditEvent::PushSubscribed, json!({ "service": host })).await?)
}

/// Subscriptions of a person.
pub async fn list(store: &Store, workspace: WorkspaceId, user: UserId) -> Result<Vec<PushSubscriptionRow>> {
    Ok(push::list_for_user(store, workspace, user).await?)
}

/// Subscriptions of a workspace whose push services refuse messages, each with its owner's email address.
pub async fn refused_subscriptions(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Vec<(PushSubscriptionRow, String)>> {
    let mut found = Vec::new();
    for row in push::list_refused(store, workspace).await? {
        let person = users::find(store, workspace, row.user_id).await?;
        found.extend(person.map(|person| (row, person.email)));
    }
    Ok(found)
}

/// Deletes a subscription of a person.
pub async fn unsubscribe(
    db: &AuditedStore,
    actor: &Actor,
    user: UserId,
    id: PushSubscriptionId,
) -> Result<()> {
    let mut change = db.begin(actor).await?;
    let found = push::find(&mut change.tx, actor.workspace, id).await?;
    if found.is_none_or(|found| found.user_id != user) {
        return Err(Error::not_found("browser"));
    }
    push::remove(&mut change.tx, actor.workspace, id).await?;
    Ok(change.commit(AuditEvent::PushUnsubscribed, json!({ "browser": id })).await?)
}

/// Requires https and an allowed host, because the endpoint is chosen by the client.
async fn check_endpoint(net: &Client, endpoint: &str) -> Result<String> {
    let refused = |detail: String| Error::field("endpoint", detail);
    if endpoint.len() > MAX_ENDPOINT {
        return Err(refused("must have at most 2048 bytes".to_owned()));
    }
    let target = Target::parse(endpoint).map_err(|error| refused(error.to_string()))?;
    if target.scheme() != Scheme::Https {
        return Err(refused("must be an https URL".to_owned()));
    }
    let uri: http::Uri = endpoint.parse().map_err(|_| refused("not a URL".to_owned()))?;
    let host = HostPort::from_uri(&uri).map_err(|error| refused(error.to_string()))?;
    net.check(&host).await.map_err(|error| refused(error.to_string()))?;
    Ok(host.host().to_owned())
}
