//! Rescoring on several nodes of one database.

use pyxis_core::actor::Actor;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{NodeId, ScorerId};
use pyxis_scoring::service::scorers::{Rescore, progress, rescore, start_rescore};
use pyxis_scoring::{Config, State};
use pyxis_store::leases;
use pyxis_testkit::engines;

use super::world::{START, World, day, wallet};

const HOLDERS: i64 = 40;

/// A scorer whose scores are all outdated.
async fn outdated(world: &World) -> ScorerId {
    let scorer = world.scorer("20", &[("A", "1")]).await;
    for number in 0..HOLDERS.unsigned_abs() {
        world.verify(wallet(number), "A", &format!("n:{number}"), 90).await;
        world.score(scorer, wallet(number)).await;
    }
    world.set_terms(scorer, "20", &[("A", "3")]).await;
    scorer
}

/// Number of rescoring runs started.
async fn begun(world: &World) -> usize {
    world.sql("SELECT kind FROM audit_records WHERE kind = 'scorer.rescore'").await.len()
}

async fn done(state: &State, world: &World, scorer: ScorerId) {
    let done = Rescore { stored: HOLDERS, outdated: 0, running: false };
    while progress(&state.store, world.workspace, scorer, state.now()).await.unwrap() != done {
        tokio::task::yield_now().await;
    }
}

engines! {
    async fn two_nodes_that_are_asked_at_once_leave_nothing_outdated(world: &World) {
        let (other, actor) = (world.node(Config::default()), Actor::cli(world.workspace));
        let scorer = outdated(world).await;
        let (here, there) = tokio::join!(
            start_rescore(&world.state, &actor, scorer),
            start_rescore(&other.state, &actor, scorer),
        );
        for begun in [here, there] {
            let Rescore { outdated, running, .. } = begun.unwrap();
            assert!(running || outdated == 0);
        }
        done(&other.state, world, scorer).await;
        // Twice if one of them starts only after the other has finished.
        assert!((1..=2).contains(&begun(world).await));
        assert_eq!(world.score(scorer, wallet(7)).await["score"], "3.00000");
    }

    async fn every_node_sees_that_another_is_at_it_and_takes_over_when_that_died(world: &World) {
        let (other, actor) = (world.node(Config::default()), Actor::cli(world.workspace));
        let scorer = outdated(world).await;
        let (dead, name) = (NodeId::new(START, &OsEntropy), format!("rescore {scorer}"));
        assert!(leases::acquire(&world.state.store, &name, dead, START, day(1)).await.unwrap());
        let under_way = Rescore { stored: HOLDERS, outdated: HOLDERS, running: true };
        for state in [&world.state, &other.state] {
            assert_eq!(progress(&state.store, world.workspace, scorer, state.now()).await.unwrap(), under_way);
            assert_eq!(start_rescore(state, &actor, scorer).await.unwrap(), under_way);
        }
        assert_eq!(begun(world).await, 0);
        world.on_day(1);
        let stopped = progress(&other.state.store, world.workspace, scorer, other.state.now()).await.unwrap();
        assert_eq!(stopped, Rescore { running: false, ..under_way });
        assert_eq!(start_rescore(&other.state, &actor, scorer).await.unwrap(), under_way);
        done(&world.state, world, scorer).await;
        assert_eq!(begun(world).await, 1);
    }

    async fn the_lease_is_handed_back_with_the_last_score(world: &World) {
        let actor = Actor::cli(world.workspace);
        let scorer = outdated(world).await;
        for expected in [HOLDERS.unsigned_abs(), 0] {
            assert_eq!(rescore(&world.state, &actor, scorer, |_| ()).await.unwrap(), expected);
            assert!(!progress(&world.state.store, world.workspace, scorer, world.state.now()).await.unwrap().running);
        }
        assert_eq!(world.count("leases").await, 0);
    }
}
