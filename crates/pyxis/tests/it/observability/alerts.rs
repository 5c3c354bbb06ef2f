//! Alerts of a real Prometheus about a real server: each fires when it should, and clears again. The rules are those of
//! `packaging/`, with shorter times. `promtool` tests all of them with their own times.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use crate::documents::{read, root};
use crate::support::client::{Address, Client};
use crate::support::{Setup, Site, until};

/// A collector that ends with this value.
struct Prometheus {
    server: Child,
    client: Client,
    directory: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Prometheus {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let rules = read("packaging/prometheus/alerts.yaml");
        let at_once = rules.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("for: "));
        let rules: String = at_once.collect();
        let rules = rules.replace("> 1800", "> 1").replace("[15m]", "[15s]").replace("< 900", "< 15");
        std::fs::write(directory.path().join("alerts.yaml"), rules).unwrap();
        // A server that is not ready answers only after it has tried for a while.
        let config = json!({
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "500ms"},
            "rule_files": ["alerts.yaml"],
            "scrape_configs": [{"job_name": "pyxis", "file_sd_configs": [{"files": ["targets.json"]}]}],
        });
        std::fs::write(directory.path().join("prometheus.yml"), config.to_string()).unwrap();
        std::fs::write(directory.path().join("targets.json"), "[]").unwrap();
        let mut server = Command::new("prometheus")
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--web.listen-address=127.0.0.1:0",
            ])
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("prometheus is installed");
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.by_ref().find_map(|line| {
            let (_, after) = line.split_once("Listening on")?.1.split_once("address=")?;
            after.split(' ').next().map(str::to_owned)
        });
        let address = address.expect("the address of Prometheus");
        std::thread::spawn(move || lines.for_each(drop));
        Self { server, client: Client::new(Address::new(address.parse().unwrap())), directory }
    }

    /// Collects from the server, under one name whatever its port.
    fn watch(&self, site: &Site) {
        let target = site.app.greeting["metrics_address"].as_str().unwrap();
        let targets = json!([{"targets": [target], "labels": {"instance": "pyxis"}}]);
        let unnamed = self.directory.path().join("targets.new");
        std::fs::write(&unnamed, targets.to_string()).unwrap();
        std::fs::rename(unnamed, self.directory.path().join("targets.json")).unwrap();
    }

    /// Waits until an alert fires, or no longer does.
    async fn wait(&self, alert: &str, fires: bool) {
        let firing = async || {
            let answer = self.client.get("/api/v1/alerts").send().await.expect(200).json();
            let alerts = answer["data"]["alerts"].as_array().unwrap().clone();
            let is_it = |found: &Value| found["labels"]["alertname"] == alert && found["state"] == "firing";
            (alerts.iter().any(is_it) == fires).then_some(())
        };
        until(&format!("{alert} fires: {fires}"), firing).await;
    }

    async fn wait_up(&self) {
        let up = async || {
            let answer = self.client.get("/api/v1/query?query=up").send().await.expect(200).json();
            (answer["data"]["result"][0]["value"][1] == "1").then_some(())
        };
        until("the first scrape", up).await;
    }
}

#[tokio::test]
async fn prometheus_sees_alerts_fire_and_clear() {
    let prometheus = Prometheus::start();
    let mut site = Site::with(Setup::new().env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    prometheus.watch(&site);
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
    prometheus.watch(&site);
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

#[test]
fn promtool_sees_each_rule_wait_for_its_time_fire_and_clear() {
    promtool(&["check", "rules", "alerts.yaml"]);
    promtool(&["test", "rules", "alerts.test.yaml", "ages.test.yaml"]);
    let tests =
        ["alerts.test.yaml", "ages.test.yaml"].map(|file| read(&format!("packaging/prometheus/{file}")));
    let (rules, tests) = (read("packaging/prometheus/alerts.yaml"), tests.concat());
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
