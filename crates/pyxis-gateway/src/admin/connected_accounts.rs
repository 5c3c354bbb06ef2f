//! A person connects an account: the authorization code flow with PKCE (RFC 6749, section 4.1; RFC 7636).

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pyxis_core::actor::Actor;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::auth::{Auth, Connected};
use pyxis_core::entropy::Entropy;
use pyxis_core::id::UserId;
use pyxis_core::target::Target;
use pyxis_core::{entropy, hex};
use pyxis_store::cipher::Keyring;
use pyxis_store::credentials::{self, CredentialRow};
use pyxis_store::oauth_tokens::{self, ConnectionRow};
use pyxis_store::tasks::{self, TaskStop};
use pyxis_store::{Store, grants};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::approvals::tasks::TaskEnds;
use crate::config::Config;
use crate::credentials::token_endpoint::{self, GrantedToken, TokenClient, form_encoded};
use crate::credentials::tokens::{self, StoredGrant, TokenRequest};
use crate::error::{Error, Result};
use crate::runtime::resolve::{ResolvedCredential, key_hash};
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// How long a person may take at the provider.
const WINDOW: Duration = Duration::from_mins(10);

const CHANGED: Error = Error::Conflict("the credential was changed in the meantime; connect it again");

/// The scope that the token endpoint granted to a credential, where it is not the one asked for.
pub async fn granted_scope(store: &Store, row: &CredentialRow) -> Result<Option<String>> {
    if asked_scope(row).is_none() {
        return Ok(None);
    }
    let found = oauth_tokens::find(store, row.workspace_id, row.id).await?;
    let found = found.filter(|found| found.credential_version == row.version);
    Ok(differing(row, found.and_then(|found| found.granted_scope)))
}

fn differing(row: &CredentialRow, granted: Option<String>) -> Option<String> {
    let asked = asked_scope(row)?;
    granted.filter(|granted| names(&asked) != names(granted))
}

/// The scope of a kind that asks for one; empty where the provider's usual one is meant.
fn asked_scope(row: &CredentialRow) -> Option<String> {
    let auth: Auth = serde_json::from_str(row.auth.as_deref()?).ok()?;
    auth.settings().requested_scope().map(str::to_owned)
}

/// Order means nothing, and some providers write commas.
fn names(scope: &str) -> BTreeSet<&str> {
    scope.split([' ', ',']).filter(|name| !name.is_empty()).collect()
}

/// Where the provider sends people back to.
pub fn redirect_uri(config: &Config) -> String {
    format!("{}/app/oauth/callback", config.base_url)
}

/// True if the provider no longer takes what is stored of a connected account.
pub async fn is_needed(store: &Store, keyring: &Keyring, row: &CredentialRow) -> Result<bool> {
    let credential = ResolvedCredential::parse(row.clone(), None, ApprovalMode::Gated)?;
    let kept =
        TokenRequest::new(&credential, &SecretValue::Text(String::new())).load_stored(store, keyring).await?;
    Ok(kept.is_some_and(|(found, _)| found.problem.as_deref() == Some(tokens::REAUTHORIZE)))
}

/// Begins a connection; the address of the provider's page of consent.
pub async fn begin(state: &State, actor: &Actor, user: UserId, name: &str) -> Result<String> {
    let credential = find(&state.store, actor, name).await?;
    let account = account(&credential)?;
    let page = account.authorization_url.as_deref().ok_or_else(|| {
        Error::field("auth.authorization_url", "is not set; set it, or store the refresh token in the secret")
    })?;
    let page = Target::parse(page).map_err(|error| Error::InvalidTarget(error.to_string()))?;
    let opened = credential.open_needed(&state.keyring)?;
    let secret = opened.secret();
    let client = secret.field("client_id").ok_or_else(|| Error::field("secret.client_id", "is required"))?;
    let (token, verifier) = (random(&*state.entropy), random(&*state.entropy));
    let row = &credential.row;
    let aad = oauth_tokens::verifier_aad(row.workspace_id, row.id);
    let now = state.now();
    let connection = ConnectionRow {
        state_hash: hex::encode(&key_hash(&token)),
        workspace_id: row.workspace_id,
        credential_id: row.id,
        credential_version: row.version,
        user_id: user,
        sealed_verifier: state.keyring.seal(&*state.entropy, &aad, verifier.as_bytes()),
        created_at: now,
        expires_at: now.plus(WINDOW),
    };
    oauth_tokens::purge_connections(&state.store, now).await?;
    oauth_tokens::begin_connection(&state.store, &connection).await?;
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    Ok(consent(&page, account, client, &redirect_uri(&state.config), &token, &challenge))
}

fn random(entropy: &dyn Entropy) -> String {
    URL_SAFE_NO_PAD.encode(entropy::bytes::<32>(entropy))
}

fn consent(
    page: &Target,
    account: &Connected,
    client: &str,
    redirect: &str,
    state: &str,
    challenge: &str,
) -> String {
    let mut url = page.to_string();
    url.push(if page.query().is_some() { '&' } else { '?' });
    url.push_str("response_type=code");
    let scope = account.scope.as_deref().unwrap_or_default();
    for (name, value) in [
        ("client_id", client),
        ("redirect_uri", redirect),
        ("scope", scope),
        ("state", state),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
    ] {
        if !value.is_empty() {
            url.push('&');
            url.push_str(name);
            url.push('=');
            url.extend(form_encoded(value));
        }
    }
    if let Some(more) = account.authorization_parameters.as_deref().filter(|more| !more.is_empty()) {
        url.push('&');
        url.push_str(more);
    }
    url
}

/// Finishes a connection with what the provider sent the person back with; the credential's name.
pub async fn finish(state: &State, actor: &Actor, user: UserId, token: &str, code: &str) -> Result<String> {
    let (workspace, now) = (actor.workspace, state.now());
    let hash = hex::encode(&key_hash(token));
    let found = oauth_tokens::take_connection(&state.store, workspace, user, &hash, now).await?;
    let connection =
        found.ok_or(Error::not_found("connection: it was used, or took longer than ten minutes"))?;
    let row = credentials::find(&state.store, workspace, connection.credential_id).await?;
    let row = row.filter(|row| row.version == connection.credential_version);
    let row = row.ok_or(CHANGED)?;
    let credential = ResolvedCredential::parse(row, None, ApprovalMode::Gated)?;
    let account = account(&credential)?;
    let opened = credential.open_needed(&state.keyring)?;
    let secret = opened.secret();
    let aad = oauth_tokens::verifier_aad(workspace, connection.credential_id);
    let verifier = state
        .keyring
        .open(&aad, &connection.sealed_verifier)
        .map_err(|error| Error::Internal(Box::new(error)))?;
    let verifier = String::from_utf8_lossy(verifier.expose()).into_owned();
    let redirect = redirect_uri(&state.config);
    let granted =
        token_endpoint::code(TokenClient::from_state(state), account, secret, code, &verifier, &redirect)
            .await
            .map_err(Error::from)?;
    let subject = TokenRequest::new(&credential, secret);
    store_grant(state, actor, subject, granted).await?;
    Ok(credential.row.name)
}

/// Stores what the provider granted. What was granted before is another secret, so the version rises. Then no node
/// uses a token of the previous account, and no renewal under way can bring it back.
async fn store_grant(
    state: &State,
    actor: &Actor,
    mut subject: TokenRequest,
    granted: GrantedToken,
) -> Result<()> {
    let (workspace, id, now) = (actor.workspace, subject.row.id, state.now());
    let renewable = granted.refresh_token.is_some();
    let mut change = state.audited.begin(actor).await?;
    let raised = credentials::raise_version(&mut change.tx, workspace, id, subject.row.version, now).await?;
    subject.row.version = raised.ok_or(CHANGED)?;
    let (stored, _) =
        tokens::to_store(&state.keyring, &*state.entropy, now, &subject, granted, StoredGrant::default());
    oauth_tokens::put(&mut change.tx, &stored).await?;
    grants::end_for_credential(&mut change.tx, workspace, id, "account connected", now).await?;
    let mut ends = TaskEnds::default();
    let stop = TaskStop::after_change("account connected", now);
    ends.add_stopped(stop.reason, tasks::stop_for_credential(&mut change.tx, workspace, id, stop).await?);
    let mut detail = json!({ "renewable": renewable, "version": subject.row.version });
    if let Some(scope) = differing(&subject.row, stored.granted_scope) {
        detail["granted_scope"] = scope.into();
    }
    ends.record(&mut change).await?;
    change.commit_about(AuditEvent::CredentialConnected, Some(&subject.row.name), detail).await?;
    ends.count();
    Ok(())
}

async fn find(store: &Store, actor: &Actor, name: &str) -> Result<ResolvedCredential> {
    let row = credentials::find_by_name(store, actor.workspace, name).await?;
    ResolvedCredential::parse(row.ok_or(Error::not_found("credential"))?, None, ApprovalMode::Gated)
}

fn account(credential: &ResolvedCredential) -> Result<&Connected> {
    match &credential.auth {
        Some(Auth::Oauth2Refresh(account)) => Ok(account),
        _ => Err(Error::field("auth", "only an oauth2_refresh credential can be connected")),
    }
}
