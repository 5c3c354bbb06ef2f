//! Scorers and what they score by.

use pyxis_store::scorers::{self, Terms};
use pyxis_store::{claims, scores};

use crate::support::{
    NOW, add_scorer, add_workspace, at_once, contract, exactly_one, new_score, nullifiers, weights,
};

contract! {
    async fn scorers_have_positive_numbers_of_their_own_workspace(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let (first, second) = (add_scorer(world, "one").await, add_scorer(world, "two").await);
        assert!(first.get() >= 1 && second > first);
        let row = scorers::find(store, ws, first).await.unwrap().unwrap();
        assert_eq!((row.name.as_str(), row.revision, row.created_at), ("one", 1, NOW));
        assert_eq!(row.threshold.to_string(), "20.00000");
        assert_eq!(scorers::list(store, ws).await.unwrap().len(), 2);
        let other = add_workspace(store, "other").await;
        assert!(scorers::find(store, other, first).await.unwrap().is_none());
        assert!(scorers::terms(store, other, first).await.unwrap().is_none());
        assert!(!scorers::rename(store, other, first, "x").await.unwrap());
        assert!(scorers::rename(store, ws, first, "uno").await.unwrap());
        assert_eq!(scorers::find(store, ws, first).await.unwrap().unwrap().name, "uno");
    }

    async fn new_terms_replace_the_old_and_raise_the_revision(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let scorer = add_scorer(world, "s").await;
        let old = scorers::terms(store, ws, scorer).await.unwrap().unwrap();
        assert_eq!((old.revision, &old.weights), (1, &weights(&[("A", "1.5"), ("B", "2")])));
        let new = Terms { threshold: "3".parse().unwrap(), weights: weights(&[("B", "9"), ("C#1", "0.00001")]), ..old };
        let mut tx = store.begin().await.unwrap();
        assert_eq!(scorers::set_terms(&mut tx, ws, scorer, &new).await.unwrap(), Some(2));
        tx.commit().await.unwrap();
        assert_eq!(scorers::terms(store, ws, scorer).await.unwrap(), Some(Terms { revision: 2, ..new.clone() }));
        let none = Terms { revision: 2, threshold: new.threshold, weights: weights(&[]) };
        let other = add_workspace(store, "other").await;
        let mut tx = store.begin().await.unwrap();
        assert_eq!(scorers::set_terms(&mut tx, other, scorer, &none).await.unwrap(), None);
        assert_eq!(scorers::set_terms(&mut tx, ws, scorer, &none).await.unwrap(), Some(3));
        tx.commit().await.unwrap();
        assert_eq!(scorers::terms(store, ws, scorer).await.unwrap(), Some(Terms { revision: 3, ..none }));
    }

    async fn one_of_many_editors_sets_the_terms(world: &World) {
        let scorer = add_scorer(world, "s").await;
        let terms = scorers::terms(&world.store, world.ws, scorer).await.unwrap().unwrap();
        let set = at_once(8, |_| {
            let (store, ws, terms) = (world.store.clone(), world.ws, terms.clone());
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

    async fn a_removed_scorer_takes_its_scores_and_claims_with_it(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let scorer = add_scorer(world, "s").await;
        let kept = new_score(scorer, 1);
        scores::put(store, ws, &kept).await.unwrap();
        assert!(scores::mark_in_history(store, ws, scorer, kept.address, NOW).await.unwrap());
        let mut tx = store.begin().await.unwrap();
        let claim = pyxis_core::score::Claim {
            nullifier: "n".parse().unwrap(),
            address: kept.address,
            digest: [1; 32],
            expires_at: kept.valid_until,
        };
        assert!(claims::take(&mut tx, ws, scorer, NOW, &[claim]).await.unwrap());
        tx.commit().await.unwrap();
        let other = add_workspace(store, "other").await;
        assert!(!scorers::remove(store, other, scorer).await.unwrap());
        assert!(scorers::remove(store, ws, scorer).await.unwrap());
        assert!(!scorers::remove(store, ws, scorer).await.unwrap());
        assert_eq!(scores::count(store, ws, scorer).await.unwrap(), 0);
        assert!(claims::of(store, ws, scorer, &nullifiers("n")).await.unwrap().is_empty());
        assert!(add_scorer(world, "next").await > scorer);
    }
}
