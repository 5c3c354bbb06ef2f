//! Signed scores (`docs/reference/signed-scores.md`): a score that others verify without asking Pyxis, as a token for
//! programs or as typed data for EVM contracts.

mod eas;
mod keys;
mod signer;
mod statement;
mod token;
mod typed;

pub use eas::{EAS_SCHEMA, EasRequest, schema_uid};
pub use keys::{JsonWebKey, KeySet, KeyTimes, LONGEST_LIFETIME, MAX_NOTICE, key_id};
pub use signer::{ScoreSigner, SignedAttestation, SignerConfig};
pub use statement::{ScoreStatement, Unsigned};
pub use token::{SCORE_TOKEN, TokenRequest};
pub use typed::{SCORE_DOMAIN, SCORE_VERSION, TypedRequest, typed_data};
