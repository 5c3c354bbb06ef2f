//! Passkey ceremonies: each challenge is stored, consumed once, and checked against the person's passkeys at the time
//! of the answer.
//!
//! The library chooses the challenge. Its meaning (a request with its digest, an action, a grant, a person) is
//! stored with it as the ceremony's binding. It is compared when the ceremony is used up.

mod client_data;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pyxis_core::actor::ActorId;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::{CeremonyId, UserId};
use pyxis_store::audit::Appender;
use pyxis_store::ceremonies::{self, CeremonyRow, Purpose};
use pyxis_store::passkeys::{self, PasskeyRow};
use pyxis_store::users::{self, UserRow};
use pyxis_store::{Store, Tx, audit};
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey, PublicKeyCredential, Webauthn, WebauthnBuilder, WebauthnError,
};

use crate::config::Config;
use crate::error::{BoxError, Error, Result};
use crate::identity::ceremony::client_data::Credential;
use crate::runtime::state::State;

/// Lifetime of a challenge.
pub const LIFETIME: Duration = Duration::from_mins(2);
/// Maximum length of an authenticator's answer, in bytes.
const MAX_RESPONSE: usize = 32 * 1024;

/// Data that a browser needs for a ceremony.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// Must be sent back with the answer.
    pub ceremony: CeremonyId,
    /// `PublicKeyCredentialCreationOptionsJSON` or `…RequestOptionsJSON`.
    pub options: Value,
}

/// Answer of a browser's authenticator.
#[derive(Clone, Debug)]
pub struct CeremonyResponse {
    /// Ceremony that is answered.
    pub ceremony: CeremonyId,
    /// `PublicKeyCredential.toJSON()`, as text.
    pub credential: String,
}

impl CeremonyResponse {
    /// Parses the contained credential for the library's checks. Every ceremony reads its answer here, so none skips
    /// the checks that the library leaves out.
    pub(crate) fn read<T: Credential>(&self) -> Result<T> {
        let given: T = self.parse()?;
        client_data::check(given.client_data())?;
        Ok(given)
    }

    fn parse<T: Credential>(&self) -> Result<T> {
        if self.credential.len() > MAX_RESPONSE {
            return Err(Error::PasskeyRefused("the response is too long"));
        }
        serde_json::from_str(&self.credential)
            .map_err(|_| Error::PasskeyRefused("the response cannot be read"))
    }
}

/// A valid assertion that was not used up yet.
pub struct VerifiedAssertion {
    /// Passkey row before the ceremony.
    pub(crate) row: PasskeyRow,
    /// Stored part of the assertion, sufficient to verify the signature again.
    pub(crate) evidence: Value,
    /// Binding of the ceremony from its beginning.
    binding: String,
    /// Passkey document after this use.
    document: String,
}

impl VerifiedAssertion {
    /// Refuses an assertion with a different binding.
    pub(crate) fn check_binding(&self, wanted: &str) -> Result<()> {
        if self.binding == wanted {
            Ok(())
        } else {
            Err(Error::PasskeyRefused("it was given for another action; try again"))
        }
    }

    /// Stores the counter. Of two concurrent ceremonies with one passkey, one fails here, together with its action.
    pub(crate) async fn record(&self, tx: &mut Tx, now: UnixMillis) -> Result<()> {
        if passkeys::record_use(&mut *tx, &self.row, &self.document, now).await? {
            Ok(())
        } else {
            Err(Error::PasskeyRefused("the same passkey was used elsewhere at the same moment; try again"))
        }
    }
}

/// The relying party: this origin and its host name.
pub(crate) fn relying_party(config: &Config) -> Result<Webauthn> {
    const NO_NAME: Error =
        Error::Conflict("passkeys need a base URL (PX_BASE_URL) with a host name, not an IP address");
    let origin = Url::parse(&config.base_url).map_err(broken)?;
    let name = origin.domain().ok_or(NO_NAME)?.to_owned();
    let builder = WebauthnBuilder::new(&name, &origin).map_err(|_| NO_NAME)?;
    builder.rp_name("Pyxis").timeout(LIFETIME).build().map_err(broken)
}

/// An internal error, not the caller's fault.
pub(crate) fn broken(error: impl Into<BoxError>) -> Error {
    Error::Internal(error.into())
}

/// Converts a failed check. The person learns its kind; the log contains the library's message.
pub(crate) fn ceremony_error(error: &WebauthnError) -> Error {
    tracing::info!(%error, "a passkey was refused");
    Error::PasskeyRefused(match error {
        WebauthnError::InvalidRPOrigin => "it was used on another origin",
        WebauthnError::InvalidRPIDHash => "it belongs to another site",
        WebauthnError::MismatchedChallenge => "it is a response to another challenge",
        WebauthnError::CredentialCrossOrigin => "it was used in a frame of another site",
        WebauthnError::InvalidClientDataType => "it is a response to another kind of request",
        WebauthnError::UserNotPresent => "the presence of a person was not confirmed",
        WebauthnError::UserNotVerified => "the person was not verified by PIN, fingerprint or face",
        WebauthnError::CredentialPossibleCompromise => {
            "its counter went backward, so there may be a copy of it"
        }
        _ => "its response is not valid",
    })
}

/// Text under which an authenticator's id is stored.
pub(crate) fn text(id: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

/// Parses a stored passkey.
pub(crate) fn key(row: &PasskeyRow) -> Result<Passkey> {
    serde_json::from_str(&row.document).map_err(broken)
}

/// The inner object of the library's options for the browser.
pub(crate) fn options(given: &impl Serialize) -> Result<Value> {
    let mut value = serde_json::to_value(given).map_err(broken)?;
    Ok(value["publicKey"].take())
}

/// Stores a ceremony until it is answered.
pub(crate) async fn store_ceremony(
    state: &State,
    user: Option<UserId>,
    purpose: Purpose,
    binding: String,
    pending: String,
    options: Value,
) -> Result<Challenge> {
    let row = CeremonyRow {
        id: CeremonyId::new(&*state.entropy),
        user_id: user,
        purpose,
        binding,
        state: pending,
        expires_at: state.now().plus(LIFETIME),
    };
    ceremonies::insert(&state.store, &row).await?;
    Ok(Challenge { ceremony: row.id, options })
}

/// Begins a ceremony that one of `keys` must answer, or any passkey if there are none.
pub(crate) async fn begin(
    state: &State,
    user: Option<UserId>,
    purpose: Purpose,
    binding: String,
    keys: &[PasskeyRow],
) -> Result<Challenge> {
    if user.is_some() && keys.is_empty() {
        return Err(Error::Conflict("you have no passkey yet; register one under Account"));
    }
    let begun = relying_party(&state.config)?.start_discoverable_authentication();
    let (given, pending) = begun.map_err(broken)?;
    let mut options = options(&given)?;
    let allowed: Vec<_> =
        keys.iter().map(|row| json!({ "type": "public-key", "id": row.credential })).collect();
    options["allowCredentials"] = Value::Array(allowed);
    let pending = serde_json::to_string(&pending).map_err(broken)?;
    store_ceremony(state, user, purpose, binding, pending, options).await
}

/// Consumes the ceremony of an answer. If its purpose or person differs, it is refused but consumed anyway.
pub(crate) async fn consume(
    store: &Store,
    answer: &CeremonyResponse,
    purpose: Purpose,
    user: Option<UserId>,
    now: UnixMillis,
) -> Result<CeremonyRow> {
    let found = ceremonies::consume(store, answer.ceremony, now).await?;
    found
        .filter(|row| row.purpose == purpose && row.user_id == user)
        .ok_or(Error::PasskeyRefused("the passkey request has ended; start again"))
}

/// Checks the answer to a ceremony: challenge, origin, frame, site, presence, verification, signature, counter, and the
/// passkey's owner. `user` must be the owner; `None` accepts any owner.
pub(crate) async fn verify(
    state: &State,
    answer: &CeremonyResponse,
    purpose: Purpose,
    user: Option<UserId>,
) -> Result<VerifiedAssertion> {
    let checked = check(&state.store, &state.config, state.now(), answer, purpose, user).await;
    if let (Err(Error::PasskeyRefused(why)), Some(user)) =
        (&checked, whose(&state.store, answer, user).await?)
    {
        note_refusal(&state.audit, state.now(), &user, purpose, why).await?;
    }
    let verified = checked?;
    reclaim(&state.store, &verified.row).await?;
    Ok(verified)
}

/// Records a failed ceremony in the audit trail.
async fn note_refusal(
    audit: &Appender,
    now: UnixMillis,
    user: &UserRow,
    purpose: Purpose,
    why: &str,
) -> Result<()> {
    let mut record = audit::AuditRecord::new(now, AuditEvent::PasskeyRefused);
    record.workspace_id = Some(user.workspace_id);
    record.actor = ActorId::User(user.id);
    record.actor_name.clone_from(&user.email);
    record.detail = json!({ "purpose": purpose.as_str(), "why": why }).to_string();
    audit.append(record).await?;
    Ok(())
}

async fn check(
    store: &Store,
    config: &Config,
    now: UnixMillis,
    answer: &CeremonyResponse,
    purpose: Purpose,
    user: Option<UserId>,
) -> Result<VerifiedAssertion> {
    let begun = consume(store, answer, purpose, user, now).await?;
    let given: PublicKeyCredential = answer.read()?;
    let row = passkeys::find_by_credential(store, &text(given.get_credential_id())).await?;
    let row = row.ok_or(Error::PasskeyRefused("it is not registered here"))?;
    if user.is_some_and(|user| user != row.user_id) {
        return Err(Error::PasskeyRefused("it belongs to someone else"));
    }
    let handle = given.get_user_unique_id();
    let theirs = row.user_id.to_string().replace('-', "");
    if handle.is_some_and(|handle| hex::encode(handle) != theirs) {
        return Err(Error::PasskeyRefused("it belongs to someone else"));
    }
    let pending: DiscoverableAuthentication = serde_json::from_str(&begun.state).map_err(broken)?;
    let mut key = key(&row)?;
    let result = relying_party(config)?.finish_discoverable_authentication_v2(&given, pending, &key);
    let result = result.map_err(|error| ceremony_error(&error))?;
    if !result.user_verified() {
        return Err(Error::PasskeyRefused("the person was not verified by PIN, fingerprint or face"));
    }
    key.update_credential(&result);
    let document = serde_json::to_string(&key).map_err(broken)?;
    Ok(VerifiedAssertion { row, evidence: evidence(answer), binding: begun.binding, document })
}

/// The signature and the signed data, without anything else that the browser sent.
fn evidence(answer: &CeremonyResponse) -> Value {
    let whole: Value = serde_json::from_str(&answer.credential).unwrap_or_default();
    let response = &whole["response"];
    json!({
        "id": whole["id"],
        "client_data": response["clientDataJSON"],
        "authenticator_data": response["authenticatorData"],
        "signature": response["signature"],
    })
}

/// User affected by a refusal: the one who had to answer, or the owner of the passkey.
async fn whose(store: &Store, answer: &CeremonyResponse, user: Option<UserId>) -> Result<Option<UserRow>> {
    let Ok(given) = answer.parse::<PublicKeyCredential>() else { return Ok(None) };
    let row = passkeys::find_by_credential(store, &text(given.get_credential_id())).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(users::find(store, row.workspace_id, user.unwrap_or(row.user_id)).await?)
}

/// A passkey older than another person's opening of the account proves that the owner has regained it.
async fn reclaim(store: &Store, row: &PasskeyRow) -> Result<()> {
    users::reclaim(store, row.workspace_id, row.user_id, row.created_at).await?;
    Ok(())
}
