//! A real Prometheus with rules and targets of a test.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::support::client::{Address, Client};
use crate::support::until;

/// A collector that ends with this value.
pub(super) struct Prometheus {
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
    pub(super) async fn start(rules: &str, scrape_interval: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("alerts.yaml"), rules).unwrap();
        let config = json!({
            "global": {
                "scrape_interval": scrape_interval, "scrape_timeout": scrape_interval,
                "evaluation_interval": "500ms",
            },
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
        let this = Self { server, client: Client::new(Address::new(address.parse().unwrap())), directory };
        // It listens before it answers.
        until("Prometheus is ready", async || {
            (this.client.get("/-/ready").send().await.status == 200).then_some(())
        })
        .await;
        this
    }

    /// Collects from these targets, in the form of a file for service discovery.
    pub(super) fn watch(&self, targets: &Value) {
        let unnamed = self.directory.path().join("targets.new");
        std::fs::write(&unnamed, targets.to_string()).unwrap();
        std::fs::rename(unnamed, self.directory.path().join("targets.json")).unwrap();
    }

    /// Waits until an alert fires, or no longer does.
    pub(super) async fn wait(&self, alert: &str, fires: bool) {
        let firing = async || {
            let answer = self.client.get("/api/v1/alerts").send().await.expect(200).json();
            let alerts = answer["data"]["alerts"].as_array().unwrap().clone();
            let is_it = |found: &Value| found["labels"]["alertname"] == alert && found["state"] == "firing";
            (alerts.iter().any(is_it) == fires).then_some(())
        };
        until(&format!("{alert} fires: {fires}"), firing).await;
    }

    pub(super) async fn wait_up(&self) {
        let up = async || (self.series("up").await.first()?["value"][1] == "1").then_some(());
        until("the first scrape", up).await;
    }

    /// Waits until each of so many targets has been scraped successfully so many times.
    pub(super) async fn wait_scraped(&self, targets: usize, times: usize) {
        let query = format!("sum_over_time(up[5m]) >= {times}");
        let scraped = async || (self.series(&query).await.len() == targets).then_some(());
        until(&format!("{times} scrapes of {targets} targets"), scraped).await;
    }

    /// Alerts that have fired at any time, with the instances that they were about.
    pub(super) async fn fired(&self) -> BTreeSet<(String, String)> {
        let found = self.series("max_over_time(ALERTS{alertstate=\"firing\"}[5m])").await;
        let label = |series: &Value, name: &str| series["metric"][name].as_str().unwrap().to_owned();
        found.iter().map(|series| (label(series, "alertname"), label(series, "instance"))).collect()
    }

    /// Series that an expression selects at present.
    async fn series(&self, expression: &str) -> Vec<Value> {
        let path = format!("/api/v1/query?query={}", utf8_percent_encode(expression, NON_ALPHANUMERIC));
        let answer = self.client.get(&path).send().await.expect(200).json();
        answer["data"]["result"].as_array().unwrap().clone()
    }
}
