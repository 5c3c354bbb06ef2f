//! A server gives a request for a score a minute (Spec 1, Errors 2).

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::stage::{Stage, address};
use crate::postgres::Database;
use crate::support::Setup;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_score_that_does_not_come_within_a_minute_is_504_and_comes_when_asked_for_again() {
    let Some(database) = Database::create("minute").await else { return };
    let stage = Stage::with(Setup::on(database)).await;
    stage.stamp(1, "Google", "one").await;
    let before = stage.score(1).await;
    let path = format!("/v2/stamps/{}/score/{}", stage.scorer(), address(1));
    let held = stage.app.postgres().hold("LOCK TABLE scores IN ACCESS EXCLUSIVE MODE").await;
    let asked = Instant::now();
    // The second is not a plain request, and takes the way through the router.
    let plain = stage.api.get(&path).send();
    let routed = stage.api.get(&path).header("origin", "https://dapp.example").send();
    let (plain, routed) = tokio::join!(plain, routed);
    assert!(asked.elapsed() >= Duration::from_secs(59), "{plain:?} {routed:?}");
    for answer in [plain, routed] {
        assert_eq!(answer.expect(504).json(), json!({"detail": "Request timed out."}));
    }
    held.release().await;
    assert_eq!(stage.score(1).await, before);
}
