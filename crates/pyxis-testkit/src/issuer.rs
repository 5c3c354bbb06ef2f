//! Credential issuers with their own keys.
//!
//! Each signs one fixed shape, hashed here by hand, so that a mistake in the verifier's general hashing is not repeated
//! in its tests.

mod ed25519;
mod eip712;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;

pub use ed25519::Ed25519Issuer;
pub use eip712::Eip712Issuer;

/// Content of a credential.
#[derive(Clone, Copy, Debug)]
pub struct CredentialFields<'a> {
    /// Holder of the credential.
    pub address: EvmAddress,
    /// Name of the Stamp.
    pub provider: &'a str,
    /// Nullifiers of the account.
    pub nullifiers: &'a [&'a str],
    /// Start of validity.
    pub issued_at: UnixMillis,
    /// End of validity.
    pub expires_at: UnixMillis,
}

impl CredentialFields<'_> {
    fn subject(&self) -> String {
        format!("did:pkh:eip155:1:{}", self.address)
    }
}
