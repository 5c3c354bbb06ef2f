//! Signs scores with the keys in force, and remembers what was signed.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_signing::eip712::AbiWord;
use pyxis_store::Store;
use pyxis_store::cipher::Keyring;
use pyxis_store::score_keys::{self, ScoreKeyRow, ScoreKeyScheme};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::eas::{EasAttestation, EasRequest};
use super::keys::{self, KeySet, key_id};
use super::statement::ScoreStatement;
use super::token::{self, TokenRequest};
use super::typed::{self, TypedRequest};
use crate::error::{Error, Result};

/// Time after which the keys are read again, because another node may have changed them.
const REREAD: Duration = Duration::from_secs(10);
/// Bytes of remembered texts.
const REMEMBERED: u64 = 32 * 1024 * 1024;
/// Bytes that a remembered text takes besides itself.
const ENTRY: usize = 200;
/// Attempts to add a key while other nodes do the same.
const ATTEMPTS: usize = 8;

/// Settings of signed scores.
#[derive(Clone, Debug)]
pub struct SignerConfig {
    /// Public origin of the installation, the issuer of tokens.
    pub issuer: String,
    /// Longest time that a signed score is valid.
    pub lifetime: Duration,
}

impl Default for SignerConfig {
    fn default() -> Self {
        Self { issuer: "http://localhost:8700".to_owned(), lifetime: Duration::from_hours(1) }
    }
}

/// An attestation of EAS in both forms.
pub struct SignedAttestation {
    /// Signed off chain.
    pub json: Value,
    /// Address of the key.
    pub signer: String,
    /// Call of the contract for a wallet that pays, hex with `0x`.
    pub calldata: String,
}

/// Whatever decides a signed text that answers no challenge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Content {
    scheme: ScoreKeyScheme,
    key_number: i64,
    statement: ScoreStatement,
    chain_id: Option<u64>,
    verifying_contract: Option<EvmAddress>,
}

impl Content {
    fn new(
        row: &ScoreKeyRow,
        statement: &ScoreStatement,
        chain_id: Option<u64>,
        verifying_contract: Option<EvmAddress>,
    ) -> Self {
        let (scheme, key_number, statement) = (row.scheme, row.number, statement.clone());
        Self { scheme, key_number, statement, chain_id, verifying_contract }
    }
}

/// Signs scores.
pub struct ScoreSigner {
    store: Store,
    keyring: Keyring,
    config: SignerConfig,
    known: RwLock<Option<(UnixMillis, Arc<KeySet>)>>,
    /// Tokens, and members of JSON objects.
    remembered: Cache<Content, Arc<str>>,
}

impl ScoreSigner {
    pub fn new(store: Store, keyring: Keyring, config: SignerConfig) -> Self {
        let bytes = |_: &Content, text: &Arc<str>| u32::try_from(text.len() + ENTRY).unwrap_or(u32::MAX);
        let remembered = Cache::builder().weigher(bytes).max_capacity(REMEMBERED).build();
        Self { store, keyring, config, known: RwLock::new(None), remembered }
    }

    pub fn config(&self) -> &SignerConfig {
        &self.config
    }

    /// The score as a compact token.
    pub async fn token(
        &self,
        of: &ScoreStatement,
        asked: TokenRequest<'_>,
        now: UnixMillis,
    ) -> Result<Arc<str>> {
        let keys = self.keys(now).await?;
        let (row, key) = keys.active(ScoreKeyScheme::Es256, now).ok_or_else(no_key)?;
        let recurs = asked.challenge.is_none() && asked.audience.is_none();
        let content = recurs.then(|| Content::new(row, of, None, None));
        self.remembered(content, || {
            let input = token::signing_input(&self.config.issuer, &key_id(row), of, asked)
                .map_err(|error| Error::Internal(error.into()))?;
            let digest: AbiWord = Sha256::digest(input.as_bytes()).into();
            let signature = key.sign_es256(&digest).ok_or_else(no_key)?;
            Ok(token::compact(input, &signature))
        })
    }

    /// Members `signature`, `signer` and `typed_data` of a JSON object.
    pub async fn typed(
        &self,
        of: &ScoreStatement,
        asked: TypedRequest<'_>,
        now: UnixMillis,
    ) -> Result<Arc<str>> {
        let keys = self.keys(now).await?;
        let (row, key) = keys.active(ScoreKeyScheme::Eip712, now).ok_or_else(no_key)?;
        let recurs = asked.challenge.is_none();
        let content = recurs.then(|| Content::new(row, of, asked.chain_id, asked.verifying_contract));
        self.remembered(content, || {
            let signature = key.sign_recoverable(&typed::signing_hash(of, asked)).ok_or_else(no_key)?;
            let (signature, signer) = (hex::encode(&signature), &row.public_key);
            let typed_data = typed::typed_data(of, asked);
            Ok(format!(r#""signature":"0x{signature}","signer":"{signer}","typed_data":{typed_data}"#))
        })
    }

    /// The score, with the Stamps of its record, as an attestation of EAS.
    pub async fn attestation(
        &self,
        of: &ScoreStatement,
        record: &str,
        asked: EasRequest,
        now: UnixMillis,
    ) -> Result<SignedAttestation> {
        let made = EasAttestation::build(of, record, asked).map_err(|_| Error::ScoreTooLarge)?;
        let keys = self.keys(now).await?;
        let (row, key) = keys.active(ScoreKeyScheme::Eip712, now).ok_or_else(no_key)?;
        let signature = key.sign_recoverable(&made.signing_hash()).ok_or_else(no_key)?;
        let (json, signer) = (made.to_json(&signature), row.public_key.clone());
        Ok(SignedAttestation { json, signer, calldata: made.calldata() })
    }

    /// The remembered text of `content`, or a new one. What has no content to be found by is not remembered.
    fn remembered(
        &self,
        content: Option<Content>,
        make: impl FnOnce() -> Result<String>,
    ) -> Result<Arc<str>> {
        if let Some(known) = content.as_ref().and_then(|content| self.remembered.get(content)) {
            return Ok(known);
        }
        let text: Arc<str> = make()?.into();
        if let Some(content) = content {
            self.remembered.insert(content, Arc::clone(&text));
        }
        Ok(text)
    }

    /// All keys. Those that sign are created on first use. Keys that another node changed are seen within seconds.
    pub async fn keys(&self, now: UnixMillis) -> Result<Arc<KeySet>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((read_at, keys)) = known
            && read_at <= now
            && now.since(read_at) < REREAD
        {
            return Ok(keys);
        }
        let keys = Arc::new(self.read(now).await?);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some((now, Arc::clone(&keys)));
        Ok(keys)
    }

    /// Reads the keys again before the next signature.
    pub fn forget_keys(&self) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A key to be stored.
    pub fn new_key(
        &self,
        scheme: ScoreKeyScheme,
        number: i64,
        signs_from: UnixMillis,
        now: UnixMillis,
    ) -> Result<ScoreKeyRow> {
        keys::new_row(&self.keyring, scheme, number, signs_from, now)
    }

    async fn read(&self, now: UnixMillis) -> Result<KeySet> {
        for _ in 0..ATTEMPTS {
            let keys = KeySet::new(score_keys::list(&self.store).await?, &self.keyring, now)?;
            let missing: Vec<_> = [ScoreKeyScheme::Es256, ScoreKeyScheme::Eip712]
                .into_iter()
                .filter(|scheme| keys.active(*scheme, now).is_none())
                .collect();
            if missing.is_empty() {
                return Ok(keys);
            }
            for scheme in missing {
                let row = self.new_key(scheme, keys.next_number(scheme), now, now)?;
                score_keys::insert(&self.store, &row).await?;
            }
        }
        Err(Error::Busy)
    }
}

fn no_key() -> Error {
    Error::Internal("no key signs scores now; rotate the score keys".into())
}
