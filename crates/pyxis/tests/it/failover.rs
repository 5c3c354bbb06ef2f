//! A PostgreSQL server that goes away while the program runs (`docs/reference/behavior/operations.md#databases`).

mod patroni;
mod poolers;

use std::time::Duration;

use pyxis_testkit::cluster::PostgresServer;
use pyxis_testkit::long_form::{Dice, figures, rounds};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Call, PATIENCE, Setup, Site, until};

/// Number of times the database is frozen, in the short and the long form.
const FREEZES: [usize; 2] = [1, 20];
/// Requests at once meanwhile, at least; at most twice as many.
const AT_ONCE: usize = 20;

/// A site on `url`, with limits of a second.
async fn site_on(url: &str) -> Site {
    let setup = Setup::new().env("PX_DATABASE_URL", url);
    Site::with(setup.env("PX_DATABASE_TIMEOUT_SECS", "1").env("PX_DATABASE_STATEMENT_SECS", "1")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_postgres_is_frozen_every_request_is_refused_in_time_and_afterwards_all_goes_on() {
    let server = PostgresServer::start().await;
    let site = site_on(&server.url()).await;
    let [short, long] = FREEZES;
    let (freezes, mut dice) = (rounds(short, long), Dice::new());
    let (mut refused, mut slowest, mut restored) = (0, Duration::ZERO, Duration::ZERO);
    for freeze in 0..freezes {
        let path = format!("/pending/{freeze}");
        let txn = site.pause(&path).await;
        site.forward("GET", "/before").send().await.forwarded(200);
        server.freeze();
        let count = AT_ONCE + dice.index(AT_ONCE);
        slowest = slowest.max(refusals(&site, &txn, count).await);
        refused += count;
        server.thaw();
        restored = restored.max(all_goes_on(&site, &txn, &path).await);
    }
    let counts = format!(
        "{freezes} times, {refused} requests refused, the last after {slowest:.1?}, ready again after {restored:.1?}"
    );
    figures("frozen PostgreSQL", &counts);
}

/// Requests and decisions at once while the database does not answer. Returns how long the last refusal took.
async fn refusals(site: &Site, txn: &str, count: usize) -> Duration {
    let refused = async |call: Call| {
        let answer = call.send().await;
        assert_eq!(answer.header("retry-after"), Some("5"));
        answer.problem(503, "unavailable");
    };
    let approve = || site.owner.client.post(&format!("/approvals/{txn}/approve"), &json!({}));
    let calls = (0..count).map(|number| match number % 3 {
        0 => site.forward("GET", "/x"),
        1 => site.forward("POST", "/x"),
        _ => approve(),
    });
    let began = Instant::now();
    let all = futures_util::future::join_all(calls.map(refused));
    tokio::time::timeout(PATIENCE, all).await.expect("refusals in time");
    let took = began.elapsed();
    let unready = site.app.anonymous().get("/readyz").send().await.expect(503);
    assert_eq!(unready.header("retry-after"), Some("5"));
    assert_eq!(unready.json()["database"], "unavailable");
    let alive = site.app.anonymous().get("/healthz").send().await.expect(200).json();
    assert_eq!((&alive["status"], &alive["database"]), (&json!("ok"), &json!("unavailable")));
    took
}

/// The database answers again. Returns how long it took until the server was ready.
async fn all_goes_on(site: &Site, txn: &str, path: &str) -> Duration {
    let began = Instant::now();
    until("the database", async || {
        let ready = site.app.anonymous().get("/readyz").send().await;
        (ready.status == 200).then_some(())
    })
    .await;
    let took = began.elapsed();
    assert_eq!(site.app.anonymous().get("/healthz").send().await.expect(200).json()["database"], "ok");
    site.forward("GET", "/after").send().await.forwarded(200);
    // A decision whose answer was lost may have been stored.
    if site.agent.poll(txn).await["status"] == "pending" {
        site.owner.approve(txn).await;
    }
    assert_eq!(site.agent.outcome(txn).await["response"]["body"], "ok");
    let paths = site.upstream.requests().into_iter().map(|request| request.target);
    assert_eq!(paths.filter(|sent| sent.ends_with(path)).count(), 1);
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_postgres_is_frozen_a_stop_ends_within_its_limit() {
    let server = PostgresServer::start().await;
    let mut site = site_on(&server.url()).await;
    site.forward("GET", "/before").send().await.forwarded(200);
    server.freeze();
    site.app.terminate();
    let ended = tokio::time::timeout(PATIENCE, site.app.ended()).await.expect("an end");
    assert_eq!(ended.code(), Some(1), "the last records could not be stored");
    assert!(site.app.logs().contains("database"), "{}", site.app.logs());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_health_check_of_a_server_whose_postgres_is_frozen_fails_in_time() {
    let server = PostgresServer::start().await;
    let site = Site::with(Setup::new().env("PX_DATABASE_URL", &server.url())).await;
    let url = format!("http://{}", site.app.address());
    let check = async || site.app.cli_within(CHECK_LIMIT, &["healthcheck", "--url", &url]).await;
    assert_eq!(check().await.expect(0).stdout, "ready\n");
    server.freeze();
    // Readiness gives up before the check does, with the limits that a server has by default.
    assert_eq!(check().await.expect(1).stdout, "not ready: unavailable: database, audit\n");
    server.thaw();
    until("the database", async || (check().await.code == Some(0)).then_some(())).await;
}

/// A check's 3 seconds, and time to start its process on a busy machine.
const CHECK_LIMIT: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_database_limit_that_makes_no_sense_refuses_to_start() {
    for name in ["PX_DATABASE_TIMEOUT_SECS", "PX_DATABASE_STATEMENT_SECS"] {
        let app = crate::support::App::empty(Setup::new().env(name, "0"));
        let ran = app.cli(&["bootstrap", "--json"]).await.expect(1);
        assert!(ran.stderr.contains(name), "{ran:?}");
    }
}
