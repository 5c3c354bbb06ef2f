//! Requests of API keys, counted.

use pyxis_core::id::ApiKeyId;
use pyxis_store::api_keys;
use pyxis_store::usage::{self, Batch, Counted, Surface, WindowRow};

use crate::support::{NOW, World, add_key, add_workspace, at, at_once, contract};

fn batch(key: ApiKeyId, requests: i64, limit: i64) -> Batch {
    Batch { key, surface: Surface::Stamps, window_start: NOW, requests, limit, now: at(1) }
}

async fn count(world: &World, batch: Batch) -> (i64, i64) {
    let Counted { admitted, used } = usage::count(&world.store, &batch).await.unwrap();
    (admitted, used)
}

async fn window(world: &World, key: ApiKeyId) -> (i64, i64) {
    let found = usage::windows(&world.store, world.ws, key, NOW, at(1)).await.unwrap();
    (found[0].admitted, found[0].refused)
}

contract! {
    async fn a_batch_is_admitted_as_far_as_it_fits(world: &World) {
        let key = add_key(world).await.id;
        assert_eq!(count(world, batch(key, 3, 5)).await, (3, 3));
        assert_eq!(count(world, batch(key, 3, 5)).await, (2, 5));
        assert_eq!(count(world, batch(key, 2, 5)).await, (0, 5));
        assert_eq!(window(world, key).await, (5, 3));
        // A lower limit takes nothing back, a higher one goes on.
        assert_eq!(count(world, batch(key, 1, 4)).await, (0, 5));
        assert_eq!(count(world, batch(key, 4, 7)).await, (2, 7));
        assert_eq!(window(world, key).await, (7, 6));
    }

    async fn the_first_batch_of_a_window_may_be_too_large(world: &World) {
        let (one, none) = (add_key(world).await.id, add_key(world).await.id);
        assert_eq!(count(world, batch(one, 9, 5)).await, (5, 5));
        assert_eq!(count(world, batch(none, 1, 0)).await, (0, 0));
        assert_eq!(count(world, batch(none, 1, -1)).await, (0, 0));
        assert_eq!((window(world, one).await, window(world, none).await), ((5, 4), (0, 2)));
    }

    async fn keys_surfaces_and_windows_are_counted_apart(world: &World) {
        let (key, other) = (add_key(world).await.id, add_key(world).await.id);
        let stamps = batch(key, 1, 1);
        for apart in [
            stamps,
            Batch { surface: Surface::Models, ..stamps },
            Batch { window_start: at(900_000), ..stamps },
            batch(other, 1, 1),
        ] {
            assert_eq!(count(world, apart).await, (1, 1));
            assert_eq!(count(world, apart).await, (0, 1));
        }
    }

    async fn batches_at_once_admit_exactly_the_limit(world: &World) {
        let key = add_key(world).await.id;
        let counted = at_once(32, |number| {
            let store = world.store.clone();
            async move {
                let requests = i64::try_from(number % 4).unwrap() + 1;
                (requests, usage::count(&store, &batch(key, requests, 47)).await.unwrap())
            }
        })
        .await;
        let admitted: i64 = counted.iter().map(|(_, counted)| counted.admitted).sum();
        let requests: i64 = counted.iter().map(|(requests, _)| requests).sum();
        assert_eq!((admitted, requests), (47, 80));
        assert_eq!(window(world, key).await, (47, 33));
    }

    async fn windows_are_listed_for_their_workspace_and_last_use_outlives_them(world: &World) {
        let (store, ws) = (&world.store, world.ws);
        let (key, unused) = (add_key(world).await, add_key(world).await);
        for (start, now) in [(0, 10), (900_000, 900_010), (1_800_000, 1_800_005)] {
            count(world, Batch { window_start: at(start), now: at(now), ..batch(key.id, 1, 9) }).await;
        }
        let found = usage::windows(store, ws, key.id, NOW, at(1_800_000)).await.unwrap();
        let row = |start, last| WindowRow {
            surface: Surface::Stamps, window_start_at: at(start), admitted: 1, refused: 0, last_at: at(last),
        };
        assert_eq!(found, [row(0, 10), row(900_000, 900_010)]);
        let other = add_workspace(store, "other").await;
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
