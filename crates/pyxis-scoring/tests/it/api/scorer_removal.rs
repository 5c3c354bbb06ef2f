//! Scorers that are removed while in use.

use http::{Method, StatusCode};
use pyxis_core::actor::Actor;
use pyxis_core::id::ScorerId;
use pyxis_scoring::service::{self, Error};
use pyxis_store::scorers;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use super::scene::{Scene, request, score_path, send, wallet};

const GONE: &str = "No scorer matches the given criteria.";

async fn scorer(scene: &Scene) -> ScorerId {
    scene.scorer("20", &[("A", "1"), ("B", "2")]).await
}

async fn remove(scene: &Scene, scorer: ScorerId) -> service::Result<()> {
    service::scorers::remove(&scene.state.audited, &Actor::cli(scene.workspace), scorer).await
}

/// Starts removing a scorer as a removal does that is then interrupted.
async fn begin_to_remove(scene: &Scene, scorer: ScorerId) {
    assert!(scorers::remove(&scene.state.store, scene.workspace, scorer).await.unwrap());
}

/// Number of rows of a scorer.
async fn left(scene: &Scene, scorer: ScorerId) -> usize {
    let mut rows = 0;
    for table in ["scorer_weights", "scores", "score_history", "claims"] {
        rows +=
            scene.sql(&format!("SELECT workspace_id FROM {table} WHERE scorer_id = {scorer}")).await.len();
    }
    rows
}

engines! {
    async fn a_removed_scorer_is_gone_with_all_that_it_scored(scene: &Scene) {
        let (one, two) = (scorer(scene).await, scorer(scene).await);
        for number in 1..4 {
            scene.verify(wallet(number), "A", &format!("n:{number}"), 20).await;
            scene.score(one, wallet(number)).await;
            scene.score(two, wallet(number)).await;
        }
        let kept = left(scene, two).await;
        remove(scene, one).await.unwrap();
        assert_eq!((left(scene, one).await, left(scene, two).await), (0, kept));
        scene.get(&score_path(one, wallet(1))).await.refuses(404, GONE);
        scene.score(two, wallet(1)).await;
        assert!(matches!(remove(scene, one).await, Err(Error::NotFound(missing)) if missing.kind() == "scorer"));
        assert_eq!(scene.sql("SELECT kind FROM audit_records WHERE kind = 'scorer.remove'").await.len(), 1);
    }

    async fn a_removal_that_was_cut_short_shows_nothing_and_can_be_repeated(scene: &Scene) {
        let scorer = scorer(scene).await;
        let credential = scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.verify(wallet(2), "A", "n:1", 20).await;
        scene.score(scorer, wallet(1)).await;
        scene.score(scorer, wallet(2)).await;
        begin_to_remove(scene, scorer).await;
        assert!(left(scene, scorer).await > 0);
        let (store, workspace) = (&scene.state.store, scene.workspace);
        for known in [1, 9] {
            let path = score_path(scorer, wallet(known));
            for path in [path.clone(), format!("{path}?explain=true"), format!("{path}/history?created_at=2030-01-01")] {
                scene.get(&path).await.refuses(404, GONE);
            }
        }
        scene.scores(scorer, &[wallet(1)]).await.refuses(404, GONE);
        assert!(service::scorers::list(&scene.state.store, workspace, scene.state.now()).await.unwrap().is_empty());
        assert!(service::scorers::get(&scene.state.store, workspace, scorer, scene.state.now()).await.is_err());
        // Stamps of scored wallets are added and removed.
        scene.verify(wallet(1), "B", "b:1", 20).await;
        assert_eq!(scene.delete(wallet(1), "B").await.text, r#"{"removed":1}"#);
        assert!(scene.revoke(wallet(1), &credential).await.removed);
        remove(scene, scorer).await.unwrap();
        assert_eq!(left(scene, scorer).await, 0);
        assert!(scorers::removed(store, workspace).await.unwrap().is_empty());
        assert!(matches!(remove(scene, scorer).await, Err(Error::NotFound(missing)) if missing.kind() == "scorer"));
    }

    async fn a_removal_completes_those_that_were_cut_short(scene: &Scene) {
        let (one, two) = (scorer(scene).await, scorer(scene).await);
        scene.verify(wallet(1), "A", "n:1", 20).await;
        scene.score(one, wallet(1)).await;
        begin_to_remove(scene, one).await;
        remove(scene, two).await.unwrap();
        assert_eq!(left(scene, one).await, 0);
    }
}

/// On PostgreSQL, work in progress waits for the deletion of the scorer's row. SQLite has one writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_waits_for_a_scorer_that_goes_hears_that_it_is_gone_or_does_without_it_on_postgres() {
    let scene = Scene::start(TestDatabase::postgres("scorer_goes").await).await;
    scene.verify(wallet(1), "A", "n:1", 20).await;
    scene.verify(wallet(2), "A", "n:2", 20).await;
    for round in 0..4 {
        let scorer = scorer(&scene).await;
        scene.score(scorer, wallet(1)).await;
        scene.sql("UPDATE scores SET stale = TRUE").await;
        let stamps = format!("/v2/stamps/{}", wallet(1));
        let (method, path, body) = match round {
            0 => (Method::GET, score_path(scorer, wallet(1)), String::new()),
            1 => (Method::GET, score_path(scorer, wallet(2)), String::new()),
            2 => (Method::POST, stamps, format!("[{}]", scene.credential(wallet(1), "B", "b:1", 9))),
            _ => (Method::DELETE, format!("{stamps}?provider=B"), String::new()),
        };
        let mut going = scene.state.store.begin().await.unwrap();
        assert!(scorers::remove(&mut going, scene.workspace, scorer).await.unwrap());
        while scorers::clear(&mut going, scene.workspace, scorer).await.unwrap() {}
        let (router, asked) = (scene.router(), request(method, &path, &scene.key, body));
        let asking = tokio::spawn(async move { send(&router, asked).await });
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted \
             AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
        while scene.sql(waiting).await != ["1"] {
            tokio::task::yield_now().await;
        }
        going.commit().await.unwrap();
        let answer = asking.await.unwrap();
        if round < 2 {
            answer.refuses(404, GONE);
        } else {
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        }
    }
    assert_eq!(scene.sql("SELECT provider FROM stamps ORDER BY id").await, ["A", "A"]);
}
