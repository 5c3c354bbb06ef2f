//! Places of scores: reads find them at their hinted place and anywhere else.

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_store::scores::{self, NewScore};
use pyxis_store::{DatabaseUrl, OpenOptions, Store, backup};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{Workspace, add_key, add_scorer, new_score, query_strings, tamper};

const SETTLE: &str = include_str!("../../migrations/sqlite/0017_score_places.sql");

/// A mixed 20-byte address.
fn mixed(seed: u8) -> EvmAddress {
    EvmAddress(std::array::from_fn(|index| seed.wrapping_mul(2 * u8::try_from(index).unwrap() + 1)))
}

async fn put(main: &Workspace, scorer: ScorerId, address: EvmAddress, body: &str) {
    let new = NewScore { address, body: body.to_owned(), ..new_score(scorer, 1) };
    scores::put(&main.store, main.id, &new).await.unwrap();
}

async fn body_of(store: &Store, key: &str, scorer: ScorerId, address: EvmAddress) -> Option<String> {
    let found = scores::look_up(store, key, scorer, address).await.unwrap().unwrap();
    found.stored.map(|stored| stored.body)
}

engines! {
    async fn scores_of_addresses_that_end_alike_are_kept_apart(main: &Workspace) {
        let key = add_key(main).await.key_hash;
        let scorer = add_scorer(main, "s").await;
        let alike: Vec<_> = (1..=3).map(|first| {
            let mut address = mixed(7);
            address.0[0] = first;
            address
        }).collect();
        for round in ["a", "b"] {
            for (number, address) in alike.iter().enumerate() {
                put(main, scorer, *address, &format!("{number}{round}")).await;
            }
            for (number, address) in alike.iter().enumerate() {
                let found = body_of(&main.store, &key, scorer, *address).await;
                assert_eq!(found, Some(format!("{number}{round}")));
            }
        }
        assert_eq!(scores::count(&main.store, main.id, scorer).await.unwrap(), 3);
        let mut stranger = alike[0];
        stranger.0[0] = 9;
        assert_eq!(body_of(&main.store, &key, scorer, stranger).await, None);
    }
}

/// Each row: scorer, address and row id.
const ROWS: &str = "SELECT scorer_id || ' ' || hex(address) || ' ' || rowid FROM scores ORDER BY 1";

async fn rows(main: &Workspace) -> Vec<String> {
    query_strings(main, ROWS).await
}

fn expected(scores: &[(ScorerId, EvmAddress)]) -> Vec<String> {
    let row = |(scorer, address): &(ScorerId, EvmAddress)| {
        let mut place = scorer.get() & 63;
        for byte in address.0[15..].iter().rev() {
            place = place << 8 | i64::from(*byte);
        }
        format!("{scorer} {} {place}", hex::encode(&address.0).to_uppercase())
    };
    let mut rows: Vec<_> = scores.iter().map(row).collect();
    rows.sort();
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_score_lies_in_its_place_once_it_is_stored_upgraded_or_restored() {
    let main = &Workspace::start(TestDatabase::sqlite()).await;
    let (one, two) = (add_scorer(main, "one").await, add_scorer(main, "two").await);
    let all: Vec<_> = (1..=250).flat_map(|seed| [(one, mixed(seed)), (two, mixed(seed))]).collect();
    for (scorer, address) in &all {
        put(main, *scorer, *address, "{}").await;
    }
    assert_eq!(rows(main).await, expected(&all));

    let scramble = "UPDATE scores SET rowid = -rowid";
    tamper(main, scramble).await;
    assert_ne!(rows(main).await, expected(&all));
    tamper(main, SETTLE).await;
    assert_eq!(rows(main).await, expected(&all));

    tamper(main, scramble).await;
    let directory = tempfile::tempdir().unwrap();
    let (file, path) = (directory.path().join("backup.db"), directory.path().join("restored.db"));
    backup::write(&main.store, &file, None, |_| ()).await.unwrap();
    let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&path))).unwrap();
    store.migrate().await.unwrap();
    backup::restore(&store, &file, |_| ()).await.unwrap();
    assert_eq!(pyxis_testkit::sqlite::run(&path, ROWS), expected(&all));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_score_that_lies_elsewhere_is_found_and_replaced_all_the_same() {
    let main = &Workspace::start(TestDatabase::sqlite()).await;
    let key = add_key(main).await.key_hash;
    let scorer = add_scorer(main, "s").await;
    put(main, scorer, mixed(1), "old").await;
    put(main, scorer, mixed(2), "other").await;
    // The place of the first one is taken by the second.
    tamper(main, "UPDATE scores SET rowid = -rowid WHERE body = 'old'").await;
    let place = "(SELECT -rowid FROM scores WHERE body = 'old')";
    tamper(main, &format!("UPDATE scores SET rowid = {place} WHERE body = 'other'")).await;
    assert_eq!(body_of(&main.store, &key, scorer, mixed(1)).await.as_deref(), Some("old"));
    assert_eq!(body_of(&main.store, &key, scorer, mixed(2)).await.as_deref(), Some("other"));
    put(main, scorer, mixed(1), "new").await;
    assert_eq!(body_of(&main.store, &key, scorer, mixed(1)).await.as_deref(), Some("new"));
    assert_eq!(body_of(&main.store, &key, scorer, mixed(2)).await.as_deref(), Some("other"));
    tamper(main, SETTLE).await;
    assert_eq!(body_of(&main.store, &key, scorer, mixed(1)).await.as_deref(), Some("new"));
    assert_eq!(scores::count(&main.store, main.id, scorer).await.unwrap(), 2);
}
