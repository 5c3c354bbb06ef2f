//! Signs scores with the keys in force, and remembers signatures.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use moka::sync::Cache;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_signing::eip712::Word;
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
/// Remembered signatures; each takes about 200 bytes.
const SIGNATURES: u64 = 50_000;
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

/// A signed digest: the key's scheme and number, and the digest.
type SignedDigest = (ScoreKeyScheme, i64, Word);

/// Signs scores.
pub struct ScoreSigner {
    store: Store,
    keyring: Keyring,
    config: SignerConfig,
    known: RwLock<Option<(UnixMillis, Arc<KeySet>)>>,
    /// Keyed by exactly what is signed. The last byte is unused where a signature has 64.
    signatures: Cache<SignedDigest, [u8; 65]>,
}

impl ScoreSigner {
    pub fn new(store: Store, keyring: Keyring, config: SignerConfig) -> Self {
        let signatures = Cache::new(SIGNATURES);
        Self { store, keyring, config, known: RwLock::new(None), signatures }
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
    ) -> Result<String> {
        let keys = self.keys(now).await?;
        let (row, key) = keys.active(ScoreKeyScheme::Es256, now).ok_or_else(no_key)?;
        let input = token::signing_input(&self.config.issuer, &key_id(row), of, asked)
            .map_err(|error| Error::Internal(error.into()))?;
        let digest: Word = Sha256::digest(input.as_bytes()).into();
        let signature = self.signature(row, digest, asked.challenge.is_none(), || {
            let mut room = [0; 65];
            room[..64].copy_from_slice(&key.sign_es256(&digest)?);
            Some(room)
        })?;
        Ok(token::compact(input, &signature[..64]))
    }

    /// The signature of the score's typed data, and the signer's address; both hex with `0x`.
    pub async fn typed(
        &self,
        of: &ScoreStatement,
        asked: TypedRequest<'_>,
        now: UnixMillis,
    ) -> Result<(String, String)> {
        let hash = typed::signing_hash(of, asked);
        let (signature, signer) = self.sign_hash(hash, asked.challenge.is_none(), now).await?;
        Ok((format!("0x{}", hex::encode(&signature)), signer))
    }

    /// The score, with the Stamps of its record, as an attestation of EAS.
    pub async fn attestation(
        &self,
        of: &ScoreStatement,
        record: &str,
        asked: EasRequest,
        now: UnixMillis,
    ) -> Result<SignedAttestation> {
        let made = EasAttestation::of(of, record, asked).map_err(|_| Error::ScoreTooLarge)?;
        let (signature, signer) = self.sign_hash(made.signing_hash(), true, now).await?;
        Ok(SignedAttestation { json: made.to_json(&signature), signer, calldata: made.calldata() })
    }

    /// Signature of a hash as contracts recover it, and the signer's address.
    async fn sign_hash(&self, hash: Word, recurs: bool, now: UnixMillis) -> Result<([u8; 65], String)> {
        let keys = self.keys(now).await?;
        let (row, key) = keys.active(ScoreKeyScheme::Eip712, now).ok_or_else(no_key)?;
        let signature = self.signature(row, hash, recurs, || key.sign_recoverable(&hash))?;
        Ok((signature, row.public_key.clone()))
    }

    /// A remembered signature, or a new one, which is remembered if its content recurs.
    fn signature(
        &self,
        row: &ScoreKeyRow,
        digest: Word,
        recurs: bool,
        sign: impl FnOnce() -> Option<[u8; 65]>,
    ) -> Result<[u8; 65]> {
        let content = (row.scheme, row.number, digest);
        if let Some(known) = recurs.then(|| self.signatures.get(&content)).flatten() {
            return Ok(known);
        }
        let made = sign().ok_or_else(no_key)?;
        if recurs {
            self.signatures.insert(content, made);
        }
        Ok(made)
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
