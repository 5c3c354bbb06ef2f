//! Scores of addresses for voting strategies. The program connects them with scoring, which this crate does not know.

use std::collections::HashMap;
use std::pin::Pin;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;

use crate::error::BoxError;

/// Scores to read.
#[derive(Clone, Copy, Debug)]
pub struct ScoreQuery<'a> {
    pub scorer: ScorerId,
    pub voters: &'a [EvmAddress],
    /// Moment of the scores; `None` for the current ones.
    pub moment: Option<UnixMillis>,
}

/// A voter's score at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoterScore {
    pub score: Decimal,
    /// True if the scorer's own threshold was reached.
    pub passes: bool,
    /// True if the address had a Stamp. Without one it passes nowhere.
    pub has_stamps: bool,
}

/// A voter whose score at the moment is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVoter {
    pub voter: EvmAddress,
    /// Sentence for the client.
    pub reason: &'static str,
}

/// Reasons for no answer.
#[derive(Debug)]
pub enum ScoreSourceError {
    /// No such scorer is open to votes.
    UnknownScorer,
    /// Scores that are not on record, in address order. No answer is better than a wrong one.
    Unknown(Vec<UnknownVoter>),
    /// Scoring does not respond, or is too busy.
    Unavailable(BoxError),
    /// A fault of the server.
    Internal(BoxError),
}

/// Response to a [`ScoreQuery`]: a score for each voter.
pub type ScoresFuture<'a> =
    Pin<Box<dyn Future<Output = Result<HashMap<EvmAddress, VoterScore>, ScoreSourceError>> + Send + 'a>>;

/// Source of scores for voting strategies.
pub trait ScoreSource: Send + Sync {
    /// Scorers that are open to votes.
    fn open_scorers(&self) -> &[ScorerId];

    /// Reads the scores of voters, all in few reads.
    fn scores<'a>(&'a self, query: ScoreQuery<'a>) -> ScoresFuture<'a>;
}

/// No scorer is open to votes.
#[derive(Clone, Copy, Debug)]
pub struct NoScores;

impl ScoreSource for NoScores {
    fn open_scorers(&self) -> &[ScorerId] {
        &[]
    }

    fn scores<'a>(&'a self, _: ScoreQuery<'a>) -> ScoresFuture<'a> {
        Box::pin(std::future::ready(Err(ScoreSourceError::UnknownScorer)))
    }
}
