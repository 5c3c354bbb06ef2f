//! Weights and thresholds that apply from a moment, as managers and commands schedule them.

use std::time::Duration;

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::Setup;

/// A moment some hours ahead.
fn in_hours(hours: u64) -> String {
    SystemClock.now().plus(Duration::from_hours(hours)).to_rfc3339()
}

/// The present moment comes after the first scheduled change, and before the others.
fn reach_the_first_change(site: &ScoringSite) {
    let now = SystemClock.now().0;
    site.app.sql(&format!(
        "UPDATE scorer_changes SET effective_from = {now} \
         WHERE effective_from = (SELECT MIN(effective_from) FROM scorer_changes WHERE applied_at IS NULL)"
    ));
    site.app.sql(&format!("UPDATE scorers SET next_change_at = {now}"));
}

/// Causes of the newest change of the first address: kind and Stamp.
async fn latest_causes(site: &ScoringSite) -> Value {
    let path = format!("/v2/stamps/{}/score/{}/changes", site.scorer(), address(1));
    site.api.get(&path).send().await.expect(200).json()["items"][0]["causes"].clone()
}

engines! {
    async fn new_terms_wait_for_their_moment_and_are_withdrawn_before_it(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let (app, scorer) = (&site.app, site.scorer());
        let path = format!("/admin/scorers/{scorer}");
        let terms = json!({ "threshold": "2", "weights": { "A": "2" }, "revision": 1 });
        site.owner.patch(&path, &terms).send().await.expect(200);
        site.stamp(1, "A", "a:1").await;
        let before = site.score(1).await;
        assert_eq!((&before["score"], &before["passing_score"]), (&json!("2.00000"), &json!(true)));

        let change = json!({ "threshold": "3", "weights": { "A": "1.5" }, "revision": 2, "effective_from": in_hours(1) });
        let made = site.owner.patch(&path, &change).send().await.expect(200).json();
        assert_eq!((&made["revision"], &made["threshold"], &made["weights"]), (&json!(2), &json!("2.00000"), &json!({ "A": "2.00000" })));
        let waiting = &made["scheduled_changes"][0];
        assert_eq!((&waiting["threshold"], &waiting["weights"]), (&json!("3.00000"), &json!({ "A": "1.50000" })));
        assert_eq!((&waiting["effective_from"], &waiting["created_by"]), (&change["effective_from"], &json!("owner@localhost")));
        let later = in_hours(2);
        let set = ["scorer", "set-weights", &scorer, "A=5", "--from", &later];
        let listed = app.cli_json(&set).await["scheduled_changes"].clone();
        assert_eq!((&listed[0]["id"], &listed[1]["weights"]["A"]), (&waiting["id"], &json!("5.00000")));
        assert_eq!((&listed[1]["effective_from"], &listed[1]["created_by"]), (&json!(later), &json!("command line")));
        app.cli(&set).await.expect(1);
        let third = json!({ "threshold": "9", "revision": 2, "effective_from": in_hours(3) });
        let all = site.owner.patch(&path, &third).send().await.expect(200).json()["scheduled_changes"].clone();
        assert_eq!((all.as_array().unwrap().len(), &all[2]["weights"]), (3, &Value::Null));
        assert_eq!(site.get(&path).await["scheduled_changes"], all);
        let shown = app.cli(&["scorer", "show", &scorer]).await.expect(0).stdout;
        assert_eq!(shown.lines().filter(|line| line.starts_with("from ")).count(), 3, "{shown}");
        assert!(shown.contains(", 1 weight\n"), "{shown}");
        // Nothing is in force yet.
        assert_eq!(site.score(1).await, before);

        let withdraw = |change: &Value| format!("{path}/changes/{}", change["id"].as_str().unwrap());
        let stranger = site.stranger().await.client;
        stranger.delete(&withdraw(&all[1])).send().await.problem(404, "not_found");
        app.anonymous().delete(&withdraw(&all[1])).send().await.problem(401, "unauthenticated");
        site.owner.delete(&withdraw(&all[1])).send().await.expect(204);
        site.owner.delete(&withdraw(&all[1])).send().await.problem(404, "not_found");
        let third = all[2]["id"].as_str().unwrap();
        app.cli(&["scorer", "withdraw-change", &scorer, third]).await.expect(0);
        app.cli(&["scorer", "withdraw-change", &scorer, third]).await.expect(1);
        assert_eq!(site.get(&path).await["scheduled_changes"], json!([all[0]]));

        reach_the_first_change(&site);
        let after = site.score(1).await;
        assert_eq!((&after["score"], &after["threshold"], &after["passing_score"]), (&json!("1.50000"), &json!("3.00000"), &json!(false)));
        let causes = latest_causes(&site).await;
        assert_eq!((&causes[0]["cause"], &causes[0]["stamp"]), (&json!("weight_changed"), &json!("A")));
        assert_eq!(causes[1]["cause"], "threshold_changed");
        let current = site.get(&path).await;
        assert_eq!((&current["revision"], &current["scheduled_changes"]), (&json!(3), &json!([])));
        site.owner.delete(&withdraw(&all[0])).send().await.problem(404, "not_found");
        let kinds: Vec<_> = site.audited("scorer.change").await.into_iter().map(|(kind, _)| kind).collect();
        let (scheduled, withdrawn) = ("scorer.change_scheduled", "scorer.change_withdrawn");
        assert_eq!(kinds, [scheduled, scheduled, scheduled, withdrawn, withdrawn]);

        for from in ["2020-01-01T00:00:00Z", "soon", "2999-01-01T00:00:00Z"] {
            let change = json!({ "threshold": "4", "revision": 3, "effective_from": from });
            let problem = site.owner.patch(&path, &change).send().await.problem(422, "invalid_field");
            assert_eq!(problem["field"], "effective_from", "{from}");
        }
        let alone = json!({ "effective_from": in_hours(1) });
        site.owner.patch(&path, &alone).send().await.problem(422, "invalid_field");
        let old = json!({ "threshold": "4", "revision": 1, "effective_from": in_hours(1) });
        site.owner.patch(&path, &old).send().await.problem(409, "changed");
        app.cli(&["scorer", "set-weights", &scorer, "A=6", "--from", "2020-01-01T00:00:00Z"]).await.expect(1);
        app.cli(&["scorer", "set-weights", &scorer, "A=6", "--from", "soon"]).await.expect(2);
    }

    async fn a_command_for_a_later_moment_starts_from_the_terms_that_will_be_in_force_then(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let (app, scorer) = (&site.app, site.scorer());
        let path = format!("/admin/scorers/{scorer}");
        let terms = json!({ "threshold": "2", "weights": { "A": "2", "B": "1" }, "revision": 1 });
        site.owner.patch(&path, &terms).send().await.expect(200);
        let (first, second) = (in_hours(2), in_hours(4));
        let change = json!({ "weights": { "A": "1.5", "C": "1" }, "revision": 2, "effective_from": first });
        site.owner.patch(&path, &change).send().await.expect(200);
        let change = json!({ "threshold": "3", "revision": 2, "effective_from": second });
        site.owner.patch(&path, &change).send().await.expect(200);
        let set = async |changes: &[&str], from: &str| {
            let start = ["scorer", "set-weights", &scorer];
            let end = ["--from", from];
            let all = app.cli_json(&[&start[..], changes, &end].concat()).await["scheduled_changes"].clone();
            let made = all.as_array().unwrap().iter().find(|one| one["effective_from"] == from).unwrap().clone();
            (made["threshold"].clone(), made["weights"].clone())
        };
        // Before both, between them, and after them.
        let before = set(&["A=7"], &in_hours(1)).await;
        assert_eq!(before, (Value::Null, json!({ "A": "7.00000", "B": "1.00000" })));
        let between = set(&["B=3", "--threshold", "3"], &in_hours(3)).await;
        assert_eq!(between, (json!("3.00000"), json!({ "A": "1.50000", "B": "3.00000", "C": "1.00000" })));
        let after = set(&["C=0.5", "--threshold", "4"], &in_hours(5)).await;
        assert_eq!(after, (json!("4.00000"), json!({ "A": "1.50000", "B": "3.00000", "C": "0.50000" })));
        // What is in force then anyway is no change.
        let later = in_hours(6);
        let same = ["scorer", "set-weights", &scorer, "A=1.5", "C=0.5", "--threshold", "4", "--from", &later];
        app.cli(&same).await.expect(3);
        app.cli(&["scorer", "set-weights", &scorer, "A=9", "--from", &second]).await.expect(1);
        assert_eq!(site.get(&path).await["scheduled_changes"].as_array().unwrap().len(), 5);
    }
}
