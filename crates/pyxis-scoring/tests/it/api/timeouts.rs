//! A request that is not answered in time is aborted (Spec 1, Errors 2; decisions, HTTP).

use std::time::Duration;

use http::StatusCode;
use pyxis_scoring::Config;

use super::world::{Engine, World, score_path, wallet};

const TIMED_OUT: &str = "Request timed out.";

fn impatient() -> Config {
    Config { request_timeout: Duration::from_secs(1), ..Config::default() }
}

#[test]
fn a_request_may_take_a_minute() {
    assert_eq!(Config::default().request_timeout, Duration::from_mins(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_wait_for_the_writer_of_sqlite_are_aborted() {
    let world = World::on_sqlite().await;
    let scorer = world.scorer("20", &[("A", "1")]).await;
    world.verify(wallet(1), "A", "n:1", 9).await;
    let node = world.node(impatient());
    let Engine::Sqlite(path, _) = &world.engine else { panic!("another engine") };
    let held = pyxis_testkit::sqlite::hold(path);
    for path in [
        score_path(scorer, wallet(1)),
        format!("/v2/stamps/{}", wallet(1)),
        "/registry/stamp-metadata".to_owned(),
    ] {
        node.get(&world.key, &path).await.refuses(504, TIMED_OUT);
    }
    drop(held);
    let answer = node.get(&world.key, &score_path(scorer, wallet(1))).await;
    assert_eq!((answer.status, &answer.json()["score"]), (StatusCode::OK, &"1.00000".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_waits_in_postgres_is_cancelled_there() {
    let Some(world) = World::on_postgres("timeouts").await else { return };
    let scorer = world.scorer("20", &[("A", "1")]).await;
    world.verify(wallet(1), "A", "n:1", 9).await;
    let node = world.node(impatient());
    let Engine::Postgres(database) = &world.engine else { panic!("another engine") };
    let score = score_path(scorer, wallet(1));
    let history = format!("{score}/history?created_at=2027-01-01");
    for (table, path) in [
        ("stamps", format!("/v2/stamps/{}", wallet(1))),
        ("stamps", score.clone()),
        ("scores", score.clone()),
        ("claims", score.clone()),
        ("score_history", history),
        ("platforms", "/v2/stamps/metadata".to_owned()),
        ("platforms", "/registry/stamp-metadata".to_owned()),
        ("activity_wallets", format!("/v2/models/score/{}", wallet(1))),
        ("model_bundles", format!("/v2/models/score/{}", wallet(1))),
    ] {
        world.sql("UPDATE scores SET stale = true").await;
        let held = database.hold(&format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await;
        let asking = node.get(&world.key, &path);
        let (answer, ()) = tokio::join!(asking, database.until_one_waits());
        answer.refuses(504, TIMED_OUT);
        // The lock is still held, yet nothing waits for it any more.
        database.until_none_waits().await;
        held.release().await;
        assert_eq!(node.get(&world.key, &path).await.status, StatusCode::OK, "{path}");
    }
    world.remove().await;
}
