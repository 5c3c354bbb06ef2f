//! Rescoring on several nodes of one database.

use pyxis_core::actor::Actor;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{NodeId, ScorerId};
use pyxis_scoring::service::scorers::{Rescore, progress, rescore, start_rescore};
use pyxis_scoring::{Config, State};
use pyxis_store::leases;
use pyxis_testkit::engines;

use super::scene::{START, Scene, day, wallet};

const HOLDERS: i64 = 40;

/// A scorer whose scores are all outdated.
async fn stale_scorer(scene: &Scene) -> ScorerId {
    let scorer = scene.scorer("20", &[("A", "1")]).await;
    for number in 0..HOLDERS.unsigned_abs() {
        scene.verify(wallet(number), "A", &format!("n:{number}"), 90).await;
        scene.score(scorer, wallet(number)).await;
    }
    scene.set_terms(scorer, "20", &[("A", "3")]).await;
    scorer
}

/// Number of rescoring runs started.
async fn begun(scene: &Scene) -> usize {
    scene.sql("SELECT kind FROM audit_records WHERE kind = 'scorer.rescore'").await.len()
}

async fn done(state: &State, scene: &Scene, scorer: ScorerId) {
    let done = Rescore { stored: HOLDERS, outdated: 0, unscored: 0, running: false };
    while progress(&state.db, scene.workspace, scorer, state.now()).await.unwrap() != done {
        tokio::task::yield_now().await;
    }
}

engines! {
    async fn two_nodes_that_are_asked_at_once_leave_nothing_outdated(scene: &Scene) {
        let (other, actor) = (scene.node(Config::default()), Actor::cli(scene.workspace));
        let scorer = stale_scorer(scene).await;
        let (here, there) = tokio::join!(
            start_rescore(&scene.state, &actor, scorer),
            start_rescore(&other.state, &actor, scorer),
        );
        for begun in [here, there] {
            let Rescore { outdated, running, .. } = begun.unwrap();
            assert!(running || outdated == 0);
        }
        done(&other.state, scene, scorer).await;
        // Twice if one of them starts only after the other has finished.
        assert!((1..=2).contains(&begun(scene).await));
        assert_eq!(scene.score(scorer, wallet(7)).await["score"], "3.00000");
    }

    async fn every_node_sees_that_another_is_at_it_and_takes_over_when_that_died(scene: &Scene) {
        let (other, actor) = (scene.node(Config::default()), Actor::cli(scene.workspace));
        let scorer = stale_scorer(scene).await;
        let (dead, name) = (NodeId::new(START, &OsEntropy), format!("rescore {scorer}"));
        assert!(leases::acquire(&scene.state.store, &name, dead, START, day(1)).await.unwrap());
        let under_way = Rescore { stored: HOLDERS, outdated: HOLDERS, unscored: 0, running: true };
        for state in [&scene.state, &other.state] {
            assert_eq!(progress(&state.db, scene.workspace, scorer, state.now()).await.unwrap(), under_way);
            assert_eq!(start_rescore(state, &actor, scorer).await.unwrap(), under_way);
        }
        assert_eq!(begun(scene).await, 0);
        scene.on_day(1);
        let stopped = progress(&other.state.db, scene.workspace, scorer, other.state.now()).await.unwrap();
        assert_eq!(stopped, Rescore { running: false, ..under_way });
        assert_eq!(start_rescore(&other.state, &actor, scorer).await.unwrap(), under_way);
        done(&scene.state, scene, scorer).await;
        assert_eq!(begun(scene).await, 1);
    }

    async fn the_lease_is_handed_back_with_the_last_score(scene: &Scene) {
        let actor = Actor::cli(scene.workspace);
        let scorer = stale_scorer(scene).await;
        for expected in [HOLDERS.unsigned_abs(), 0] {
            assert_eq!(Box::pin(rescore(&scene.state, &actor, scorer, |_| ())).await.unwrap(), expected);
            assert!(!progress(&scene.state.db, scene.workspace, scorer, scene.state.now()).await.unwrap().running);
        }
        assert_eq!(scene.count("leases").await, 0);
    }
}
