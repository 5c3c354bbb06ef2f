//! Rows of a job as its chunks store them.

use std::collections::BTreeMap;

use pyxis_core::address::EvmAddress;
use pyxis_models::clusters::Group;
use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Longest text that is kept of something that is not an address, in characters.
const SHOWN: usize = 80;

/// A row as it was uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputRow {
    /// Line or row of the file, from 1.
    pub(crate) line: u64,
    /// Address, or the invalid content of the cell.
    pub(crate) address: Result<EvmAddress, BadAddress>,
}

/// A cell that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BadAddress {
    /// The cell, shortened.
    pub(crate) text: String,
    /// Fault of the cell.
    pub(crate) reason: String,
}

impl BadAddress {
    pub(crate) fn new(text: &str, reason: impl Into<String>) -> Self {
        let mut shown: String = text.chars().filter(|char| !char.is_control()).take(SHOWN).collect();
        if text.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        Self { text: shown, reason: reason.into() }
    }

    /// The fault with the cell, for people.
    pub(crate) fn describe(&self) -> String {
        if self.text.is_empty() { self.reason.clone() } else { format!("{}: {}", self.text, self.reason) }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResultRow {
    /// Line or row of the file, from 1.
    pub(crate) line: u64,
    /// Address, or the invalid content of the cell.
    pub(crate) address: String,
    /// The result, or the reason that there is none.
    pub(crate) outcome: RowOutcome,
}

/// Result of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RowOutcome {
    Scored(Box<RowScore>),
    /// No score. The row can run again.
    Failed(String),
    /// Not an address. Running it again changes nothing.
    Invalid(String),
}

/// The score of an address, and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowScore {
    /// The score record, as the API answers it.
    pub(crate) record: Record,
    /// Scores by model; those with too little data are missing.
    pub(crate) models: BTreeMap<String, f64>,
    /// The suspected group of the address.
    pub(crate) cluster: Option<ClusterEvidence>,
}

/// A suspected group and its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterEvidence {
    /// Address that identifies the group.
    pub(crate) id: EvmAddress,
    /// Number of members.
    pub(crate) users: usize,
    /// Median of their scores.
    pub(crate) median_score: f64,
    /// Address that funded the most members, and how many.
    pub(crate) shared_funder: Option<(EvmAddress, usize)>,
    /// Address that collects from the most members, and how many.
    pub(crate) shared_sink: Option<(EvmAddress, usize)>,
    /// Members that first bridged within a day of another one.
    pub(crate) same_day: usize,
    /// Transfers between members.
    pub(crate) transfers_within: usize,
}

impl From<&Group> for ClusterEvidence {
    fn from(group: &Group) -> Self {
        let shared = |shared: &Option<pyxis_models::clusters::SharedCounterparty>| {
            shared.as_ref().map(|shared| (shared.address, shared.members))
        };
        Self {
            id: group.id,
            users: group.size,
            median_score: group.median_score,
            shared_funder: shared(&group.shared_funder),
            shared_sink: shared(&group.shared_sink),
            same_day: group.same_day,
            transfers_within: group.transfers_within,
        }
    }
}

impl ClusterEvidence {
    /// True if it names this address.
    pub(crate) fn names(&self, address: EvmAddress) -> bool {
        let shared = |shared: Option<(EvmAddress, usize)>| shared.is_some_and(|(one, _)| one == address);
        self.id == address || shared(self.shared_funder) || shared(self.shared_sink)
    }

    /// The evidence in words.
    pub(crate) fn describe(&self) -> String {
        let shared = |shared: Option<(EvmAddress, usize)>, verb: &str| {
            shared.map(|(address, members)| format!("{members} members {verb} {address}"))
        };
        let days =
            (self.same_day > 0).then(|| format!("{} first bridged within a day of another", self.same_day));
        let within = (self.transfers_within > 0)
            .then(|| format!("{} transfers between members", self.transfers_within));
        let all =
            [shared(self.shared_funder, "received from"), shared(self.shared_sink, "sent to"), days, within];
        all.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_kept_short_and_without_control_characters() {
        let bad = BadAddress::new(&format!("a\u{1b}b{}", "x".repeat(200)), "not an address");
        assert!(bad.text.starts_with("abx") && bad.text.ends_with('…') && bad.text.chars().count() == 81);
        assert_eq!(BadAddress::new("vitalik.eth", "r").text, "vitalik.eth");
    }

    #[test]
    fn evidence_is_told_in_words() {
        let evidence = ClusterEvidence {
            id: EvmAddress([1; 20]),
            users: 5,
            median_score: 3.0,
            shared_funder: Some((EvmAddress([2; 20]), 4)),
            shared_sink: None,
            same_day: 3,
            transfers_within: 0,
        };
        let funder = EvmAddress([2; 20]);
        assert_eq!(
            evidence.describe(),
            format!("4 members received from {funder}; 3 first bridged within a day of another")
        );
    }
}
