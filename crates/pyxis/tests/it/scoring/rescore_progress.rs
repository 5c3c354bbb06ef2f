//! Progress of recomputing outdated scores, as metrics show it.

use pyxis_testkit::postgres::Database;
use serde_json::json;

use super::installation::ScoringSite;
use crate::support::metrics::{page, value};
use crate::support::{Setup, until};

#[tokio::test]
async fn the_progress_of_recomputing_scores_is_measured_on_postgres() {
    let setup = Setup::on(Database::create("rescore progress").await);
    let site = ScoringSite::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    for number in [1, 2, 3] {
        site.stamp(number, "Discord", &format!("account-{number}")).await;
        site.score(number).await;
    }
    let shown = async || {
        let page = page(&site.app).await;
        let names =
            ["pyxis_rescores_running", "pyxis_rescore_remaining_scores", "pyxis_scores_rescored_total"];
        names.map(|name| value(&page, name))
    };
    assert_eq!(shown().await, [Some(0.0); 3]);
    let scorer = format!("/admin/scorers/{}", site.scorer());
    let terms = json!({"weights": {"Discord": "7"}, "revision": 1});
    site.owner.patch(&scorer, &terms).send().await.expect(200);
    // Scores can be read and not written, so the work goes no further.
    let held = site.app.postgres().hold("LOCK TABLE scores IN SHARE MODE").await;
    site.post(&format!("{scorer}/rescore"), &json!({})).await.expect(202);
    let is = async |wanted: [f64; 3]| (shown().await == wanted.map(Some)).then_some(());
    until("three scores to recompute", async || is([1.0, 3.0, 0.0]).await).await;
    held.release().await;
    until("none to recompute", async || is([0.0, 0.0, 3.0]).await).await;
}
