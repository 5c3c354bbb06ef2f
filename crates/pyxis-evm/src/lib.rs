//! Reading EVM chains, and creating and verifying signatures that contracts check.

pub mod abi;
mod chain;
mod error;
mod failure;
mod rpc;
mod signature;

pub use chain::{Block, Call, CallResult, Chain, NodeConfig, Settings};
pub use error::Error;
pub use pyxis_signing::eip712::abi_words::{AbiWord, keccak};
pub use signature::{EvmSigningKey, recover};
