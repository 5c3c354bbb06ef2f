//! `pyxis quickstart`: a score to ask for at once.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::client::Address;
use crate::support::{App, Client, Setup, both_engines};

/// A running quickstart and what it printed. The process ends with this value.
struct Running {
    server: Child,
    client: Client,
    welcome: Value,
}

impl Running {
    fn start(app: &App, arguments: &[&str]) -> Self {
        let base = ["quickstart", "--json", "--listen", "127.0.0.1:0", "--metrics-listen", "off"];
        let mut command = app.command(&[&base, arguments].concat());
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
        let (greeting, welcome) = (next(), next());
        let address = greeting["address"].as_str().unwrap().parse().unwrap();
        Self { server, client: Client::new(Address::new(address)), welcome }
    }

    async fn score(&self, sample: usize) -> Value {
        let address = self.welcome["sample_addresses"][sample].as_str().unwrap();
        let path = format!("/v2/stamps/{}/score/{address}", self.welcome["scorer_id"]);
        let client = self.client.clone().with("x-api-key", self.welcome["api_key"].as_str().unwrap());
        client.get(&path).send().await.expect(200).json()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

both_engines! {
    async fn the_samples_can_be_scored_at_once_and_again(setup: Setup) {
        let app = App::empty(setup);
        let first = Running::start(&app, &[]);
        let passes = first.score(0).await;
        assert_eq!((&passes["passing_score"], &passes["stamps"]["Google"]["dedup"]), (&json!(true), &json!(false)));
        let copy = first.score(2).await;
        assert_eq!((&copy["passing_score"], &copy["stamps"]["Google"]["dedup"]), (&json!(false), &json!(true)));
        let welcome = first.welcome.clone();
        drop(first);
        let again = Running::start(&app, &[]);
        for same in ["api_key", "scorer_id", "sample_addresses", "agent_key"] {
            assert_eq!(again.welcome[same], welcome[same], "{same}");
        }
        assert_eq!(again.score(0).await["score"], passes["score"]);
        let proved = again.welcome["proved_address"].as_str().unwrap();
        let path = format!("/sybil-resistance/gov-id/optimism?user={proved}&action-id=123456789");
        let check = again.client.get(&path).send().await.expect(200).json();
        assert_eq!(check["result"], true);
        drop(again);
        let issuers = app.cli_json(&["issuer", "list"]).await;
        assert_eq!(issuers.as_array().unwrap().len(), 1);
        assert!(issuers[0]["name"].as_str().unwrap().contains("demo"), "{issuers}");
        assert_eq!(app.cli_json(&["api-key", "list"]).await[0]["may"], json!(["read", "write"]));
    }

    async fn without_the_demo_there_are_no_samples(setup: Setup) {
        let app = App::empty(setup);
        let running = Running::start(&app, &["--demo=false"]);
        assert_eq!(running.welcome["sample_addresses"], Value::Null);
        assert_eq!(running.welcome["demo_target"], Value::Null);
        drop(running);
        assert_eq!(app.cli_json(&["issuer", "list"]).await, json!([]));
        // A scorer and a key come with the first workspace, and the samples can be had later.
        assert_eq!(Running::start(&app, &[]).score(0).await["passing_score"], true);
    }

    async fn an_installation_that_was_bootstrapped_gets_a_key_to_try(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let running = Running::start(&app, &[]);
        assert_ne!(running.welcome["api_key"], app.bootstrap["api_key"]);
        assert_eq!(running.score(1).await["score"], "4.24100");
    }
}
