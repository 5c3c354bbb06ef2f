//! Scorers and their terms.

use pyxis_store::scorers::{self, Terms};
use pyxis_store::scores::NewScore;
use pyxis_store::{StoreError, claims, score_history, scores};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_scorer, at, at_once, exactly_one, new_score, nullifiers, weights};

engines! {
    async fn scorers_have_positive_numbers_of_their_own_workspace(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (first, second) = (add_scorer(main, "one").await, add_scorer(main, "two").await);
        assert!(first.get() >= 1 && second > first);
        let row = scorers::find(store, ws, first).await.unwrap().unwrap();
        assert_eq!((row.name.as_str(), row.revision, row.created_at), ("one", 1, NOW));
        assert_eq!(row.threshold.to_string(), "20.00000");
        assert_eq!(scorers::list(store, ws).await.unwrap().len(), 2);
        let other = main.add_workspace("other").await;
        assert!(scorers::find(store, other, first).await.unwrap().is_none());
        assert!(scorers::terms(store, other, first).await.unwrap().is_none());
        assert!(!scorers::rename(store, other, first, "x").await.unwrap());
        assert!(scorers::rename(store, ws, first, "uno").await.unwrap());
        assert_eq!(scorers::find(store, ws, first).await.unwrap().unwrap().name, "uno");
    }

    async fn new_terms_replace_the_old_and_raise_the_revision(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let scorer = add_scorer(main, "s").await;
        let old = scorers::terms(store, ws, scorer).await.unwrap().unwrap();
        assert_eq!((old.revision, &old.weights), (1, &weights(&[("A", "1.5"), ("B", "2")])));
        let new = Terms { threshold: "3".parse().unwrap(), weights: weights(&[("B", "9"), ("C#1", "0.00001")]), ..old };
        let mut tx = store.begin().await.unwrap();
        assert_eq!(scorers::set_terms(&mut tx, ws, scorer, &new).await.unwrap(), Some(2));
        tx.commit().await.unwrap();
        assert_eq!(scorers::terms(store, ws, scorer).await.unwrap(), Some(Terms { revision: 2, ..new.clone() }));
        let none = Terms { revision: 2, threshold: new.threshold, weights: weights(&[]), kept: Vec::new() };
        let other = main.add_workspace("other").await;
        let mut tx = store.begin().await.unwrap();
        assert_eq!(scorers::set_terms(&mut tx, other, scorer, &none).await.unwrap(), None);
        assert_eq!(scorers::set_terms(&mut tx, ws, scorer, &none).await.unwrap(), Some(3));
        tx.commit().await.unwrap();
        assert_eq!(scorers::terms(store, ws, scorer).await.unwrap(), Some(Terms { revision: 3, ..none }));
    }

    async fn one_of_many_editors_sets_the_terms(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        let terms = scorers::terms(&main.store, main.id, scorer).await.unwrap().unwrap();
        let set = at_once(8, |_| {
            let (store, ws, terms) = (main.store.clone(), main.id, terms.clone());
            async move {
                let mut tx = store.begin().await.unwrap();
                let revision = scorers::set_terms(&mut tx, ws, scorer, &terms).await.unwrap();
                tx.commit().await.unwrap();
                revision == Some(2)
            }
        })
        .await;
        assert!(exactly_one(set));
    }

    async fn a_removed_scorer_is_not_found_while_what_it_scored_goes_piece_by_piece(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (scorer, kept) = (add_scorer(main, "s").await, add_scorer(main, "kept").await);
        let terms = scorers::terms(store, ws, scorer).await.unwrap().unwrap();
        let mut tx = store.begin().await.unwrap();
        for number in 0..2001 {
            let mut new = new_score(scorer, 1);
            new.address.0[..4].copy_from_slice(&u32::to_be_bytes(number));
            scores::put(&mut tx, ws, &new).await.unwrap();
        }
        let of = new_score(kept, 1);
        for scorer in [scorer, kept] {
            scores::put(&mut tx, ws, &NewScore { scorer, ..of.clone() }).await.unwrap();
            score_history::insert(&mut tx, ws, scorer, of.address, NOW, "{}").await.unwrap();
            let claim = pyxis_core::score::Claim {
                nullifier: "n".parse().unwrap(),
                address: of.address,
                provider: None,
                digest: [1; 32],
                claimed_at: Some(NOW),
                expires_at: of.valid_until,
            };
            assert!(claims::claim_or_extend(&mut tx, ws, scorer, NOW, &[claim]).await.unwrap());
        }
        tx.commit().await.unwrap();
        let clear = async |ws| {
            let mut tx = store.begin().await.unwrap();
            let more = scorers::clear(&mut tx, ws, scorer).await.unwrap();
            tx.commit().await.unwrap();
            more
        };
        assert!(!clear(ws).await, "it was not removed");
        assert_eq!(scores::count(store, ws, scorer).await.unwrap(), 2002);
        let other = main.add_workspace("other").await;
        assert!(!scorers::remove(store, other, scorer).await.unwrap());
        assert!(scorers::remove(store, ws, scorer).await.unwrap());
        assert!(!scorers::remove(store, ws, scorer).await.unwrap());
        for (workspace, left) in [(other, &[][..]), (ws, &[scorer])] {
            assert_eq!(scorers::removed(store, workspace).await.unwrap(), left);
        }
        assert!(scorers::find(store, ws, scorer).await.unwrap().is_none());
        assert!(scorers::terms(store, ws, scorer).await.unwrap().is_none());
        assert!(!scorers::rename(store, ws, scorer, "again").await.unwrap());
        assert_eq!(scorers::list(store, ws).await.unwrap().len(), 1);
        assert_eq!(scores::count(store, ws, scorer).await.unwrap(), 0);
        assert!(claims::list_for(store, ws, scorer, &nullifiers("n")).await.unwrap().is_empty());
        let mut tx = store.begin().await.unwrap();
        let by_force = Terms { revision: 0, ..terms };
        assert_eq!(scorers::set_terms(&mut tx, ws, scorer, &by_force).await.unwrap(), None);
        drop(tx);
        assert!(!clear(other).await);
        for piece in ["scores", "the last two of them", "history", "claims"] {
            assert!(clear(ws).await, "{piece}");
        }
        assert!(!clear(ws).await && !clear(ws).await);
        assert!(scorers::removed(store, ws).await.unwrap().is_empty());
        assert_eq!(scores::count(store, ws, kept).await.unwrap(), 1);
        assert_eq!(claims::list_for(store, ws, kept, &nullifiers("n")).await.unwrap().len(), 1);
        assert!(score_history::latest_before(store, ws, kept, of.address, at(1)).await.unwrap().is_some());
        assert!(add_scorer(main, "next").await > kept);
    }

    async fn what_comes_in_while_a_removed_scorer_is_cleared_goes_with_its_row(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let scorer = add_scorer(main, "s").await;
        let mut tx = store.begin().await.unwrap();
        assert!(scorers::remove(&mut tx, ws, scorer).await.unwrap());
        scores::put(&mut tx, ws, &new_score(scorer, 1)).await.unwrap();
        assert!(scorers::clear(&mut tx, ws, scorer).await.unwrap());
        score_history::insert(&mut tx, ws, scorer, new_score(scorer, 1).address, NOW, "{}").await.unwrap();
        while scorers::clear(&mut tx, ws, scorer).await.unwrap() {}
        tx.commit().await.unwrap();
        let error = scores::put(store, ws, &new_score(scorer, 1)).await.unwrap_err();
        assert!(matches!(error, StoreError::Reference), "{error}");
        assert!(!scores::mark_in_history(store, ws, scorer, new_score(scorer, 1).address, NOW).await.unwrap());
    }
}
