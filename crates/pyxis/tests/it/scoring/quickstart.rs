//! `pyxis quickstart`: a request to send and a score to query immediately.

use std::process::Command;

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use crate::support::app::{Process, run};
use crate::support::client::Address;
use crate::support::{Agent, App, Browser, Client, Setup};

fn quickstart(app: &App, arguments: &[&str]) -> Command {
    let base = ["quickstart", "--listen", "127.0.0.1:0", "--metrics-listen", "off"];
    app.command(&[&base, arguments].concat())
}

/// A running quickstart and what it printed. The process ends with this value.
struct Running {
    _server: Process,
    client: Client,
    welcome: Value,
}

impl Running {
    fn start(app: &App, arguments: &[&str]) -> Self {
        let (server, mut lines) = Process::start(quickstart(app, &[&["--json"], arguments].concat()));
        let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
        let (greeting, welcome) = (next(), next());
        let address = greeting["address"].as_str().unwrap().parse().unwrap();
        Self { _server: server, client: Client::new(Address::new(address)), welcome }
    }

    /// A value that it printed.
    fn printed(&self, name: &str) -> &str {
        self.welcome[name].as_str().unwrap()
    }

    async fn score(&self, sample: usize) -> Value {
        let address = self.welcome["sample_addresses"][sample].as_str().unwrap();
        let path = format!("/v2/stamps/{}/score/{address}", self.welcome["scorer_id"]);
        let client = self.client.clone().with("x-api-key", self.printed("api_key"));
        client.get(&path).send().await.expect(200).json()
    }
}

engines! {
    async fn the_main_job_is_done_with_what_it_prints(setup: Setup) {
        let app = App::empty(setup.without("PX_EGRESS_ALLOW"));
        let running = Running::start(&app, &[]);
        let agent = Agent::new(running.client.clone(), running.printed("agent_key"));
        let target = running.printed("demo_target");
        let read = agent.forward("demo", "GET", target).send().await.forwarded(200).json();
        assert_eq!(read["authorization"], "Bearer [REDACTED:demo]");

        let txn = agent.forward("demo", "POST", target).body("a note").send().await.txn();
        let (_, link) = running.printed("owner_link").split_once("/link/").unwrap();
        let owner = Browser::use_link(&running.client, &format!("/link/{link}")).await;
        owner.submit(&format!("/app/approvals/{txn}/approve"), &[("from", "inbox")]).await.expect(303);
        let outcome = agent.outcome(&txn).await;
        let answer: Value = serde_json::from_str(outcome["response"]["body"].as_str().unwrap()).unwrap();
        assert_eq!((&answer["method"], &answer["body"]), (&json!("POST"), &json!("a note")));
    }

    async fn the_demo_opens_its_own_address_and_port_and_nothing_else(setup: Setup) {
        let app = App::empty(setup.without("PX_EGRESS_ALLOW"));
        let running = Running::start(&app, &[]);
        let agent = Agent::new(running.client.clone(), running.printed("agent_key"));
        let neighbor = Upstream::http().await;
        let host = neighbor.addr().to_string();
        let base = ["credential", "add", "--name", "near", "--auth", "bearer", "--secret-env", "SECRET"];
        let mut add = app.command(&[base.as_slice(), &["--allow-http", "--allow-host", &host]].concat());
        add.env("SECRET", "near-canary");
        run(add).await.expect(0);
        agent.forward("near", "GET", &neighbor.url("/")).send().await.problem(403, "target_not_allowed");
        assert_eq!(neighbor.connections(), 0);
        agent.forward("demo", "GET", running.printed("demo_target")).send().await.forwarded(200);
    }

    async fn people_are_shown_the_link_and_two_requests_to_paste(setup: Setup) {
        let app = App::empty(setup);
        let (server, mut lines) = Process::start(quickstart(&app, &[]));
        let first = lines.next().unwrap().unwrap();
        let (_, port) = first.strip_prefix("listening on http://").unwrap().split_once(':').unwrap();
        let mut text = String::new();
        while !text.contains("/instructions") {
            text.extend([&lines.next().unwrap().unwrap(), "\n"]);
        }
        drop(server);
        let base = format!("http://localhost:{port}");
        assert!(text.contains(&format!("{base}/link/")), "{text}");
        let requests: Vec<&str> = text.split("curl ").skip(1).collect();
        assert_eq!(requests.len(), 2, "{text}");
        let key = std::fs::read_to_string(app.data().join("quickstart-agent-key")).unwrap();
        for (request, method) in requests.iter().zip(["GET", "POST"]) {
            for part in [
                format!("-X POST {base}/forward "),
                format!("-H 'X-PX-Key: {key}'"),
                "-H 'X-PX-Credential: demo'".to_owned(),
                "-H 'X-PX-Target: http://127.0.0.1:".to_owned(),
                format!("-H 'X-PX-Method: {method}'"),
            ] {
                assert!(request.contains(&part), "{part}: {text}");
            }
        }
    }

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
        for same in
            ["api_key", "scorer_id", "sample_addresses", "agent_key", "sandbox_scorer_id", "sandbox_wallets"]
        {
            assert_eq!(again.welcome[same], welcome[same], "{same}");
        }
        assert_eq!(again.score(0).await["score"], passes["score"]);
        let (sandbox, wallet) = (&again.welcome["sandbox_scorer_id"], &again.welcome["sandbox_wallets"]["passes"]);
        let path = format!("/v2/stamps/{sandbox}/score/{}", wallet.as_str().unwrap());
        let tested = again.client.clone().with("x-api-key", again.printed("api_key")).get(&path).send().await;
        assert_eq!(tested.expect(200).json()["passing_score"], true);
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
        // A scorer and a key come with the first workspace, and the samples can be added later.
        assert_eq!(Running::start(&app, &[]).score(0).await["passing_score"], true);
    }

    async fn an_installation_that_was_bootstrapped_gets_a_key_to_try(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let running = Running::start(&app, &[]);
        assert_ne!(running.welcome["api_key"], app.bootstrap["api_key"]);
        assert_eq!(running.score(1).await["score"], "4.24100");
    }
}
