//! Verification: networks, issuers, proofs over time, and one address.

use askama::Template;

use super::{Layout, Search, Timestamp, in_section};
use crate::chart::StackedBars;

/// `GET /app/verification?address=…&action_id=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "verification.html")]
pub struct VerificationPage {
    /// The frame.
    pub shell: Layout,
    /// Address as typed.
    pub address: String,
    /// Action id as typed, or the usual one.
    pub action_id: String,
    /// What is wrong with them.
    pub problem: Option<String>,
    /// Every kind on every network, for the address.
    pub checked: Vec<CheckLine>,
    /// Their orders and file.
    pub checked_search: Search,
    /// Every network.
    pub networks: Vec<NetworkLine>,
    /// Their orders and file.
    pub network_search: Search,
    /// Proofs by kind, day by day.
    pub chart: StackedBars,
    /// The search field of issuers, and their pages.
    pub search: Search,
    /// The issuers that were found.
    pub issuers: Vec<ProofIssuerLine>,
    /// For the empty state: a command that lists an issuer.
    pub add: String,
    /// For the empty state: a command that imports proofs.
    pub import: String,
}

/// What one address holds somewhere.
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
    /// Why, as a sentence.
    pub why: String,
}

/// A network.
#[derive(Clone, Debug)]
pub struct NetworkLine {
    /// Its name.
    pub name: String,
    /// Its chain id.
    pub chain_id: Option<u64>,
    /// The kinds that it has checks of, as words.
    pub kinds: String,
    /// Where its answers come from, as words.
    pub source: String,
    /// Its newest block.
    pub head: Option<Head>,
    /// Why that is not known.
    pub problem: String,
}

/// The newest block of a network.
#[derive(Clone, Debug)]
pub struct Head {
    /// Its number.
    pub height: i64,
    /// Its time.
    pub at: Timestamp,
    /// How long it took to learn it.
    pub latency: String,
}

/// An issuer.
#[derive(Clone, Debug)]
pub struct ProofIssuerLine {
    /// Its name.
    pub name: String,
    /// What it is believed about, as words.
    pub kinds: String,
    /// Its key or address.
    pub issuer: String,
}

in_section!(VerificationPage => Verification);
