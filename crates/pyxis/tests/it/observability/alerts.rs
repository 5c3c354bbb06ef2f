//! Alerts of a real Prometheus about real pages of metrics: each fires when it should, and clears again. The rules are
//! those of `packaging/`, with shorter times. `promtool` tests all of them with their own times.

mod every_rule;
mod prometheus;
mod samples;

use std::process::Command;

use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use crate::documents::{read, root};
use crate::support::{Setup, Site};
use prometheus::Prometheus;

/// File of the rules.
const RULES: &str = "packaging/prometheus/alerts.yaml";

/// Rules whose conditions a test can cause in a few seconds.
fn impatient_rules() -> String {
    let rules = read(RULES);
    let at_once = rules.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("for: "));
    let rules: String = at_once.collect();
    rules.replace("> 1800", "> 1").replace("[15m]", "[15s]").replace("< 900", "< 15")
}

/// The server as a target, under one name whatever its port.
fn targets(site: &Site) -> Value {
    let address = site.app.greeting["metrics_address"].as_str().unwrap();
    json!([{"targets": [address], "labels": {"instance": "pyxis"}}])
}

#[tokio::test]
async fn prometheus_sees_alerts_fire_and_clear() {
    // A server that is not ready answers only after it has tried for a while.
    let prometheus = Prometheus::start(&impatient_rules(), "2s").await;
    let mut site = Site::with(Setup::new().env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    prometheus.watch(&targets(&site));
    prometheus.wait_up().await;
    for alert in ["PyxisDown", "PyxisNotReady", "PyxisApprovalsWaitLong", "PyxisOutcomeUnknown"] {
        prometheus.wait(alert, false).await;
    }

    let txn = site.pause("/act").await;
    prometheus.wait("PyxisApprovalsWaitLong", true).await;
    site.owner.client.post(&format!("/approvals/{txn}/deny"), &json!({})).send().await.expect(200);
    prometheus.wait("PyxisApprovalsWaitLong", false).await;

    let (reply, release) = Reply::ok("late").hold();
    site.upstream.reply(reply);
    let (agent, target) = (site.agent.clone(), site.upstream.url("/cut"));
    let cut = tokio::spawn(async move { agent.forward("api", "GET", &target).attempt().await });
    site.upstream.received(1).await;
    site.app.kill().await;
    assert!(cut.await.unwrap().is_none(), "the connection ended with the process");
    prometheus.wait("PyxisDown", true).await;
    site.app.serve();
    prometheus.watch(&targets(&site));
    prometheus.wait("PyxisDown", false).await;
    prometheus.wait("PyxisOutcomeUnknown", true).await;
    prometheus.wait("PyxisOutcomeUnknown", false).await;
    drop(release);

    let held = pyxis_testkit::sqlite::lock_writes(&site.app.data().join("pyxis.db"));
    prometheus.wait("PyxisNotReady", true).await;
    drop(held);
    prometheus.wait("PyxisNotReady", false).await;
}

/// Output of `promtool` about files below `packaging/prometheus`.
fn promtool(arguments: &[&str]) -> String {
    let directory = root().join("packaging/prometheus");
    let output = Command::new("promtool").args(arguments).current_dir(directory).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Cases of the rule that the guide gives to installations whose backups a timer makes.
const TIMER_CASES: &str = r#"rule_files: [rules.yaml]
tests:
  - interval: 1m
    input_series: []
    alert_rule_test:
      - {alertname: PyxisBackupOld, eval_time: 30m, exp_alerts: []}
      - {alertname: PyxisBackupOld, eval_time: 2h, exp_alerts: [{exp_labels: {job: pyxis}}]}
  - interval: 1m
    input_series: [{series: 'pyxis_backup_last_success_timestamp_seconds{job="pyxis"}', values: '0x900'}]
    alert_rule_test:
      - {alertname: PyxisBackupOld, eval_time: 12h, exp_alerts: []}
      - {alertname: PyxisBackupOld, eval_time: 14h, exp_alerts: [{exp_labels: {}}]}
"#;

#[test]
fn the_rule_for_backups_of_a_timer_fires_if_one_is_late_and_if_there_never_was_one() {
    let guide = read("docs/guides/back-up-restore-upgrade.md");
    let (_, rule) = guide.split_once("```yaml\n- alert: PyxisBackupOld\n").expect("the rule");
    let rule = rule.split("```").next().unwrap_or_default();
    let rule: String = rule.lines().flat_map(|line| ["      ", line, "\n"]).collect();
    let rules = format!("groups:\n  - name: pyxis\n    rules:\n      - alert: PyxisBackupOld\n{rule}");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("rules.yaml"), rules).unwrap();
    let cases = directory.path().join("cases.yaml");
    std::fs::write(&cases, TIMER_CASES).unwrap();
    promtool(&["test", "rules", cases.to_str().unwrap()]);
}

#[test]
fn promtool_sees_each_rule_wait_for_its_time_fire_and_clear() {
    promtool(&["check", "rules", "alerts.yaml"]);
    promtool(&["test", "rules", "alerts.test.yaml", "ages.test.yaml"]);
    let tests =
        ["alerts.test.yaml", "ages.test.yaml"].map(|file| read(&format!("packaging/prometheus/{file}")));
    let (rules, tests) = (read(RULES), tests.concat());
    for rule in rules.split("- alert: ").skip(1) {
        let (alert, rest) = rule.split_once('\n').unwrap();
        let fires = tests.find(&format!("- alertname: {alert}\n"));
        let (before, after) =
            tests.split_at(fires.unwrap_or_else(|| panic!("{alert} has no test in which it fires")));
        let quiet = format!("- {{alertname: {alert}, ");
        assert!(after.contains(&quiet), "{alert} has no test in which it clears");
        let waits = rest.contains("\n        for: ");
        assert!(!waits || before.contains(&quiet), "{alert} has no test before its `for` is over");
    }
}
