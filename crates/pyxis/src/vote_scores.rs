//! The scores of scoring as the source of verification's voting strategies. Neither knows the other.

use std::collections::HashMap;
use std::sync::OnceLock;

use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_scoring as scoring;
use pyxis_scoring::votes::{self, UnknownScore, VoteScore};
use pyxis_verify::score_source::{
    ScoreQuery, ScoreSource, ScoreSourceError, ScoresFuture, UnknownVoter, VoterScore,
};

/// Scores of the scorers that are open to votes. Scoring reads chains through verification, so verification is made first
/// and gets its scores afterwards.
pub(crate) struct VoteScoreSource {
    scoring: OnceLock<scoring::State>,
    open_scorers: Vec<ScorerId>,
}

impl VoteScoreSource {
    /// A source without scores, until [`Self::bind`].
    pub(crate) fn new(open_scorers: Vec<ScorerId>) -> Self {
        Self { scoring: OnceLock::new(), open_scorers }
    }

    /// Takes the scores from `scoring`, if it has none yet.
    pub(crate) fn bind(&self, scoring: scoring::State) {
        let _ = self.scoring.set(scoring);
    }
}

impl ScoreSource for VoteScoreSource {
    fn open_scorers(&self) -> &[ScorerId] {
        &self.open_scorers
    }

    fn scores<'a>(&'a self, query: ScoreQuery<'a>) -> ScoresFuture<'a> {
        Box::pin(async move {
            let Some(scoring) = self.scoring.get() else {
                return Err(ScoreSourceError::Unavailable("scoring has not started".into()));
            };
            read(scoring, query).await
        })
    }
}

async fn read(
    state: &scoring::State,
    query: ScoreQuery<'_>,
) -> Result<HashMap<EvmAddress, VoterScore>, ScoreSourceError> {
    let ScoreQuery { scorer, voters, moment } = query;
    let found = votes::scores(state, scorer, voters, moment).await.map_err(|error| match error {
        error @ (scoring::Error::Busy | scoring::Error::Unavailable(_)) => {
            ScoreSourceError::Unavailable(error.into())
        }
        error => ScoreSourceError::Internal(error.into()),
    })?;
    let found = found.ok_or(ScoreSourceError::UnknownScorer)?;
    if !found.unknown.is_empty() {
        let unknown = found.unknown.into_iter();
        let unknown = unknown.map(|(voter, reason)| UnknownVoter { voter, reason: sentence(reason) });
        return Err(ScoreSourceError::Unknown(unknown.collect()));
    }
    let shown = |VoteScore { score, passes, has_stamps }| VoterScore { score, passes, has_stamps };
    Ok(found.known.into_iter().map(|(address, score)| (address, shown(score))).collect())
}

const fn sentence(reason: UnknownScore) -> &'static str {
    match reason {
        UnknownScore::NotRecorded => "had Stamps, but the scorer had not scored it by then",
        UnknownScore::Partial => "the score could be computed only in part",
    }
}
