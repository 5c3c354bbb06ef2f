//! Jobs that score many addresses: claims, checkpoints and deletion.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::id::{NodeId, ScoreJobId};
use pyxis_store::StoreError;
use pyxis_store::score_jobs::{
    self, ChunkResult, ChunkTotals, HOLD, NewChunk, NewScoreJob, ScoreJobRow, ScoreJobState,
};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_scorer, at, at_once, exactly_one};

fn node(seed: u64) -> NodeId {
    NodeId::new(NOW, &SeededEntropy::new(seed))
}

/// Adds a queued job of two chunks with two rows each.
async fn queued(main: &Workspace, seed: u64) -> ScoreJobId {
    let scorer = add_scorer(main, &format!("s{seed}")).await;
    let id = ScoreJobId::new(at(i64::try_from(seed).unwrap()), &SeededEntropy::new(seed));
    let new = NewScoreJob { id, scorer, name: "n".to_owned(), created_by: "ada".to_owned(), created_at: NOW };
    score_jobs::insert(&main.store, main.id, &new, node(9)).await.unwrap();
    assert_eq!(score_jobs::find(&main.store, main.id, id).await.unwrap(), None);
    for number in 0..2 {
        let chunk = NewChunk { number, rows: 2, input: format!("input {number}") };
        assert!(score_jobs::append(&main.store, id, node(9), &[chunk], NOW).await.unwrap());
    }
    let mut tx = main.store.begin().await.unwrap();
    assert!(score_jobs::queue(&mut tx, id, node(9)).await.unwrap());
    tx.commit().await.unwrap();
    id
}

async fn found(main: &Workspace, id: ScoreJobId) -> ScoreJobRow {
    score_jobs::find(&main.store, main.id, id).await.unwrap().unwrap()
}

fn result(number: i64, scored: i64, failed: i64, retryable: i64) -> ChunkResult {
    let totals = ChunkTotals { scored, failed, retryable };
    ChunkResult { number, before: ChunkTotals::default(), totals, result: format!("result {number}") }
}

async fn commit(main: &Workspace, id: ScoreJobId, holder: NodeId, done: &ChunkResult) -> bool {
    score_jobs::commit_chunk(&main.store, id, holder, done, at(1)).await.unwrap()
}

async fn claim(main: &Workspace, id: ScoreJobId, holder: NodeId, now: UnixMillis) -> Option<i64> {
    score_jobs::claim(&main.store, id, holder, now).await.unwrap()
}

engines! {
    async fn one_node_at_a_time_has_a_job_and_another_takes_over_when_its_claim_ends(main: &Workspace) {
        let id = queued(main, 1).await;
        let claims = at_once(4, |number| {
            let store = main.store.clone();
            async move { score_jobs::claim(&store, id, node(number as u64), NOW).await.unwrap().is_some() }
        })
        .await;
        assert!(exactly_one(claims));
        assert_eq!(score_jobs::waiting(&main.store, None, at(1)).await.unwrap(), None);
        let later = NOW.plus(HOLD);
        assert_eq!(score_jobs::waiting(&main.store, Some(id), later).await.unwrap().unwrap().id, id);
        assert_eq!(claim(main, id, node(7), later).await, Some(2));
        for earlier in 0..4 {
            assert!(!commit(main, id, node(earlier), &result(0, 2, 0, 0)).await);
            assert!(!score_jobs::renew(&main.store, id, node(earlier), later).await.unwrap());
        }
        assert!(commit(main, id, node(7), &result(0, 1, 1, 1)).await);
        assert!(!commit(main, id, node(7), &result(0, 2, 0, 0)).await, "a chunk is stored once");
        let row = found(main, id).await;
        assert_eq!((row.total, row.scored, row.failed, row.retryable), (4, 1, 1, 1));
        score_jobs::release(&main.store, id, node(7)).await.unwrap();
        assert_eq!(claim(main, id, node(8), at(2)).await, Some(1));
    }

    async fn a_job_is_done_when_every_chunk_is_and_its_failed_rows_run_again(main: &Workspace) {
        let store = &main.store;
        let id = queued(main, 1).await;
        assert_eq!(claim(main, id, node(1), NOW).await, Some(1));
        let first = score_jobs::next_pending(store, id).await.unwrap().unwrap();
        assert_eq!((first.number, &*first.input, first.result), (0, "input 0", None));
        assert!(commit(main, id, node(1), &result(0, 1, 1, 1)).await);
        assert!(!score_jobs::finish(store, id, node(1), at(1)).await.unwrap());
        assert!(commit(main, id, node(1), &result(1, 1, 1, 0)).await);
        assert_eq!(score_jobs::next_pending(store, id).await.unwrap(), None);
        assert!(score_jobs::finish(store, id, node(1), at(1)).await.unwrap());
        assert_eq!(found(main, id).await.state, ScoreJobState::Done);
        let all = score_jobs::results(store, main.id, id, 0, false, 9).await.unwrap();
        assert_eq!(all, [(0, "result 0".to_owned()), (1, "result 1".to_owned())]);
        let mut tx = store.begin().await.unwrap();
        assert_eq!(score_jobs::retry(&mut tx, main.id, id).await.unwrap(), Some(1));
        tx.commit().await.unwrap();
        let row = found(main, id).await;
        assert_eq!((row.state, row.scored, row.failed, row.retryable), (ScoreJobState::Queued, 2, 1, 0));
        assert_eq!(claim(main, id, node(2), at(2)).await, Some(1));
        let again = score_jobs::next_pending(store, id).await.unwrap().unwrap();
        assert_eq!((again.number, again.result.as_deref()), (0, Some("result 0")));
        let done = ChunkResult { before: again.totals, ..result(0, 2, 0, 0) };
        assert!(commit(main, id, node(2), &done).await);
        let row = found(main, id).await;
        assert_eq!((row.scored, row.failed, row.retryable), (3, 1, 0));
        assert_eq!(score_jobs::next_pending(store, id).await.unwrap(), None);
    }

    async fn a_canceled_job_takes_no_result_and_continues_when_it_is_retried(main: &Workspace) {
        let id = queued(main, 1).await;
        assert!(claim(main, id, node(1), NOW).await.is_some());
        assert!(commit(main, id, node(1), &result(0, 2, 0, 0)).await);
        let mut tx = main.store.begin().await.unwrap();
        assert!(score_jobs::cancel(&mut tx, main.id, id, at(1)).await.unwrap());
        assert!(!score_jobs::cancel(&mut tx, main.id, id, at(1)).await.unwrap());
        tx.commit().await.unwrap();
        assert!(!commit(main, id, node(1), &result(1, 2, 0, 0)).await);
        assert_eq!(claim(main, id, node(1), at(9)).await, None);
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(score_jobs::retry(&mut tx, main.id, id).await.unwrap(), Some(2));
        tx.commit().await.unwrap();
        assert_eq!(score_jobs::next_pending(&main.store, id).await.unwrap().unwrap().number, 1);
    }

    async fn old_jobs_removed_ones_and_broken_uploads_are_deleted_chunk_by_chunk(main: &Workspace) {
        let store = &main.store;
        let (old, open) = (queued(main, 1).await, queued(main, 2).await);
        let mut tx = store.begin().await.unwrap();
        assert!(!score_jobs::remove(&mut tx, main.id, old).await.unwrap(), "it has not ended");
        assert!(score_jobs::cancel(&mut tx, main.id, old, NOW).await.unwrap());
        tx.commit().await.unwrap();
        let upload = NewScoreJob {
            id: ScoreJobId::new(NOW, &SeededEntropy::new(5)),
            scorer: found(main, open).await.scorer_id,
            name: "n".to_owned(),
            created_by: "ada".to_owned(),
            created_at: NOW,
        };
        score_jobs::insert(store, main.id, &upload, node(9)).await.unwrap();
        assert_eq!(score_jobs::count(store, main.id).await.unwrap(), 3);
        assert_eq!(score_jobs::expire(store, NOW, at(1)).await.unwrap(), []);
        let mut gone = score_jobs::expire(store, at(1), NOW.plus(HOLD)).await.unwrap();
        gone.sort_unstable();
        let mut wanted = [old, upload.id];
        wanted.sort_unstable();
        assert_eq!(gone, wanted);
        assert_eq!(score_jobs::remove_chunks(store, open).await.unwrap(), 0);
        assert_eq!(score_jobs::remove_chunks(store, old).await.unwrap(), 2);
        assert!(score_jobs::delete(store, old).await.unwrap() && !score_jobs::delete(store, open).await.unwrap());
        let listed = score_jobs::list(store, main.id, None, 9).await.unwrap();
        assert_eq!(listed.iter().map(|job| job.id).collect::<Vec<_>>(), [open]);
        let chunk = NewChunk { number: 0, rows: 1, input: String::new() };
        assert!(!score_jobs::append(store, upload.id, node(9), &[chunk], at(1)).await.unwrap());
        let stranger = NewScoreJob { scorer: "999".parse().unwrap(), ..upload };
        let stranger = NewScoreJob { id: ScoreJobId::new(NOW, &SeededEntropy::new(6)), ..stranger };
        let refused = score_jobs::insert(store, main.id, &stranger, node(9)).await;
        assert!(matches!(refused, Err(StoreError::Reference)));
    }
}
