//! Scores as voting power, at a moment (`docs/reference/behavior/verification.md#score-strategy`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_scoring::credential::parse_and_verify;
use pyxis_scoring::engine::{self, Batch};
use pyxis_scoring::votes::{self, UnknownScore, VoteScore};
use pyxis_scoring::{Config, State};
use pyxis_testkit::engines;

use super::scene::{START, Scene, day, wallet};

const WEIGHTS: &[(&str, &str)] = &[("A", "1.5"), ("B", "2")];
const NOTHING: VoteScore = VoteScore { score: Decimal::ZERO, passes: false, has_stamps: false };

fn vote_score(score: &str, passes: bool) -> VoteScore {
    VoteScore { score: score.parse().unwrap(), passes, has_stamps: true }
}

engines! {
    async fn a_vote_about_a_moment_gets_the_last_score_by_then_and_always_the_same(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        let open = scene.node(Config { vote_scorers: vec![scorer], ..Config::default() }).state;
        let at = async |moment: UnixMillis| {
            votes::scores(&open, scorer, &[wallet(1), wallet(2)], Some(moment)).await.unwrap().unwrap()
        };
        // No one scored the Stamps that were there before the scorer was opened.
        scene.verify(wallet(1), "A", "a:1", 20).await;
        scene.on_day(1);
        let found = at(day(1)).await;
        assert_eq!(found.unknown, [(wallet(1), UnknownScore::NotRecorded)]);
        assert_eq!(found.known[&wallet(2)], NOTHING);
        assert_eq!(at(UnixMillis(START.0 - 1)).await.known[&wallet(1)], NOTHING, "it had no Stamp yet");
        // Computing all scores puts them on record from then on.
        let done = engine::rescore(&open.db, scene.workspace, scorer, &*open.clock, |_| ()).await.unwrap();
        assert_eq!((done, at(day(1)).await.known[&wallet(1)]), (1, vote_score("1.5", false)));
        assert_eq!(at(day(0)).await.unknown.len(), 1);
        scene.on_day(2);
        scene.verify(wallet(1), "B", "b:1", 9).await;
        assert_eq!(at(day(2)).await.known[&wallet(1)], vote_score("3.5", true));
        scene.on_day(3);
        scene.delete(wallet(1), "A").await;
        assert_eq!(at(day(3)).await.known[&wallet(1)], vote_score("2", true));
        for (number, wanted) in [(1, vote_score("1.5", false)), (2, vote_score("3.5", true))] {
            assert_eq!(at(day(number)).await.known[&wallet(1)], wanted, "{number}");
        }
        // Stamps that had expired by the moment are taken off.
        scene.on_day(10);
        assert_eq!(at(day(8)).await.known[&wallet(1)], vote_score("2", true));
        assert_eq!(at(day(9)).await.known[&wallet(1)], NOTHING);
        let now = votes::scores(&open, scorer, &[wallet(1), wallet(1)], None).await.unwrap().unwrap();
        assert_eq!((now.known.len(), now.known[&wallet(1)]), (1, NOTHING));
        // Every other scorer is closed, on this node or on another one.
        let closed = async |state: &State, scorer| votes::scores(state, scorer, &[wallet(1)], None).await.unwrap();
        assert!(closed(&scene.state, scorer).await.is_none());
        assert!(closed(&open, scene.scorer("2", WEIGHTS).await).await.is_none());
    }

    async fn every_new_stamp_is_on_record_in_a_scorer_that_is_open_to_votes(scene: &Scene) {
        let scorer = scene.scorer("2", WEIGHTS).await;
        let elsewhere = "999".parse().unwrap();
        let open = scene.node(Config { vote_scorers: vec![elsewhere, scorer], ..Config::default() }).state;
        let verified = |number: u64| {
            let text = scene.credential(wallet(number), "B", &format!("b:{number}"), 9);
            parse_and_verify(&text, wallet(number), open.now(), |_| true).unwrap()
        };
        let batch = Batch::prepare(scene.workspace, vec![verified(1), verified(2)], open.now());
        let (_, committing) = engine::ingest_many(&open.db, batch, open.now()).await.unwrap();
        committing.await.unwrap();
        let third = verified(3);
        engine::ingest(&open.db, scene.workspace, wallet(3), &[&third], open.now()).await.unwrap();
        assert_eq!(scene.count("score_history").await, 3);
        scene.on_day(1);
        let voters = [wallet(3), wallet(1), wallet(2)];
        let found = votes::scores(&open, scorer, &voters, Some(START)).await.unwrap().unwrap();
        assert!(found.unknown.is_empty() && voters.iter().all(|voter| found.known[voter] == vote_score("2", true)));
        // Nothing is left to compute.
        let done = engine::rescore(&open.db, scene.workspace, scorer, &*open.clock, |_| ()).await.unwrap();
        assert_eq!(done, 0);
    }
}
