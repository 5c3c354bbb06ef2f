//! Imports of activity, and wallet features.

use pyxis_core::address::EvmAddress;
use pyxis_store::activity::{self, Chunk, PartyRow, WalletRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at};

fn address(byte: u8) -> EvmAddress {
    EvmAddress([byte; 20])
}

fn chunk(number: i64, lines_before: i64) -> Chunk {
    let data = vec![u8::try_from(number).unwrap(); 3];
    Chunk { source: "aa".to_owned(), number, lines_before, lines: 10, accepted: 9, rejected: 1, data }
}

fn wallet(byte: u8, digest: i64) -> WalletRow {
    WalletRow { address: address(byte), digest, features: vec![byte, 1, 2] }
}

engines! {
    async fn an_import_goes_on_where_it_stopped_and_takes_each_chunk_once(main: &Workspace) {
        let store = &main.store;
        let begun = activity::begin_import(store, "aa", "a.csv", NOW).await.unwrap();
        assert_eq!((begun.lines, begun.finished_at), (0, None));
        assert!(activity::append(store, chunk(0, 0)).await.unwrap());
        assert!(!activity::append(store, chunk(0, 0)).await.unwrap(), "somebody was here before");
        let again = activity::begin_import(store, "aa", "b.csv", at(9)).await.unwrap();
        assert_eq!((again.lines, again.accepted, again.rejected, again.started_at), (10, 9, 1, NOW));
        assert!(activity::append(store, chunk(1, 10)).await.unwrap());
        assert_eq!(activity::chunks(store).await.unwrap(), [("aa".to_owned(), 0), ("aa".to_owned(), 1)]);
        assert_eq!(activity::chunk(store, "aa", 1).await.unwrap(), Some(vec![1; 3]));
        assert_eq!(activity::chunk(store, "aa", 2).await.unwrap(), None);
        assert!(activity::finish_import(store, "aa", at(3)).await.unwrap());
        assert!(!activity::finish_import(store, "aa", at(4)).await.unwrap());
        assert!(!activity::append(store, chunk(2, 20)).await.unwrap(), "a finished file has no more");
        assert_eq!(activity::list_imports(store).await.unwrap()[0].finished_at, Some(at(3)));
    }

    async fn a_forgotten_import_takes_its_transfers_along(main: &Workspace) {
        let store = &main.store;
        activity::begin_import(store, "aa", "a.csv", NOW).await.unwrap();
        activity::append(store, chunk(0, 0)).await.unwrap();
        assert!(activity::remove_import(store, "aa").await.unwrap());
        assert!(activity::chunks(store).await.unwrap().is_empty());
        assert!(!activity::remove_import(store, "aa").await.unwrap());
    }

    async fn wallets_are_put_in_place_and_read_by_one_and_by_many(main: &Workspace) {
        let store = &main.store;
        activity::put_wallets(store, vec![wallet(1, 7), wallet(2, 8)]).await.unwrap();
        activity::put_wallets(store, vec![WalletRow { features: vec![9], ..wallet(2, 9) }]).await.unwrap();
        assert_eq!(activity::digests(store).await.unwrap(), [(address(1), 7), (address(2), 9)]);
        assert_eq!(activity::wallet(store, address(2)).await.unwrap(), Some(vec![9]));
        assert_eq!(activity::wallet(store, address(3)).await.unwrap(), None);
        let many = activity::wallets(store, &[address(1), address(3)]).await.unwrap();
        assert_eq!(many, [wallet(1, 7)]);
        assert_eq!(activity::remove_wallets(store, &[address(1)]).await.unwrap(), 1);
        assert_eq!(activity::digests(store).await.unwrap().len(), 1);
    }

    async fn how_popular_addresses_are_is_put_in_place_and_read_by_many(main: &Workspace) {
        let store = &main.store;
        let row =
            |of, parties| PartyRow { address: address(of), parties, own: -parties, seen: i64::MIN + parties };
        activity::put_parties(store, &[row(1, 7), row(2, 8)]).await.unwrap();
        activity::put_parties(store, &[row(2, 9), row(3, 1)]).await.unwrap();
        let all = [row(1, 7), row(2, 9), row(3, 1)];
        assert_eq!(activity::all_parties(store).await.unwrap(), all);
        let some = activity::parties(store, &[address(2), address(4)]).await.unwrap();
        assert_eq!(some, [(address(2), 9)]);
        assert_eq!(activity::remove_parties(store, &[address(1), address(4)]).await.unwrap(), 1);
        assert_eq!(activity::all_parties(store).await.unwrap(), all[1..]);
    }

    async fn a_computation_that_was_overtaken_writes_and_marks_nothing_more(main: &Workspace) {
        let store = &main.store;
        assert_eq!(activity::read_run_state(store).await.unwrap(), None);
        let first = activity::begin_run(store).await.unwrap();
        let mut tx = store.begin().await.unwrap();
        assert!(activity::end_run(&mut tx, first, "one", -7).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(activity::read_run_state(store).await.unwrap().as_deref(), Some("one"));
        let (slow, next) = (activity::begin_run(store).await.unwrap(), activity::begin_run(store).await.unwrap());
        assert_eq!(activity::read_run_state(store).await.unwrap(), None, "under way, or never ended");
        assert_eq!((first.global_fingerprint, slow.global_fingerprint, next.global_fingerprint), (0, -7, 0), "known of one that came to its end");
        let mut tx = store.begin().await.unwrap();
        assert!(!activity::hold_run(&mut tx, slow).await.unwrap());
        assert!(activity::hold_run(&mut tx, next).await.unwrap());
        assert!(!activity::end_run(&mut tx, slow, "old", 1).await.unwrap());
        assert!(activity::end_run(&mut tx, next, "two", 9).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(activity::read_run_state(store).await.unwrap().as_deref(), Some("two"));
    }
}
