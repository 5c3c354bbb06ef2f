//! Strict parsing of parameters. Their order in a handler is the order of the errors
//! (`docs/reference/behavior/verification.md#order-of-errors`).

use std::borrow::Cow;

use pyxis_core::address::EvmAddress;
use pyxis_core::proof::{ActionId, Kind};

use crate::block_height::Snapshot;
use crate::error::{COUNTRY, Error, Result};
use crate::network::{Network, Networks};

/// The parameters of a query.
pub(super) struct QueryPairs<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> QueryPairs<'q> {
    pub(super) fn read(query: Option<&'q str>) -> Self {
        Self(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect())
    }

    /// The value of a parameter; if it occurs several times, the last. An empty one counts as absent.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value);
        found.filter(|value| !value.is_empty())
    }

    /// A required parameter; `told` is its name in the error.
    pub(super) fn need(&self, name: &str, told: &'static str) -> Result<&str> {
        self.find(name).ok_or(Error::Missing(told))
    }

    /// True if the reason is requested.
    pub(super) fn explain(&self) -> Result<bool> {
        self.switch("explain")
    }

    /// A switch, off by default, with the values that switches of the Stamps API have. Any other is refused: one that
    /// was ignored would look like an answer.
    pub(super) fn switch(&self, name: &'static str) -> Result<bool> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        match found.map(|(_, value)| value.to_ascii_lowercase()).as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Error::InvalidSwitch(name)),
        }
    }

    /// Refuses what would drop a condition without a word: a known parameter that is empty, repeated, or spelled with
    /// another case or dash. Parameters that resemble none of these names are not checked.
    pub(super) fn check_spelling(&self, known: &[&str]) -> Result<()> {
        let refuse = |message: String| Err(Error::InvalidStrategy(message.into()));
        for (place, (name, value)) in self.0.iter().enumerate() {
            let plain = name.trim().to_ascii_lowercase().replace('_', "-");
            let Some(meant) = known.iter().find(|one| **one == plain) else { continue };
            if meant != name {
                return refuse(format!("{name:?} is not a parameter; write {meant}"));
            }
            if value.is_empty() {
                return refuse(format!("{meant} is empty; give it a value, or leave it out"));
            }
            if self.0[..place].iter().any(|(earlier, _)| earlier == name) {
                return refuse(format!("{meant} is given twice; give it once"));
            }
        }
        Ok(())
    }
}

/// `0x` and 40 hexadecimal digits in any case, regardless of the checksum.
pub(super) fn address(text: &str) -> Result<EvmAddress> {
    text.parse().map_err(|_| Error::InvalidUser)
}

/// A decimal number below the order of the field.
pub(super) fn action(text: &str) -> Result<ActionId> {
    text.parse().map_err(|_| Error::InvalidAction)
}

/// A block number, or `latest`.
pub(super) fn snapshot(text: &str) -> Result<Snapshot> {
    if text == "latest" {
        return Ok(Snapshot::Latest);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let height = digits.then(|| text.parse().ok()).flatten();
    // `i64::MAX` is reserved for the current state.
    height.filter(|height| *height < i64::MAX).map(Snapshot::Block).ok_or(Error::InvalidSnapshot)
}

/// A kind of proof.
pub(super) fn kind(name: &str) -> Result<Kind> {
    kind_among(name, |_| true)
}

/// A kind that shows that a person is unique.
pub(super) fn sybil_kind(name: &str) -> Result<Kind> {
    kind_among(name, Kind::is_sybil_resistance)
}

/// A kind that has a voting strategy (`docs/reference/behavior/verification.md#voting-strategies`).
pub(super) fn sybil_strategy(name: &str) -> Result<Kind> {
    kind_among(name, Kind::has_sybil_strategy)
}

/// A kind that a score may be combined with in a voting strategy.
pub(super) fn vote_kind(name: &str) -> Result<Kind> {
    kind_among(name, |kind| kind.has_sybil_strategy() || kind == Kind::ResidenceUs)
}

fn kind_among(name: &str, accepts: impl Fn(Kind) -> bool) -> Result<Kind> {
    let known = || Kind::ALL.into_iter().filter(|kind| accepts(*kind)).map(Kind::as_str).collect();
    Kind::from_name(name).filter(|kind| accepts(*kind)).ok_or_else(|| Error::UnknownKind(known()))
}

/// The only supported country (`docs/reference/behavior/verification.md#checks`).
pub(super) fn country(name: &str) -> Result<Kind> {
    if name == COUNTRY { Ok(Kind::ResidenceUs) } else { Err(Error::UnknownCountry) }
}

/// The network with this name, if it has checks of a kind.
pub(super) fn network<'n>(networks: &'n Networks, name: &str, kind: Kind) -> Result<&'n Network> {
    let fits = |network: &&Network| network.chain_id.is_some() && network.checks(kind);
    let known = || networks.iter().filter(fits).map(|network| network.name.to_string()).collect();
    networks.find_by_name(name).filter(fits).ok_or_else(|| Error::UnsupportedNetwork(known()))
}

/// The network with this chain id, if it has checks of a kind.
pub(super) fn chain<'n>(networks: &'n Networks, id: &str, kind: Kind) -> Result<&'n Network> {
    chain_among(networks, id, |network| network.checks(kind))
}

/// The network with this chain id, among those that fit.
pub(super) fn chain_among<'n>(
    networks: &'n Networks,
    id: &str,
    fits: impl Fn(&Network) -> bool,
) -> Result<&'n Network> {
    let digits = id.bytes().all(|byte| byte.is_ascii_digit());
    let id = digits.then(|| id.parse().ok()).flatten();
    let found = id.and_then(|id| networks.of_chain(id)).filter(|network| fits(network));
    let fitting = || networks.iter().filter(|network| fits(network));
    let known = || fitting().filter_map(|network| network.chain_id).map(|id| id.to_string()).collect();
    found.ok_or_else(|| Error::UnsupportedNetwork(known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_parameter_is_missing_and_the_last_one_counts() {
        let query = QueryPairs::read(Some("user=&user=a&user=b&action-id="));
        assert_eq!(query.find("user"), Some("b"));
        assert!(matches!(query.need("action-id", "action-id"), Err(Error::Missing("action-id"))));
    }

    #[test]
    fn a_switch_has_the_spellings_of_the_stamps_api_and_no_other() {
        let explain = |query| QueryPairs::read(Some(query)).explain();
        for (query, on) in
            [("", false), ("explain=TRUE", true), ("explain=1", true), ("explain=False", false)]
        {
            assert_eq!(explain(query).unwrap(), on, "{query}");
        }
        for query in ["explain=", "explain=yes", "explain=true&explain=maybe"] {
            assert!(matches!(explain(query), Err(Error::InvalidSwitch("explain"))), "{query}");
        }
        assert!(matches!(
            QueryPairs::read(Some("strict=maybe")).switch("strict"),
            Err(Error::InvalidSwitch("strict"))
        ));
    }

    #[test]
    fn a_parameter_that_would_be_ignored_is_refused_with_the_right_spelling() {
        let check = |query| QueryPairs::read(Some(query)).check_spelling(&["and", "action-id"]);
        assert!(check("and=gov-id&action-id=1&other=&Else=1").is_ok());
        for (query, said) in [
            ("and=", "and is empty"),
            ("And=gov-id", "\"And\" is not a parameter; write and"),
            ("action_id=1", "write action-id"),
            ("and=gov-id&and=phone", "and is given twice"),
        ] {
            let error = check(query).unwrap_err();
            assert!(error.public_message().contains(said), "{query}: {}", error.public_message());
        }
    }

    #[test]
    fn a_snapshot_is_a_block_number_or_latest() {
        assert_eq!(snapshot("latest").unwrap(), Snapshot::Latest);
        assert_eq!(snapshot("0").unwrap(), Snapshot::Block(0));
        assert_eq!(snapshot("00012").unwrap(), Snapshot::Block(12));
        for text in ["", "Latest", "-1", "+1", "1.5", "0x10", " 1", "9223372036854775807", &"9".repeat(30)] {
            assert!(matches!(snapshot(text), Err(Error::InvalidSnapshot)), "{text:?}");
        }
    }

    #[test]
    fn a_chain_id_is_a_plain_number_of_a_network_with_the_check() {
        let networks = Networks::default();
        assert_eq!(chain(&networks, "10", Kind::GovId).unwrap().name.as_str(), "optimism");
        for id in ["", "1", "+10", "0xa", "optimism", "84532", "99999999999999999999999"] {
            assert!(
                matches!(chain(&networks, id, Kind::ResidenceUs), Err(Error::UnsupportedNetwork(_))),
                "{id}"
            );
        }
        assert!(matches!(network(&networks, "sui", Kind::CleanHands), Err(Error::UnsupportedNetwork(_))));
    }
}
