//! Voting strategies by name, for pages that try them (`docs/reference/behavior/verification.md#voting-strategies`).

use pyxis_core::proof::Kind;
use serde::Deserialize;

use crate::routes;
use crate::state::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VotingStrategy {
    /// 1 for each address with a live proof of this kind.
    Proof(Kind),
    /// The score of each address, or 1 by a threshold.
    Score,
}

/// An address with its voting power.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct VoterResult {
    /// The entry as it was given.
    pub address: String,
    /// Voting power.
    pub score: serde_json::Number,
    /// Reason for a power of 0, or `valid`.
    pub reason: Option<String>,
    /// Fault of an entry that is not an address.
    pub error: Option<VoterFault>,
}

/// A fault of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct VoterFault {
    /// The fault in words.
    pub detail: String,
}

#[derive(Deserialize)]
struct StrategyResponse {
    score: Vec<VoterResult>,
}

impl VotingStrategy {
    /// All strategies.
    pub const ALL: [Self; 5] = [
        Self::Proof(Kind::GovId),
        Self::Proof(Kind::Phone),
        Self::Proof(Kind::Biometrics),
        Self::Proof(Kind::ResidenceUs),
        Self::Score,
    ];

    /// Name in URLs of pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proof(kind) => kind.as_str(),
            Self::Score => "score",
        }
    }

    /// The strategy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// Path without a leading slash.
    pub fn path(self) -> String {
        match self {
            Self::Proof(Kind::ResidenceUs) => "snapshot-strategies/residence/country/us".to_owned(),
            Self::Proof(kind) => format!("snapshot-strategies/sybil-resistance/{}", kind.as_str()),
            Self::Score => "snapshot-strategies/score".to_owned(),
        }
    }

    /// True if a request must name an action id.
    pub const fn needs_action(self) -> bool {
        matches!(self, Self::Proof(kind) if kind.has_sybil_strategy())
    }

    /// Answers a query as the path does, with reasons. An error is the sentence that a voting tool would get.
    pub async fn answer(self, state: &State, query: &str) -> Result<Vec<VoterResult>, String> {
        let query = format!("{query}&explain=true");
        let answer = match self {
            Self::Proof(kind) => routes::proof_strategy(state, kind, &query).await,
            Self::Score => routes::score_strategy(state, &query).await,
        };
        let text = answer.map_err(|error| error.message())?;
        let answer: StrategyResponse = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(answer.score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_has_a_name_and_a_path_of_its_own() {
        for strategy in VotingStrategy::ALL {
            assert_eq!(VotingStrategy::from_name(strategy.name()), Some(strategy));
        }
        let paths: std::collections::BTreeSet<String> = VotingStrategy::ALL.map(VotingStrategy::path).into();
        assert_eq!(paths.len(), VotingStrategy::ALL.len());
        assert_eq!(VotingStrategy::from_name("epassport"), None, "it has none");
    }
}
