//! Tokens of one id of an ERC-1155 contract.

use std::sync::LazyLock;

use pyxis_core::address::EvmAddress;
use pyxis_evm::abi::{self, Selector};
use pyxis_evm::{AbiWord, Call, CallResult};
use pyxis_signing::eip712::abi_words;

use super::{About, Cause, Condition, Kind, SettingError, Settings, Step, balance};

static BALANCE_OF: LazyLock<Selector> = LazyLock::new(|| abi::selector("balanceOf(address,uint256)"));

pub(super) const KIND: Kind = Kind {
    name: "erc1155",
    meaning: "The address holds at least a number of tokens of one id of an ERC-1155 contract.",
    settings: &[
        ("contract", "address of the collection"),
        ("token_id", "id of the token"),
        ("at_least", "number of tokens [1]"),
    ],
    read,
};

struct Erc1155 {
    contract: EvmAddress,
    token_id: AbiWord,
    at_least: AbiWord,
}

fn read(settings: &mut Settings<'_>) -> Result<Box<dyn Condition>, SettingError> {
    let contract = settings.address("contract")?;
    let (token_id, at_least) = (settings.amount("token_id")?, settings.at_least()?);
    Ok(Box::new(Erc1155 { contract, token_id, at_least }))
}

impl Condition for Erc1155 {
    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause> {
        match answers {
            [] => {
                let arguments = [abi_words::address(about.address), self.token_id];
                Ok(Step::Ask(vec![Call { to: self.contract, data: abi::call(*BALANCE_OF, &arguments) }]))
            }
            [held, ..] => balance(about, held, &self.at_least),
        }
    }
}
