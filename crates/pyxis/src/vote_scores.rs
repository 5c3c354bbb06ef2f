//! The scores of scoring as the source of verification's voting strategies. Neither knows the other.

use std::collections::HashMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_scoring as scoring;
use pyxis_scoring::votes::{self, UnknownScore, VoteScore};
use pyxis_verify::score_source::{
    ScoreQuery, ScoreSource, ScoreSourceError, ScoresFuture, UnknownVoter, VoterScore,
};

/// Scores of the scorers that are open to votes.
pub(crate) struct VoteScoreSource(pub(crate) scoring::State);

impl ScoreSource for VoteScoreSource {
    fn open_scorers(&self) -> &[ScorerId] {
        &self.0.config.vote_scorers
    }

    fn scores<'a>(&'a self, query: ScoreQuery<'a>) -> ScoresFuture<'a> {
        Box::pin(read(&self.0, query))
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
