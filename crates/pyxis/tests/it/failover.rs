//! A PostgreSQL server that goes away while the program runs (`docs/reference/behavior/operations.md#databases`).

mod patroni;
mod poolers;

use std::time::Duration;

use pyxis_testkit::cluster::Server;
use serde_json::json;

use crate::support::{Call, PATIENCE, Setup, Site, until};

/// A site on `url`, with limits of a second.
async fn site_on(url: &str) -> Site {
    let setup = Setup::new().env("PX_DATABASE_URL", url);
    Site::with(setup.env("PX_DATABASE_TIMEOUT_SECS", "1").env("PX_DATABASE_STATEMENT_SECS", "1")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_postgres_is_frozen_every_request_is_refused_in_time_and_afterwards_all_goes_on() {
    let server = Server::start().await;
    let site = site_on(&server.url()).await;
    let txn = site.pause("/pending").await;
    site.forward("GET", "/before").send().await.forwarded(200);
    server.freeze();
    let refused = async |call: Call| {
        let answer = call.send().await;
        assert_eq!(answer.header("retry-after"), Some("5"));
        answer.problem(503, "unavailable");
    };
    let approve = || site.owner.client.post(&format!("/approvals/{txn}/approve"), &json!({}));
    let calls = (0..30).map(|number| match number % 3 {
        0 => site.forward("GET", "/x"),
        1 => site.forward("POST", "/x"),
        _ => approve(),
    });
    let all = futures_util::future::join_all(calls.map(refused));
    tokio::time::timeout(PATIENCE, all).await.expect("refusals in time");
    let unready = site.app.anonymous().get("/readyz").send().await.expect(503);
    assert_eq!(unready.header("retry-after"), Some("5"));
    assert_eq!(unready.json()["database"], "unavailable");
    let alive = site.app.anonymous().get("/healthz").send().await.expect(200).json();
    assert_eq!((&alive["status"], &alive["database"]), (&json!("ok"), &json!("unavailable")));
    server.thaw();
    until("the database", async || {
        let ready = site.app.anonymous().get("/readyz").send().await;
        (ready.status == 200).then_some(())
    })
    .await;
    assert_eq!(site.app.anonymous().get("/healthz").send().await.expect(200).json()["database"], "ok");
    site.forward("GET", "/after").send().await.forwarded(200);
    // A decision whose answer was lost may have been stored.
    if site.agent.poll(&txn).await["status"] == "pending" {
        site.owner.approve(&txn).await;
    }
    assert_eq!(site.agent.outcome(&txn).await["response"]["body"], "ok");
    let paths = site.upstream.requests().into_iter().map(|request| request.target);
    assert_eq!(paths.filter(|path| path.ends_with("/pending")).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_postgres_is_frozen_a_stop_ends_within_its_limit() {
    let server = Server::start().await;
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
    let server = Server::start().await;
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
