//! Conditions on chains. A kind is one file here and one line of [`KINDS`].
//!
//! A condition is asked in rounds: it names calls, gets their answers, and names further calls or says whether it holds.
//! An answer that cannot be understood is an error, never a no.

mod call;
mod eas;
mod erc1155;
mod erc20;
mod erc721;
mod settings;

use std::collections::BTreeMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::stamp::Nullifier;
use pyxis_evm::{AbiWord, Call, CallResult};

pub(crate) use settings::SettingError;
use settings::Settings;

/// Every kind of condition.
pub(crate) const KINDS: &[Kind] = &[erc20::KIND, erc721::KIND, erc1155::KIND, call::KIND, eas::KIND];

/// A kind of condition.
pub(crate) struct Kind {
    /// Name on the wire.
    pub(crate) name: &'static str,
    /// Sentence that says when it holds.
    pub(crate) meaning: &'static str,
    /// Names and meanings of its settings, in the order of the documents.
    pub(crate) settings: &'static [(&'static str, &'static str)],
    pub(crate) read: fn(&mut Settings<'_>) -> Result<Box<dyn Condition>, SettingError>,
}

/// A condition about an address, with its settings.
pub(crate) trait Condition: Send + Sync {
    /// Items that the holder names with a request.
    fn items(&self) -> Item {
        Item::None
    }

    /// The next step, from every answer so far in the order of the calls.
    fn step(&self, about: &About<'_>, answers: &[CallResult]) -> Result<Step, Cause>;
}

/// Items that a holder names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    None,
    /// Ids of tokens: at least this many, all different.
    TokenIds {
        at_least: usize,
    },
    /// The UID of one attestation.
    Attestation,
}

impl Item {
    /// Name in the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::TokenIds { .. } => "token_ids",
            Self::Attestation => "attestation",
        }
    }
}

/// Subject of a condition.
pub(crate) struct About<'a> {
    pub(crate) address: EvmAddress,
    /// The items that the holder named, as many as the condition wants.
    pub(crate) items: &'a [AbiWord],
    pub(crate) chain_id: u64,
    /// Time of the block.
    pub(crate) at: UnixMillis,
}

/// A step of a condition.
#[derive(Debug)]
pub(crate) enum Step {
    /// Further calls are needed.
    Ask(Vec<Call>),
    Holds(Holding),
    /// It does not hold, for this reason.
    Fails(String),
}

/// Content of the Stamp of a condition that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) nullifiers: Vec<Nullifier>,
    /// Time at which the condition expires, if known.
    pub(crate) expires_at: Option<UnixMillis>,
}

/// Reason that a contract's answer says neither yes nor no.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error("the contract reverted: {}", .0.as_deref().unwrap_or("without a reason"))]
    Reverted(Option<String>),
    #[error("the call needs more gas or time than the nodes allow")]
    Unfinished,
    #[error("the contract's response cannot be read; check its address and kind")]
    Unreadable,
}

/// The condition of a kind with these settings.
pub(crate) fn read(
    kind: &Kind,
    settings: &BTreeMap<String, String>,
) -> Result<Box<dyn Condition>, SettingError> {
    Settings::read(kind, settings)
}

/// Returned data of a call.
fn data(answer: &CallResult) -> Result<&[u8], Cause> {
    match answer {
        CallResult::Data(data) => Ok(data),
        CallResult::Reverted(reason) => Err(Cause::Reverted(reason.clone())),
        CallResult::Unfinished => Err(Cause::Unfinished),
    }
}

/// The one word that a call returned.
fn single_word(answer: &CallResult) -> Result<AbiWord, Cause> {
    let data = data(answer)?;
    data.first_chunk().filter(|_| data.len() == 32).copied().ok_or(Cause::Unreadable)
}

/// A balance, compared with what is needed.
fn balance(about: &About<'_>, answer: &CallResult, at_least: &AbiWord) -> Result<Step, Cause> {
    let held = single_word(answer)?;
    Ok(if held >= *at_least {
        Step::Holds(Holding::for_address(about.address))
    } else {
        let (held, needed) = (super::amount::to_decimal(&held), super::amount::to_decimal(at_least));
        Step::Fails(format!("the address holds {held}, and {needed} is needed"))
    })
}

impl Holding {
    /// A Stamp that counts for the address alone.
    fn for_address(address: EvmAddress) -> Self {
        Self { nullifiers: vec![super::nullifier_of(address)], expires_at: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_of_their_own_and_refuse_settings_they_do_not_know() {
        let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
        for kind in KINDS {
            let given = BTreeMap::from([("contrakt".to_owned(), "0x1".to_owned())]);
            let error = Settings::read(kind, &given).err().expect("a refusal");
            assert!(error.detail.contains("did you mean contract?"), "{}: {}", kind.name, error.detail);
            let missing = Settings::read(kind, &BTreeMap::new()).err().expect("a refusal");
            assert_eq!(missing.name, "contract", "{}", kind.name);
        }
    }
}
