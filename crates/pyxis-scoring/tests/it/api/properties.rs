//! Properties that hold for any Stamps (issue: Scores), through the API.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_testkit::engines;
use pyxis_testkit::long_form::rounds;
use serde_json::Value;

use super::scene::{Scene, wallet};

/// Cases of each property on each engine, in the short and the long form.
const CASES: [usize; 2] = [32, 256];
const WEIGHTS: &[(&str, &str)] =
    &[("A", "1.5"), ("B", "0.00001"), ("C", "19.9"), ("D", "0.1"), ("E", "3"), ("F", "0")];

/// A Stamp: its name, its nullifier (shared or unique), and its last day.
#[derive(Clone, Debug)]
struct StampSpec {
    name: &'static str,
    mark: Option<u8>,
    until: i64,
}

fn wanted() -> impl Strategy<Value = StampSpec> {
    let name = prop::sample::select(vec!["A", "B", "C", "D", "E", "F", "Weightless"]);
    (name, prop::option::of(0..4_u8), 1..30_i64).prop_map(|(name, mark, until)| StampSpec {
        name,
        mark,
        until,
    })
}

/// Each name once, in any order.
fn wallets_stamps() -> impl Strategy<Value = Vec<StampSpec>> {
    prop::collection::vec(wanted(), 0..8).prop_map(|mut all| {
        all.sort_by_key(|wanted| wanted.name);
        all.dedup_by_key(|wanted| wanted.name);
        all
    })
}

/// Numbers of wallets that no earlier case has used.
static NEXT: AtomicU64 = AtomicU64::new(1000);

fn fresh() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl StampSpec {
    /// The credential for a wallet. Nullifiers are shared within a case, or unique to the wallet.
    fn credential(&self, scene: &Scene, case: u64, number: u64) -> String {
        let mark = match self.mark {
            Some(mark) => format!("shared:{case}:{mark}"),
            None => format!("own:{number}:{}", self.name),
        };
        scene.credential(wallet(number), self.name, &mark, self.until)
    }
}

fn decimal(value: &Value) -> Decimal {
    value.as_str().unwrap().parse().unwrap()
}

fn sum(record: &Value) -> Decimal {
    record["stamps"].as_object().unwrap().values().map(|stamp| decimal(&stamp["score"])).sum()
}

fn check<S: Strategy>(strategy: &S, property: impl AsyncFn(S::Value)) {
    check_cases(cases(), strategy, property);
}

fn cases() -> u32 {
    let [short, long] = CASES;
    u32::try_from(rounds(short, long)).unwrap()
}

/// Runs a property with this many inputs, within the runtime of the test.
pub(super) fn check_cases<S: Strategy>(cases: u32, strategy: &S, property: impl AsyncFn(S::Value)) {
    let handle = tokio::runtime::Handle::current();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let run = |input| {
        tokio::task::block_in_place(|| handle.block_on(property(input)));
        Ok(())
    };
    TestRunner::new(config).run(strategy, run).unwrap();
}

async fn scorer(scene: &Scene) -> ScorerId {
    scene.scorer("20", WEIGHTS).await
}

engines! {
    async fn a_score_is_the_sum_of_what_its_stamps_contribute(scene: &Scene) {
        let scorer = scorer(scene).await;
        check(&prop::collection::vec(wallets_stamps(), 1..4), async |wallets| {
            let case = fresh();
            for stamps in wallets {
                let number = fresh();
                let credentials: Vec<_> =
                    stamps.iter().map(|one| one.credential(scene, case, number)).collect();
                scene.bring(wallet(number), &credentials).await;
                let record = scene.score(scorer, wallet(number)).await;
                assert_eq!(decimal(&record["score"]), sum(&record), "{record}");
                assert_eq!(record["passing_score"], sum(&record) >= decimal(&record["threshold"]));
                assert_eq!(record["stamps"].as_object().unwrap().len(), stamps.len());
            }
        });
    }

    async fn adding_a_stamp_never_lowers_a_score(scene: &Scene) {
        let scorer = scorer(scene).await;
        check(&(wallets_stamps(), wallets_stamps()), async |(theirs, ours)| {
            let (case, them, us) = (fresh(), fresh(), fresh());
            let credentials: Vec<_> = theirs.iter().map(|one| one.credential(scene, case, them)).collect();
            scene.bring(wallet(them), &credentials).await;
            scene.score(scorer, wallet(them)).await;
            let mut before = Decimal::ZERO;
            for one in &ours {
                scene.bring(wallet(us), &[one.credential(scene, case, us)]).await;
                let after = decimal(&scene.score(scorer, wallet(us)).await["score"]);
                assert!(after >= before, "{one:?}: {before} to {after}");
                before = after;
            }
        });
    }

    async fn the_order_in_which_unrelated_stamps_come_never_matters(scene: &Scene) {
        let scorer = scorer(scene).await;
        let both_ways =
            wallets_stamps().prop_flat_map(|stamps| (Just(stamps.clone()), Just(stamps).prop_shuffle()));
        check_cases(cases() / 2, &both_ways, async |(one_way, other_way)| {
            let mut records = Vec::new();
            for (index, stamps) in [one_way, other_way].into_iter().enumerate() {
                let number = fresh();
                let unrelated = |one: &StampSpec| StampSpec { mark: None, ..one.clone() };
                for one in &stamps {
                    scene.bring(wallet(number), &[unrelated(one).credential(scene, 0, number)]).await;
                    if index == 0 {
                        scene.score(scorer, wallet(number)).await;
                    }
                }
                let mut record = scene.score(scorer, wallet(number)).await;
                record["address"] = Value::Null;
                records.push(record);
            }
            assert_eq!(records[0], records[1]);
        });
    }

    async fn whose_stamps_came_first_never_matters_before_somebody_is_scored(scene: &Scene) {
        let scorer = scorer(scene).await;
        let both_ways = prop::array::uniform3(wallets_stamps()).prop_flat_map(|wallets| {
            let each = |(whose, stamps): (usize, Vec<StampSpec>)| stamps.into_iter().map(move |one| (whose, one));
            let arrivals: Vec<(usize, StampSpec)> = wallets.into_iter().enumerate().flat_map(each).collect();
            (Just(arrivals.clone()), Just(arrivals).prop_shuffle())
        });
        check(&both_ways, async |(one_way, other_way)| {
            let mut records = Vec::new();
            for arrivals in [one_way, other_way] {
                let (case, numbers) = (fresh(), [fresh(), fresh(), fresh()]);
                for (whose, one) in &arrivals {
                    let number = numbers[*whose];
                    scene.bring(wallet(number), &[one.credential(scene, case, number)]).await;
                }
                for number in numbers {
                    let mut record = scene.score(scorer, wallet(number)).await;
                    record["address"] = Value::Null;
                    records.push(record);
                }
            }
            assert_eq!(records[..3], records[3..]);
        });
    }
}
