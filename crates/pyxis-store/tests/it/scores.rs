//! Stored scores, their history, and the single read of a request.

use pyxis_core::address::EvmAddress;
use pyxis_core::decimal::Decimal;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ApiKeyId, ScorerId};
use pyxis_store::api_keys::ApiKeyRow;
use pyxis_store::scores::{self, NewScore, ScorerHead, StaleProgress, Stored};
use pyxis_store::{api_keys, score_history, scorers};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_key, add_scorer, address, at, at_once, exactly_one, new_score};

async fn put(main: &Workspace, new: &NewScore) {
    scores::put(&main.store, main.id, new).await.unwrap();
}

async fn head(main: &Workspace, scorer: ScorerId) -> ScorerHead {
    (&scorers::find(&main.store, main.id, scorer).await.unwrap().unwrap()).into()
}

async fn stored(main: &Workspace, scorer: ScorerId, number: u8) -> Option<Stored> {
    let found = scores::of_many(&main.store, main.id, scorer, &[address(number)]).await.unwrap();
    found.into_iter().next().map(|found| found.stored)
}

async fn history(main: &Workspace, scorer: ScorerId, before: i64) -> Option<String> {
    score_history::latest_before(&main.store, main.id, scorer, address(1), at(before)).await.unwrap()
}

engines! {
    async fn one_read_finds_key_scorer_and_score(main: &Workspace) {
        let store = &main.store;
        let (key, scorer) = (add_key(main).await, add_scorer(main, "s").await);
        let look_up = async |hash: &str, scorer, number| {
            scores::look_up(store, hash, scorer, address(number)).await.unwrap()
        };
        assert_eq!(look_up("unknown", scorer, 1).await, None);
        let found = look_up(&key.key_hash, scorer, 1).await.unwrap();
        assert_eq!((found.key.id, found.key.workspace_id, found.key.stamps_tier), (key.id, main.id, 1));
        assert_eq!((found.key.can_read, found.key.can_read_history), (true, false));
        assert_eq!((found.scorer, found.stored), (Some(head(main, scorer).await), None));

        put(main, &new_score(scorer, 1)).await;
        let found = look_up(&key.key_hash, scorer, 1).await.unwrap();
        assert_eq!(found.stored, stored(main, scorer, 1).await);
        let body = found.stored.unwrap();
        assert_eq!((body.body.as_str(), body.computed_at, body.valid_until), ("{\"of\":1}", NOW, at(1000)));
        assert_eq!((body.revision, body.stale, body.in_history), (1, false, false));
        assert_eq!(look_up(&key.key_hash, scorer, 2).await.unwrap().stored, None);

        let elsewhere = "999".parse().unwrap();
        let found = look_up(&key.key_hash, elsewhere, 1).await.unwrap();
        assert_eq!((found.scorer, found.stored), (None, None));
        assert!(api_keys::revoke(store, main.id, key.id, NOW).await.unwrap());
        assert_eq!(look_up(&key.key_hash, scorer, 1).await, None);
    }

    async fn what_was_found_a_moment_ago_hides_nothing_that_this_process_does(main: &Workspace) {
        pyxis_store::release_idle_reads();
        let store = &main.store;
        let (key, scorer) = (add_key(main).await, add_scorer(main, "s").await);
        let look_up = async |scorer, number| {
            scores::look_up(store, &key.key_hash, scorer, address(number)).await.unwrap()
        };
        put(main, &new_score(scorer, 1)).await;
        let elsewhere = "999".parse().unwrap();
        for _ in 0..100 {
            let found = look_up(scorer, 1).await.unwrap();
            assert_eq!((found.key.id, found.key.stamps_tier), (key.id, 1));
            assert_eq!(found.scorer, Some(head(main, scorer).await));
            assert_eq!(found.stored, stored(main, scorer, 1).await);
            assert_eq!(look_up(scorer, 2).await.unwrap().stored, None);
            let found = look_up(elsewhere, 1).await.unwrap();
            assert_eq!((found.scorer, found.stored), (None, None));
            assert_eq!(scores::look_up(store, "unknown", scorer, address(1)).await.unwrap(), None);
        }
        let strange = ApiKeyRow {
            id: ApiKeyId::new(&OsEntropy),
            workspace_id: main.add_workspace("other").await,
            key_hash: "elsewhere".to_owned(),
            ..key.clone()
        };
        api_keys::insert(store, &strange).await.unwrap();
        for revision in 1..=50 {
            let mut terms = scorers::terms(store, main.id, scorer).await.unwrap().unwrap();
            let head = ScorerHead { revision, threshold: terms.threshold, next_change_at: None };
            assert_eq!(look_up(scorer, 1).await.unwrap().scorer, Some(head));
            let others = scores::look_up(store, "elsewhere", scorer, address(1)).await.unwrap().unwrap();
            assert_eq!((others.scorer, others.stored), (None, None));
            assert_eq!(look_up(scorer, 1).await.unwrap().scorer, Some(head));
            terms.threshold = Decimal::from_units(revision);
            let mut tx = store.begin().await.unwrap();
            assert_eq!(scorers::set_terms(&mut tx, main.id, scorer, &terms).await.unwrap(), Some(revision + 1));
            tx.commit().await.unwrap();
        }
        put(main, &NewScore { body: "{}".to_owned(), ..new_score(scorer, 1) }).await;
        assert_eq!(look_up(scorer, 1).await.unwrap().stored.unwrap().body, "{}");
        assert!(api_keys::revoke(store, main.id, key.id, NOW).await.unwrap());
        assert_eq!(look_up(scorer, 1).await, None);
    }

    async fn a_key_of_another_workspace_finds_no_scorer(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        put(main, &new_score(scorer, 1)).await;
        let key = ApiKeyRow {
            id: ApiKeyId::new(&OsEntropy),
            workspace_id: main.add_workspace("other").await,
            key_hash: "elsewhere".to_owned(),
            ..add_key(main).await
        };
        api_keys::insert(&main.store, &key).await.unwrap();
        let found = scores::look_up(&main.store, "elsewhere", scorer, address(1)).await.unwrap().unwrap();
        assert_eq!((found.scorer, found.stored), (None, None));
    }

    async fn a_score_is_fresh_until_something_changes_it(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        put(main, &new_score(scorer, 1)).await;
        let score = stored(main, scorer, 1).await.unwrap();
        assert!(score.is_fresh(1, at(999)));
        assert!(!score.is_fresh(1, at(1000)) && !score.is_fresh(2, NOW));
        let mut tx = main.store.begin().await.unwrap();
        scores::mark_stale(&mut tx, main.id, scorer, &[address(2), address(1)]).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!stored(main, scorer, 1).await.unwrap().is_fresh(1, NOW));
        put(main, &NewScore { body: "{}".to_owned(), ..new_score(scorer, 1) }).await;
        let again = stored(main, scorer, 1).await.unwrap();
        assert!(again.is_fresh(1, NOW) && again.body == "{}");
    }

    async fn a_fresh_score_is_found_by_the_terms_and_the_moment_of_now(main: &Workspace) {
        let (store, scorer) = (&main.store, add_scorer(main, "s").await);
        let fresh = async |millis| {
            scores::fresh(store, main.id, scorer, address(1), at(millis)).await.unwrap().is_some()
        };
        assert!(!fresh(0).await);
        put(main, &new_score(scorer, 1)).await;
        assert!(fresh(999).await && !fresh(1000).await);
        let other = main.add_workspace("other").await;
        assert_eq!(scores::fresh(store, other, scorer, address(1), NOW).await.unwrap(), None);
        let mut tx = store.begin().await.unwrap();
        scores::mark_stale(&mut tx, main.id, scorer, &[address(1)]).await.unwrap();
        assert_eq!(scores::fresh(&mut tx, main.id, scorer, address(1), NOW).await.unwrap(), None);
        drop(tx);
        assert!(fresh(0).await);
        let terms = scorers::terms(store, main.id, scorer).await.unwrap().unwrap();
        let terms = scorers::Terms { threshold: Decimal::from_units(7), ..terms };
        let mut tx = store.begin().await.unwrap();
        scorers::set_terms(&mut tx, main.id, scorer, &terms).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!fresh(0).await);
    }

    async fn an_address_is_stale_in_one_scorer_of_its_workspace(main: &Workspace) {
        let (one, two) = (add_scorer(main, "one").await, add_scorer(main, "two").await);
        for (scorer, number) in [(one, 1), (two, 1), (two, 2)] {
            put(main, &new_score(scorer, number)).await;
        }
        assert_eq!(scores::scorers_of(&main.store, main.id, address(1)).await.unwrap(), [one, two]);
        assert_eq!(scores::scorers_of(&main.store, main.id, address(2)).await.unwrap(), [two]);
        let other = main.add_workspace("other").await;
        for (workspace, stale) in [(other, false), (main.id, true)] {
            let mut tx = main.store.begin().await.unwrap();
            scores::mark_stale(&mut tx, workspace, two, &[address(1)]).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(stored(main, two, 1).await.unwrap().stale, stale);
        }
        assert!(!stored(main, one, 1).await.unwrap().stale && !stored(main, two, 2).await.unwrap().stale);
    }

    async fn one_of_many_readers_makes_a_score_history(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        put(main, &new_score(scorer, 1)).await;
        let marked = at_once(8, |_| {
            let (store, ws) = (main.store.clone(), main.id);
            async move { scores::mark_in_history(&store, ws, scorer, address(1), NOW).await.unwrap() }
        })
        .await;
        assert!(exactly_one(marked));
        assert!(stored(main, scorer, 1).await.unwrap().in_history);
        assert_eq!(history(main, scorer, 1).await.as_deref(), Some("{\"of\":1}"));
        assert_eq!(history(main, scorer, 0).await, None);
        put(main, &NewScore { computed_at: at(5), body: "5".to_owned(), ..new_score(scorer, 1) }).await;
        assert!(!scores::mark_in_history(&main.store, main.id, scorer, address(1), NOW).await.unwrap());
        assert!(!stored(main, scorer, 1).await.unwrap().in_history);
        assert_eq!(history(main, scorer, 99).await.as_deref(), Some("{\"of\":1}"));
        let other = main.add_workspace("other").await;
        assert!(!scores::mark_in_history(&main.store, other, scorer, address(1), at(5)).await.unwrap());
    }

    async fn of_two_scores_of_the_same_moment_the_one_that_was_answered_last_is_history(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        for body in ["first", "second"] {
            put(main, &NewScore { body: body.to_owned(), ..new_score(scorer, 1) }).await;
            assert!(scores::mark_in_history(&main.store, main.id, scorer, address(1), NOW).await.unwrap());
            assert_eq!(history(main, scorer, 99).await.as_deref(), Some(body));
        }
        put(main, &NewScore { body: "third".to_owned(), ..new_score(scorer, 1) }).await;
        let mut tx = main.store.begin().await.unwrap();
        scores::mark_locked_in_history(&mut tx, main.id, scorer, address(1), NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert!(stored(main, scorer, 1).await.unwrap().in_history);
        assert_eq!(history(main, scorer, 99).await.as_deref(), Some("third"));
    }

    async fn history_answers_the_latest_strictly_before(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        for (millis, body) in [(10, "a"), (20, "b"), (20, "b2")] {
            score_history::insert(&main.store, main.id, scorer, address(1), at(millis), body).await.unwrap();
        }
        assert_eq!(history(main, scorer, 10).await, None);
        assert_eq!(history(main, scorer, 20).await.as_deref(), Some("a"));
        assert_eq!(history(main, scorer, 21).await.as_deref(), Some("b2"));
        let other = main.add_workspace("other").await;
        let elsewhere = score_history::latest_before(&main.store, other, scorer, address(1), at(99)).await;
        assert_eq!(elsewhere.unwrap(), None);
    }

    async fn scores_are_walked_through_by_address_and_read_by_the_thousand(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (scorer, empty) = (add_scorer(main, "s").await, add_scorer(main, "empty").await);
        for number in [5, 1, 3] {
            put(main, &new_score(scorer, number)).await;
        }
        let first = scores::addresses(store, ws, scorer, None, 2).await.unwrap();
        assert_eq!(first, [address(1), address(3)]);
        assert_eq!(scores::addresses(store, ws, scorer, Some(first[1]), 2).await.unwrap(), [address(5)]);
        assert_eq!(scores::count(store, ws, scorer).await.unwrap(), 3);
        assert_eq!(scores::count(store, ws, empty).await.unwrap(), 0);
        let wanted: Vec<_> = (0..1000_u16).map(|n| EvmAddress([u8::try_from(n % 250).unwrap(); 20])).collect();
        let found = scores::of_many(store, ws, scorer, &wanted).await.unwrap();
        assert_eq!(found.iter().map(|of| of.address).collect::<Vec<_>>(), [address(1), address(3), address(5)]);
        assert!(scores::of_many(store, ws, empty, &wanted).await.unwrap().is_empty());
        assert!(scores::of_many(store, ws, scorer, &[]).await.unwrap().is_empty());
        let other = main.add_workspace("other").await;
        assert!(scores::of_many(store, other, scorer, &wanted).await.unwrap().is_empty());
        assert!(scores::put(store, other, &new_score(scorer, 9)).await.is_err());
    }

    async fn outdated_scores_are_found_and_counted(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let scorer = add_scorer(main, "s").await;
        for number in [1, 2, 3] {
            put(main, &new_score(scorer, number)).await;
        }
        put(main, &NewScore { valid_until: at(5), ..new_score(scorer, 4) }).await;
        let mut tx = store.begin().await.unwrap();
        scores::mark_stale(&mut tx, ws, scorer, &[address(2)]).await.unwrap();
        tx.commit().await.unwrap();
        let found = |now, after| scores::stale(store, ws, scorer, at(now), after, 9);
        assert_eq!(found(0, None).await.unwrap(), [address(2)]);
        assert_eq!(found(5, None).await.unwrap(), [address(2), address(4)]);
        assert_eq!(found(5, Some(address(2))).await.unwrap(), [address(4)]);
        let progress = |ws, now| scores::progress(store, ws, scorer, at(now));
        assert_eq!(progress(ws, 0).await.unwrap(), StaleProgress { stored: 4, outdated: 1 });
        let mut tx = store.begin().await.unwrap();
        let terms = scorers::terms(&mut tx, ws, scorer).await.unwrap().unwrap();
        scorers::set_terms(&mut tx, ws, scorer, &terms).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(found(0, None).await.unwrap().len(), 4);
        assert_eq!(progress(ws, 0).await.unwrap(), StaleProgress { stored: 4, outdated: 4 });
        let other = main.add_workspace("other").await;
        assert_eq!(progress(other, 0).await.unwrap(), StaleProgress::default());
        assert!(scores::stale(store, other, scorer, NOW, None, 9).await.unwrap().is_empty());
    }
}
