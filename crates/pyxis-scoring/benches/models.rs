//! Wallet scores from the local store on one core: uncached (read and compute) and from memory. `cargo bench -p
//! pyxis-scoring --bench models`

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::fmt::Write;
use std::hint::black_box;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_models::activity_reader::Reader;
use pyxis_models::features::Features;
use pyxis_scoring::activity::{import, rebuild};
use pyxis_scoring::models::{ActiveModels, Models};
use pyxis_store::{DatabaseUrl, OpenOptions, Store, activity};
use tokio::runtime::Runtime;

const WALLETS: u32 = 5_000;

fn main() {
    divan::main();
}

struct Fixture {
    runtime: Runtime,
    store: Store,
    models: Models,
    held: std::sync::Arc<ActiveModels>,
    _directory: tempfile::TempDir,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::sqlite(directory.path().join("px.db"));
    let (store, models, held) = runtime.block_on(async {
        let store = Store::open(&OpenOptions::new(url)).unwrap();
        store.migrate().await.unwrap();
        let models = Models::new(store.clone());
        let held = models.current().await.unwrap();
        let reader = Reader::new(Box::new(std::io::Cursor::new(transfers().into_bytes()))).unwrap();
        import(&store, "aa", "a.csv", reader, UnixMillis(0), |_| ()).await.unwrap();
        rebuild(&store, &held.bundle, |_, _| ()).await.unwrap();
        (store, models, held)
    });
    Fixture { runtime, store, models, held, _directory: directory }
});

fn address(number: u32) -> EvmAddress {
    let mut bytes = [7; 20];
    bytes[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    EvmAddress(bytes)
}

/// Twelve transfers per wallet on two chains.
fn transfers() -> String {
    let mut text = String::from("chain,kind,from,to\n");
    for number in 0..WALLETS {
        for step in 1..=6 {
            let other = address((number * 7 + step * 131) % WALLETS);
            for chain in ["ethereum", "polygon"] {
                writeln!(text, "{chain},erc20,{},{other}", address(number)).unwrap();
            }
        }
    }
    text
}

fn each(bencher: Bencher, score: impl Fn(&Fixture, EvmAddress)) {
    let fixture = &*FIXTURE;
    bencher.counter(ItemsCount::new(WALLETS)).bench_local(|| {
        for number in 0..WALLETS {
            score(fixture, address(number));
        }
    });
}

/// One database read, features, two models and the aggregate.
#[divan::bench]
fn cold(bencher: Bencher) {
    each(bencher, |fixture, address| {
        let bytes = fixture.runtime.block_on(activity::wallet(&fixture.store, address)).unwrap().unwrap();
        black_box(fixture.held.bundle.scores(&Features::from_bytes(&bytes).unwrap()).unwrap());
    });
}

/// One database read; the scores are cached.
#[divan::bench]
fn warm(bencher: Bencher) {
    each(bencher, |fixture, address| {
        let bytes = fixture.runtime.block_on(activity::wallet(&fixture.store, address)).unwrap().unwrap();
        black_box(fixture.models.scores(&fixture.held, address, &bytes).unwrap());
    });
}
