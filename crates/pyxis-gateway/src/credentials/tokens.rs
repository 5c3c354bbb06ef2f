//! Access tokens that are fetched with a credential (OAuth 2.0). They are kept to their end, and fetched by one
//! request at a time, on one node at a time.
//!
//! A refresh token may be good for one use only. So only the node that holds the credential's lease asks for a new
//! token. The token is stored before anything is sent with it.

use std::time::Duration;

use pyxis_core::auth::Auth;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::Entropy;
use pyxis_core::secret::SecretString;
use pyxis_core::{hex, metric};
use pyxis_store::cipher::{Keyring, Sealed};
use pyxis_store::credentials::{self, CredentialRow};
use pyxis_store::oauth_tokens::{self, TokenRow};
use pyxis_store::{Store, leases};
use zeroize::Zeroizing;

use super::kinds;
use super::token_endpoint::{GrantedToken, TokenError};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::runtime::resolve::{ResolvedCredential, key_hash};
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;
use crate::runtime::token_cache::{Fresh, TokenCache};

/// How long a token is used where its provider does not say.
const DEFAULT_LIFE: Duration = Duration::from_hours(1);
/// How long a node may take to fetch a token before another one tries.
const LEASE: Duration = Duration::from_mins(1);
/// How often a node looks whether another one is done.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// The code in the store of an account that a person must connect (again).
pub(crate) const REAUTHORIZE: &str = "reauthorization_required";
/// What a person is told of it.
const CONNECT: &str = "the credential's account must be connected again";

const ACCESS_TOKEN: &str = "access_token";
const REFRESH_TOKEN: &str = "refresh_token";
/// Stored with the tokens: digest of the configuration that they were fetched under.
const BASIS: &str = "basis";
/// Stored with the tokens: their source, the only endpoint that the refresh token is sent to.
const ENDPOINT: &str = "endpoint";

/// A credential with its secret, for as long as a token is fetched with it.
pub(crate) struct TokenRequest {
    pub(crate) row: CredentialRow,
    auth: Option<Auth>,
    secret: SecretValue,
}

impl TokenRequest {
    pub(crate) fn new(credential: &ResolvedCredential, secret: &SecretValue) -> Self {
        Self { row: credential.row.clone(), auth: credential.auth.clone(), secret: secret.clone() }
    }

    fn basis(&self) -> String {
        hex::encode(&key_hash(self.row.auth.as_deref().unwrap_or_default()))
    }

    fn endpoint(&self) -> String {
        self.auth.as_ref().and_then(|auth| auth.settings().token_endpoint()).unwrap_or_default()
    }

    /// What is kept, sealed, with what it depends on.
    fn seal(
        &self,
        keyring: &Keyring,
        entropy: &dyn Entropy,
        tokens: [(&str, Option<Zeroizing<String>>); 2],
    ) -> Sealed {
        let basis = [(BASIS, self.basis()), (ENDPOINT, self.endpoint())];
        let basis = basis.map(|(name, text)| (name, Some(Zeroizing::new(text))));
        let parts = tokens.into_iter().chain(basis);
        let kept = parts.filter_map(|(name, part)| Some((name.to_owned(), part?))).collect();
        let aad = oauth_tokens::tokens_aad(self.row.workspace_id, self.row.id);
        keyring.seal(entropy, &aad, SecretValue::Fields(kept).to_bytes().expose())
    }

    /// What is stored for this version of the secret and this endpoint.
    pub(crate) async fn load_stored(
        &self,
        store: &Store,
        keyring: &Keyring,
    ) -> Result<Option<(TokenRow, SecretValue)>> {
        let row = &self.row;
        let found = oauth_tokens::find(store, row.workspace_id, row.id).await?;
        let Some(found) = found.filter(|found| found.credential_version == row.version) else {
            return Ok(None);
        };
        let Some(sealed) = &found.sealed_tokens else { return Ok(None) };
        let aad = oauth_tokens::tokens_aad(row.workspace_id, row.id);
        let bytes = keyring.open(&aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
        let kept = SecretValue::from_bytes(&bytes)?;
        Ok((kept.field(ENDPOINT) == Some(&self.endpoint())).then_some((found, kept)))
    }
}

/// The access token to send with a request.
pub(crate) async fn token(
    state: &State,
    credential: &ResolvedCredential,
    secret: &SecretValue,
) -> Result<SecretString> {
    let mut held = state.token_cache.slot(credential.row.id).lock_owned().await;
    let (row, now) = (&credential.row, state.now());
    if let Some(fresh) = held.as_ref().filter(|fresh| fresh.is_good(row, now)) {
        return Ok(fresh.token.clone());
    }
    let (state, subject) = (state.clone(), TokenRequest::new(credential, secret));
    // On its own, and with the lock. An agent that hangs up must not lose a refresh token that was just rotated.
    // Nor may the next request use the previous one again.
    let fetching = tokio::spawn(async move {
        let fresh = shared(&state, &subject).await?;
        let token = fresh.token.clone();
        *held = Some(fresh);
        Ok(token)
    });
    fetching.await.unwrap_or_else(|error| Err(Error::Internal(error.into())))
}

/// The tokens in the store that were fetched with a credential.
pub(crate) async fn stored_tokens(
    store: &Store,
    keyring: &Keyring,
    credential: &ResolvedCredential,
    secret: &SecretValue,
) -> Result<Vec<Zeroizing<String>>> {
    let subject = TokenRequest::new(credential, secret);
    if subject.endpoint().is_empty() {
        return Ok(Vec::new());
    }
    // Those that no longer read cannot be used either.
    let Ok(Some((_, kept))) = subject.load_stored(store, keyring).await else {
        return Ok(Vec::new());
    };
    let tokens = [ACCESS_TOKEN, REFRESH_TOKEN].into_iter().filter_map(|name| kept.field(name));
    Ok(tokens.map(|token| Zeroizing::new(token.to_owned())).collect())
}

/// The API does not take a token, however long it was to be good: the next request fetches another one.
pub(crate) async fn rejected(
    store: &Store,
    token_cache: &TokenCache,
    now: UnixMillis,
    credential: &ResolvedCredential,
    token: &SecretString,
) {
    // The holder of the lock is about to have another token.
    let Ok(mut held) = token_cache.slot(credential.row.id).try_lock_owned() else { return };
    let Some(fresh) = held.take_if(|fresh| fresh.token.matches(token.expose().as_bytes())) else { return };
    let row = &credential.row;
    let ended = oauth_tokens::end(store, row.workspace_id, row.id, (fresh.version, fresh.expires_at), now);
    if let Err(error) = ended.await {
        tracing::warn!(%error, credential = %row.id, "cannot remove a rejected access token");
    }
}

/// The token in the store, or a new one if it is this node's turn to fetch it.
async fn shared(state: &State, credential: &TokenRequest) -> Result<Fresh> {
    let name = format!("token {}", credential.row.id);
    let deadline = tokio::time::Instant::now() + LEASE;
    loop {
        if let Some(fresh) = load_token(state, credential).await?.and_then(|found| found.fresh) {
            return Ok(fresh);
        }
        let now = state.now();
        if leases::acquire(&state.store, &name, state.node, now, now.plus(LEASE)).await? {
            let fetched = renew(state, credential).await;
            leases::release(&state.store, &name, state.node).await?;
            return fetched;
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(Error::TokenEndpoint("another node did not finish fetching it in time".to_owned()));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// What the store has for this version of the secret.
struct StoredToken {
    fresh: Option<Fresh>,
    before: StoredGrant,
}

/// Parts of a stored token that a renewal keeps unless it names new ones.
#[derive(Default)]
pub(crate) struct StoredGrant {
    refresh_token: Option<Zeroizing<String>>,
    granted_scope: Option<String>,
}

async fn load_token(state: &State, credential: &TokenRequest) -> Result<Option<StoredToken>> {
    let row = &credential.row;
    let Some((found, kept)) = credential.load_stored(&state.store, &state.keyring).await? else {
        return Ok(None);
    };
    if found.problem.as_deref() == Some(REAUTHORIZE) {
        return Err(reauthorize(&state.config, credential));
    }
    let token = kept.field(ACCESS_TOKEN).filter(|_| kept.field(BASIS) == Some(&credential.basis()));
    let fresh = token.map(|token| Fresh {
        version: row.version,
        auth: row.auth.clone(),
        expires_at: found.expires_at,
        token: SecretString::new(token.to_owned()),
    });
    let fresh = fresh.filter(|fresh| fresh.is_good(row, state.now()));
    let refresh_token = kept.field(REFRESH_TOKEN).map(|token| Zeroizing::new(token.to_owned()));
    let before = StoredGrant { refresh_token, granted_scope: found.granted_scope };
    Ok(Some(StoredToken { fresh, before }))
}

/// Fetches a token, with the lease held, and stores it.
async fn renew(state: &State, credential: &TokenRequest) -> Result<Fresh> {
    // Another node may have been faster, and may have used the refresh token up.
    let before = load_token(state, credential).await?;
    let before = match before {
        Some(StoredToken { fresh: Some(fresh), .. }) => return Ok(fresh),
        // Without a refresh token the provider gave none: the one of the secret is of a connection before.
        Some(StoredToken { before, .. }) => before,
        None => StoredGrant {
            refresh_token: credential
                .secret
                .field(REFRESH_TOKEN)
                .map(|token| Zeroizing::new(token.to_owned())),
            granted_scope: None,
        },
    };
    match fetch(state, credential, before.refresh_token.as_deref().map(String::as_str)).await {
        Ok(granted) => store(state, credential, granted, before).await,
        Err(failure) => {
            metrics::counter!(metric::TOKEN_FAILURES.name).increment(1);
            settle_failure(state, credential, failure).await
        }
    }
}

/// Decides what a failed fetch means for the credential.
async fn settle_failure(state: &State, credential: &TokenRequest, failure: TokenError) -> Result<Fresh> {
    match failure {
        TokenError::Refused(refusal) if is_connected(credential) && refusal.needs_a_person() => {
            if refusal.ends_the_connection() {
                note_problem(state, credential).await?;
                return Err(reauthorize(&state.config, credential));
            }
            // The next request asks again: it may be the client's secret, or a bad hour of the provider.
            let detail = format!("{CONNECT}, or its secret replaced; the token endpoint refused: {refusal}");
            Err(Error::ReauthorizationRequired { url: page(&state.config, credential), detail })
        }
        failure => Err(failure.into()),
    }
}

async fn fetch(
    state: &State,
    credential: &TokenRequest,
    refresh_token: Option<&str>,
) -> Result<GrantedToken, TokenError> {
    let Some(auth) = &credential.auth else {
        return Err(TokenError::Error(Error::NoLongerAllowed("the credential fetches no token")));
    };
    if is_connected(credential) && refresh_token.is_none() {
        return Err(TokenError::Error(reauthorize(&state.config, credential)));
    }
    kinds::behavior(auth).fetch(state, &credential.secret, refresh_token.unwrap_or_default()).await
}

fn is_connected(credential: &TokenRequest) -> bool {
    credential.auth.as_ref().is_some_and(|auth| auth.kind().connects_account)
}

fn reauthorize(config: &Config, credential: &TokenRequest) -> Error {
    Error::ReauthorizationRequired { url: page(config, credential), detail: CONNECT.to_owned() }
}

/// Where a manager connects the account.
fn page(config: &Config, credential: &TokenRequest) -> String {
    format!("{}/app/credentials/{}", config.base_url, credential.row.name)
}

/// Puts what was granted into the store, before anybody uses it.
async fn store(
    state: &State,
    credential: &TokenRequest,
    granted: GrantedToken,
    before: StoredGrant,
) -> Result<Fresh> {
    let (stored, fresh) = to_store(&state.keyring, &*state.entropy, state.now(), credential, granted, before);
    if oauth_tokens::put(&state.store, &stored).await? {
        return Ok(fresh);
    }
    // Somebody connected another account, or replaced the secret, while this was fetched.
    Err(Error::NoLongerAllowed("the credential's secret was replaced while its token was fetched"))
}

pub(crate) fn to_store(
    keyring: &Keyring,
    entropy: &dyn Entropy,
    now: UnixMillis,
    credential: &TokenRequest,
    granted: GrantedToken,
    before: StoredGrant,
) -> (TokenRow, Fresh) {
    let expires_at = granted.expires_at.unwrap_or_else(|| now.plus(granted.life.unwrap_or(DEFAULT_LIFE)));
    let token = SecretString::new((*granted.access_token).clone());
    // A provider that does not rotate refresh tokens leaves the old one good.
    let refresh_token = granted.refresh_token.or(before.refresh_token);
    // A refresh keeps the scope; whatever else is fetched without a word about it has the one asked for.
    let kept_scope = before.granted_scope.filter(|_| is_connected(credential));
    let tokens = [(ACCESS_TOKEN, Some(granted.access_token)), (REFRESH_TOKEN, refresh_token)];
    let row = &credential.row;
    let stored = TokenRow {
        credential_id: row.id,
        workspace_id: row.workspace_id,
        credential_version: row.version,
        sealed_tokens: Some(credential.seal(keyring, entropy, tokens)),
        expires_at,
        problem: None,
        granted_scope: granted.scope.or(kept_scope),
        updated_at: now,
    };
    (stored, Fresh { version: row.version, auth: row.auth.clone(), expires_at, token })
}

async fn note_problem(state: &State, credential: &TokenRequest) -> Result<()> {
    let row = &credential.row;
    // The credential may have been removed meanwhile: then there is nothing to note.
    if credentials::find(&state.store, row.workspace_id, row.id).await?.is_none() {
        return Ok(());
    }
    let noted = TokenRow {
        credential_id: row.id,
        workspace_id: row.workspace_id,
        credential_version: row.version,
        sealed_tokens: Some(credential.seal(
            &state.keyring,
            &*state.entropy,
            [(ACCESS_TOKEN, None), (REFRESH_TOKEN, None)],
        )),
        expires_at: state.now(),
        problem: Some(REAUTHORIZE.to_owned()),
        granted_scope: None,
        updated_at: state.now(),
    };
    oauth_tokens::put(&state.store, &noted).await?;
    Ok(())
}
