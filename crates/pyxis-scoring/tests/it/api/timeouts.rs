//! A request that is not answered in time is aborted (Spec 1, Errors 2; decisions, HTTP).

use std::time::Duration;

use http::{Method, StatusCode};
use pyxis_core::id::ScorerId;
use pyxis_scoring::Config;
use serde_json::json;

use super::world::{Engine, World, request, score_path, send, wallet};

const TIMED_OUT: &str = "Request timed out.";

fn impatient() -> Config {
    Config { request_timeout: Duration::from_secs(1), ..Config::default() }
}

#[test]
fn a_request_may_take_a_minute() {
    assert_eq!(Config::default().request_timeout, Duration::from_mins(1));
}

/// What somebody asks, and a table without which there is no answer.
type Asked = (&'static str, Method, String, String);

fn reads(scorer: ScorerId) -> Vec<Asked> {
    let (score, history) = (score_path(scorer, wallet(1)), "history?created_at=2027-01-01");
    [
        ("stamps", format!("/v2/stamps/{}", wallet(1))),
        ("stamps", score.clone()),
        ("scores", score.clone()),
        ("claims", score.clone()),
        ("stamps", format!("{score}?explain=true")),
        ("score_history", format!("{score}/{history}")),
        ("platforms", "/v2/stamps/metadata".to_owned()),
        ("activity_wallets", format!("/v2/models/score/{}", wallet(1))),
        ("model_bundles", format!("/v2/models/score/{}", wallet(1))),
    ]
    .into_iter()
    .map(|(table, path)| (table, Method::GET, path, String::new()))
    .collect()
}

fn writes_and_earlier_paths(world: &World, scorer: ScorerId) -> Vec<Asked> {
    let stamps = format!("/v2/stamps/{}", wallet(1));
    let brought = format!("[{}]", world.credential(wallet(1), "B", "n:2", 9));
    let submitted = json!({"address": wallet(1), "scorer_id": scorer}).to_string();
    let batch = json!({"addresses": [wallet(1)]}).to_string();
    let get = |table, path: String| (table, Method::GET, path, String::new());
    vec![
        ("stamps", Method::POST, stamps.clone(), brought),
        ("stamps", Method::DELETE, format!("{stamps}?provider=B"), String::new()),
        ("scores", Method::POST, format!("/v2/stamps/{scorer}/scores"), batch),
        ("scores", Method::POST, "/registry/submit-passport".to_owned(), submitted),
        get("stamps", format!("/registry/score/{scorer}/{}", wallet(1))),
        get("stamps", format!("/registry/stamps/{}", wallet(1))),
        get("platforms", "/registry/stamp-metadata".to_owned()),
        get("activity_wallets", format!("/passport/analysis/{}", wallet(1))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_wait_for_the_writer_of_sqlite_are_aborted() {
    let world = World::on_sqlite().await;
    let scorer = world.scorer("20", &[("A", "1")]).await;
    world.verify(wallet(1), "A", "n:1", 9).await;
    let node = world.node(impatient());
    let Engine::Sqlite(path, _) = &world.engine else { panic!("another engine") };
    let held = pyxis_testkit::sqlite::hold(path);
    let mut asking = Vec::new();
    for (_, method, path, body) in reads(scorer).into_iter().chain(writes_and_earlier_paths(&world, scorer)) {
        let (router, request) = (node.router(), request(method, &path, &world.key, body));
        asking.push(tokio::spawn(async move { send(&router, request).await }));
    }
    for answer in asking {
        answer.await.unwrap().refuses(504, TIMED_OUT);
    }
    drop(held);
    let answer = node.get(&world.key, &score_path(scorer, wallet(1))).await;
    assert_eq!((answer.status, &answer.json()["score"]), (StatusCode::OK, &"1.00000".into()));
    assert_eq!(world.sql("SELECT provider FROM stamps").await, ["A"]);
}

/// Asks for each while its table is locked.
async fn are_cancelled(world: &World, all: Vec<Asked>) {
    let router = world.node(impatient()).router();
    let Engine::Postgres(database) = &world.engine else { panic!("another engine") };
    for (table, method, path, body) in all {
        let ask = || send(&router, request(method.clone(), &path, &world.key, body.clone()));
        let stamps = async || world.sql("SELECT provider FROM stamps ORDER BY provider").await;
        world.sql("UPDATE scores SET stale = true").await;
        let before = stamps().await;
        let held = database.hold(&format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await;
        let (answer, ()) = tokio::join!(ask(), database.until_one_waits());
        answer.refuses(504, TIMED_OUT);
        // The lock is still held, yet nothing waits for it any more.
        database.until_none_waits().await;
        held.release().await;
        assert_eq!(stamps().await, before, "{method} {path}");
        assert_eq!(ask().await.status, StatusCode::OK, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_waits_in_postgres_is_cancelled_there() {
    let Some(world) = World::on_postgres("timeouts").await else { return };
    let scorer = world.scorer("20", &[("A", "1")]).await;
    world.verify(wallet(1), "A", "n:1", 9).await;
    are_cancelled(&world, reads(scorer)).await;
    world.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_wait_in_postgres_are_cancelled_and_change_nothing() {
    let Some(world) = World::on_postgres("timeouts_of_writes").await else { return };
    let scorer = world.scorer("20", &[("A", "1")]).await;
    world.verify(wallet(1), "A", "n:1", 9).await;
    are_cancelled(&world, writes_and_earlier_paths(&world, scorer)).await;
    world.remove().await;
}
