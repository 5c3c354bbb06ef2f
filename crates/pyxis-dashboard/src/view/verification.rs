//! Verification: networks, issuers, proofs over time, and one address.

use askama::Template;

use super::{Layout, Search, Timestamp, in_section};
use crate::chart::StackedBars;

/// `GET /app/verification?address=…&action_id=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "verification.html")]
pub struct VerificationPage {
    pub shell: Layout,
    /// Address as typed.
    pub address: String,
    /// Action id as typed, or the default.
    pub action_id: String,
    /// Problem with the address or the action id.
    pub problem: Option<String>,
    /// Every kind on every network, for the address.
    pub checked: Vec<CheckLine>,
    /// Their orders and file.
    pub checked_search: Search,
    pub networks: Vec<NetworkLine>,
    /// Their orders and file.
    pub network_search: Search,
    /// Proofs by kind, day by day.
    pub chart: StackedBars,
    /// The search field of issuers, and their pages.
    pub search: Search,
    /// The issuers found.
    pub issuers: Vec<ProofIssuerLine>,
    /// For the empty state: a command that lists an issuer.
    pub add: String,
    /// For the empty state: a command that imports proofs.
    pub import: String,
}

/// One address's result of a check on a network.
#[derive(Clone, Debug)]
pub struct CheckLine {
    /// Name of the kind.
    pub kind: &'static str,
    /// Name of the network.
    pub network: String,
    /// The word on the badge.
    pub word: &'static str,
    /// Its icon in the sprite.
    pub icon: &'static str,
    /// Its class in the stylesheet.
    pub class: &'static str,
    /// Reason, as a sentence.
    pub why: String,
}

#[derive(Clone, Debug)]
pub struct NetworkLine {
    pub name: String,
    pub chain_id: Option<u64>,
    /// The kinds that it has checks for, as words.
    pub kinds: String,
    /// Source of its answers, as words.
    pub source: String,
    /// Its newest block.
    pub head: Option<LatestBlock>,
    /// Reason that the newest block is not known.
    pub problem: String,
}

/// The newest block of a network.
#[derive(Clone, Debug)]
pub struct LatestBlock {
    pub height: i64,
    pub at: Timestamp,
    /// Time it took to query it.
    pub latency: String,
}

#[derive(Clone, Debug)]
pub struct ProofIssuerLine {
    pub name: String,
    /// Kinds that it is trusted for, as words.
    pub kinds: String,
    /// Its key or address.
    pub issuer: String,
}

in_section!(VerificationPage => Verification);
