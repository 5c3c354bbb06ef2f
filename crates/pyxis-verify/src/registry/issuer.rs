//! Issuers: an Ed25519 key or an EVM address, and their ways of signing a statement.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use pyxis_core::address::EvmAddress;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::proof::Statement;
use pyxis_core::secret::SecretBytes;
use pyxis_evm::AbiWord;
use pyxis_signing::eip712::abi_words::{self, number, text};

const REGISTER: &str = "Register(string kind,string network,string subject,uint256 actionId,\
                        uint256 nullifier,uint64 issuedAt,uint64 expiresAt,string nonce)";
const REVOKE: &str = "Revoke(string kind,string network,string subject,uint256 actionId,string reason,\
                      uint64 issuedAt,string nonce)";
const REBIND: &str = "Rebind(string kind,string from,string to,uint256 actionId,uint256 nullifier,\
                      uint64 issuedAt,string nonce)";
const DOMAIN: &str = "Pyxis Registry";
const VERSION: &str = "1";

/// The text is not an issuer.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("an issuer is an Ed25519 public key (0x and 64 hex characters) or an EVM address (0x and 40)")]
pub struct InvalidIssuer;

/// Signer of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// An Ed25519 key, which signs the statement's text.
    Ed25519([u8; 32]),
    /// The key of an EVM address, which signs the statement as typed data (EIP-712).
    Evm(EvmAddress),
}

impl FromStr for Issuer {
    type Err = InvalidIssuer;

    fn from_str(text: &str) -> Result<Self, InvalidIssuer> {
        if text.len() == 42 {
            return text.parse().map(Self::Evm).map_err(|_| InvalidIssuer);
        }
        let bytes = unhex(text).and_then(|bytes| bytes.try_into().ok()).ok_or(InvalidIssuer)?;
        VerifyingKey::from_bytes(&bytes).map(|_| Self::Ed25519(bytes)).map_err(|_| InvalidIssuer)
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ed25519(key) => write!(f, "0x{}", hex::encode(key)),
            Self::Evm(address) => address.fmt(f),
        }
    }
}

impl Issuer {
    /// True if `signature` is this issuer's over `statement`.
    pub fn signed(&self, statement: &Statement, signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => {
                let (Ok(key), Ok(signature)) = (VerifyingKey::from_bytes(key), signature.try_into()) else {
                    return false;
                };
                let said = statement.canonical(&self.to_string());
                key.verify_strict(said.as_bytes(), &Signature::from_bytes(signature)).is_ok()
            }
            Self::Evm(address) => pyxis_evm::recover(&typed_hash(statement), signature) == Some(*address),
        }
    }
}

/// An issuer's private key (Ed25519).
pub struct IssuerKey(SigningKey);

impl IssuerKey {
    /// From 32 secret bytes; `None` for any other length.
    pub fn from_seed(seed: &SecretBytes) -> Option<Self> {
        let seed: &[u8; 32] = seed.expose().as_slice().try_into().ok()?;
        Some(Self(SigningKey::from_bytes(seed)))
    }

    /// Generates a key, which is lost when the value is dropped.
    pub fn generate(entropy: &dyn entropy::Entropy) -> Self {
        Self(SigningKey::from_bytes(&entropy::bytes::<32>(entropy)))
    }

    /// The issuer that this key belongs to.
    pub fn issuer(&self) -> Issuer {
        Issuer::Ed25519(self.0.verifying_key().to_bytes())
    }

    pub fn sign(&self, statement: Statement) -> super::SignedStatement {
        let issuer = self.issuer();
        let signature = self.0.sign(statement.canonical(&issuer.to_string()).as_bytes());
        super::SignedStatement { statement, issuer, signature: signature.to_bytes().to_vec() }
    }
}

/// The hash that the key of an EVM address signs.
pub fn typed_hash(statement: &Statement) -> AbiWord {
    let seconds = |seconds: i64| number(u64::try_from(seconds).unwrap_or(0));
    let hash = match statement {
        Statement::Register(said) => abi_words::hash_struct(
            REGISTER,
            &[
                text(said.kind.as_str()),
                text(said.network.as_str()),
                text(&said.subject.to_string()),
                said.action_id.0.to_be_bytes(),
                said.nullifier.0.to_be_bytes(),
                seconds(said.issued_at),
                seconds(said.expires_at),
                text(&said.nonce),
            ],
        ),
        Statement::Revoke(said) => abi_words::hash_struct(
            REVOKE,
            &[
                text(said.kind.as_str()),
                text(said.network.as_str()),
                text(&said.subject.to_string()),
                said.action_id.0.to_be_bytes(),
                text(&said.reason),
                seconds(said.issued_at),
                text(&said.nonce),
            ],
        ),
        Statement::Rebind(said) => abi_words::hash_struct(
            REBIND,
            &[
                text(said.kind.as_str()),
                text(&said.from.to_string()),
                text(&said.to.to_string()),
                said.action_id.0.to_be_bytes(),
                said.nullifier.0.to_be_bytes(),
                seconds(said.issued_at),
                text(&said.nonce),
            ],
        ),
    };
    abi_words::signing_hash(abi_words::domain(DOMAIN, VERSION, None), hash)
}

/// Decodes at least one byte of hexadecimal digits after `0x`.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    hex::decode_prefixed(text).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use pyxis_core::proof::{DEFAULT_ACTION, Kind, Registration};

    use super::*;

    fn statement(nonce: &str) -> Statement {
        Statement::Register(Registration {
            kind: Kind::GovId,
            network: "optimism".parse().unwrap(),
            subject: EvmAddress([1; 20]).into(),
            action_id: DEFAULT_ACTION,
            nullifier: "7".parse().unwrap(),
            issued_at: 1,
            expires_at: 2,
            nonce: nonce.to_owned(),
        })
    }

    #[test]
    fn a_statement_is_believed_only_as_it_was_signed() {
        let key = IssuerKey::from_seed(&SecretBytes::new(vec![7; 32])).unwrap();
        let signed = key.sign(statement("a"));
        assert!(signed.issuer.signed(&statement("a"), &signed.signature));
        assert!(!signed.issuer.signed(&statement("b"), &signed.signature));
        assert!(!signed.issuer.signed(&statement("a"), &signed.signature[..63]));
        let other = IssuerKey::from_seed(&SecretBytes::new(vec![8; 32])).unwrap().issuer();
        assert!(!other.signed(&statement("a"), &signed.signature));
    }

    #[test]
    fn an_evm_address_signs_typed_data() {
        let key = pyxis_evm::EvmSigningKey::from_bytes(&[9; 32]).unwrap();
        let issuer: Issuer = key.address().to_string().parse().unwrap();
        let signature = key.sign(&typed_hash(&statement("a")));
        assert!(issuer.signed(&statement("a"), &signature));
        assert!(!issuer.signed(&statement("b"), &signature));
    }

    #[test]
    fn an_issuer_is_read_as_it_is_shown() {
        let key = IssuerKey::from_seed(&SecretBytes::new(vec![7; 32])).unwrap().issuer();
        for issuer in [key, Issuer::Evm(EvmAddress([0xab; 20]))] {
            assert_eq!(issuer.to_string().parse(), Ok(issuer));
            assert_eq!(format!("0x{}", issuer.to_string()[2..].to_uppercase()).parse(), Ok(issuer));
        }
        for text in ["", "0x", "0x12", "ed25519:1", &format!("0x{}", "g".repeat(64))] {
            assert_eq!(text.parse::<Issuer>(), Err(InvalidIssuer), "{text}");
        }
    }
}
