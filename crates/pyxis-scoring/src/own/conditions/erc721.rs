//! Tokens of an ERC-721 contract, by number or one by one.

use std::sync::LazyLock;

use pyxis_core::address::EvmAddress;
use pyxis_core::stamp::Nullifier;
use pyxis_evm::abi::{self, Selector};
use pyxis_evm::{AbiWord, Call, CallResult};
use pyxis_signing::eip712::abi_words;

use super::erc20::balance_of;
use super::{
    About, Cause, Condition, Holding, Item, Kind, SettingError, Settings, Step, balance, single_word,
};
use crate::credential::MAX_NULLIFIERS;
use crate::own::amount;

static OWNER_OF: LazyLock<Selector> = LazyLock::new(|| abi::selector("ownerOf(uint256)"));

pub(super) const KIND: Kind = Kind {
    name: "erc721",
    meaning: "The address owns at least a number of tokens of an ERC-721 contract.",
    settings: &[
        ("contract", "address of the collection"),
        ("at_least", "number of tokens [1]"),
        (
            "dedup",
            "`address`: the Stamp counts for each owner; `token`: the holder names token ids, and each counts for one \
             address at a time [address]",
        ),
    ],
    read,
};

/// Tokens of a collection, whichever they are.
struct Balance {
    contract: EvmAddress,
    at_least: AbiWord,
}

/// Tokens that the holder names.
struct Tokens {
    contract: EvmAddress,
    at_least: usize,
}

fn read(settings: &mut Settings<'_>) -> Result<Box<dyn Condition>, SettingError> {
    let (contract, at_least) = (settings.address("contract")?, settings.at_least()?);
    if settings.choice("dedup", &["address", "token"])? == "address" {
        return Ok(Box::new(Balance { contract, at_least }));
    }
    let count = usize::from(at_least[31]);
    if at_least[..31] != [0; 31] || count > MAX_NULLIFIERS {
        let detail = format!("must be 1 to {MAX_NULLIFIERS} with dedup=token");
        return Err(SettingError::new("at_least", detail));
    }
    Ok(Box::new(Tokens { contract, at_least: count }))
}

impl Condition for Balance {
    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause> {
        match answers {
            [] => Ok(Step::Ask(vec![balance_of(self.contract, about.address)])),
            [held, ..] => balance(about, held, &self.at_least),
        }
    }
}

impl Condition for Tokens {
    fn items(&self) -> Item {
        Item::TokenIds { at_least: self.at_least }
    }

    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause> {
        // The rule may have had another kind when the Stamp was issued.
        if about.items.len() < self.at_least {
            return Ok(Step::Fails("no token is named".to_owned()));
        }
        if answers.is_empty() {
            let call = |id: &AbiWord| Call { to: self.contract, data: abi::call(*OWNER_OF, &[*id]) };
            // Each of them is claimed, so each must be the holder's.
            return Ok(Step::Ask(about.items.iter().map(call).collect()));
        }
        let (mut nullifiers, mut fault) = (Vec::new(), None);
        for (id, answer) in about.items.iter().zip(answers) {
            if owner(answer)? == Some(abi_words::address(about.address)) {
                nullifiers.push(self.nullifier(about.chain_id, id));
            } else {
                fault = fault
                    .or_else(|| Some(format!("the address does not own token {}", amount::to_decimal(id))));
            }
        }
        Ok(match fault {
            None => Step::Holds(Holding { nullifiers, expires_at: None }),
            Some(fault) => Step::Fails(fault),
        })
    }
}

impl Tokens {
    /// The token as CAIP-19 writes it.
    fn nullifier(&self, chain_id: u64, id: &AbiWord) -> Nullifier {
        let text = format!("eip155:{chain_id}/erc721:{}/{}", self.contract, amount::to_decimal(id));
        text.parse().expect("printable text")
    }
}

/// The owner of a token; `None` if there is no such token. By ERC-721 the call reverts then, with any reason.
fn owner(answer: &CallResult) -> Result<Option<AbiWord>, Cause> {
    match answer {
        CallResult::Reverted(_) => Ok(None),
        other => single_word(other).map(Some),
    }
}
