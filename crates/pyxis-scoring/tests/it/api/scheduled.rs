//! Weights and thresholds that apply from a moment (`docs/guides/change-weights.md`).

use pyxis_core::actor::Actor;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_scoring::Config;
use pyxis_scoring::service::population::Population;
use pyxis_scoring::service::score_jobs::Rows;
use pyxis_scoring::service::scorers::{self, Rescore, Scorer, ScorerPatch};
use pyxis_scoring::service::{Error, preview, score_lists, scorer_changes};
use pyxis_scoring::votes::{self, VoteScore};
use pyxis_testkit::engines;

use super::jobs;
use super::scene::{Scene, day, score_path, wallet, weights};
use super::signed::verified;

async fn stored(scene: &Scene, scorer: ScorerId) -> Scorer {
    scorers::get(&scene.state.store, scene.workspace, scorer, scene.state.now()).await.unwrap()
}

async fn schedule(
    scene: &Scene,
    scorer: ScorerId,
    from: i64,
    threshold: Option<&str>,
    of_a: Option<&str>,
) -> Result<Scorer, Error> {
    let patch = ScorerPatch {
        threshold: threshold.map(|text| text.parse().unwrap()),
        weights: of_a.map(|weight| weights(&[("A", weight)])),
        effective_from: Some(day(from)),
        revision: Some(stored(scene, scorer).await.terms.revision),
        ..ScorerPatch::default()
    };
    scorers::update(&scene.state.audited, &Actor::cli(scene.workspace), scorer, patch).await
}

engines! {
    async fn a_scheduled_change_counts_from_its_moment_on_every_path_and_on_every_node(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.verify(wallet(2), "A", "a:2", 90).await;
        let other = scene.node(Config::default());
        let made = schedule(scene, scorer, 5, None, Some("1.5")).await.unwrap();
        assert_eq!((made.terms.revision, made.scheduled.len()), (1, 1));
        schedule(scene, scorer, 7, Some("1"), None).await.unwrap();
        for today in [0, 4] {
            scene.on_day(today);
            let record = scene.score(scorer, wallet(1)).await;
            assert_eq!((&record["score"], &record["passing_score"]), (&"2.00000".into(), &true.into()));
        }
        let explained = scene.get(&format!("{}?explain=true", score_path(scorer, wallet(1)))).await.json();
        assert_eq!(explained["explain"]["valid_until"], day(5).to_iso_micros());
        scene.clock.set(UnixMillis(day(5).0 - 1));
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "2.00000");
        scene.on_day(5);
        // Another process first, an ingest, then the batch and the plain path of this one.
        let answer = other.get(&scene.key, &score_path(scorer, wallet(1))).await.json();
        assert_eq!((&answer["score"], &answer["passing_score"]), (&"1.50000".into(), &false.into()));
        scene.verify(wallet(2), "B", "b:2", 90).await;
        let batch = scene.scores(scorer, &[wallet(1), wallet(2), wallet(3)]).await.json();
        let all: Vec<_> = batch["items"].as_array().unwrap().iter().map(|one| one["score"].as_str().unwrap()).collect();
        assert_eq!(all, ["1.50000", "1.50000", "0.00000"]);
        scene.on_day(8);
        assert_eq!(scene.score(scorer, wallet(9)).await["threshold"], "1.00000", "without Stamps, too");
        assert_eq!(scene.score(scorer, wallet(1)).await["passing_score"], true);
        let after = stored(scene, scorer).await;
        assert_eq!((after.terms.revision, after.scheduled.len()), (3, 0));
    }

    async fn a_change_that_is_due_makes_scores_outdated_and_a_rescore_computes_them(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        schedule(scene, scorer, 5, None, Some("1.5")).await.unwrap();
        let progress = async || {
            scorers::progress(&scene.state.db, scene.workspace, scorer, scene.state.now()).await.unwrap()
        };
        assert_eq!(progress().await, Rescore { stored: 1, outdated: 0, unscored: 0, running: false });
        scene.on_day(6);
        assert_eq!(progress().await.outdated, 1);
        let actor = Actor::cli(scene.workspace);
        assert_eq!(Box::pin(scorers::rescore(&scene.state, &actor, scorer, |_| ())).await.unwrap(), 1);
        assert_eq!(progress().await.outdated, 0);
    }

    async fn a_question_about_a_moment_is_answered_with_the_terms_of_that_moment(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2"), ("B", "1")]).await;
        let open = scene.node(Config { vote_scorers: vec![scorer], ..Config::default() }).state;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.verify(wallet(1), "B", "b:1", 4).await;
        scene.score(scorer, wallet(1)).await;
        schedule(scene, scorer, 5, None, Some("1.5")).await.unwrap();
        schedule(scene, scorer, 7, Some("1"), None).await.unwrap();
        scene.on_day(9);
        let at = async |moment| {
            let found = votes::scores(&open, scorer, &[wallet(1)], Some(moment)).await.unwrap().unwrap();
            let VoteScore { score, passes, .. } = found.known[&wallet(1)];
            let actor = Actor::cli(scene.workspace);
            let population = Population::load(&scene.state.store, scene.state.now(), &actor, scorer, Some(moment)).await.unwrap();
            let line = population.page(None, 9).await.unwrap().remove(0);
            let list = score_lists::passing(&scene.state, &actor, scorer, Some(moment)).await.unwrap();
            assert_eq!((line.passing, list.tree.is_some()), (passes, passes), "{moment:?}");
            (score.to_string(), passes, line.threshold)
        };
        let answer = |score: &str, passes, threshold: &str| (score.to_owned(), passes, threshold.to_owned());
        // Nothing was computed since the first day.
        assert_eq!(at(day(3)).await, answer("3.00000", true, "2.00000"));
        assert_eq!(at(UnixMillis(day(5).0 - 1)).await, answer("2.00000", true, "2.00000"));
        assert_eq!(at(day(6)).await, answer("1.50000", false, "2.00000"));
        assert_eq!(at(day(8)).await, answer("1.50000", true, "1.00000"));
        // A later answer changes none of these.
        scene.score(scorer, wallet(1)).await;
        scene.set_terms(scorer, "9", &[("A", "1")]).await;
        assert_eq!(at(day(6)).await, answer("1.50000", false, "2.00000"));
        assert_eq!(at(day(3)).await, answer("3.00000", true, "2.00000"));
    }

    async fn jobs_signed_scores_and_history_follow_a_change_from_its_moment_on(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        schedule(scene, scorer, 5, None, Some("1.5")).await.unwrap();
        let signed = async || scene.get(&format!("{}?signed=jwt", score_path(scorer, wallet(1)))).await.json();
        let token = verified(scene, signed().await["jwt"].as_str().unwrap()).await.1;
        assert!(token["exp"].as_i64().unwrap() * 1000 <= day(5).0, "a signature ends at the change: {token}");
        scene.on_day(5);
        let text = format!("address\n{}\n", wallet(1));
        let job = jobs::add(scene, scorer, &text).await.unwrap();
        jobs::run(&scene.state).await;
        let lines = jobs::results(scene, &job, Rows::All).await;
        assert!(lines[1].starts_with(&format!("2,{},scored,,1.50000,2.00000,false,", wallet(1))), "{}", lines[1]);
        let record = signed().await;
        assert_eq!((&record["score"], &record["passing_score"]), (&"1.50000".into(), &false.into()));
        let before = |day: &str| format!("{}/history?created_at={day}", score_path(scorer, wallet(1)));
        let moment = day(5).to_iso_micros().replace('+', "%2B");
        assert_eq!(scene.get(&before(&moment)).await.json()["items"][0]["score"], "2.00000");
        let moment = day(6).to_iso_micros().replace('+', "%2B");
        scene.on_day(6);
        assert_eq!(scene.get(&before(&moment)).await.json()["items"][0]["score"], "1.50000");
    }

    async fn a_change_based_on_earlier_changes_is_refused_once_these_differ(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        let actor = Actor::cli(scene.workspace);
        let first = schedule(scene, scorer, 5, None, Some("1.5")).await.unwrap().scheduled.remove(0);
        let read = stored(scene, scorer).await;
        assert_eq!(read.terms_before(day(5)).weights, weights(&[("A", "2")]));
        assert_eq!(read.terms_before(UnixMillis(day(5).0 + 1)).weights, weights(&[("A", "1.5")]));
        let patch = |scheduled| ScorerPatch {
            weights: Some(weights(&[("A", "1.5"), ("B", "1")])),
            effective_from: Some(day(6)),
            revision: Some(1),
            scheduled: Some(scheduled),
            ..ScorerPatch::default()
        };
        let update = |scheduled| scorers::update(&scene.state.audited, &actor, scorer, patch(scheduled));
        for other in [vec![], vec![first.id, first.id]] {
            let refused = update(other).await;
            assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
        }
        // One for later is no reason to refuse.
        schedule(scene, scorer, 9, Some("1"), None).await.unwrap();
        assert_eq!(update(vec![first.id]).await.unwrap().scheduled.len(), 3);
    }

    async fn a_change_is_withdrawn_before_its_moment_and_not_after(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        let actor = Actor::cli(scene.workspace);
        let first = schedule(scene, scorer, 5, Some("1"), None).await.unwrap().scheduled.remove(0);
        schedule(scene, scorer, 6, Some("3"), None).await.unwrap();
        scorer_changes::withdraw(&scene.state.audited, &actor, scorer, first.id).await.unwrap();
        let again = scorer_changes::withdraw(&scene.state.audited, &actor, scorer, first.id).await;
        assert!(matches!(again, Err(Error::NotFound(_))), "{again:?}");
        let waiting = stored(scene, scorer).await.scheduled;
        let proposal = preview::Proposal::default();
        let found = preview::preview(&scene.state.store, scene.workspace, scorer, proposal, scene.state.now());
        assert_eq!(found.await.unwrap().scheduled, waiting);
        scene.on_day(5);
        assert_eq!(scene.score(scorer, wallet(1)).await["threshold"], "2.00000");
        scene.on_day(6);
        assert_eq!(scene.score(scorer, wallet(1)).await["threshold"], "3.00000");
        let late = scorer_changes::withdraw(&scene.state.audited, &actor, scorer, waiting[0].id).await;
        assert!(matches!(late, Err(Error::NotFound(_))), "{late:?}");
    }

    async fn a_moment_that_is_over_or_taken_and_a_revision_that_is_old_are_refused(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.on_day(1);
        for (from, threshold) in [(1, Some("1")), (0, Some("1")), (400, Some("1")), (5, None)] {
            let refused = schedule(scene, scorer, from, threshold, None).await;
            assert!(matches!(refused, Err(Error::InvalidField { .. })), "{from}: {refused:?}");
        }
        schedule(scene, scorer, 5, Some("1"), None).await.unwrap();
        let taken = schedule(scene, scorer, 5, Some("3"), None).await;
        assert!(matches!(taken, Err(Error::Conflict(_))), "{taken:?}");
        let patch = ScorerPatch {
            threshold: Some("4".parse().unwrap()),
            effective_from: Some(day(8)),
            revision: Some(9),
            ..ScorerPatch::default()
        };
        let old = scorers::update(&scene.state.audited, &Actor::cli(scene.workspace), scorer, patch).await;
        assert!(matches!(old, Err(Error::Changed { revision: 1 })), "{old:?}");
        assert_eq!(stored(scene, scorer).await.scheduled.len(), 1);
    }
}
