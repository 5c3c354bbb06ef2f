//! Proofs of unique humans: their kinds, their subjects, and the statements that issuers sign
//! (`docs/reference/behavior/verification.md#registry`).

mod statement;

use std::fmt;
use std::str::FromStr;

use crate::address::EvmAddress;
use crate::field::{FieldElement, NotInField};
use crate::sui::SuiAddress;

pub use statement::{Rebinding, Registration, Revocation, Statement, is_plain_text};

/// Longest lifetime of a proof, in seconds: a year of 365 days, and one second
/// (`docs/reference/behavior/verification.md#registry`).
pub const MAX_LIFETIME_SECS: i64 = 365 * 24 * 3600 + 1;
/// The action id that gives uniqueness across applications.
pub const DEFAULT_ACTION: ActionId = ActionId(FieldElement::small(123_456_789));

/// Kind of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A government ID.
    GovId,
    /// An electronic passport.
    Epassport,
    /// A phone number.
    Phone,
    /// Face uniqueness and liveness.
    Biometrics,
    /// Residence in the United States.
    ResidenceUs,
    /// Absence from lists of sanctions and politically exposed persons.
    CleanHands,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::GovId, Self::Epassport, Self::Phone, Self::Biometrics, Self::ResidenceUs, Self::CleanHands];

    /// The name in paths and statements.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GovId => "gov-id",
            Self::Epassport => "epassport",
            Self::Phone => "phone",
            Self::Biometrics => "biometrics",
            Self::ResidenceUs => "residence-us",
            Self::CleanHands => "clean-hands",
        }
    }

    /// The kind with this name; case matters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// True if it has a voting strategy that shows uniqueness: electronic passports have none
    /// (`docs/reference/behavior/verification.md#voting-strategies`).
    pub const fn has_sybil_strategy(self) -> bool {
        self.is_sybil_resistance() && !matches!(self, Self::Epassport)
    }

    /// True if it shows that a person is unique (`docs/reference/behavior/verification.md#checks`).
    pub const fn is_sybil_resistance(self) -> bool {
        matches!(self, Self::GovId | Self::Epassport | Self::Phone | Self::Biometrics)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The use for which a person is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub FieldElement);

/// The text is not an action id.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "not an action id: write a decimal number such as 123456789, at least 1 and below the order of the bn254 scalar field"
)]
pub struct InvalidActionId;

impl FromStr for ActionId {
    type Err = InvalidActionId;

    /// Decimal digits only. Zero is not an action: a contract reads it where nothing was given.
    fn from_str(text: &str) -> Result<Self, InvalidActionId> {
        let number = FieldElement::from_decimal(text).map_err(|_| InvalidActionId)?;
        if number == FieldElement::small(0) { Err(InvalidActionId) } else { Ok(Self(number)) }
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number that is the same whenever the same person makes the same proof for the same action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProofNullifier(pub FieldElement);

impl FromStr for ProofNullifier {
    type Err = NotInField;

    /// Decimal, or `0x` and hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, NotInField> {
        text.parse().map(Self)
    }
}

impl fmt::Display for ProofNullifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is not an address.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an address: write 0x followed by 40 hex characters (up to 64 on Sui)")]
pub struct InvalidSubject;

/// Characters of an EVM address.
const EVM_LENGTH: usize = 42;
/// Characters of a full Sui address.
const SUI_LENGTH: usize = 66;

/// The address that a proof is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// On an EVM chain.
    Evm(EvmAddress),
    Sui(SuiAddress),
}

impl Subject {
    /// 20 bytes for EVM, 32 for Sui.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Evm(address) => &address.0,
            Self::Sui(address) => &address.0,
        }
    }

    /// Parses a Sui address in any of its spellings, even one with as many digits as an EVM address.
    pub fn on_sui(text: &str) -> Result<Self, InvalidSubject> {
        text.parse().map(Self::Sui).map_err(|_| InvalidSubject)
    }

    /// Parses an EVM address, or a full Sui address.
    pub fn in_full(text: &str) -> Result<Self, InvalidSubject> {
        if matches!(text.len(), EVM_LENGTH | SUI_LENGTH) { text.parse() } else { Err(InvalidSubject) }
    }

    /// From 20 or 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            20 => bytes.try_into().ok().map(|bytes| Self::Evm(EvmAddress(bytes))),
            32 => bytes.try_into().ok().map(|bytes| Self::Sui(SuiAddress(bytes))),
            _ => None,
        }
    }
}

impl From<EvmAddress> for Subject {
    fn from(address: EvmAddress) -> Self {
        Self::Evm(address)
    }
}

impl From<SuiAddress> for Subject {
    fn from(address: SuiAddress) -> Self {
        Self::Sui(address)
    }
}

impl FromStr for Subject {
    type Err = InvalidSubject;

    /// 40 digits are an EVM address. Any other number up to 64 is a Sui address with or without its leading zeros. One
    /// digit more or less than 40 is refused: that is a mistyped EVM address.
    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        match text.len() {
            EVM_LENGTH => text.parse().map(Self::Evm).map_err(|_| InvalidSubject),
            41 | 43 => Err(InvalidSubject),
            _ => Self::on_sui(text),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evm(address) => address.fmt(f),
            Self::Sui(address) => address.fmt(f),
        }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a network's name.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a network name: use 1 to 64 characters of a-z, 0-9 and -")]
pub struct InvalidNetworkName;

/// The name of a network, as used in paths: `optimism`, `base-sepolia`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkName(String);

impl NetworkName {
    /// 1 to 64 of a to z, 0 to 9 and `-`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NetworkName {
    type Err = InvalidNetworkName;

    fn from_str(text: &str) -> Result<Self, InvalidNetworkName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidNetworkName) }
    }
}

impl fmt::Display for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NetworkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_by_the_name_that_it_shows() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_name("Gov-ID"), None);
        assert_eq!(Kind::ALL.into_iter().filter(|kind| kind.is_sybil_resistance()).count(), 4);
    }

    #[test]
    fn the_length_of_an_address_tells_its_chain() {
        let (evm, sui) = (format!("0x{}", "a".repeat(40)), format!("0x{}", "a".repeat(64)));
        for text in [&evm, &sui] {
            let subject: Subject = text.parse().unwrap();
            assert_eq!(subject.to_string(), *text);
            assert_eq!(Subject::from_bytes(subject.as_bytes()), Some(subject));
        }
        for text in ["", "2", "0x", &evm[1..], &evm[..41], &format!("{evm}a"), &format!("{sui}a")] {
            assert_eq!(text.parse::<Subject>(), Err(InvalidSubject), "{text}");
        }
    }

    #[test]
    fn a_sui_address_is_the_same_without_its_leading_zeros_and_in_any_case() {
        for short in [format!("0x{}", "a".repeat(63)), format!("0x{}", "B".repeat(50)), "0x2".to_owned()] {
            let full = format!("0x{:0>64}", &short[2..]);
            let subject: Subject = full.parse().unwrap();
            for same in [&short, &short.to_uppercase(), &short.to_lowercase(), &full.to_uppercase()] {
                assert_eq!(same.parse(), Ok(subject), "{same}");
                assert_eq!(Subject::on_sui(same), Ok(subject), "{same}");
            }
            assert_eq!(
                (Subject::in_full(&full), Subject::in_full(&short)),
                (Ok(subject), Err(InvalidSubject))
            );
        }
        // As many digits as an EVM address: only the network tells.
        let forty = format!("0x{}", "a".repeat(40));
        assert!(matches!(forty.parse(), Ok(Subject::Evm(_))));
        assert!(matches!(Subject::on_sui(&forty), Ok(Subject::Sui(_))));
    }

    #[test]
    fn an_action_id_is_decimal_and_a_nullifier_may_be_hexadecimal() {
        assert_eq!("123456789".parse(), Ok(DEFAULT_ACTION));
        assert!("0x1".parse::<ActionId>().is_err());
        for zero in ["0", "00", &"0".repeat(77)] {
            assert_eq!(zero.parse::<ActionId>(), Err(InvalidActionId), "{zero}");
            assert!(zero.parse::<ProofNullifier>().is_ok(), "{zero}");
        }
        assert_eq!("0x0A".parse::<ProofNullifier>(), "10".parse());
    }
}
