//! `pyxis config`: the settings as they apply, and their problems.

use crate::support::app::run;
use crate::support::{App, Setup};

#[tokio::test]
async fn the_effective_settings_are_shown_with_their_sources_and_without_secrets() {
    let app = App::empty(Setup::new());
    let mut command = app.command(&["config", "show", "--json", "--log", "debug"]);
    command.env("PX_VERIFY_API_KEY", "canary").env("PX_MCP_WAIT_SECS", "7");
    let shown = run(command).await.expect(0);
    assert!(!shown.stdout.contains("canary"), "{shown:?}");
    let shown = shown.json();
    let of = |name: &str| {
        let row = shown.as_array().unwrap().iter().find(|row| row["setting"] == name).unwrap();
        (row["value"].as_str().unwrap(), row["source"].as_str().unwrap())
    };
    assert_eq!(of("verify_api_key"), ("set", "PX_VERIFY_API_KEY"));
    assert_eq!(of("indexer_api_key"), ("not set", "default"));
    assert_eq!(of("mcp_wait_secs"), ("7", "PX_MCP_WAIT_SECS"));
    assert_eq!(of("log"), ("debug", "--log"));
    assert_eq!(of("listen"), ("127.0.0.1:8700", "default"));
    let table = app.cli(&["config", "show"]).await.expect(0);
    assert!(table.stdout.lines().any(|line| line.starts_with("PX_LISTEN ")), "{table:?}");
    assert!(!app.data().exists(), "looking makes nothing");
}

#[tokio::test]
async fn every_problem_of_the_settings_is_named_at_once() {
    let app = App::empty(Setup::new());
    let mut command = app.command(&["config", "check"]);
    command
        .env("PX_LISTEN", "0.0.0.0")
        .env("PX_BASE_URL", "http://pyxis.example")
        .env("PX_LOG_JSON", "perhaps")
        .env("PX_LOG", "blah,,=x")
        .env("PX_DATABASE_URL", "postgres:///pyxis")
        .env("PX_BACKUP_KEEP", "-1")
        .env("PX_WORKSPACE_PENDING_MAX", "0")
        .env("PX_BASEURL", "x");
    let checked = run(command).await.expect(1);
    for told in [
        "PX_LISTEN / --listen is 0.0.0.0, without a port; write 0.0.0.0:8700",
        "PX_BASE_URL: plain http",
        "PX_LOG_JSON is \"perhaps\"",
        "PX_LOG is \"blah,,=x\": ",
        "PX_DATABASE_URL / --database: database address: the address names no host",
        "PX_BACKUP_KEEP is \"-1\", not a whole number in its range; write a value such as 7",
        "PX_WORKSPACE_PENDING_MAX is 0, and must be at least 1",
        "warn  PX_BASEURL: there is no such setting (did you mean PX_BASE_URL?)",
    ] {
        assert!(checked.stdout.contains(told), "{told}: {checked:?}");
    }
    let mut command = app.command(&["config", "check", "--json"]);
    command.env("PX_EGRESS_CA_FILE", "/missing.pem").env("PX_BACKUP_DIR", "/missing");
    let checked = run(command).await.expect(1).json();
    let variables: Vec<_> =
        checked["problems"].as_array().unwrap().iter().map(|one| &one["variables"][0]).collect();
    assert_eq!(variables, ["PX_BACKUP_DIR", "PX_EGRESS_CA_FILE"], "{checked}");
    let right = app.cli(&["config", "check"]).await.expect(0);
    assert!(right.stdout.contains("ok    a server can start"), "{right:?}");
}

#[tokio::test]
async fn an_address_without_a_port_is_refused_with_the_one_that_is_meant() {
    let app = App::empty(Setup::new());
    let refused = app.cli(&["serve", "--listen", "0.0.0.0"]).await.expect(1);
    assert!(refused.stderr.contains("without a port; write 0.0.0.0:8700"), "{refused:?}");
}
