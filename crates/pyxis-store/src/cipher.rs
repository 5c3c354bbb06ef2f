//! Secrets at rest: envelope encryption with XChaCha20-Poly1305.
//!
//! A master key, kept outside the database, wraps data keys, and data keys seal values. The row's identity is
//! associated data, so a ciphertext moved to another row, column or workspace does not open.

mod keyring;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::Hmac;
use pyxis_core::entropy::{Entropy, bytes};
use pyxis_core::hex;
use pyxis_core::id::{NodeId, WorkspaceId};
use pyxis_core::secret::{Secret, SecretBytes};
use sha2::Sha256;

use crate::db::value::{Cell, Column};
use crate::db::{Bind, Value};
pub use keyring::{Keyring, SEALS_AFTER};

/// The only layout version: version byte, key number (4 bytes, big endian), nonce, ciphertext with tag.
const LAYOUT: u8 = 1;
const NONCE: usize = 24;
const HEADER: usize = 1 + 4 + NONCE;

/// Reason that a value cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum CipherError {
    /// The bytes are not a sealed value.
    #[error("not a sealed value")]
    Malformed,
    /// The value was sealed with a data key that is not loaded; see [`Keyring::refresh`].
    #[error("sealed with the unknown data key {0}")]
    UnknownKey(u32),
    /// The value was changed or belongs to another row.
    #[error("the sealed value does not open: it was changed, or belongs to another row")]
    Rejected,
    /// The master key is not the one that the database was created with.
    #[error("the master key does not match this database")]
    WrongMasterKey,
    /// The text is not 32 bytes as hex or base64.
    #[error("a master key is 32 bytes, written as 64 hex characters or as base64")]
    NotAKey,
    /// A running node of another release would not load a new data key.
    #[error("node {0} runs another release; finish the upgrade first, then try again")]
    OtherRelease(NodeId),
    /// A running node started before the master key was replaced, and cannot unwrap a new data key.
    #[error(
        "node {0} started before the master key was replaced; restart it with the new one, then try again"
    )]
    OldMasterKey(NodeId),
    /// A database error.
    #[error(transparent)]
    Store(#[from] crate::StoreError),
}

/// Associated data: identity of the place that a sealed value belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aad {
    /// Table name.
    pub table: &'static str,
    /// Column name.
    pub column: &'static str,
    /// Row, as `workspace/id`.
    pub row: String,
}

impl Aad {
    /// Identity of the row `id` of `workspace`.
    pub fn new(
        table: &'static str,
        column: &'static str,
        workspace: WorkspaceId,
        id: impl std::fmt::Display,
    ) -> Self {
        Self { table, column, row: format!("{workspace}/{id}") }
    }

    /// Encodes every part after its length, so that no two identities have the same bytes.
    fn encode(&self) -> Vec<u8> {
        let mut encoded = Vec::with_capacity(24 + self.table.len() + self.column.len() + self.row.len());
        for part in [self.table, self.column, &self.row] {
            encoded.extend_from_slice(&(part.len() as u64).to_be_bytes());
            encoded.extend_from_slice(part.as_bytes());
        }
        encoded
    }
}

/// A sealed value. It can only be created by sealing or by reading a row, so plaintext cannot be stored by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Stored size in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no bytes, which is never the case for a sealed value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

impl Bind for Sealed {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        Value::Bytes(Some(self.0))
    }
}

impl Column for Sealed {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Vec::read(cell).map(Self)
    }
}

/// Key that wraps the data keys: 32 bytes, wiped when dropped.
#[derive(Clone, Debug)]
pub struct MasterKey(CipherKey);

impl MasterKey {
    /// Generates a random key.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self(CipherKey(Secret::new(bytes(entropy))))
    }

    /// Parses 64 hex digits or base64 (standard or URL alphabet, padding optional). Surrounding white space is ignored.
    pub fn parse(text: &str) -> Result<Self, CipherError> {
        let text = text.trim().as_bytes();
        let decoded = if text.len() == 64 { decode(text, 4) } else { decode_base64(text) };
        decoded.and_then(|decoded| CipherKey::from_bytes(&decoded)).map(Self).ok_or(CipherError::NotAKey)
    }

    /// The key as 64 hex digits, for a key file.
    pub fn to_hex(&self) -> pyxis_core::secret::SecretString {
        Secret::new(hex::encode(self.0.0.expose()))
    }
}

/// Decodes digits of `bits` bits each, most significant first.
fn decode(text: &[u8], bits: u32) -> Option<SecretBytes> {
    // Allocated in full, because growing would leave copies of the key behind.
    let mut bytes = Vec::with_capacity(text.len());
    let (mut pending, mut count) = (0_u32, 0);
    for digit in text {
        let value = if bits == 4 { char::from(*digit).to_digit(16)? } else { base64_digit(*digit)? };
        pending = (pending << bits) | value;
        count += bits;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((pending >> count) & 0xff).ok()?);
            pending &= (1 << count) - 1;
        }
    }
    (pending == 0).then(|| Secret::new(bytes))
}

fn decode_base64(text: &[u8]) -> Option<SecretBytes> {
    decode(text.strip_suffix(b"=").unwrap_or(text), 6)
}

fn base64_digit(digit: u8) -> Option<u32> {
    Some(
        match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }
        .into(),
    )
}

/// A 256-bit key.
#[derive(Clone, Debug)]
pub(crate) struct CipherKey(Secret<[u8; 32]>);

impl CipherKey {
    fn from_bytes(bytes: &SecretBytes) -> Option<Self> {
        let mut key = [0; 32];
        if bytes.expose().len() != key.len() {
            return None;
        }
        key.copy_from_slice(bytes.expose());
        Some(Self(Secret::new(key)))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.0.expose().into())
    }

    fn seal(&self, number: u32, entropy: &dyn Entropy, aad: &Aad, plaintext: &[u8]) -> Sealed {
        let nonce = bytes::<NONCE>(entropy);
        let payload = Payload { msg: plaintext, aad: &aad.encode() };
        let ciphertext = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a message in memory is short enough");
        let mut sealed = Vec::with_capacity(HEADER + ciphertext.len());
        sealed.push(LAYOUT);
        sealed.extend_from_slice(&number.to_be_bytes());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&ciphertext);
        Sealed(sealed)
    }

    fn open(&self, aad: &Aad, parts: &SealedFields<'_>) -> Result<SecretBytes, CipherError> {
        let payload = Payload { msg: parts.ciphertext, aad: &aad.encode() };
        self.cipher()
            .decrypt(&XNonce::from(parts.nonce), payload)
            .map(Secret::new)
            .map_err(|_| CipherError::Rejected)
    }
}

pub(crate) fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

struct SealedFields<'s> {
    number: u32,
    nonce: [u8; NONCE],
    ciphertext: &'s [u8],
}

impl<'s> SealedFields<'s> {
    fn parse(sealed: &'s Sealed) -> Result<Self, CipherError> {
        let (header, ciphertext) = sealed.0.split_at_checked(HEADER).ok_or(CipherError::Malformed)?;
        let (number, nonce) = header[1..].split_at(4);
        match (header[0], number.try_into(), nonce.try_into()) {
            (LAYOUT, Ok(number), Ok(nonce)) => {
                Ok(Self { number: u32::from_be_bytes(number), nonce, ciphertext })
            }
            _ => Err(CipherError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyxis_core::entropy::SeededEntropy;

    #[test]
    fn a_master_key_reads_back_from_hex_and_base64() {
        let key = MasterKey::parse(&"0f".repeat(32)).unwrap();
        assert_eq!(key.to_hex().expose(), &"0f".repeat(32));
        let same = MasterKey::parse("Dw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8=\n").unwrap();
        assert_eq!(same.to_hex().expose(), key.to_hex().expose());
    }

    #[test]
    fn what_is_not_32_bytes_is_not_a_key() {
        for text in ["", "abc", &"0f".repeat(31), &"0g".repeat(32), &"A".repeat(42), &"A".repeat(44)] {
            assert!(matches!(MasterKey::parse(text), Err(CipherError::NotAKey)), "{text}");
        }
    }

    #[test]
    fn a_sealed_value_opens_only_for_its_own_row_and_unchanged() {
        let entropy = SeededEntropy::new(1);
        let key = CipherKey(Secret::new(bytes(&entropy)));
        let aad = Aad { table: "credentials", column: "sealed_secret", row: "w/1".to_owned() };
        let sealed = key.seal(7, &entropy, &aad, b"hunter2");
        let parts = SealedFields::parse(&sealed).unwrap();
        assert_eq!(parts.number, 7);
        assert_eq!(key.open(&aad, &parts).unwrap().expose(), b"hunter2");
        let other = Aad { row: "w/2".to_owned(), ..aad.clone() };
        assert!(matches!(key.open(&other, &parts), Err(CipherError::Rejected)));
        for position in [HEADER, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed.0[position] ^= 1;
            assert!(matches!(
                key.open(&aad, &SealedFields::parse(&changed).unwrap()),
                Err(CipherError::Rejected)
            ));
        }
        assert!(matches!(SealedFields::parse(&Sealed(vec![LAYOUT; 5])), Err(CipherError::Malformed)));
    }
}
