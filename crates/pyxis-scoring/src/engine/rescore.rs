//! Recomputes a scorer's outdated scores.

use pyxis_core::clock::Clock;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::scores;

use super::{ScoreKey, score};
use crate::error::Result;
use crate::score_metrics::METRICS;
use crate::scoring_db::ScoringDb;
use crate::terms_in_force;

/// Addresses read at once.
const PAGE: u32 = 500;

/// Recomputes a scorer's outdated scores and returns how many. `progress` receives the number done.
///
/// A recomputed score becomes history only when it is answered. An interrupted run resumes with the remaining scores.
pub async fn rescore(
    books: &ScoringDb,
    workspace: WorkspaceId,
    scorer: ScorerId,
    clock: &dyn Clock,
    mut progress: impl FnMut(u64),
) -> Result<u64> {
    let mut done = 0;
    let mut after = None;
    loop {
        terms_in_force::find(books, workspace, scorer, clock.now()).await?;
        let page = scores::stale(&**books, workspace, scorer, clock.now(), after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(done) };
        after = Some(*last);
        for address in page {
            score(books, ScoreKey { workspace, scorer, address }, clock.now(), false).await?;
            METRICS.rescored.increment(1);
            done += 1;
            progress(done);
        }
    }
}
