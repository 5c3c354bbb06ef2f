//! Signatures of contract wallets (ERC-1271), checked by the network's nodes.

use std::sync::LazyLock;

use pyxis_core::address::EvmAddress;
use pyxis_evm::abi::{self, Selector};
use pyxis_evm::{AbiWord, Call, CallResult};
use pyxis_signing::eip712::abi_words;

use crate::error::{BoxError, Result};
use crate::state::State;

static IS_VALID_SIGNATURE: LazyLock<Selector> =
    LazyLock::new(|| abi::selector("isValidSignature(bytes32,bytes)"));

/// True if the contract at `wallet` accepts the signature of `hash` now; `None` if no node of the chain is configured.
/// An address without a contract accepts none.
pub async fn accepts(
    state: &State,
    chain_id: u64,
    wallet: EvmAddress,
    hash: AbiWord,
    signature: &[u8],
) -> Result<Option<bool>> {
    let network = state.networks().of_chain(chain_id);
    let Some(chain) = network.and_then(|network| state.chains.get(&network.name)) else { return Ok(None) };
    let block = chain.newest(state.now()).await?.number;
    let call = Call { to: wallet, data: call_data(hash, signature) };
    let answer = match chain.call_many(block, &[call]).await {
        // Every node was asked: none of them knows code there.
        Err(pyxis_evm::Error::NoContract { .. }) => return Ok(Some(false)),
        answer => answer?,
    };
    match answer.as_slice() {
        [CallResult::Data(data)] => Ok(Some(is_accepted(data))),
        [CallResult::Reverted(_)] => Ok(Some(false)),
        _ => Err(crate::Error::Unavailable(BoxError::from(
            "the call needs more gas or time than the nodes allow",
        ))),
    }
}

/// Selector, hash, and the signature as `bytes`.
fn call_data(hash: AbiWord, signature: &[u8]) -> Vec<u8> {
    let length = u64::try_from(signature.len()).unwrap_or(u64::MAX);
    let mut data = abi::call(*IS_VALID_SIGNATURE, &[hash, abi_words::number(64), abi_words::number(length)]);
    data.extend_from_slice(signature);
    data.resize(4 + 96 + signature.len().next_multiple_of(32), 0);
    data
}

/// True for a word that begins with the selector and is otherwise zero, as ERC-1271 says.
fn is_accepted(data: &[u8]) -> bool {
    let mut magic = [0; 32];
    magic[..4].copy_from_slice(&*IS_VALID_SIGNATURE);
    data == magic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_encoded_as_contracts_decode_it() {
        let data = call_data([0xab; 32], &[1, 2, 3]);
        assert_eq!(&data[..4], &[0x16, 0x26, 0xba, 0x7e]);
        assert_eq!(data.len(), 4 + 4 * 32);
        assert_eq!((data[4 + 63], data[4 + 95]), (64, 3));
        assert_eq!(&data[4 + 96..4 + 100], &[1, 2, 3, 0]);
        assert_eq!(call_data([0; 32], &[7; 64]).len(), 4 + 5 * 32);
    }

    #[test]
    fn only_the_exact_magic_word_accepts() {
        let magic = [&[0x16, 0x26, 0xba, 0x7e][..], &[0; 28]].concat();
        assert!(is_accepted(&magic));
        for other in [&[][..], &[0; 32], &magic[..4], &[1; 32], &[&magic[..], &[0; 32]].concat()] {
            assert!(!is_accepted(other));
        }
        let mut true_as_number = [0; 32];
        true_as_number[31] = 1;
        assert!(!is_accepted(&true_as_number));
    }
}
