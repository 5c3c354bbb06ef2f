//! Sets of nullifiers: nullifiers named together are one account, which one address holds.

use pyxis_core::score::Claim;
use pyxis_core::stamp::Nullifier;
use pyxis_store::claims;
use pyxis_store::nullifier_sets::{self, members};
use pyxis_store::stamps::NullifierHash;
use pyxis_testkit::engines;

use crate::support::{Workspace, add_scorer, address, at, at_once, nullifiers};

/// Ties the space-separated nullifiers of each list.
async fn tie(main: &Workspace, lists: &[&str]) {
    let lists: Vec<Vec<Nullifier>> = lists.iter().map(|list| nullifiers(list)).collect();
    let lists: Vec<&[Nullifier]> = lists.iter().map(Vec::as_slice).collect();
    loop {
        let mut tx = main.store.begin().await.unwrap();
        let all = lists.iter().copied().flatten().collect();
        let Some(mut sets) = nullifier_sets::lock(&mut tx, main.id, all).await.unwrap() else { continue };
        assert!(nullifier_sets::tie(&mut tx, main.id, &mut sets, &lists, at(5)).await.unwrap());
        for list in &lists {
            assert!(list.iter().all(|one| sets.name(one) == sets.name(&list[0])));
        }
        return tx.commit().await.unwrap();
    }
}

/// Name of each nullifier's set.
async fn names(main: &Workspace, of: &str) -> Vec<String> {
    let listed = nullifiers(of);
    let sets = nullifier_sets::read(&main.store, main.id, listed.iter().collect()).await.unwrap();
    listed.iter().map(|one| sets.name(one).to_string()).collect()
}

fn claim(nullifier: &str, holder: u8, since: i64, until: i64) -> Claim {
    Claim {
        nullifier: nullifier.parse().unwrap(),
        address: address(holder),
        provider: Some("A".parse().unwrap()),
        digest: [holder; 32],
        claimed_at: Some(at(since)),
        expires_at: at(until),
    }
}

engines! {
    async fn a_nullifier_is_a_set_of_its_own_until_it_is_tied(main: &Workspace) {
        assert_eq!(names(main, "a b").await, ["a", "b"]);
        tie(main, &["a", "b"]).await;
        assert_eq!(names(main, "a b").await, ["a", "b"]);
        tie(main, &["b a a"]).await;
        assert_eq!(names(main, "a b c").await, ["a", "a", "c"]);
    }

    async fn ties_are_transitive_in_every_order(main: &Workspace) {
        tie(main, &["a1 a2", "a2 a3", "b1 b2"]).await;
        assert_eq!(names(main, "a1 a2 a3").await, ["a1", "a1", "a1"]);
        tie(main, &["b2 b3"]).await;
        tie(main, &["a3 b1"]).await;
        let joined = names(main, "a1 a2 a3 b1 b2 b3").await;
        assert!(joined.iter().all(|name| *name == joined[0]), "{joined:?}");
        let mut found = members(&main.store, main.id, &nullifiers("b3")).await.unwrap();
        let mut wanted = NullifierHash::hash_all(main.id, &nullifiers("a1 a2 a3 b1 b2 b3"));
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }

    async fn the_larger_set_keeps_its_name(main: &Workspace) {
        tie(main, &["m1 m2"]).await;
        tie(main, &["x1 x2 x3"]).await;
        tie(main, &["a m1 x3"]).await;
        assert_eq!(names(main, "a m1 m2 x1 x2 x3").await, ["x1"; 6]);
    }

    async fn sets_of_a_workspace_are_its_own(main: &Workspace) {
        tie(main, &["a b"]).await;
        let other = main.add_workspace("other").await;
        let listed = nullifiers("a b");
        let sets = nullifier_sets::read(&main.store, other, listed.iter().collect()).await.unwrap();
        assert_eq!(sets.name(&listed[1]), &listed[1]);
        assert_eq!(members(&main.store, other, &listed[1..]).await.unwrap().len(), 1);
    }

    async fn a_tie_leaves_one_claim_in_each_scorer(main: &Workspace) {
        let (one, two) = (add_scorer(main, "one").await, add_scorer(main, "two").await);
        let mut tx = main.store.begin().await.unwrap();
        for (scorer, all) in [
            (one, vec![claim("a", 1, 3, 90), claim("b", 2, 1, 10), claim("c", 3, 2, 50)]),
            (two, vec![claim("b", 4, 4, 20), claim("c", 5, 0, 5)]),
        ] {
            assert!(claims::claim_or_extend(&mut tx, main.id, scorer, at(0), &all).await.unwrap());
        }
        tx.commit().await.unwrap();
        tie(main, &["a b", "b c"]).await;
        let held = async |scorer| claims::list_for(&main.store, main.id, scorer, &nullifiers("a b c")).await.unwrap();
        assert_eq!(held(one).await, [claim("a", 2, 1, 10)], "the oldest keeps");
        assert_eq!(held(two).await, [claim("a", 4, 4, 20)], "the older one has ended");
    }

    async fn sets_that_are_tied_at_once_become_one(main: &Workspace) {
        let done = at_once(12, |number| {
            let (store, ws) = (main.store.clone(), main.id);
            async move {
                let list = nullifiers(&format!("n{} n{}", number, number + 1));
                loop {
                    let mut tx = store.begin().await.unwrap();
                    let locked = nullifier_sets::lock(&mut tx, ws, list.iter().collect()).await.unwrap();
                    let Some(mut sets) = locked else { continue };
                    assert!(nullifier_sets::tie(&mut tx, ws, &mut sets, &[&list], at(5)).await.unwrap());
                    return tx.commit().await.is_ok();
                }
            }
        })
        .await;
        assert!(done.into_iter().all(|done| done));
        let all = names(main, "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12").await;
        assert!(all.iter().all(|name| *name == all[0]), "{all:?}");
    }
}
