//! Recomputes a scorer's stale scores.

use pyxis_core::clock::Clock;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::{addresses, scores};

use super::{ScoreKey, score};
use crate::error::Result;
use crate::score_metrics::METRICS;
use crate::scoring_db::ScoringDb;
use crate::terms_in_force;

/// Addresses read at once.
const PAGE: u32 = 500;

/// Recomputes a scorer's stale scores and returns how many. `progress` receives the number done.
///
/// A recomputed score becomes history only when it is answered, unless the scorer is open to votes. Then addresses that
/// it never scored are scored too, because a vote about a moment needs a score by then. An interrupted run resumes with the remaining scores.
pub async fn rescore(
    db: &ScoringDb,
    workspace: WorkspaceId,
    scorer: ScorerId,
    clock: &dyn Clock,
    mut progress: impl FnMut(u64),
) -> Result<u64> {
    let is_open = db.is_open_to_votes(scorer);
    let (mut done, mut after, mut unscored) = (0, None, false);
    loop {
        terms_in_force::find(db, workspace, scorer, clock.now()).await?;
        let page = if unscored {
            addresses::without_score(&**db, workspace, scorer, after, PAGE).await?
        } else {
            scores::stale(&**db, workspace, scorer, clock.now(), after, PAGE).await?
        };
        after = page.last().copied();
        if after.is_none() {
            if unscored || !is_open {
                return Ok(done);
            }
            unscored = true;
        }
        for address in page {
            score(db, ScoreKey { workspace, scorer, address }, clock.now(), is_open).await?;
            METRICS.rescored.increment(1);
            done += 1;
            progress(done);
        }
    }
}
