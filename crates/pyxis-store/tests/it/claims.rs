//! Claims: one address per nullifier and scorer, even under concurrency.

use pyxis_core::id::ScorerId;
use pyxis_core::score::Claim;
use pyxis_store::claims::{self, HeldClaim};
use pyxis_testkit::engines;

use crate::support::{Workspace, add_scorer, address, at, at_once, exactly_one, nullifiers, tamper};

fn claim(nullifier: &str, holder: u8, until: i64) -> Claim {
    Claim {
        nullifier: nullifier.parse().unwrap(),
        address: address(holder),
        provider: Some("A".parse().unwrap()),
        digest: [holder; 32],
        claimed_at: Some(at(0)),
        expires_at: at(until),
    }
}

async fn take(main: &Workspace, scorer: ScorerId, now: i64, claims: &[Claim]) -> bool {
    let mut tx = main.store.begin().await.unwrap();
    claims::lock(&mut tx, main.id, claims.iter().map(|claim| &claim.nullifier)).await.unwrap();
    let taken = claims::claim_or_extend(&mut tx, main.id, scorer, at(now), claims).await.unwrap();
    if taken {
        tx.commit().await.unwrap();
    }
    taken
}

async fn holders(main: &Workspace, scorer: ScorerId, of: &str) -> Vec<Claim> {
    let mut found = claims::list_for(&main.store, main.id, scorer, &nullifiers(of)).await.unwrap();
    found.sort_by(|a, b| a.nullifier.cmp(&b.nullifier));
    found
}

engines! {
    async fn a_claim_is_kept_until_it_ends(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        assert!(take(main, scorer, 0, &[claim("n1", 1, 10), claim("n2", 1, 10)]).await);
        assert!(!take(main, scorer, 9, &[claim("n2", 2, 50), claim("n3", 2, 50)]).await);
        assert_eq!(holders(main, scorer, "n1 n2 n3").await, [claim("n1", 1, 10), claim("n2", 1, 10)]);
        assert!(take(main, scorer, 9, &[claim("n1", 1, 20)]).await);
        assert!(take(main, scorer, 10, &[claim("n2", 2, 50)]).await);
        assert_eq!(holders(main, scorer, "n1 n2").await, [claim("n1", 1, 20), claim("n2", 2, 50)]);
        assert!(holders(main, scorer, "").await.is_empty());
    }

    async fn a_claim_tells_the_name_of_the_stamp_that_took_or_extended_it_last(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        let by = |name: &str, claim: Claim| Claim { provider: Some(name.parse().unwrap()), ..claim };
        assert!(take(main, scorer, 0, &[by("A", claim("n", 1, 10)), by("B", claim("m", 1, 10))]).await);
        assert_eq!(
            holders(main, scorer, "n m").await,
            [by("B", claim("m", 1, 10)), by("A", claim("n", 1, 10))]
        );
        for (now, next) in [(5, by("B", claim("n", 1, 20))), (20, by("C", claim("n", 2, 30)))] {
            assert!(take(main, scorer, now, std::slice::from_ref(&next)).await);
            assert_eq!(holders(main, scorer, "n").await, [next]);
        }
        let held = claims::of_digest(&main.store, main.id, &[2; 32]).await.unwrap();
        assert_eq!(held, [HeldClaim { scorer, claim: by("C", claim("n", 2, 30)) }]);
    }

    async fn a_claim_from_before_names_were_kept_has_none_until_it_is_extended(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        assert!(take(main, scorer, 0, &[claim("n", 1, 10)]).await);
        tamper(main, "UPDATE claims SET provider = NULL").await;
        let unnamed = Claim { provider: None, ..claim("n", 1, 10) };
        assert_eq!(holders(main, scorer, "n").await, std::slice::from_ref(&unnamed));
        assert!(claims::release(&main.store, main.id, &HeldClaim { scorer, claim: unnamed }).await.unwrap());
        assert!(take(main, scorer, 0, &[Claim { provider: None, ..claim("n", 1, 10) }]).await);
        assert!(take(main, scorer, 5, &[claim("n", 1, 20)]).await);
        assert_eq!(holders(main, scorer, "n").await, [claim("n", 1, 20)]);
    }

    async fn independent_scorers_are_independent(main: &Workspace) {
        let (one, two) = (add_scorer(main, "one").await, add_scorer(main, "two").await);
        assert!(take(main, one, 0, &[claim("n", 1, 10)]).await);
        assert!(take(main, two, 0, &[claim("n", 2, 10)]).await);
        assert_eq!(holders(main, one, "n").await, [claim("n", 1, 10)]);
        assert_eq!(holders(main, two, "n").await, [claim("n", 2, 10)]);
        let other = main.add_workspace("other").await;
        assert!(claims::list_for(&main.store, other, one, &nullifiers("n")).await.unwrap().is_empty());
        let mut tx = main.store.begin().await.unwrap();
        assert!(claims::claim_or_extend(&mut tx, other, one, at(99), &[claim("m", 1, 100)]).await.is_err());
    }

    async fn an_ended_claim_goes_to_exactly_one_of_many(main: &Workspace) {
        let scorer = add_scorer(main, "s").await;
        assert!(take(main, scorer, 0, &[claim("n", 1, 10)]).await);
        let taken = at_once(8, |number| {
            let (store, ws) = (main.store.clone(), main.id);
            async move {
                let mut tx = store.begin().await.unwrap();
                let holder = u8::try_from(number).unwrap() + 2;
                let taken = claims::claim_or_extend(&mut tx, ws, scorer, at(10), &[claim("n", holder, 50)]).await.unwrap();
                if taken {
                    tx.commit().await.unwrap();
                }
                taken
            }
        })
        .await;
        assert!(exactly_one(taken));
    }

    async fn overlapping_locks_have_one_order(main: &Workspace) {
        let names = ["a b c d", "d c b a", "c a", "b d"];
        let done = at_once(32, |number| {
            let (store, ws) = (main.store.clone(), main.id);
            async move {
                let mut tx = store.begin().await.unwrap();
                claims::lock(&mut tx, ws, &nullifiers(names[number % 4])).await.unwrap();
                tokio::task::yield_now().await;
                tx.commit().await.is_ok()
            }
        })
        .await;
        assert!(done.into_iter().all(|done| done));
    }

    async fn a_revoked_credential_gives_up_its_claims(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (one, two) = (add_scorer(main, "one").await, add_scorer(main, "two").await);
        assert!(take(main, one, 0, &[claim("n1", 1, 10), claim("n2", 1, 10)]).await);
        assert!(take(main, two, 0, &[claim("n1", 1, 10), claim("n1x", 2, 10)]).await);
        let held = claims::of_digest(store, ws, &[1; 32]).await.unwrap();
        let wanted = [(one, "n1"), (one, "n2"), (two, "n1")]
            .map(|(scorer, nullifier)| HeldClaim { scorer, claim: claim(nullifier, 1, 10) });
        assert_eq!(held, wanted);
        assert!(claims::release(store, ws, &held[0]).await.unwrap());
        assert!(!claims::release(store, ws, &held[0]).await.unwrap());
        let other = main.add_workspace("other").await;
        assert!(!claims::release(store, other, &held[2]).await.unwrap());
        assert!(claims::of_digest(store, other, &[1; 32]).await.unwrap().is_empty());
        assert_eq!(holders(main, one, "n1 n2").await, [claim("n2", 1, 10)]);
    }
}
