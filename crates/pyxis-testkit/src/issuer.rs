//! Issuers of credentials with keys of their own.
//!
//! They sign one fixed shape each, hashed by hand here, so that a mistake in the verifier's general
//! hashing does not repeat itself in what it is tested with.

mod ed25519;
mod eip712;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;

pub use ed25519::Ed25519Issuer;
pub use eip712::Eip712Issuer;

/// What a credential is to say.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The holder.
    pub address: EvmAddress,
    /// The Stamp.
    pub provider: &'a str,
    /// The marks of the account.
    pub nullifiers: &'a [&'a str],
    /// From when.
    pub issued_at: UnixMillis,
    /// Until when.
    pub expires_at: UnixMillis,
}

impl Claim<'_> {
    fn subject(&self) -> String {
        format!("did:pkh:eip155:1:{}", self.address)
    }
}
