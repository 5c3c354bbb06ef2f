//! A score request may take up to a minute (`docs/reference/behavior/scoring.md#time-limit`).

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::installation::{ScoringSite, address};
use crate::support::Setup;
use pyxis_testkit::postgres::Database;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_score_that_does_not_come_within_a_minute_is_504_and_comes_when_asked_for_again() {
    let database = Database::migrated("minute").await;
    // By default, a statement is given up after ten seconds, and the answer is 503.
    let site = ScoringSite::with(Setup::on(database).env("PX_DATABASE_STATEMENT_SECS", "600")).await;
    site.stamp(1, "Google", "one").await;
    site.stamp(2, "Google", "two").await;
    let path = |number| format!("/v2/stamps/{}/score/{}", site.scorer(), address(number));
    // Waiting for a lock would be given up after five seconds; a working statement is not.
    site.app.postgres().run(STALL).await;
    let asked = Instant::now();
    // The second is not a plain request, and goes through the router.
    let plain = site.api.get(&path(1)).send();
    let routed = site.api.get(&path(2)).header("origin", "https://dapp.example").send();
    let (plain, routed) = tokio::join!(plain, routed);
    assert!(asked.elapsed() >= Duration::from_secs(59), "{plain:?} {routed:?}");
    for answer in [plain, routed] {
        assert_eq!(answer.expect(504).json(), json!({"detail": "Request timed out."}));
    }
    site.app.postgres().run("DROP TRIGGER stall ON scores").await;
    for number in [1, 2] {
        assert_eq!(site.score(number).await["error"], json!(null));
    }
}

/// Storing a score takes five minutes.
const STALL: &str = "CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS \
     'BEGIN PERFORM pg_sleep(300); RETURN NEW; END'; \
     CREATE TRIGGER stall BEFORE INSERT ON scores FOR EACH ROW EXECUTE FUNCTION stall()";
