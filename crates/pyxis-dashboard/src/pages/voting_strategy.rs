//! Settings of a voting strategy, and its answer about a few addresses.

use std::collections::HashMap;

use axum::response::Response;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_core::decimal::Decimal;
use pyxis_core::proof::{DEFAULT_ACTION, Kind};
use pyxis_verify as verify;
use pyxis_verify::checker::Reason;
use pyxis_verify::network::Networks;
use pyxis_verify::score_source::ScoreSource;
use pyxis_verify::strategies::{VoterResult, VotingStrategy};
use serde::Deserialize;
use serde_json::json;

use super::verification::{because, kind_word};
use crate::Error;
use crate::error::html;
use crate::form::Page;
use crate::session::Manager;
use crate::view::Choice;
use crate::view::voting_strategy::{VoterLine, VotingStrategyPage};

/// Addresses of one try. The API answers about many more.
const MOST: usize = 5;
/// Characters that a query does not hold as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');
/// Most decimals of a score as voting power.
const MAX_DECIMALS: u32 = 5;
/// Prefix of the checkboxes for kinds of proof.
const PROOF: &str = "proof-";

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct StrategyParams {
    strategy: String,
    network: String,
    snapshot: String,
    action_id: String,
    scorer: String,
    threshold: String,
    decimals: String,
    combination: String,
    addresses: String,
    #[serde(flatten)]
    others: HashMap<String, String>,
}

impl StrategyParams {
    /// The kinds of proof that are ticked.
    fn kinds(&self) -> Vec<Kind> {
        vote_kinds().filter(|kind| self.others.contains_key(&format!("{PROOF}{}", kind.as_str()))).collect()
    }
}

/// Way in which proofs count with a score.
#[derive(Clone, Copy, PartialEq)]
enum Combination {
    And,
    Or,
}

impl Combination {
    const ALL: [Self; 2] = [Self::And, Self::Or];

    /// Name of the strategy's parameter.
    const fn parameter(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::And => "All of them are required as well",
            Self::Or => "Any of them counts instead of the score",
        }
    }
}

pub(crate) async fn page(
    Page { state, who, query }: Page<Manager, StrategyParams>,
) -> Result<Response, Error> {
    let verify = state.verify.get().ok_or(Error::NotFound)?;
    let wish = Wish::read(&*verify.scores, verify.networks(), &query);
    let addresses: Vec<&str> =
        query.addresses.split([',', ' ', '\n', '\r', '\t']).filter(|one| !one.is_empty()).collect();
    let answer = wish.answer(verify, &addresses).await;
    let (problem, voters) = match answer {
        Ok(voters) => (None, voters.iter().map(|voter| wish.line(voter)).collect()),
        Err(problem) => (Some(problem), Vec::new()),
    };
    let base = &state.gateway.config.base_url;
    html(&VotingStrategyPage {
        shell: who.shell(&state).await?,
        strategies: choices(VotingStrategy::ALL, wish.strategy, |one| {
            (one.name().to_owned(), strategy_label(one))
        }),
        networks: networks(verify, &wish.network),
        scorers: scorers(&*verify.scores, &wish.scorer),
        is_score: wish.strategy == VotingStrategy::Score,
        decimals: choices(0..=MAX_DECIMALS, wish.decimals, |one| (one.to_string(), one.to_string())),
        proofs: choices_of_many(&wish.kinds),
        combinations: choices(Combination::ALL, wish.combination, |one| {
            (one.parameter().to_owned(), one.label().to_owned())
        }),
        settings: wish.settings(base),
        request: wish.request(base, &addresses),
        snapshot: wish.snapshot,
        action_id: wish.action_id,
        threshold: query.threshold.trim().to_owned(),
        addresses: query.addresses,
        problem,
        voters,
    })
}

/// The form, with what is used in place of empty fields.
struct Wish {
    strategy: VotingStrategy,
    network: String,
    snapshot: String,
    action_id: String,
    scorer: String,
    threshold: String,
    decimals: u32,
    combination: Combination,
    /// Kinds of proof that count with the score.
    kinds: Vec<Kind>,
}

impl Wish {
    fn read(scores: &dyn ScoreSource, networks: &Networks, query: &StrategyParams) -> Self {
        let or = |typed: &str, usual: String| match typed.trim() {
            "" => usual,
            typed => typed.to_owned(),
        };
        let first = scores.open_scorers().first();
        let chain = networks.iter().find_map(|network| network.chain_id);
        Self {
            strategy: VotingStrategy::from_name(&query.strategy)
                .unwrap_or(VotingStrategy::Proof(Kind::GovId)),
            network: or(&query.network, chain.map(|id| id.to_string()).unwrap_or_default()),
            snapshot: or(&query.snapshot, "latest".to_owned()),
            action_id: or(&query.action_id, DEFAULT_ACTION.to_string()),
            scorer: or(&query.scorer, first.map(ToString::to_string).unwrap_or_default()),
            threshold: query.threshold.trim().to_owned(),
            decimals: query
                .decimals
                .parse()
                .ok()
                .filter(|count| *count <= MAX_DECIMALS)
                .unwrap_or(MAX_DECIMALS),
            combination: if query.combination == "or" { Combination::Or } else { Combination::And },
            kinds: query.kinds(),
        }
    }

    /// True if the score itself is the voting power.
    fn is_power(&self) -> bool {
        self.strategy == VotingStrategy::Score && self.threshold.is_empty()
    }

    /// Parameters of the strategy, as in a query.
    fn parameters(&self) -> String {
        match self.strategy {
            VotingStrategy::Score => self.score_parameters(),
            strategy if strategy.needs_action() => self.action(),
            VotingStrategy::Proof(_) => String::new(),
        }
    }

    fn action(&self) -> String {
        format!("action-id={}", encoded(&self.action_id))
    }

    fn score_parameters(&self) -> String {
        let mut parameters = vec![format!("scorer-id={}", encoded(&self.scorer))];
        parameters.push(if self.is_power() {
            format!("decimals={}", self.decimals)
        } else {
            format!("threshold={}", encoded(&self.threshold))
        });
        if !self.kinds.is_empty() {
            let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.as_str()).collect();
            parameters.push(format!("{}={}", self.combination.parameter(), kinds.join(",")));
        }
        if self.kinds.iter().any(|kind| kind.has_sybil_strategy()) {
            parameters.push(self.action());
        }
        parameters.join("&")
    }

    /// Settings for Snapshot's `api` strategy.
    fn settings(&self, base: &str) -> String {
        let settings = json!({
            "name": "api",
            "params": {
                "api": base,
                "symbol": "",
                "decimals": if self.is_power() { self.decimals } else { 0 },
                "strategy": self.strategy.path(),
                "additionalParameters": self.parameters(),
            },
        });
        format!("{settings:#}")
    }

    fn query(&self, addresses: &str) -> String {
        let (network, snapshot) = (encoded(&self.network), encoded(&self.snapshot));
        let place = format!("network={network}&snapshot={snapshot}&addresses={addresses}");
        match self.parameters().as_str() {
            "" => place,
            parameters => format!("{place}&{parameters}"),
        }
    }

    fn request(&self, base: &str, addresses: &[&str]) -> String {
        let addresses = if addresses.is_empty() { "0x…".to_owned() } else { list(addresses) };
        format!("{base}/{}?{}", self.strategy.path(), self.query(&addresses))
    }

    async fn answer(&self, verify: &verify::State, addresses: &[&str]) -> Result<Vec<VoterResult>, String> {
        match addresses.len() {
            0 => Ok(Vec::new()),
            count if count > MOST => {
                Err(format!("These are {count} addresses. Enter at most {MOST}. The API accepts more."))
            }
            _ => self.strategy.answer(verify, &self.query(&list(addresses))).await,
        }
    }

    fn line(&self, voter: &VoterResult) -> VoterLine {
        let why = match (&voter.error, voter.reason.as_deref()) {
            (Some(fault), _) => fault.detail.clone(),
            (None, reason) => describe_reason(reason.unwrap_or_default()).to_owned(),
        };
        // A score is answered in its smallest units, which Snapshot divides again.
        let power = match voter.score.as_i64() {
            Some(units) if self.is_power() => {
                Decimal::from_units(units * 10_i64.pow(MAX_DECIMALS - self.decimals)).to_string()
            }
            _ => voter.score.to_string(),
        };
        VoterLine {
            address: voter.address.clone(),
            power,
            votes: voter.score.as_f64().is_some_and(|power| power > 0.0),
            why,
        }
    }
}

fn list(addresses: &[&str]) -> String {
    addresses.iter().map(|address| encoded(address)).collect::<Vec<_>>().join(",")
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

fn choices<T: Copy + PartialEq>(
    all: impl IntoIterator<Item = T>,
    chosen: T,
    of: impl Fn(T) -> (String, String),
) -> Vec<Choice> {
    let choice = |one: T| {
        let (value, label) = of(one);
        Choice { value, label, chosen: one == chosen }
    };
    all.into_iter().map(choice).collect()
}

/// The kinds of proof that voting strategies accept.
fn vote_kinds() -> impl Iterator<Item = Kind> {
    VotingStrategy::ALL.into_iter().filter_map(|strategy| match strategy {
        VotingStrategy::Proof(kind) => Some(kind),
        VotingStrategy::Score => None,
    })
}

fn choices_of_many(chosen: &[Kind]) -> Vec<Choice> {
    let choice = |kind: Kind| Choice {
        value: format!("{PROOF}{}", kind.as_str()),
        label: kind_word(kind).to_owned(),
        chosen: chosen.contains(&kind),
    };
    vote_kinds().map(choice).collect()
}

fn networks(verify: &verify::State, chosen: &str) -> Vec<Choice> {
    let choice = |network: &verify::network::Network| {
        let value = network.chain_id?.to_string();
        Some(Choice { chosen: value == chosen, label: format!("{} · {value}", network.name), value })
    };
    verify.networks().iter().filter_map(choice).collect()
}

fn scorers(scores: &dyn ScoreSource, chosen: &str) -> Vec<Choice> {
    let choice = |id: &pyxis_core::id::ScorerId| {
        let value = id.to_string();
        Choice { chosen: value == chosen, label: format!("Scorer {value}"), value }
    };
    scores.open_scorers().iter().map(choice).collect()
}

fn strategy_label(strategy: VotingStrategy) -> String {
    match strategy {
        VotingStrategy::Proof(kind) => format!("Proof: {}", kind_word(kind)),
        VotingStrategy::Score => "Score by Stamps".to_owned(),
    }
}

/// A reason of the voting strategy in words.
fn describe_reason(reason: &str) -> &str {
    match reason {
        "valid" => "It counts at this block.",
        "below_threshold" => "The score is below the threshold.",
        "no_score" => "The address has no Stamp that counts.",
        other => match Reason::ALL.into_iter().find(|reason| reason.as_str() == other) {
            Some(reason) => because(reason),
            None => other,
        },
    }
}
