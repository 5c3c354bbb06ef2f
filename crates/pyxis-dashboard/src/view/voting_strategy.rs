//! A page that writes the settings of a voting strategy, and tries it.

use askama::Template;

use super::{Choice, Layout, in_section};

/// `GET /app/verification/strategy?strategy=…&network=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "voting_strategy.html")]
pub struct VotingStrategyPage {
    pub shell: Layout,
    /// The strategies, one chosen.
    pub strategies: Vec<Choice>,
    /// The networks by chain id, one chosen.
    pub networks: Vec<Choice>,
    /// The scorers that are open to votes, one chosen.
    pub scorers: Vec<Choice>,
    /// True for the score strategy.
    pub is_score: bool,
    /// Block or `latest`, as typed.
    pub snapshot: String,
    /// Action id as typed, or the default.
    pub action_id: String,
    /// Threshold as typed.
    pub threshold: String,
    /// Decimals of a score as voting power, one chosen.
    pub decimals: Vec<Choice>,
    /// Kinds of proof that can count with a score, any of them chosen.
    pub proofs: Vec<Choice>,
    /// Ways in which they count, one chosen.
    pub combinations: Vec<Choice>,
    /// Addresses as typed.
    pub addresses: String,
    /// Settings of the strategy for the space, JSON.
    pub settings: String,
    /// The request that the voting tool will send.
    pub request: String,
    /// Problem with the request, as a voting tool would get it.
    pub problem: Option<String>,
    /// The answer, address by address.
    pub voters: Vec<VoterLine>,
}

/// Voting power of an address.
#[derive(Clone, Debug)]
pub struct VoterLine {
    /// The entry as typed.
    pub address: String,
    /// Voting power.
    pub power: String,
    /// True if it may vote.
    pub votes: bool,
    /// Reason, as a sentence.
    pub why: String,
}

in_section!(VotingStrategyPage => Verification);
