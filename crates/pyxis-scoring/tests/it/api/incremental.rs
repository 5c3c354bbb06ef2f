//! Incremental updates with new activity give the same as a full recomputation, bit for bit.

use std::fmt::Write;
use std::sync::Mutex;

use proptest::prelude::*;
use pyxis_core::address::EvmAddress;
use pyxis_models::activity_reader::Reader;
use pyxis_models::bundle::Bundle;
use pyxis_scoring::activity::{Rebuilt, import, rebuild, renew_claim};
use pyxis_store::activity::{self, PartyRow, WalletRow};
use pyxis_store::{Store, models};
use pyxis_testkit::engines;

use super::properties::check_cases;
use super::scene::{START, Scene, wallet};

/// Stories on each engine.
const STORIES: u32 = 24;

/// Everything that is computed from activity.
#[derive(Debug, PartialEq)]
struct Stored {
    wallets: Vec<WalletRow>,
    parties: Vec<PartyRow>,
    groups: Vec<(i64, String)>,
    mark: Option<String>,
}

async fn stored(store: &Store) -> Stored {
    let parties = activity::all_parties(store).await.unwrap();
    let addresses: Vec<EvmAddress> = parties.iter().map(|row| row.address).collect();
    let mut wallets = activity::wallets(store, &addresses).await.unwrap();
    wallets.sort_by_key(|row| row.address);
    assert_eq!(wallets.len(), activity::digests(store).await.unwrap().len());
    let groups = models::groups(store, 0, i64::MAX).await.unwrap();
    Stored { wallets, parties, groups, mark: activity::read_run_state(store).await.unwrap() }
}

async fn import_text(store: &Store, source: &str, text: String) {
    let reader = Reader::new(Box::new(std::io::Cursor::new(text.into_bytes()))).unwrap();
    import(store, source, source, reader, START, |_| ()).await.unwrap();
}

/// Models that doubt every wallet, so that each connected group is suspected.
async fn doubting(scene: &Scene) -> Bundle {
    let mut bundle = scene.state.models.current().await.unwrap().bundle.clone();
    bundle.with_context.aggregate.offset -= 9.0;
    bundle
}

async fn rebuild_incrementally(scene: &Scene) -> Rebuilt {
    rebuild(&scene.state.store, &doubting(scene).await, |_, _| ()).await.unwrap()
}

/// Recomputes everything and compares it with the stored state.
async fn assert_same(scene: &Scene) {
    let store = &scene.state.store;
    let found = stored(store).await;
    renew_claim(store, &doubting(scene).await, |_, _| ()).await.unwrap();
    assert_eq!(found, stored(store).await);
}

/// The newest moment of most stories.
const NEWEST: u64 = 1_700_090_000;

/// Initial activity: farms of seven with their own funder and sink, and eight strangers.
fn farms() -> String {
    let mut text = "chain,from,to,time\n".to_owned();
    for farm in [100, 110] {
        for member in farm..farm + 7 {
            let (funder, sink, at) = (wallet(farm + 8), wallet(farm + 9), NEWEST - 90_000 + member);
            writeln!(text, "polygon,{funder},{},{at}", wallet(member)).unwrap();
            writeln!(text, "polygon,{},{sink},{NEWEST}", wallet(member)).unwrap();
        }
    }
    for stranger in 200..208 {
        let next = wallet(200 + (stranger + 1) % 8);
        writeln!(text, "polygon,{},{next},\nbase,{},{next},", wallet(stranger), wallet(stranger)).unwrap();
    }
    text
}

/// A line of a file: farms, passers-by, and a shop that all wallets know.
fn line() -> impl Strategy<Value = String> {
    let ends = (0..6_u8, 0..2_u64, 0..7_u64, 0..7_u64, 1..12_u64, 1..12_u64).prop_map(
        |(what, farm, one, other, passer, by)| {
            let farm = 100 + farm * 10;
            match what {
                0 | 1 => (farm + 8, farm + one),
                2 => (farm + one, farm + 9),
                3 => (farm + one, farm + other),
                4 => (passer, by),
                _ => (passer, 99),
            }
        },
    );
    let moment = prop_oneof![30 => 0..3_u64, 1 => 300..310_u64];
    (ends, any::<bool>(), prop::option::of(moment)).prop_map(|((from, to), on_base, moment)| {
        let time = moment.map_or_else(String::new, |moment| (NEWEST - 90_000 + moment * 301).to_string());
        format!("{},{},{},{time}\n", if on_base { "base" } else { "polygon" }, wallet(from), wallet(to))
    })
}

/// Events in the activity.
#[derive(Clone, Debug)]
enum Step {
    /// A file is added. Its name determines its order among those of the same moment.
    Comes(u64, String),
    /// One of the files is removed.
    Goes(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let transfers = (any::<u64>(), prop::collection::vec(line(), 1..20))
        .prop_map(|(name, lines)| Step::Comes(name, format!("chain,from,to,time\n{}", lines.concat())));
    // They change what is the same for every wallet.
    let bridging = (any::<u64>(), 100..107_u64).prop_map(|(name, who)| {
        let heading = "address,first_bridge_unix,bridge_volume_usd";
        Step::Comes(name, format!("{heading}\n{},1600000000,5\n", wallet(who)))
    });
    prop_oneof![20 => transfers, 1 => bridging, 3 => any::<prop::sample::Index>().prop_map(Step::Goes)]
}

engines! {
    async fn pieces_in_any_order_give_the_same_rows_as_everything_at_once(scene: &Scene) {
        let store = &scene.state.store;
        let groups = Mutex::new(0);
        check_cases(STORIES, &prop::collection::vec(step(), 1..4), async |steps| {
            import_text(store, "8000000000000000", farms()).await;
            rebuild_incrementally(scene).await;
            let mut files = vec!["8000000000000000".to_owned()];
            for step in steps {
                match step {
                    Step::Comes(name, text) => {
                        files.push(format!("{name:016x}"));
                        import_text(store, &files[files.len() - 1], text).await;
                    }
                    Step::Goes(_) if files.is_empty() => {}
                    Step::Goes(which) => {
                        let file = files.swap_remove(which.index(files.len()));
                        assert!(activity::remove_import(store, &file).await.unwrap());
                    }
                }
                *groups.lock().unwrap() += rebuild_incrementally(scene).await.groups;
            }
            assert_same(scene).await;
            for file in files {
                activity::remove_import(store, &file).await.unwrap();
            }
            rebuild_incrementally(scene).await;
            let left = stored(store).await;
            assert_eq!((left.wallets.len(), left.parties.len(), left.groups.len()), (0, 0, 0));
        });
        assert!(*groups.lock().unwrap() > 0, "no group was ever found");
    }

    async fn a_computation_that_did_not_come_to_its_end_is_made_up_for_in_full(scene: &Scene) {
        let store = &scene.state.store;
        let mut text = "from,to\n".to_owned();
        for (from, to) in [(10, 11), (11, 12), (12, 10), (20, 21), (21, 22), (22, 20)] {
            writeln!(text, "{},{}", wallet(from), wallet(to)).unwrap();
        }
        import_text(store, "aa", text).await;
        assert_eq!(rebuild_incrementally(scene).await.computed, 6);
        assert_eq!(rebuild_incrementally(scene).await.computed, 0);
        import_text(store, "bb", format!("from,to\n{},{}\n", wallet(10), wallet(11))).await;
        assert_eq!((rebuild_incrementally(scene).await.computed, rebuild_incrementally(scene).await.wallets), (2, 6));
        activity::begin_run(store).await.unwrap();
        assert_eq!(rebuild_incrementally(scene).await.computed, 6);
        assert_same(scene).await;
    }
}
