//! EVM chains: what other crates need to read them, and to sign and check what their contracts check.

pub mod abi;
mod chain;
mod error;
mod failure;
mod rpc;
mod signature;

pub use chain::{Block, Call, CallResult, Chain, NodeConfig, Settings};
pub use error::Error;
pub use pyxis_signing::eip712::words::{Word, keccak};
pub use signature::{EvmSigningKey, recover};
