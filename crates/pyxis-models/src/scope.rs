//! Chains and kinds of transfers.

use std::fmt;

/// Defines an enumeration whose values have a name and a stored number.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $number:literal, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant = $number),+ }

        impl $name {
            /// Every value, by number.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its stable name, in lower case.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value with a name, in lower case.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }

            /// The value with a stored number.
            pub const fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

numbered! {
    /// A chain with known activity.
    Chain {
        Ethereum = 0, "ethereum";
        /// Arbitrum One.
        Arbitrum = 1, "arbitrum";
        Base = 2, "base";
        /// OP Mainnet.
        Optimism = 3, "optimism";
        Polygon = 4, "polygon";
        /// zkSync Era.
        Zksync = 5, "zksync";
        /// Gnosis. No model has this name; it counts as activity of the wallet.
        Gnosis = 6, "gnosis";
    }
}

numbered! {
    /// Kind of transfer.
    Kind {
        /// The chain's own coin.
        Native = 0, "native";
        /// The chain's own coin, moved by a contract.
        Internal = 1, "internal";
        /// A fungible token.
        Erc20 = 2, "erc20";
        /// A non-fungible token.
        Nft = 3, "nft";
        /// A transfer of anything to another chain.
        Bridge = 4, "bridge";
        /// A contract call.
        Call = 5, "call";
    }
}

numbered! {
    /// A model that can be requested (`docs/reference/behavior/scoring.md#model-scores`).
    Model {
        /// All others that had data, combined.
        Aggregate = 0, "aggregate";
        EthereumActivity = 1, "ethereum_activity";
        /// NFTs on every chain.
        Nft = 2, "nft";
        /// Activity on Arbitrum.
        Arbitrum = 3, "arbitrum";
        /// Activity on Base.
        Base = 4, "base";
        /// Activity on Optimism.
        Optimism = 5, "optimism";
        /// Activity on Polygon.
        Polygon = 6, "polygon";
        /// Activity on zkSync.
        Zksync = 7, "zksync";
    }
}

/// The part of a wallet's activity that features describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainScope {
    Chain(Chain),
    /// NFTs on every chain.
    Nft,
}

impl ChainScope {
    /// Its stored number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Chain(chain) => chain as u8,
            Self::Nft => 255,
        }
    }

    /// The scope with a stored number.
    pub fn from_number(number: u8) -> Option<Self> {
        if number == 255 { Some(Self::Nft) } else { Chain::from_number(number).map(Self::Chain) }
    }

    /// Every scope, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        Chain::ALL.iter().map(|chain| Self::Chain(*chain)).chain([Self::Nft])
    }
}

impl Model {
    /// The activity that the model reads; `None` for the aggregate.
    pub const fn scope(self) -> Option<ChainScope> {
        match self {
            Self::Aggregate => None,
            Self::EthereumActivity => Some(ChainScope::Chain(Chain::Ethereum)),
            Self::Nft => Some(ChainScope::Nft),
            Self::Arbitrum => Some(ChainScope::Chain(Chain::Arbitrum)),
            Self::Base => Some(ChainScope::Chain(Chain::Base)),
            Self::Optimism => Some(ChainScope::Chain(Chain::Optimism)),
            Self::Polygon => Some(ChainScope::Chain(Chain::Polygon)),
            Self::Zksync => Some(ChainScope::Chain(Chain::Zksync)),
        }
    }

    /// The models that read activity themselves.
    pub fn single() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|model| model.scope().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_what_they_stand_for() {
        for chain in Chain::ALL {
            assert_eq!(Chain::from_name(chain.as_str()), Some(*chain));
            assert_eq!(Chain::from_number(*chain as u8), Some(*chain));
        }
        for scope in ChainScope::all() {
            assert_eq!(ChainScope::from_number(scope.number()), Some(scope));
        }
        assert_eq!(Model::from_name("Aggregate"), None);
        assert_eq!(Model::single().count(), 7);
    }
}
