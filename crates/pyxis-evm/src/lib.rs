//! EVM chains: what other crates need to read them, and to sign and check what their contracts check.

pub mod abi;
mod chain;
mod error;
mod rpc;
mod signature;
pub mod typed_data;

pub use chain::{Block, Call, Chain, Returned, Settings};
pub use error::Error;
pub use signature::{SigningKey, recover};

use sha3::{Digest, Keccak256};

/// A Keccak-256 hash, or any other word of a contract.
pub type Word = [u8; 32];

/// Keccak-256 of `data`.
pub fn keccak(data: &[u8]) -> Word {
    Keccak256::digest(data).into()
}
