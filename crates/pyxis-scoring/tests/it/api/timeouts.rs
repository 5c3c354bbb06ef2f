//! A request that takes too long is aborted (`docs/reference/behavior/scoring.md#time-limit`).

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Method, Request, StatusCode};
use pyxis_core::id::ScorerId;
use pyxis_scoring::{Config, FastPathScore, State};
use pyxis_testkit::database::{Fixture, TestDatabase};
use serde_json::json;

use super::scene::{HttpResponse, Scene, request, score_path, send, wallet};

const TIMED_OUT: &str = "Request timed out.";

fn impatient() -> Config {
    Config { request_timeout: Duration::from_secs(2), ..Config::default() }
}

#[test]
fn a_request_may_take_a_minute() {
    assert_eq!(Config::default().request_timeout, Duration::from_mins(1));
}

/// A request, and a table that its response depends on.
type TableRequest = (&'static str, Method, String, String);

/// Retries until the response arrives in time: a slow machine may need longer even without a lock.
async fn in_time(ask: impl AsyncFn() -> HttpResponse) -> HttpResponse {
    let asking = async {
        loop {
            let answer = ask().await;
            if answer.status != StatusCode::GATEWAY_TIMEOUT {
                return answer;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asking).await.expect("an answer in time")
}

/// Plain score requests, which a server answers before its router.
fn plain(scorer: ScorerId) -> Vec<TableRequest> {
    ["stamps", "scores", "claims"]
        .map(|table| (table, Method::GET, score_path(scorer, wallet(1)), String::new()))
        .to_vec()
}

/// The service that answers them.
fn past_the_router(state: State) -> Router {
    Router::new().fallback(async move |request: Request<Body>| {
        let asked = FastPathScore::from_request(&request).expect("a plain request");
        asked.answer(&state, request.headers()).await
    })
}

fn reads(scorer: ScorerId) -> Vec<TableRequest> {
    let (score, history) = (score_path(scorer, wallet(1)), "history?created_at=2027-01-01");
    let others = [
        ("stamps", format!("/v2/stamps/{}", wallet(1))),
        ("stamps", format!("{score}?explain=true")),
        ("score_history", format!("{score}/{history}")),
        ("platforms", "/v2/stamps/metadata".to_owned()),
        ("activity_wallets", format!("/v2/models/score/{}", wallet(1))),
        ("model_bundles", format!("/v2/models/score/{}", wallet(1))),
    ];
    let others = others.map(|(table, path)| (table, Method::GET, path, String::new()));
    plain(scorer).into_iter().chain(others).collect()
}

fn writes_and_earlier_paths(scene: &Scene, scorer: ScorerId) -> Vec<TableRequest> {
    let stamps = format!("/v2/stamps/{}", wallet(1));
    let brought = format!("[{}]", scene.credential(wallet(1), "B", "n:2", 9));
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
    let scene = Scene::on_sqlite().await;
    let scorer = scene.scorer("20", &[("A", "1")]).await;
    scene.verify(wallet(1), "A", "n:1", 9).await;
    let node = scene.node(impatient());
    let path = scene.database.file().unwrap();
    let held = pyxis_testkit::sqlite::lock_writes(&path);
    let routed = reads(scorer).into_iter().chain(writes_and_earlier_paths(&scene, scorer));
    let plain = plain(scorer).into_iter().map(|asked| (past_the_router(node.state.clone()), asked));
    let mut asking = Vec::new();
    for (router, (_, method, path, body)) in routed.map(|asked| (node.router(), asked)).chain(plain) {
        let request = request(method, &path, &scene.key, body);
        asking.push(tokio::spawn(async move { send(&router, request).await }));
    }
    for answer in asking {
        answer.await.unwrap().refuses(504, TIMED_OUT);
    }
    drop(held);
    let path = score_path(scorer, wallet(1));
    let answer = in_time(async || node.get(&scene.key, &path).await).await;
    assert_eq!((answer.status, &answer.json()["score"]), (StatusCode::OK, &"1.00000".into()));
    assert_eq!(scene.sql("SELECT provider FROM stamps").await, ["A"]);
}

/// Sends each request while its table is locked.
async fn are_canceled(scene: &Scene, router: Router, all: Vec<TableRequest>) {
    let database = scene.database.as_postgres().unwrap();
    for (table, method, path, body) in all {
        let ask = || send(&router, request(method.clone(), &path, &scene.key, body.clone()));
        let stamps = async || scene.sql("SELECT provider FROM stamps ORDER BY provider").await;
        scene.sql("UPDATE scores SET stale = true").await;
        let before = stamps().await;
        let held = database.hold(&format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await;
        let (answer, ()) = tokio::join!(ask(), database.until_one_waits());
        answer.refuses(504, TIMED_OUT);
        // The lock is still held, yet nothing waits for it any more.
        database.until_none_waits().await;
        held.release().await;
        assert_eq!(stamps().await, before, "{method} {path}");
        assert_eq!(in_time(ask).await.status, StatusCode::OK, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_waits_in_postgres_is_canceled_there() {
    let scene = Scene::start(TestDatabase::postgres("timeouts").await).await;
    let scorer = scene.scorer("20", &[("A", "1")]).await;
    scene.verify(wallet(1), "A", "n:1", 9).await;
    are_canceled(&scene, scene.node(impatient()).router(), reads(scorer)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_requests_past_the_router_are_canceled_in_postgres_too() {
    let scene = Scene::start(TestDatabase::postgres("timeouts_of_plain").await).await;
    let scorer = scene.scorer("20", &[("A", "1")]).await;
    scene.verify(wallet(1), "A", "n:1", 9).await;
    are_canceled(&scene, past_the_router(scene.node(impatient()).state), plain(scorer)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_wait_in_postgres_are_canceled_and_change_nothing() {
    let scene = Scene::start(TestDatabase::postgres("timeouts_of_writes").await).await;
    let scorer = scene.scorer("20", &[("A", "1")]).await;
    scene.verify(wallet(1), "A", "n:1", 9).await;
    let router = scene.node(impatient()).router();
    are_canceled(&scene, router, writes_and_earlier_paths(&scene, scorer)).await;
}
