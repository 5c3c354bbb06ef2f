//! Addresses, Stamps and revocations.

use pyxis_core::address::EvmAddress;
use pyxis_store::revocations::{self, RevocationRow};
use pyxis_store::stamps::{Cursor, NewStamp, NullifierHash, exists_beyond, page};
use pyxis_store::{Engine, Page, addresses, stamps};
use pyxis_testkit::engines;

use crate::support::{
    NOW, Workspace, add_stamp, address, at, at_once, exactly_one, new_stamp, nullifiers, tamper,
};

/// Numbers of the Stamps on a page at `NOW`.
async fn numbers(main: &Workspace, cursor: Cursor, limit: u32) -> Vec<i64> {
    let items = page(&main.store, main.id, address(1), NOW, cursor, limit).await.unwrap();
    items.into_iter().map(|item| item.id).collect()
}

async fn others(main: &Workspace, number: u8, with: &str) -> Vec<EvmAddress> {
    let hashes = NullifierHash::hash_all(main.id, &nullifiers(with));
    stamps::others_with_nullifiers(&main.store, main.id, Some(address(number)), &hashes).await.unwrap()
}

fn revocation(digest: [u8; 32], millis: i64) -> RevocationRow {
    RevocationRow { digest, revoked_at: at(millis), revoked_by: "ann".to_owned(), reason: None }
}

engines! {
    async fn an_address_is_known_once_it_had_a_stamp(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let mut tx = store.begin().await.unwrap();
        assert!(!addresses::lock(&mut tx, ws, address(1)).await.unwrap());
        assert!(!addresses::is_known(store, ws, address(1)).await.unwrap());
        addresses::ensure(&mut tx, ws, address(1), NOW).await.unwrap();
        addresses::ensure(&mut tx, ws, address(1), at(1)).await.unwrap();
        assert!(addresses::lock(&mut tx, ws, address(1)).await.unwrap());
        tx.commit().await.unwrap();
        let mut tx = store.begin().await.unwrap();
        for some in [&[address(2), address(1)][..], &[]] {
            let known: Vec<_> = some.iter().copied().filter(|one| *one == address(1)).collect();
            assert_eq!(addresses::lock_known(&mut tx, ws, some).await.unwrap(), known);
        }
        drop(tx);
        let known = addresses::filter_known(store, ws, &[address(2), address(1)]).await.unwrap();
        assert_eq!(known, [address(1)]);
        let other = main.add_workspace("other").await;
        assert!(addresses::filter_known(store, other, &[address(1)]).await.unwrap().is_empty());
        assert!(addresses::is_known(store, ws, address(1)).await.unwrap());
        assert!(!addresses::is_known(store, other, address(1)).await.unwrap());
        assert!(addresses::filter_known(store, ws, &[]).await.unwrap().is_empty());
    }

    async fn a_sample_holds_as_many_addresses_as_there_are_at_most(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        for number in [3, 1, 2] {
            add_stamp(main, &new_stamp(number, "A", "n")).await;
        }
        assert_eq!(addresses::sample(store, ws, 2).await.unwrap(), [address(1), address(2)]);
        assert_eq!(addresses::sample(store, ws, 9).await.unwrap().len(), 3);
        let other = main.add_workspace("other").await;
        assert!(addresses::sample(store, other, 9).await.unwrap().is_empty());
    }

    async fn the_live_stamps_of_several_addresses_are_read_at_once(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let late = NewStamp { expires_at: at(5), ..new_stamp(1, "B", "b") };
        for stamp in [&new_stamp(2, "A", "n"), &new_stamp(1, "A", "n"), &late, &new_stamp(3, "A", "n")] {
            add_stamp(main, stamp).await;
        }
        let live = async |ws, now| {
            let found = stamps::live_of_many(store, ws, &[address(2), address(1)], at(now)).await.unwrap();
            found.into_iter().map(|row| (row.address, row.provider.to_string())).collect::<Vec<_>>()
        };
        let a = |number| (address(number), "A".to_owned());
        assert_eq!(live(ws, 0).await, [a(1), (address(1), "B".to_owned()), a(2)]);
        assert_eq!(live(ws, 5).await, [a(1), a(2)]);
        assert!(stamps::live_of_many(store, ws, &[], NOW).await.unwrap().is_empty());
        let other = main.add_workspace("other").await;
        assert!(live(other, 0).await.is_empty());
    }

    async fn a_thousand_addresses_are_asked_for_at_once(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let many: Vec<_> = (0..1000_u16).map(|n| {
            let mut bytes = [0; 20];
            bytes[..2].copy_from_slice(&n.to_be_bytes());
            EvmAddress(bytes)
        }).collect();
        let mut tx = store.begin().await.unwrap();
        for address in many.iter().step_by(10) {
            addresses::ensure(&mut tx, ws, *address, NOW).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(addresses::filter_known(store, ws, &many).await.unwrap().len(), 100);
    }

    async fn a_stamp_is_stored_with_its_credential_byte_for_byte(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let new = new_stamp(1, "A#5", "n1 n2");
        let row = add_stamp(main, &new).await;
        assert_eq!((row.address, &row.provider, &row.nullifiers), (new.address, &new.provider, &new.nullifiers));
        assert_eq!((row.digest, row.issued_at, row.expires_at, row.received_at), (new.digest, NOW, at(1000), NOW));
        let items = page(store, ws, address(1), NOW, Cursor::First, 9).await.unwrap();
        assert_eq!(items[0].provider, new.provider.as_str());
        assert_eq!(items[0].credential.as_ref(), Some(&new.credential));
        assert_eq!(stamps::find_by_digest(store, ws, &new.digest).await.unwrap(), Some(row.clone()));
        let other = main.add_workspace("other").await;
        assert!(stamps::find_by_digest(store, other, &new.digest).await.unwrap().is_none());
        assert!(stamps::find(store, other, address(1), &new.provider).await.unwrap().is_none());
        assert!(stamps::all_of(store, other, address(1)).await.unwrap().stamps.is_empty());
        let mut tx = store.begin().await.unwrap();
        assert!(stamps::insert(&mut tx, ws, &new).await.unwrap_err().is_conflict());
    }

    async fn a_credential_is_found_by_its_digest_however_many_came_before_and_after_it(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let news = ["A", "B", "C", "D"].map(|provider| new_stamp(1, provider, "n"));
        for new in &news {
            add_stamp(main, new).await;
            tamper(main, match store.engine() {
                Engine::Sqlite => "UPDATE sqlite_sequence SET seq = seq + 150000 WHERE name = 'stamps'",
                Engine::Postgres => "SELECT CAST(setval(pg_get_serial_sequence('stamps', 'id'), max(id) + 150000) AS TEXT) FROM stamps",
            }).await;
        }
        // Removes the first of the remaining ones, then the last.
        for (gone, left) in [(&news[0], &news[1..]), (&news[3], &news[1..3])] {
            let row = stamps::find_by_digest(store, ws, &gone.digest).await.unwrap().unwrap();
            assert_eq!(row.provider, gone.provider);
            let mut tx = store.begin().await.unwrap();
            assert!(stamps::remove(&mut tx, ws, &row).await.unwrap());
            tx.commit().await.unwrap();
            assert_eq!(stamps::find_by_digest(store, ws, &gone.digest).await.unwrap(), None);
            for new in left {
                let found = stamps::find_by_digest(store, ws, &new.digest).await.unwrap();
                assert_eq!(found.unwrap().provider, new.provider);
            }
        }
        tamper(main, "UPDATE stamps SET provider = 'not a name' WHERE provider = 'C'").await;
        let mut tx = store.begin().await.unwrap();
        assert!(stamps::discard_damaged(&mut tx, ws, &news[2].digest).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(stamps::find_by_digest(store, ws, &news[2].digest).await.unwrap(), None);
        assert!(stamps::find_by_digest(store, ws, &news[1].digest).await.unwrap().is_some());
    }

    async fn a_credential_older_than_packing_is_read_as_it_came(main: &Workspace) {
        add_stamp(main, &new_stamp(1, "A", "n1")).await;
        tamper(main, "UPDATE stamp_credentials SET credential = '{\"as\": \"it came\"}', packed = NULL").await;
        let read = async || page(&main.store, main.id, address(1), NOW, Cursor::First, 9).await.unwrap().remove(0);
        assert_eq!(read().await.credential.as_deref(), Some(r#"{"as": "it came"}"#));
        tamper(main, "UPDATE stamp_credentials SET packed = substr(stamps.digest, 1, 5) FROM stamps").await;
        assert_eq!(read().await.credential, None);
    }

    async fn many_new_stamps_are_stored_like_single_ones(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let many = [new_stamp(1, "A", "n1 n2"), new_stamp(1, "B", "n2"), new_stamp(2, "A", "n3")];
        let mut tx = store.begin().await.unwrap();
        stamps::insert_many(&mut tx, stamps::BulkInsert::prepare(ws, many.to_vec(), NOW)).await.unwrap();
        stamps::insert_many(&mut tx, stamps::BulkInsert::prepare(ws, Vec::new(), NOW)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(addresses::filter_known(store, ws, &[address(1), address(2)]).await.unwrap().len(), 2);
        let rows = stamps::all_of(store, ws, address(1)).await.unwrap().stamps;
        let found: Vec<_> = rows.iter().map(|row| (row.provider.as_str(), row.nullifiers.len())).collect();
        assert_eq!(found, [("A", 2), ("B", 1)]);
        assert!(others(main, 3, "n2 n3").await.is_empty());
        let mut tx = store.begin().await.unwrap();
        for _ in 0..2 {
            let noted = rows.iter().map(|row| (row.id, row.nullifiers.as_slice()));
            stamps::note_nullifiers(&mut tx, ws, noted).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(others(main, 3, "n2 n3").await, [address(1)]);
        let items = page(store, ws, address(2), NOW, Cursor::First, 9).await.unwrap();
        assert_eq!(items[0].credential.as_ref(), Some(&many[2].credential));
        let mut tx = store.begin().await.unwrap();
        assert!(stamps::insert_many(&mut tx, stamps::BulkInsert::prepare(ws, many.to_vec(), NOW)).await.is_err());
    }

    async fn a_stamp_lives_until_just_before_its_expiry(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        add_stamp(main, &new_stamp(1, "B", "b")).await;
        add_stamp(main, &NewStamp { expires_at: at(5), ..new_stamp(1, "A", "a") }).await;
        add_stamp(main, &NewStamp { issued_at: at(3), ..new_stamp(1, "C", "c") }).await;
        let names = async |millis| {
            let live = stamps::live_of(store, ws, address(1), at(millis)).await.unwrap();
            live.stamps.iter().map(|stamp| stamp.provider.to_string()).collect::<String>()
        };
        assert_eq!((names(4).await, names(5).await, names(1000).await), ("ABC".into(), "BC".into(), String::new()));
        assert_eq!(stamps::all_of(store, ws, address(1)).await.unwrap().stamps.len(), 3);
        let listed = async |millis| page(store, ws, address(1), at(millis), Cursor::First, 9).await.unwrap().len();
        assert_eq!((listed(0).await, listed(3).await, listed(5).await, listed(1000).await), (2, 3, 2, 0));
    }

    async fn a_stamp_that_cannot_be_read_leaves_the_others_and_can_be_discarded(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        for provider in ["A", "B", "C", "D"] {
            add_stamp(main, &new_stamp(1, provider, &format!("n{provider}"))).await;
        }
        tamper(main, "UPDATE stamps SET nullifiers = '{' WHERE provider = 'B'").await;
        tamper(main, "UPDATE stamps SET provider = 'not a name' WHERE provider = 'C'").await;
        let live = stamps::live_of(store, ws, address(1), NOW).await.unwrap();
        assert_eq!(live.stamps.iter().map(|stamp| stamp.provider.as_str()).collect::<Vec<_>>(), ["A", "D"]);
        assert_eq!(live.damaged.len(), 2);
        assert!(live.damaged[0].contains("stamps.nullifiers"), "{:?}", live.damaged);
        assert_eq!(stamps::all_of(store, ws, address(1)).await.unwrap(), live);
        assert_eq!(page(store, ws, address(1), NOW, Cursor::First, 9).await.unwrap().len(), 4);

        let mut tx = store.begin().await.unwrap();
        let (b, c) = ("B".parse().unwrap(), new_stamp(1, "C", "nC").digest);
        assert!(stamps::discard(&mut tx, ws, address(1), &b).await.unwrap());
        assert!(!stamps::discard(&mut tx, ws, address(1), &b).await.unwrap());
        assert!(stamps::discard_damaged(&mut tx, ws, &c).await.unwrap());
        assert!(!stamps::discard_damaged(&mut tx, ws, &new_stamp(1, "D", "nD").digest).await.unwrap());
        assert!(!stamps::discard_damaged(&mut tx, ws, &c).await.unwrap());
        tx.commit().await.unwrap();
        assert!(stamps::all_of(store, ws, address(1)).await.unwrap().damaged.is_empty());
    }

    async fn one_of_many_replaces_a_stamp(main: &Workspace) {
        let old = add_stamp(main, &new_stamp(1, "A", "n1 n2")).await;
        let replaced = at_once(8, |number| {
            let (store, ws, old) = (main.store.clone(), main.id, old.clone());
            async move {
                let mut tx = store.begin().await.unwrap();
                addresses::ensure(&mut tx, ws, old.address, NOW).await.unwrap();
                let number = u8::try_from(number).unwrap();
                let new = NewStamp { digest: [100 + number; 32], nullifiers: nullifiers("n2 n3"), ..new_stamp(1, "A", "x") };
                let id = stamps::replace(&mut tx, ws, &old, &new).await.unwrap();
                tx.commit().await.unwrap();
                id.is_some_and(|id| id > old.id)
            }
        })
        .await;
        assert!(exactly_one(replaced));
        assert!(others(main, 2, "n1").await.is_empty());
        assert_eq!(others(main, 2, "n2 n3").await, [address(1)]);
        assert_eq!(numbers(main, Cursor::First, 9).await.len(), 1);
    }

    async fn a_removed_stamp_leaves_nothing_behind(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let stamp = add_stamp(main, &new_stamp(1, "A", "n1")).await;
        let other = main.add_workspace("other").await;
        for (workspace, there) in [(other, false), (ws, true), (ws, false)] {
            let mut tx = store.begin().await.unwrap();
            assert_eq!(stamps::remove(&mut tx, workspace, &stamp).await.unwrap(), there);
            tx.commit().await.unwrap();
        }
        assert!(others(main, 2, "n1").await.is_empty());
        assert!(numbers(main, Cursor::First, 9).await.is_empty());
        // Neither its number nor its name stays taken.
        assert!(add_stamp(main, &new_stamp(1, "A", "n1")).await.id > stamp.id);
    }

    async fn others_with_a_nullifier_are_found_whatever_their_stamp(main: &Workspace) {
        add_stamp(main, &new_stamp(3, "A", "n1 n2")).await;
        add_stamp(main, &new_stamp(3, "B", "n1")).await;
        add_stamp(main, &new_stamp(2, "C", "n2 n4")).await;
        add_stamp(main, &new_stamp(1, "A", "n1")).await;
        assert_eq!(others(main, 1, "n1 n2 n3").await, [address(2), address(3)]);
        assert_eq!(others(main, 1, "n4").await, [address(2)]);
        assert!(others(main, 2, "n4").await.is_empty());
        assert!(others(main, 1, "").await.is_empty());
    }

    async fn pages_meet_without_gap_or_overlap_while_others_come_in(main: &Workspace) {
        let mut all = Vec::new();
        for provider in ["A", "B", "C", "D", "E"] {
            all.push(add_stamp(main, &new_stamp(1, provider, provider)).await.id);
        }
        add_stamp(main, &new_stamp(2, "A", "x")).await;
        all.reverse();
        let first = numbers(main, Cursor::First, 2).await;
        assert_eq!(first, all[..2]);
        let newest = add_stamp(main, &new_stamp(1, "F", "f")).await.id;
        let second = numbers(main, Cursor::Older(first[1]), 2).await;
        assert_eq!(second, all[2..4]);
        assert_eq!(numbers(main, Cursor::Older(second[1]), 2).await, all[4..]);
        assert_eq!(numbers(main, Cursor::Newer(second[0]), 2).await, all[..2]);
        assert_eq!(numbers(main, Cursor::Newer(first[0]), 2).await, [newest]);
        let beyond = async |cursor| exists_beyond(&main.store, main.id, address(1), NOW, cursor).await.unwrap();
        assert!(beyond(Cursor::Older(second[1])).await && beyond(Cursor::Newer(first[0])).await);
        assert!(!beyond(Cursor::Older(all[4])).await && !beyond(Cursor::Newer(newest)).await);
    }

    async fn a_credential_is_revoked_once_and_by_digest(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let mut tx = store.begin().await.unwrap();
        assert!(revocations::insert(&mut tx, ws, &revocation([1; 32], 0)).await.unwrap());
        assert!(!revocations::insert(&mut tx, ws, &revocation([1; 32], 5)).await.unwrap());
        assert!(revocations::insert(&mut tx, ws, &revocation([2; 32], 7)).await.unwrap());
        let among = revocations::revoked_among(&mut tx, ws, &[[3; 32], [1; 32]]).await.unwrap();
        assert_eq!(among, [[1; 32]]);
        assert!(revocations::revoked_among(&mut tx, ws, &[]).await.unwrap().is_empty());
        tx.commit().await.unwrap();
        assert_eq!(revocations::find(store, ws, &[1; 32]).await.unwrap(), Some(revocation([1; 32], 0)));
        let newest = revocations::list(store, ws, Page::first(1)).await.unwrap();
        assert_eq!(newest, [revocation([2; 32], 7)]);
        let before = Some((newest[0].revoked_at, newest[0].digest));
        let rest = revocations::list(store, ws, Page { before, limit: 9 }).await.unwrap();
        assert_eq!(rest, [revocation([1; 32], 0)]);
        let other = main.add_workspace("other").await;
        assert!(revocations::find(store, other, &[1; 32]).await.unwrap().is_none());
    }

    async fn a_revocation_sees_the_stamp_that_was_being_stored(main: &Workspace) {
        let (store, ws) = (main.store.clone(), main.id);
        let new = new_stamp(1, "A", "n");
        let mut ingest = store.begin().await.unwrap();
        assert!(revocations::revoked_among(&mut ingest, ws, &[new.digest]).await.unwrap().is_empty());
        let digest = new.digest;
        let revoking = tokio::spawn(async move {
            let mut tx = store.begin().await.unwrap();
            revocations::insert(&mut tx, ws, &revocation(digest, 0)).await.unwrap();
            let found = stamps::find_by_digest(&mut tx, ws, &digest).await.unwrap();
            tx.commit().await.unwrap();
            found.is_some()
        });
        tokio::task::yield_now().await;
        addresses::ensure(&mut ingest, ws, new.address, NOW).await.unwrap();
        stamps::insert(&mut ingest, ws, &new).await.unwrap();
        ingest.commit().await.unwrap();
        // Either it ran later and sees the Stamp, or it did not run in between.
        assert!(revoking.await.unwrap());
    }
}
