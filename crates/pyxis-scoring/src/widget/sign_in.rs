//! Sign-in of a holder with a wallet: nonce, signed message, session.

use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::digest::sha256_hex;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;
use pyxis_signing::payload::personal_message;
use pyxis_signing::recovery::Signature;
use pyxis_store::Store;
use pyxis_store::widget_sessions::{self, WidgetNonceRow, WidgetSessionRow};

use super::page::WidgetPage;
use super::siwe::{self, SiweMessage, split_origin};
use crate::contract_wallets::ContractWallets;
use crate::error::{Error, Result};
use crate::state::State;
use crate::widget_error::WidgetError;

/// Time to sign a message.
const NONCE: Duration = Duration::from_mins(5);
/// Difference between the clocks of server and page.
const SKEW: Duration = Duration::from_mins(1);
/// Lifetime of a session.
pub(crate) const SESSION: Duration = Duration::from_mins(30);
/// Prefix of a session's token.
const TOKEN_PREFIX: &str = "px_wid_";
/// Most bytes of a contract wallet's signature.
const MAX_SIGNATURE: usize = 8192;

/// A message to sign.
pub(crate) struct SignInChallenge {
    pub(crate) nonce: String,
    pub(crate) message: String,
    pub(crate) expires_at: UnixMillis,
}

/// The holder of an address, signed in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignedInHolder {
    pub(crate) address: EvmAddress,
}

/// A new session.
pub(crate) struct OpenedSession {
    pub(crate) token: SecretString,
    pub(crate) address: EvmAddress,
    pub(crate) expires_at: UnixMillis,
}

/// Starts a sign-in: a nonce for this page, address and chain, and the message with it.
pub(crate) async fn start(
    state: &State,
    page: &WidgetPage,
    address: EvmAddress,
    chain_id: u64,
) -> Result<SignInChallenge> {
    let now = state.now();
    let expires_at = now.plus(NONCE);
    // Letters and digits only, as ERC-4361 wants it.
    let nonce = hex::encode(&entropy::bytes::<16>(&*state.entropy));
    let message = siwe::write(&page.origin, address, chain_id, &nonce, (now, expires_at));
    let message = message.ok_or_else(|| WidgetError::OriginNotAllowed(page.origin.clone()))?;
    let row = WidgetNonceRow {
        nonce_hash: sha256_hex(nonce.as_bytes()),
        api_key_id: page.key.id,
        origin: page.origin.clone(),
        address,
        chain_id: i64::try_from(chain_id).map_err(|error| Error::Internal(error.into()))?,
        expires_at,
    };
    widget_sessions::insert_nonce(&state.store, &row).await?;
    Ok(SignInChallenge { nonce, message, expires_at })
}

/// Opens a session for the address that signed `message`. The nonce is used up, whatever the outcome.
pub(crate) async fn open_session(
    state: &State,
    page: &WidgetPage,
    message: &str,
    signature: &[u8],
) -> Result<OpenedSession> {
    let read = siwe::read(message).map_err(fault)?;
    let now = state.now();
    let nonce = widget_sessions::take_nonce(&state.store, &sha256_hex(read.nonce.as_bytes())).await?;
    let nonce = nonce
        .filter(|row| row.api_key_id == page.key.id && row.origin == page.origin && row.expires_at > now);
    let nonce = nonce.ok_or(WidgetError::Nonce)?;
    check(&read, page, &nonce, now).map_err(fault)?;
    verify(state.contract_wallets(), &read, message, signature).await?;
    let token = SecretString::new(entropy::token::<32>(&*state.entropy, TOKEN_PREFIX));
    let row = WidgetSessionRow {
        token_hash: sha256_hex(token.expose().as_bytes()),
        api_key_id: page.key.id,
        scorer_id: page.key.scorer,
        origin: page.origin.clone(),
        address: read.address,
        created_at: now,
        expires_at: now.plus(SESSION),
    };
    widget_sessions::insert(&state.store, &row).await?;
    Ok(OpenedSession { token, address: row.address, expires_at: row.expires_at })
}

fn fault(text: impl Into<String>) -> Error {
    WidgetError::Message(text.into()).into()
}

/// Checks that the message is about this page, this nonce and this moment.
fn check(
    read: &SiweMessage,
    page: &WidgetPage,
    nonce: &WidgetNonceRow,
    now: UnixMillis,
) -> Result<(), String> {
    let (scheme, domain) = split_origin(&page.origin).ok_or("the page has no domain")?;
    let named = read.scheme.as_deref().is_none_or(|named| named == scheme);
    if read.domain != domain || !named {
        return Err(format!("its domain is {}, but the page's is {domain}", read.domain));
    }
    if read.uri_origin != page.origin {
        return Err(format!("its URI is of {}, but the page is of {}", read.uri_origin, page.origin));
    }
    if read.address != nonce.address {
        return Err(format!("its address is not {}, for which the nonce was made", nonce.address));
    }
    if i64::try_from(read.chain_id) != Ok(nonce.chain_id) {
        return Err(format!("its Chain ID is not {}, for which the nonce was made", nonce.chain_id));
    }
    if read.issued_at > now.plus(SKEW) {
        return Err("Issued At is in the future".to_owned());
    }
    if read.issued_at.plus(NONCE).plus(SKEW) < now {
        return Err("Issued At is more than six minutes ago".to_owned());
    }
    if read.expires_at.is_some_and(|end| end <= now) {
        return Err("Expiration Time is over".to_owned());
    }
    if read.not_before.is_some_and(|start| start > now.plus(SKEW)) {
        return Err("Not Before is in the future".to_owned());
    }
    Ok(())
}

/// Checks the signature: by a key of the address (EIP-191), or else by the address's contract (ERC-1271).
async fn verify(
    contract_wallets: Option<&dyn ContractWallets>,
    read: &SiweMessage,
    message: &str,
    signature: &[u8],
) -> Result<()> {
    if signature.len() > MAX_SIGNATURE {
        return Err(WidgetError::Signature.into());
    }
    let hash = personal_message(message.as_bytes());
    let signer = Signature::from_bytes(signature).ok().and_then(|signature| signature.signer(&hash));
    if signer == Some(read.address) {
        return Ok(());
    }
    let Some(wallets) = contract_wallets else {
        return Err(WidgetError::NoNode(read.chain_id).into());
    };
    match wallets.accepts(read.chain_id, read.address, hash, signature).await {
        Ok(Some(true)) => Ok(()),
        Ok(Some(false)) => Err(WidgetError::Signature.into()),
        Ok(None) => Err(WidgetError::NoNode(read.chain_id).into()),
        Err(error) => Err(WidgetError::Node(error).into()),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok()?.strip_prefix("Bearer ").filter(|token| token.starts_with(TOKEN_PREFIX))
}

/// The holder whose session token is in `headers`, for exactly this key, scorer and origin.
pub(crate) async fn holder(
    store: &Store,
    now: UnixMillis,
    page: &WidgetPage,
    headers: &HeaderMap,
) -> Result<SignedInHolder> {
    let token = bearer(headers).ok_or(WidgetError::NoSession)?;
    let found = widget_sessions::find(store, &sha256_hex(token.as_bytes()), now).await?;
    let found = found.filter(|row| {
        row.api_key_id == page.key.id && row.scorer_id == page.key.scorer && row.origin == page.origin
    });
    Ok(SignedInHolder { address: found.ok_or(WidgetError::NoSession)?.address })
}

/// Ends the session whose token is in `headers`, if there is one.
pub(crate) async fn sign_out(store: &Store, page: &WidgetPage, headers: &HeaderMap) -> Result<()> {
    if let Some(token) = bearer(headers) {
        widget_sessions::remove(store, page.key.id, &sha256_hex(token.as_bytes())).await?;
    }
    Ok(())
}
