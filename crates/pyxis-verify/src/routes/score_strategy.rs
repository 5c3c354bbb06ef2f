//! `/snapshot-strategies/score`: the score of each address at a block height, as voting power or as 1 or 0
//! (`docs/reference/behavior/verification.md#score-strategy`).

use std::borrow::Cow;
use std::collections::HashMap;

use axum::extract::{RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::entries::BadEntries;
use pyxis_core::id::ScorerId;
use pyxis_core::proof::{ActionId, Kind, Subject};
use pyxis_http::json::Raw;
use pyxis_http::openapi::responses::BodyTooLarge;
use serde_json::Value;
use utoipa::ToSchema;

use super::answer;
use super::parameters::{self, QueryPairs};
use super::responses::{BadQuestion, OpenResponses, ScoreNotRecorded, UnknownScorer};
use super::shared::{
    Addresses, AllProofs, AnyProof, ChainId, Explain, OptionalAction, Scorer, SnapshotBlock, Strict,
    Threshold, VoteDecimals,
};
use super::vote_request::{ApiPostBody, EntryError, PostedVote, VoteRequest, Voters};
use crate::block_height::{self, Snapshot};
use crate::checker::{self, CheckRequest, CheckVerdict};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::score_source::{ScoreQuery, ScoreSource, ScoreSourceError, VoterScore};
use crate::state::State;
use crate::values::{BELOW_THRESHOLD, NO_SCORE, VoteReason};

/// Decimal places of a score.
const PLACES: u32 = 5;
/// Value of `threshold` that stands for the scorer's own.
const OWN: &str = "scorer";
/// Parameters of the strategy, besides those that every strategy has.
const PARAMETERS: [&str; 8] =
    ["scorer-id", "threshold", "decimals", "and", "or", "action-id", "explain", "strict"];

#[derive(ToSchema)]
#[schema(as = VotingPower)]
#[expect(dead_code, reason = "responses are written by `vote_request`; this is their description")]
struct PowerResponse {
    score: Vec<AddressPower>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
struct AddressPower {
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    address: String,
    /// The score; or 1 or 0 with `threshold`.
    #[schema(example = 22.598)]
    score: f64,
    #[schema(value_type = Option<VoteReason>, nullable = false)]
    reason: Option<()>,
    /// Only if the entry is not an address.
    #[schema(nullable = false)]
    error: Option<EntryError>,
}

/// Score addresses by their Stamps.
///
/// For voting strategies: the score at the block's time as voting power, or 1 or 0 with `threshold`. Proofs may be
/// required as well (`and`), or accepted instead (`or`). Only scorers that the operator opened to votes answer. The answer
/// about a past block is always the same. If the score at that time is not on record, the response is 409, never 0.
#[utoipa::path(
    get,
    path = "/snapshot-strategies/score",
    tag = "Verification",
    operation_id = "scoreVotingPower",
    params(
        ChainId,
        SnapshotBlock,
        Addresses,
        Scorer,
        Threshold,
        VoteDecimals,
        AllProofs,
        AnyProof,
        OptionalAction,
        Explain,
        Strict,
    ),
    responses(
        OpenResponses,
        (status = 200, description = "One entry for each address, in the order and spelling that it was given.", body = PowerResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownScorer),
        (status = 409, response = ScoreNotRecorded),
    ),
)]
pub(super) async fn score(Extract(state): Extract<State>, RawQuery(query): RawQuery) -> Response {
    answer(from_query(&state, query.as_deref()).await)
}

pub(super) async fn from_query(state: &State, query: Option<&str>) -> Result<String> {
    let query = QueryPairs::read(query);
    vote(state, &VoteRequest::of_query(&query)).await
}

/// Score posted addresses by their Stamps.
///
/// Takes the body that voting tools post. Parameters of the strategy are in `additionalParameters` or in the query. Other
/// members are ignored.
#[utoipa::path(
    post,
    path = "/snapshot-strategies/score",
    tag = "Verification",
    operation_id = "scoreVotingPowerPosted",
    params(Strict),
    request_body(content = ApiPostBody, example = json!({
            "network": "10",
            "snapshot": "latest",
            "addresses": [
                "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"
            ],
            "options": {
                "additionalParameters": "scorer-id=1&threshold=20"
            }
        })),
    responses(
        OpenResponses,
        (status = 200, description = "One entry for each address, in the order and spelling that it was given.", body = PowerResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownScorer),
        (status = 409, response = ScoreNotRecorded),
        (status = 413, response = BodyTooLarge),
    ),
)]
pub(super) async fn score_posted(
    Extract(state): Extract<State>,
    RawQuery(query): RawQuery,
    Raw(body): Raw,
) -> Response {
    let outcome = async {
        let posted = PostedVote::read(&body)?;
        let (query, additional) = (QueryPairs::read(query.as_deref()), posted.additional());
        vote(&state, &posted.request(&query, &additional)).await
    };
    answer(outcome.await)
}

/// Form of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// The score, with so many decimals made part of the integer.
    Power { decimals: Option<u32> },
    /// 1 if the scorer's own threshold is reached.
    OwnThreshold,
    /// 1 if this threshold is reached.
    Threshold(Decimal),
}

/// Proofs that count with the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combination {
    /// All of them are required as well.
    And,
    /// Any of them suffices.
    Or,
}

/// The strategy that a request names.
struct Strategy {
    measure: Measure,
    combination: Combination,
    kinds: Vec<Kind>,
    action: Option<ActionId>,
}

impl Strategy {
    fn read(asked: &VoteRequest<'_>) -> Result<Self> {
        let (combination, names) = match (asked.find("and"), asked.find("or")) {
            (Some(_), Some(_)) => return Err(bad_request("and and or exclude each other: use one of them")),
            (_, Some(names)) => (Combination::Or, names),
            (names, None) => (Combination::And, names.unwrap_or_default()),
        };
        let names = names.split(',').filter(|_| !names.is_empty());
        let kinds = names.map(parameters::vote_kind).collect::<Result<Vec<Kind>>>()?;
        let needs_action = kinds.iter().any(|kind| kind.has_sybil_strategy());
        let action = match asked.find("action-id") {
            Some(text) => Some(parameters::action(text)?),
            None if needs_action => return Err(Error::Missing("action-id")),
            None => None,
        };
        let measure = read_measure(asked)?;
        if combination == Combination::Or && matches!(measure, Measure::Power { .. }) {
            return Err(bad_request(
                "or needs threshold: a proof alone has no score that could be voting power",
            ));
        }
        Ok(Self { measure, combination, kinds, action })
    }

    /// The result for an address whose proofs are known.
    fn result(
        &self,
        score: VoterScore,
        mut proofs: impl Iterator<Item = CheckVerdict> + Clone,
    ) -> (Value, &'static str) {
        let valid = CheckVerdict::Valid(None).reason();
        let reached = match self.measure {
            Measure::Power { .. } => score.score > Decimal::ZERO,
            Measure::OwnThreshold => score.passes,
            Measure::Threshold(threshold) => score.has_stamps && score.score >= threshold,
        };
        let too_low = if score.score > Decimal::ZERO { BELOW_THRESHOLD } else { NO_SCORE };
        let missing = proofs.clone().find(|verdict| !verdict.is_valid()).map(CheckVerdict::reason);
        let fault = match self.combination {
            _ if self.kinds.is_empty() => (!reached).then_some(too_low),
            Combination::And => {
                if reached {
                    missing
                } else {
                    Some(too_low)
                }
            }
            Combination::Or => (!reached && !proofs.any(CheckVerdict::is_valid)).then_some(too_low),
        };
        match (fault, self.measure) {
            (Some(reason), _) => (0.into(), reason),
            (None, Measure::Power { decimals }) => (power(score.score, decimals), valid),
            (None, _) => (1.into(), valid),
        }
    }
}

fn read_measure(asked: &VoteRequest<'_>) -> Result<Measure> {
    let decimals = asked.find("decimals").map(|text| {
        let number = text.parse().ok().filter(|number| text.len() == 1 && *number <= PLACES);
        number.ok_or_else(|| bad_request("decimals must be 0 to 5"))
    });
    let decimals = decimals.transpose()?;
    match asked.find("threshold") {
        None => Ok(Measure::Power { decimals }),
        Some(_) if decimals.is_some() => {
            Err(bad_request("decimals is for scores: leave it out with threshold"))
        }
        Some(OWN) => Ok(Measure::OwnThreshold),
        Some(text) => {
            let threshold = text.parse().ok().filter(|threshold| *threshold > Decimal::ZERO);
            let message = "threshold must be scorer, or a decimal number above 0 with at most five decimals";
            threshold.map(Measure::Threshold).ok_or_else(|| bad_request(message))
        }
    }
}

const fn bad_request(message: &'static str) -> Error {
    Error::InvalidStrategy(Cow::Borrowed(message))
}

/// The score as a number: as it is, or with so many of its decimals made part of the integer.
fn power(score: Decimal, decimals: Option<u32>) -> Value {
    let units = score.units();
    match decimals {
        Some(decimals) => (units / 10_i64.pow(PLACES.saturating_sub(decimals))).into(),
        None if units % 10_i64.pow(PLACES) == 0 => (units / 10_i64.pow(PLACES)).into(),
        #[expect(clippy::cast_precision_loss, reason = "scores stay below 2^53 units")]
        None => (units as f64 / f64::from(10_i32.pow(PLACES))).into(),
    }
}

async fn vote(state: &State, asked: &VoteRequest<'_>) -> Result<String> {
    let (network, snapshot) = asked.network_and_snapshot()?;
    asked.check_spelling(&PARAMETERS)?;
    let explain = asked.explain()?;
    let scorer = asked.find("scorer-id").ok_or(Error::Missing("scorer-id"))?;
    let voters = asked.voters(state.config.max_addresses)?;
    let strategy = Strategy::read(asked)?;
    let snapshot = parameters::snapshot(snapshot)?;
    let fits = |network: &Network| strategy.kinds.iter().all(|kind| network.checks(*kind));
    let network = parameters::chain_among(state.networks(), network, fits)?;
    let scorer: ScorerId = scorer.parse().map_err(|_| unknown_scorer(&*state.scores))?;
    let subjects: Vec<EvmAddress> = voters.addresses().collect();
    let found = scores_at(state, network, snapshot, scorer, &voters, &subjects).await?;
    let proofs = proofs_of(state, network, snapshot, &strategy, &subjects, explain).await?;
    let mut results = Vec::with_capacity(subjects.len());
    for (place, address) in subjects.iter().enumerate() {
        let score = *found.get(address).ok_or_else(|| Error::Internal("a score is missing".into()))?;
        let (value, reason) = strategy.result(score, proofs.iter().map(|kind| kind[place]));
        results.push((value, explain.then_some(reason)));
    }
    voters.render(results, || 0.into())
}

/// The scores at the block's time.
async fn scores_at(
    state: &State,
    network: &Network,
    snapshot: Snapshot,
    scorer: ScorerId,
    voters: &Voters<'_>,
    addresses: &[EvmAddress],
) -> Result<HashMap<EvmAddress, VoterScore>> {
    let moment = match snapshot {
        Snapshot::Latest => None,
        Snapshot::Block(_) => Some(block_height::resolve(state, network, snapshot).await?.at),
    };
    if let Some(moment) = moment.filter(|moment| *moment > state.now()) {
        return Err(Error::Unavailable(
            format!("the block's time {} is not over", moment.to_rfc3339()).into(),
        ));
    }
    let query = ScoreQuery { scorer, voters: addresses, moment };
    state.scores.scores(query).await.map_err(|error| match error {
        ScoreSourceError::UnknownScorer => unknown_scorer(&*state.scores),
        ScoreSourceError::Unknown(unknown) => {
            let reason = |address| {
                let found = unknown.binary_search_by_key(&address, |unknown| unknown.voter);
                found.ok().map(|place| unknown[place].reason)
            };
            not_recorded(voters.entries_with(reason), moment)
        }
        ScoreSourceError::Unavailable(error) => Error::Unavailable(error),
        ScoreSourceError::Internal(error) => Error::Internal(error),
    })
}

fn not_recorded(entries: BadEntries, moment: Option<UnixMillis>) -> Error {
    let moment = moment.map_or_else(|| "now".to_owned(), |moment| format!("at {}", moment.to_rfc3339()));
    Error::NotRecorded { entries, moment }
}

fn unknown_scorer(scores: &dyn ScoreSource) -> Error {
    Error::UnknownScorer(scores.open_scorers().iter().map(ToString::to_string).collect())
}

/// The verdicts about each required kind, each in the order of the addresses.
async fn proofs_of(
    state: &State,
    network: &Network,
    snapshot: Snapshot,
    strategy: &Strategy,
    addresses: &[EvmAddress],
    explain: bool,
) -> Result<Vec<Vec<CheckVerdict>>> {
    let subjects: Vec<Subject> = addresses.iter().copied().map(Subject::from).collect();
    let mut verdicts = Vec::with_capacity(strategy.kinds.len());
    for &kind in &strategy.kinds {
        let action_id = strategy.action.filter(|_| kind != Kind::ResidenceUs);
        let ask = CheckRequest { network, kind, action_id, snapshot };
        verdicts.push(checker::check_many(state, ask, &subjects, explain).await?);
    }
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::Combination::{And, Or};
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn voting_power_is_the_score_or_an_integer_of_its_smallest_units() {
        for (score, decimals, wanted) in [
            ("22.598", None, "22.598"),
            ("20", None, "20"),
            ("0.00001", None, "0.00001"),
            ("22.598", Some(5), "2259800"),
            ("22.598", Some(2), "2259"),
            ("22.598", Some(0), "22"),
            ("9999999.99999", None, "9999999.99999"),
        ] {
            assert_eq!(power(decimal(score), decimals).to_string(), wanted);
        }
    }

    #[test]
    fn proofs_are_required_with_the_score_or_accepted_instead_of_it() {
        let valid = CheckVerdict::Valid(None);
        let expired = CheckVerdict::Invalid(checker::Reason::Expired);
        let score = |text: &str| VoterScore {
            score: decimal(text),
            passes: decimal(text) >= decimal("20"),
            has_stamps: text != "0",
        };
        let of = |measure, combination, kinds: usize| Strategy {
            measure,
            combination,
            kinds: vec![Kind::GovId; kinds],
            action: None,
        };
        let (own, ten) = (Measure::OwnThreshold, Measure::Threshold(decimal("10")));
        let all = Measure::Power { decimals: None };
        for (strategy, text, proofs, wanted) in [
            (of(own, And, 0), "20", vec![], (1, "valid")),
            (of(own, And, 0), "19.99999", vec![], (0, BELOW_THRESHOLD)),
            (of(ten, And, 0), "10", vec![], (1, "valid")),
            (of(ten, And, 0), "0", vec![], (0, NO_SCORE)),
            (of(all, And, 0), "7", vec![], (7, "valid")),
            (of(all, And, 0), "0", vec![], (0, NO_SCORE)),
            (of(all, And, 2), "7", vec![valid, valid], (7, "valid")),
            (of(all, And, 2), "7", vec![valid, expired], (0, "expired")),
            (of(ten, And, 1), "7", vec![valid], (0, BELOW_THRESHOLD)),
            (of(ten, Or, 2), "7", vec![expired, valid], (1, "valid")),
            (of(ten, Or, 2), "11", vec![expired, expired], (1, "valid")),
            (of(ten, Or, 1), "7", vec![expired], (0, BELOW_THRESHOLD)),
        ] {
            let (value, reason) = strategy.result(score(text), proofs.into_iter());
            assert_eq!((value, reason), (Value::from(wanted.0), wanted.1), "{text}");
        }
    }
}
