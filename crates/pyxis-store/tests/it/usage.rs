//! Counting of API key requests.

use pyxis_core::id::ApiKeyId;
use pyxis_store::api_keys;
use pyxis_store::usage::{self, Batch, Counted, Surface, WindowRow};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_key, at, at_once};

fn batch(key: ApiKeyId, requests: i64, limit: i64) -> Batch {
    Batch { key, surface: Surface::Stamps, window_start: NOW, requests, limit, now: at(1) }
}

async fn count(main: &Workspace, batch: Batch) -> (i64, i64) {
    let Counted { admitted, used } = usage::count(&main.store, &batch).await.unwrap();
    (admitted, used)
}

async fn window(main: &Workspace, key: ApiKeyId) -> (i64, i64) {
    let found = usage::windows(&main.store, main.id, key, NOW, at(1)).await.unwrap();
    (found[0].admitted, found[0].refused)
}

engines! {
    async fn a_batch_is_admitted_as_far_as_it_fits(main: &Workspace) {
        let key = add_key(main).await.id;
        assert_eq!(count(main, batch(key, 3, 5)).await, (3, 3));
        assert_eq!(count(main, batch(key, 3, 5)).await, (2, 5));
        assert_eq!(count(main, batch(key, 2, 5)).await, (0, 5));
        assert_eq!(window(main, key).await, (5, 3));
        // A lower limit undoes nothing; a higher one continues.
        assert_eq!(count(main, batch(key, 1, 4)).await, (0, 5));
        assert_eq!(count(main, batch(key, 4, 7)).await, (2, 7));
        assert_eq!(window(main, key).await, (7, 6));
    }

    async fn the_first_batch_of_a_window_may_be_too_large(main: &Workspace) {
        let (one, none) = (add_key(main).await.id, add_key(main).await.id);
        assert_eq!(count(main, batch(one, 9, 5)).await, (5, 5));
        assert_eq!(count(main, batch(none, 1, 0)).await, (0, 0));
        assert_eq!(count(main, batch(none, 1, -1)).await, (0, 0));
        assert_eq!((window(main, one).await, window(main, none).await), ((5, 4), (0, 2)));
    }

    async fn keys_surfaces_and_windows_are_counted_apart(main: &Workspace) {
        let (key, other) = (add_key(main).await.id, add_key(main).await.id);
        let stamps = batch(key, 1, 1);
        for apart in [
            stamps,
            Batch { surface: Surface::Models, ..stamps },
            Batch { window_start: at(900_000), ..stamps },
            batch(other, 1, 1),
        ] {
            assert_eq!(count(main, apart).await, (1, 1));
            assert_eq!(count(main, apart).await, (0, 1));
        }
    }

    async fn requests_of_all_keys_are_counted_in_buckets(main: &Workspace) {
        let (key, other) = (add_key(main).await.id, add_key(main).await.id);
        let quarter = 900_000;
        for (key, window, requests) in [(key, 0, 3), (key, quarter, 9), (key, 4 * quarter, 1), (other, quarter, 2)] {
            count(main, Batch { window_start: at(window), ..batch(key, requests, 5) }).await;
        }
        count(main, Batch { surface: Surface::Models, ..batch(key, 1, 5) }).await;
        let (to, hour) = (at(4 * quarter), 4 * quarter);
        let found = usage::over_time(&main.store, main.id, NOW, to, hour).await.unwrap();
        let mut told: Vec<_> = found.iter().map(|one| (one.at, one.key, one.admitted, one.refused)).collect();
        told.sort_by_key(|(_, _, admitted, _)| *admitted);
        assert_eq!(told, [(NOW, other, 2, 0), (NOW, key, 9, 4)]);
        let elsewhere = main.add_workspace("elsewhere").await;
        assert_eq!(usage::over_time(&main.store, elsewhere, NOW, to, hour).await.unwrap(), []);
    }

    async fn batches_at_once_admit_exactly_the_limit(main: &Workspace) {
        let key = add_key(main).await.id;
        let counted = at_once(32, |number| {
            let store = main.store.clone();
            async move {
                let requests = i64::try_from(number % 4).unwrap() + 1;
                (requests, usage::count(&store, &batch(key, requests, 47)).await.unwrap())
            }
        })
        .await;
        let admitted: i64 = counted.iter().map(|(_, counted)| counted.admitted).sum();
        let requests: i64 = counted.iter().map(|(requests, _)| requests).sum();
        assert_eq!((admitted, requests), (47, 80));
        assert_eq!(window(main, key).await, (47, 33));
    }

    async fn a_reservation_is_all_or_nothing_and_refuses_nobody(main: &Workspace) {
        let key = add_key(main).await.id;
        let reserve = async |requests| usage::reserve(&main.store, &batch(key, requests, 10)).await.unwrap();
        // Without an earlier count there is no window.
        assert_eq!(reserve(1).await, None);
        assert_eq!(count(main, batch(key, 3, 10)).await, (3, 3));
        assert_eq!(reserve(8).await, None);
        assert_eq!(window(main, key).await, (3, 0));
        assert_eq!(reserve(6).await, Some(9));
        assert_eq!(reserve(0).await, Some(9));
        assert_eq!(reserve(1).await, Some(10));
        assert_eq!(reserve(1).await, None);
        assert_eq!(count(main, batch(key, 1, 10)).await, (0, 10));
        assert_eq!(window(main, key).await, (10, 1));
    }

    async fn reservations_at_once_take_no_more_than_there_is(main: &Workspace) {
        let key = add_key(main).await.id;
        count(main, batch(key, 2, 50)).await;
        let reserved = at_once(32, |_| {
            let store = main.store.clone();
            async move { usage::reserve(&store, &batch(key, 5, 50)).await.unwrap() }
        })
        .await;
        let mut reserved: Vec<i64> = reserved.into_iter().flatten().collect();
        reserved.sort_unstable();
        assert_eq!(reserved, [7, 12, 17, 22, 27, 32, 37, 42, 47]);
        assert_eq!(window(main, key).await, (47, 0));
    }

    async fn what_was_not_spent_is_given_back_to_its_window_and_is_no_use_of_the_key(main: &Workspace) {
        let (key, other) = (add_key(main).await.id, add_key(main).await.id);
        let later = Batch { window_start: at(900_000), surface: Surface::Models, ..batch(key, 10, 100) };
        for counted in [batch(key, 10, 100), batch(other, 10, 100), later] {
            count(main, counted).await;
            usage::reserve(&main.store, &Batch { requests: 30, ..counted }).await.unwrap().unwrap();
        }
        usage::give_back(&main.store, &Batch { now: at(5), ..batch(key, 12, 100) }).await.unwrap();
        // A window never holds less than nothing.
        usage::give_back(&main.store, &batch(other, 41, 100)).await.unwrap();
        assert_eq!((window(main, key).await, window(main, other).await), ((28, 0), (40, 0)));
        let found = usage::windows(&main.store, main.id, key, NOW, at(9_000_000)).await.unwrap();
        let windows: Vec<_> = found.iter().map(|one| (one.surface, one.admitted, one.last_at)).collect();
        assert_eq!(windows, [(Surface::Stamps, 28, at(1)), (Surface::Models, 40, at(1))]);
    }

    async fn windows_are_listed_for_their_workspace_and_last_use_outlives_them(main: &Workspace) {
        let (store, ws) = (&main.store, main.id);
        let (key, unused) = (add_key(main).await, add_key(main).await);
        for (start, now) in [(0, 10), (900_000, 900_010), (1_800_000, 1_800_005)] {
            count(main, Batch { window_start: at(start), now: at(now), ..batch(key.id, 1, 9) }).await;
        }
        let found = usage::windows(store, ws, key.id, NOW, at(1_800_000)).await.unwrap();
        let row = |start, last| WindowRow {
            surface: Surface::Stamps, window_start_at: at(start), admitted: 1, refused: 0, last_at: at(last),
        };
        assert_eq!(found, [row(0, 10), row(900_000, 900_010)]);
        let other = main.add_workspace("other").await;
        assert!(usage::windows(store, other, key.id, NOW, at(1_800_000)).await.unwrap().is_empty());
        let last_use = async |id| api_keys::find_by_id(store, ws, id).await.unwrap().unwrap().last_used_at;
        for (before, purged) in [(0, 0), (900_000, 1), (9_000_000, 2)] {
            let mut tx = store.begin().await.unwrap();
            assert_eq!(usage::purge(&mut tx, at(before)).await.unwrap(), purged);
            tx.commit().await.unwrap();
            assert_eq!((last_use(key.id).await, last_use(unused.id).await), (Some(at(1_800_005)), None));
        }
    }
}
