//! Tokens of an ERC-20 contract.

use std::sync::LazyLock;

use pyxis_core::address::EvmAddress;
use pyxis_evm::abi::{self, Selector};
use pyxis_evm::{AbiWord, Call, CallResult};
use pyxis_signing::eip712::abi_words;

use super::{About, Cause, Condition, Kind, SettingError, Settings, Step, balance};

pub(super) static BALANCE_OF: LazyLock<Selector> = LazyLock::new(|| abi::selector("balanceOf(address)"));

pub(super) const KIND: Kind = Kind {
    name: "erc20",
    meaning: "The address holds at least a number of units of an ERC-20 token.",
    settings: &[
        ("contract", "address of the token"),
        ("at_least", "smallest units, for example 1000000000000000000 for one token with 18 decimals [1]"),
    ],
    read,
};

struct Erc20 {
    contract: EvmAddress,
    at_least: AbiWord,
}

fn read(settings: &mut Settings<'_>) -> Result<Box<dyn Condition>, SettingError> {
    Ok(Box::new(Erc20 { contract: settings.address("contract")?, at_least: settings.at_least()? }))
}

impl Condition for Erc20 {
    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause> {
        match answers {
            [] => Ok(Step::Ask(vec![balance_of(self.contract, about.address)])),
            [held, ..] => balance(about, held, &self.at_least),
        }
    }
}

/// The call for a balance, which ERC-721 has in the same form.
pub(super) fn balance_of(contract: EvmAddress, address: EvmAddress) -> Call {
    Call { to: contract, data: abi::call(*BALANCE_OF, &[abi_words::address(address)]) }
}
