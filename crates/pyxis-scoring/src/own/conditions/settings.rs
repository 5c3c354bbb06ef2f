//! Settings of a condition: names and texts, as people write them.

use std::collections::BTreeMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::nearest::suggestion;
use pyxis_evm::AbiWord;

use super::{Condition, Kind};
use crate::address;
use crate::own::amount;

/// A setting that cannot be used.
#[derive(Debug)]
pub(crate) struct SettingError {
    /// Name of the setting.
    pub(crate) name: String,
    /// Fault, and what is allowed.
    pub(crate) detail: String,
}

impl SettingError {
    pub(super) fn new(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), detail: detail.into() }
    }
}

/// Reader of settings.
pub(crate) struct Settings<'a> {
    given: &'a BTreeMap<String, String>,
}

impl<'a> Settings<'a> {
    /// The condition of a kind with these settings.
    pub(crate) fn read(
        kind: &Kind,
        given: &'a BTreeMap<String, String>,
    ) -> Result<Box<dyn Condition>, SettingError> {
        let known = || kind.settings.iter().map(|(name, _)| *name);
        if let Some(name) = given.keys().find(|name| !known().any(|known| known == *name)) {
            let list = known().collect::<Vec<_>>().join(", ");
            let detail =
                format!("is not a setting of {}{}; known: {list}", kind.name, suggestion(name, known()));
            return Err(SettingError::new(name, detail));
        }
        (kind.read)(&mut Self { given })
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'a str> {
        self.given.get(name).map(String::as_str)
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, SettingError> {
        self.optional(name).ok_or_else(|| SettingError::new(name, "is required"))
    }

    pub(super) fn address(&self, name: &str) -> Result<EvmAddress, SettingError> {
        address::read(self.text(name)?).map_err(|error| SettingError::new(name, error.to_string()))
    }

    pub(super) fn optional_address(&self, name: &str) -> Result<Option<EvmAddress>, SettingError> {
        self.optional(name).map(|_| self.address(name)).transpose()
    }

    /// A whole number of up to 256 bits.
    pub(super) fn amount(&self, name: &str) -> Result<AbiWord, SettingError> {
        let text = self.text(name)?;
        amount::read(text).ok_or_else(|| {
            let detail = "write a whole number, or 0x and hex digits; at most 256 bits";
            SettingError::new(name, format!("{text:?}: {detail}"))
        })
    }

    /// A number of at least one; one unless it is given.
    pub(super) fn at_least(&self) -> Result<AbiWord, SettingError> {
        const NAME: &str = "at_least";
        let least = if self.optional(NAME).is_some() { self.amount(NAME)? } else { ONE };
        if least == [0; 32] { Err(SettingError::new(NAME, "must be at least 1")) } else { Ok(least) }
    }

    /// 32 bytes: `0x` and 64 hexadecimal digits.
    pub(super) fn bytes32(&self, name: &str) -> Result<AbiWord, SettingError> {
        let text = self.text(name)?;
        let bytes = text.starts_with("0x").then(|| amount::read(text)).flatten();
        bytes
            .filter(|_| text.len() == 66)
            .ok_or_else(|| SettingError::new(name, format!("{text:?}: write 0x and 64 hex digits")))
    }

    /// One of some words; the first unless it is given.
    pub(super) fn choice(&self, name: &str, words: &[&'static str]) -> Result<&'static str, SettingError> {
        let Some(text) = self.optional(name) else { return Ok(words[0]) };
        words.iter().find(|word| **word == text).copied().ok_or_else(|| {
            SettingError::new(name, format!("{text:?} is unknown; write {}", words.join(" or ")))
        })
    }
}

/// The number 1.
const ONE: AbiWord = {
    let mut word = [0; 32];
    word[31] = 1;
    word
};
