//! The paths of the earlier version, enabled and disabled.

use serde_json::json;

use super::installation::{ScoringSite, address};
use crate::support::Setup;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_paths_answer_until_a_setting_takes_them_away() {
    let mut site = ScoringSite::with(Setup::new()).await;
    site.stamp(1, "Discord", "account").await;
    let (scorer, holder) = (site.scorer(), address(1));
    let submitted = json!({"address": holder, "scorer_id": scorer});
    let earlier = [
        ("GET", format!("/registry/score/{scorer}/{holder}")),
        ("GET", format!("/registry/stamps/{holder}")),
        ("GET", "/registry/stamp-metadata".to_owned()),
        ("GET", format!("/passport/analysis/{holder}")),
        ("POST", "/registry/submit-passport".to_owned()),
    ];
    for (method, path) in &earlier {
        let answer = site.api.call(method, path).json(&submitted).send().await.expect(200);
        assert!(answer.header("deprecation").is_some(), "{path}");
    }
    site.app.restart_with(|setup| setup.env("PX_EARLIER_PATHS", "false")).await;
    for (method, path) in &earlier {
        site.api.call(method, path).json(&submitted).send().await.problem(404, "not_found");
    }
    assert_eq!(site.score(1).await["score"], "0.51600");
    for path in [
        format!("/v2/stamps/{holder}"),
        "/v2/stamps/metadata".to_owned(),
        format!("/v2/models/score/{holder}"),
    ] {
        site.api.get(&path).send().await.expect(200);
    }
}
