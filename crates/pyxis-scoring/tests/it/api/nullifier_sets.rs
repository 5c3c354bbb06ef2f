//! A set of nullifiers is one account (`docs/reference/behavior/scoring.md#deduplication`): the holder of one
//! nullifier holds all.

use std::collections::HashMap;

use proptest::prelude::*;
use pyxis_core::id::ScorerId;
use pyxis_scoring::credential::parse_and_verify;
use pyxis_scoring::engine::{Batch, ingest_many};
use pyxis_testkit::engines;
use serde_json::Value;

use super::properties::check_cases;
use super::scene::{Scene, day, timestamp, wallet};

/// Cases of the property on each engine.
const CASES: u32 = 24;

async fn scorer(scene: &Scene) -> ScorerId {
    scene.scorer("20", &[("A", "1"), ("B", "2"), ("C", "4")]).await
}

/// Adds credentials as an import does.
async fn import(scene: &Scene, credentials: &[(u64, String)]) {
    let now = scene.state.now();
    let verified = credentials
        .iter()
        .map(|(number, text)| parse_and_verify(text, wallet(*number), now, |_| true).unwrap())
        .collect();
    let batch = Batch::prepare(scene.workspace, verified, now);
    ingest_many(&scene.state.db, batch, now).await.unwrap().1.await.unwrap();
}

/// True if the Stamp counts; otherwise its dedup end.
async fn counts(scene: &Scene, scorer: ScorerId, number: u64, name: &str) -> Result<(), String> {
    let record = scene.score(scorer, wallet(number)).await;
    let stamp = &record["stamps"][name];
    match stamp["dedup"].as_bool() {
        Some(false) => Ok(()),
        Some(true) => {
            assert_eq!(stamp["score"], "0.00000");
            Err(stamp["expiration_date"].as_str().unwrap().to_owned())
        }
        None => Err("none".to_owned()),
    }
}

fn until(number: i64) -> Result<(), String> {
    Err(timestamp(day(number)))
}

engines! {
    async fn other_nullifiers_of_a_clashing_credential_are_the_holders(scene: &Scene) {
        let scorer = scorer(scene).await;
        for (number, marks) in [(1, "v0:x"), (2, "v0:x v1:x"), (4, "v1:x")] {
            scene.verify(wallet(number), "A", marks, 30).await;
            let expected = if number == 1 { Ok(()) } else { until(30) };
            assert_eq!(counts(scene, scorer, number, "A").await, expected, "wallet {number}");
        }
        // Another name changes nothing: the account is the same.
        scene.verify(wallet(5), "B", "v1:x", 40).await;
        assert_eq!(counts(scene, scorer, 5, "B").await, until(30));
    }

    async fn a_tie_that_comes_last_leaves_the_account_to_who_held_it_first(scene: &Scene) {
        for order in [[1, 2], [2, 1]] {
            let scorer = scorer(scene).await;
            let case = scorer.get();
            let (v0, v1) = (format!("v0:{case}"), format!("v1:{case}"));
            for number in order {
                let marks = if number == 1 { &v0 } else { &v1 };
                scene.verify(wallet(10 * u64::try_from(case).unwrap() + number), "A", marks, 30).await;
                scene.clock.advance(std::time::Duration::from_secs(1));
                let number = 10 * u64::try_from(case).unwrap() + number;
                assert_eq!(counts(scene, scorer, number, "A").await, Ok(()));
            }
            let base = 10 * u64::try_from(case).unwrap();
            // The wallet that ties them is never scored.
            scene.verify(wallet(base + 3), "A", &format!("{v0} {v1}"), 40).await;
            assert_eq!(counts(scene, scorer, base + order[0], "A").await, Ok(()));
            assert_eq!(counts(scene, scorer, base + order[1], "A").await, until(30));
        }
    }

    async fn an_import_ties_as_a_single_credential_does(scene: &Scene) {
        let scorer = scorer(scene).await;
        for (number, marks) in [(1, "v0:x"), (2, "v1:x")] {
            scene.verify(wallet(number), "A", marks, 30).await;
            assert_eq!(counts(scene, scorer, number, "A").await, Ok(()));
            scene.clock.advance(std::time::Duration::from_secs(1));
        }
        // A new wallet and a known one.
        let text = scene.credential(wallet(3), "A", "v0:x v1:x", 40);
        import(scene, &[(3, text)]).await;
        assert_eq!(counts(scene, scorer, 1, "A").await, Ok(()));
        assert_eq!(counts(scene, scorer, 2, "A").await, until(30));
        let text = scene.credential(wallet(3), "B", "v1:x v2:x", 40);
        import(scene, &[(3, text)]).await;
        scene.verify(wallet(4), "A", "v2:x", 50).await;
        assert_eq!(counts(scene, scorer, 4, "A").await, until(30));
    }

    async fn a_credential_joins_two_sets_and_in_each_scorer_the_first_keeps(scene: &Scene) {
        let (one, two) = (scorer(scene).await, scorer(scene).await);
        scene.verify(wallet(1), "A", "a1 a2", 30).await;
        scene.verify(wallet(2), "A", "b1 b2", 40).await;
        for (scorer, first, second) in [(one, 1, 2), (two, 2, 1)] {
            assert_eq!(counts(scene, scorer, first, "A").await, Ok(()));
            scene.clock.advance(std::time::Duration::from_secs(1));
            assert_eq!(counts(scene, scorer, second, "A").await, Ok(()));
        }
        scene.verify(wallet(3), "A", "a2 b1", 50).await;
        assert_eq!(counts(scene, one, 1, "A").await, Ok(()));
        assert_eq!(counts(scene, one, 2, "A").await, until(30));
        assert_eq!(counts(scene, two, 2, "A").await, Ok(()));
        assert_eq!(counts(scene, two, 1, "A").await, until(40));
        scene.verify(wallet(4), "B", "b2", 50).await;
        assert_eq!(counts(scene, one, 4, "B").await, until(30));
        // When the holder's claim ends, one of the others gets the whole account.
        scene.on_day(30);
        assert_eq!(counts(scene, one, 2, "A").await, Ok(()));
        assert_eq!(counts(scene, one, 3, "A").await, until(40));
        assert_eq!(counts(scene, one, 4, "B").await, until(40));
    }

    async fn a_set_outlives_the_credential_that_tied_it(scene: &Scene) {
        let scorer = scorer(scene).await;
        // It expires, is deleted by its holder, replaced with fewer nullifiers, or revoked by its issuer.
        for way in 0..4 {
            let base = 100 + 10 * way;
            let (v0, v1) = (format!("v0:{way}"), format!("v1:{way}"));
            let tying = scene.verify(wallet(base), "A", &format!("{v0} {v1}"), 5).await;
            match way {
                0 => {}
                1 => assert_eq!(scene.delete(wallet(base), "A").await.text, r#"{"removed":1}"#),
                2 => {
                    scene.clock.advance(std::time::Duration::from_secs(1));
                    scene.verify(wallet(base), "A", &v0, 5).await;
                }
                _ => assert!(scene.revoke(wallet(base), &tying).await.removed),
            }
        }
        scene.on_day(6);
        for way in 0..4 {
            let base = 100 + 10 * way;
            scene.verify(wallet(base + 1), "A", &format!("v0:{way}"), 30).await;
            scene.verify(wallet(base + 2), "A", &format!("v1:{way}"), 40).await;
            assert_eq!(counts(scene, scorer, base + 1, "A").await, Ok(()));
            assert_eq!(counts(scene, scorer, base + 2, "A").await, until(30), "way {way}");
        }
        // And the whole set goes to the next.
        scene.on_day(30);
        for way in 0..4 {
            let base = 100 + 10 * way;
            assert_eq!(counts(scene, scorer, base + 2, "A").await, Ok(()));
            scene.verify(wallet(base + 1), "A", &format!("v0:{way}"), 90).await;
            assert_eq!(counts(scene, scorer, base + 1, "A").await, until(40));
        }
    }

    async fn a_revoked_holder_frees_the_whole_set(scene: &Scene) {
        let scorer = scorer(scene).await;
        let held = scene.verify(wallet(1), "A", "v0:x", 30).await;
        assert_eq!(counts(scene, scorer, 1, "A").await, Ok(()));
        scene.verify(wallet(2), "A", "v0:x v1:x", 40).await;
        scene.verify(wallet(3), "A", "v1:x", 50).await;
        for number in [2, 3] {
            assert_eq!(counts(scene, scorer, number, "A").await, until(30));
        }
        assert!(scene.revoke(wallet(1), &held).await.removed);
        assert_eq!(counts(scene, scorer, 3, "A").await, Ok(()));
        assert_eq!(counts(scene, scorer, 2, "A").await, until(50));
        // A claim that a deleted Stamp left behind ends with its own credential, under whatever name it is held.
        let third = scene.verify(wallet(4), "A", "w0:x", 30).await;
        assert_eq!(counts(scene, scorer, 4, "A").await, Ok(()));
        scene.delete(wallet(4), "A").await;
        scene.verify(wallet(5), "A", "a0:x w0:x", 40).await;
        scene.verify(wallet(6), "A", "a0:x", 50).await;
        assert_eq!(counts(scene, scorer, 6, "A").await, until(30));
        assert!(scene.revoke(wallet(4), &third).await.new);
        assert_eq!(counts(scene, scorer, 6, "A").await, Ok(()));
    }

    async fn a_tie_between_two_stamps_of_one_wallet_is_no_clash(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "v0:x", 30).await;
        scene.verify(wallet(1), "B", "v1:x", 20).await;
        assert_eq!(counts(scene, scorer, 1, "A").await, Ok(()));
        scene.verify(wallet(2), "C", "v0:x v1:x", 90).await;
        for name in ["A", "B"] {
            assert_eq!(counts(scene, scorer, 1, name).await, Ok(()));
        }
        assert_eq!(counts(scene, scorer, 2, "C").await, until(30));
    }

    async fn a_score_does_not_cost_more_with_every_nullifier_of_its_set(scene: &Scene) {
        let scorer = scorer(scene).await;
        scene.verify(wallet(1), "A", "n:0", 90).await;
        assert_eq!(counts(scene, scorer, 1, "A").await, Ok(()));
        let link = |number: u64| {
            let marks = format!("n:{} n:{}", number - 1, number);
            (1000 + number, scene.credential(wallet(1000 + number), "A", &marks, 80))
        };
        let chain: Vec<_> = (1..=200).map(link).collect();
        import(scene, &chain).await;
        assert_eq!(counts(scene, scorer, 1200, "A").await, until(90));
        assert_eq!(counts(scene, scorer, 1, "A").await, Ok(()));
        // One claim for the whole account.
        assert_eq!(scene.count("claims").await, 1);
        assert_eq!(scene.count("nullifier_sets").await, 1);
        assert_eq!(scene.count("tied_nullifiers").await, 201);
    }

    async fn one_account_is_never_credited_to_two_wallets_at_once(scene: &Scene) {
        check_cases(CASES, &prop::collection::vec(step(), 1..25), async |steps| {
            let mut life = Life::new(scene).await;
            for step in &steps {
                life.take(step).await;
                life.check(&steps).await;
            }
        });
    }
}

/// An event.
#[derive(Clone, Debug)]
enum Step {
    /// A wallet gets a credential, directly or with an import.
    Bring { wallet: u64, name: &'static str, marks: Vec<u8>, days: i64, import: bool },
    /// A wallet is scored.
    Score(u64, usize),
    /// A holder deletes a Stamp.
    Delete(u64, &'static str),
    /// An issuer revokes one of the credentials.
    Revoke(usize),
    /// Time passes.
    Days(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop::sample::select(vec!["A", "B", "C"]);
    let marks = prop::collection::btree_set(0..6_u8, 1..4).prop_map(|marks| marks.into_iter().collect());
    let bring = (0..5_u64, name(), marks, 1..12_i64, any::<bool>())
        .prop_map(|(wallet, name, marks, days, import)| Step::Bring { wallet, name, marks, days, import });
    prop_oneof![
        8 => bring,
        4 => (0..5_u64, 0..2_usize).prop_map(|(wallet, scorer)| Step::Score(wallet, scorer)),
        2 => (0..5_u64, name()).prop_map(|(wallet, name)| Step::Delete(wallet, name)),
        2 => any::<usize>().prop_map(Step::Revoke),
        2 => (1..4_i64).prop_map(Step::Days),
    ]
}

/// A few wallets in two scorers of a case.
struct Life<'w> {
    scene: &'w Scene,
    scorers: [ScorerId; 2],
    case: u64,
    day: i64,
    /// The account of each nullifier.
    accounts: Vec<u8>,
    issued: Vec<(u64, String)>,
    /// Wallets that each scorer scored.
    scored: [Vec<u64>; 2],
    /// The nullifiers of the last credential of each wallet and name.
    marks: HashMap<(u64, &'static str), Vec<u8>>,
}

impl<'w> Life<'w> {
    async fn new(scene: &'w Scene) -> Self {
        let scorers = [scorer(scene).await, scorer(scene).await];
        let case = u64::try_from(scorers[0].get()).unwrap();
        let day = (scene.state.now().0 - day(0).0) / 86_400_000 + 1;
        scene.on_day(day);
        let (accounts, scored, marks) = ((0..6).collect(), [Vec::new(), Vec::new()], HashMap::new());
        Self { scene, scorers, case, day, accounts, issued: Vec::new(), scored, marks }
    }

    fn number(&self, wallet: u64) -> u64 {
        self.case * 100 + wallet
    }

    async fn take(&mut self, step: &Step) {
        // No two credentials of a wallet are issued at the same moment.
        self.scene.clock.advance(std::time::Duration::from_millis(10));
        match step {
            Step::Bring { wallet: which, name, marks, days, import: many } => {
                let number = self.number(*which);
                let listed: Vec<String> = marks.iter().map(|mark| format!("{}:{mark}", self.case)).collect();
                let (now, until) = (self.scene.state.now(), day(self.day + days));
                let text = self.scene.credential_from(wallet(number), name, &listed.join(" "), now, until);
                self.issued.push((number, text.clone()));
                if *many {
                    import(self.scene, &[(number, text)]).await;
                } else {
                    self.scene.bring(wallet(number), &[text]).await;
                }
                self.marks.insert((*which, *name), marks.clone());
                let joined = self.accounts[usize::from(marks[0])];
                for mark in marks {
                    let account = self.accounts[usize::from(*mark)];
                    self.accounts.iter_mut().filter(|one| **one == account).for_each(|one| *one = joined);
                }
            }
            Step::Score(which, scorer) => {
                if !self.scored[*scorer].contains(which) {
                    self.scored[*scorer].push(*which);
                }
            }
            Step::Delete(which, name) => {
                self.scene.delete(wallet(self.number(*which)), name).await;
            }
            Step::Revoke(index) if !self.issued.is_empty() => {
                let (number, text) = &self.issued[index % self.issued.len()];
                self.scene.revoke(wallet(*number), text).await;
            }
            Step::Revoke(_) => {}
            Step::Days(days) => {
                self.day += days;
                self.scene.on_day(self.day);
            }
        }
    }

    /// In each scorer, no account counts for two wallets.
    async fn check(&self, steps: &[Step]) {
        for (scorer, scored) in self.scorers.iter().zip(&self.scored) {
            let mut holders: HashMap<u8, u64> = HashMap::new();
            for which in scored {
                let record = self.scene.score(*scorer, wallet(self.number(*which))).await;
                let credited = |(_, stamp): &(&String, &Value)| stamp["dedup"] == false;
                for (name, _) in record["stamps"].as_object().unwrap().iter().filter(credited) {
                    let key = self.marks.keys().find(|(wallet, key)| wallet == which && key == name);
                    for mark in &self.marks[key.unwrap()] {
                        let account = self.accounts[usize::from(*mark)];
                        let holder = *holders.entry(account).or_insert(*which);
                        assert_eq!(holder, *which, "account {account} counts twice: {steps:?}");
                    }
                }
            }
        }
    }
}
