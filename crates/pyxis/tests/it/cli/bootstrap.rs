//! `pyxis bootstrap` and `pyxis serve` (`docs/reference/behavior/operations.md#first-start`).

use std::process::Stdio;

use pyxis_store::{DatabaseUrl, OpenOptions, Store};
use pyxis_testkit::engines;

use crate::support::app::Process;
use crate::support::client::{Address, Client};
use crate::support::{App, Setup, until};

/// Makes the tables of an installation that does not exist yet, so that a test can look into them. A test database on
/// PostgreSQL has them already.
async fn with_tables(app: &App) {
    if app.is_postgres() {
        return;
    }
    std::fs::create_dir(app.data()).unwrap();
    let url = DatabaseUrl::sqlite(app.data().join("pyxis.db"));
    Store::open(&OpenOptions::new(url)).unwrap().migrate().await.unwrap();
}

engines! {
    async fn bootstrap_prints_what_a_script_needs_and_does_it_once(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let printed = app.bootstrap.as_object().unwrap();
        let names = ["agent_key", "api_key", "owner_email", "owner_link", "owner_session_token", "scorer_id", "workspace_id"];
        for name in names {
            assert!(printed.contains_key(name), "{name} is missing: {printed:?}");
        }
        assert!(printed["scorer_id"].as_u64().is_some_and(|id| id > 0));
        let again = app.cli(&["bootstrap", "--json"]).await.expect(3);
        assert_eq!(again.stdout, "");
        assert!(again.stderr.contains("--reissue"), "{again:?}");
    }

    async fn a_bootstrap_that_was_killed_before_it_printed_is_completed_with_new_keys(setup: Setup) {
        let mut app = App::empty(setup);
        with_tables(&app).await;
        let mut command = app.command(&["bootstrap", "--json"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the first commit", async || {
            (app.sql("SELECT count(*) FROM workspaces") == ["1"]).then_some(())
        })
        .await;
        child.kill().unwrap();
        child.wait().unwrap();
        app.cli(&["bootstrap", "--json"]).await.expect(3);
        app.bootstrap = app.cli_json(&["bootstrap", "--reissue"]).await;
        app.serve();
        app.owner().client.get("/approvals").send().await.expect(200);
        // Without a credential of this name, the key was still accepted.
        let answer = app.default_agent().forward("none", "GET", "https://a.example/").send().await;
        assert_ne!(answer.status, 401, "{answer:?}");
    }

    async fn keys_that_no_one_received_are_replaced_and_those_in_use_are_not(setup: Setup) {
        let mut app = App::bootstrapped(setup).await;
        let lost = app.bootstrap.clone();
        let refused = app.cli(&["bootstrap", "--reissue", "--owner-email", "else@example.org"]).await.expect(1);
        assert!(refused.stderr.contains("no owner with the address else@example.org"), "{refused:?}");
        let email = lost["owner_email"].as_str().unwrap();
        app.bootstrap = app.cli_json(&["bootstrap", "--reissue", "--owner-email", email]).await;
        for name in ["agent_key", "api_key", "owner_link", "owner_session_token"] {
            assert_ne!(app.bootstrap[name], lost[name], "{name}");
        }
        for name in ["workspace_id", "scorer_id", "owner_email"] {
            assert_eq!(app.bootstrap[name], lost[name], "{name}");
        }
        app.serve();
        let key = |printed: &serde_json::Value| printed["agent_key"].as_str().unwrap().to_owned();
        let refused = app.agent(&key(&lost)).forward("none", "GET", "https://a.example/").send().await;
        assert_eq!(refused.status, 401, "{refused:?}");
        let refused = app.person(lost["owner_session_token"].as_str().unwrap());
        refused.client.get("/approvals").send().await.expect(401);
        app.owner().client.get("/approvals").send().await.expect(200);
        app.default_agent().client.get("/agent/services").send().await.expect(200);
        // The first use is written at once, so that a crash does not lose it.
        until("the first use", async || {
            (app.sql("SELECT count(*) FROM agents WHERE last_used_at IS NOT NULL") == ["1"]).then_some(())
        })
        .await;
        app.stop().await;
        let kinds: Vec<_> = app.audit().await.into_iter().map(|record| record["kind"].clone()).collect();
        for kind in ["agent.rotated", "api_key.revoked", "user.link_created"] {
            assert!(kinds.contains(&kind.into()), "{kind}: {kinds:?}");
        }
        let again = app.cli_json(&["bootstrap", "--reissue"]).await;
        assert_eq!(again["agent_key"], serde_json::Value::Null, "it is in use");
        assert_ne!(again["api_key"], app.bootstrap["api_key"]);
    }
}

#[tokio::test]
async fn serve_says_its_address_in_the_first_line() {
    let app = App::start(Setup::new()).await;
    assert_eq!(app.greeting["address"], app.address().to_string());
    assert_eq!(app.greeting["port"], app.address().port());
    app.anonymous().get("/healthz").send().await.expect(200);
}

#[tokio::test]
async fn serve_says_its_address_to_people_too() {
    let app = App::bootstrapped(Setup::new()).await;
    let (_server, mut lines) = Process::start(app.command(&["serve", "--listen", "127.0.0.1:0"]));
    let line = lines.next().unwrap().unwrap();
    let address = line.strip_prefix("listening on http://").expect(&line).parse().unwrap();
    Client::new(Address::new(address)).get("/healthz").send().await.expect(200);
}
