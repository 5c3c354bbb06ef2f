//! `pyxis connect` (`docs/guides/connect-an-agent.md`).

use std::process::Command;

use serde_json::json;

use crate::support::app::run;
use crate::support::{App, Setup, Site};

#[tokio::test]
async fn the_configuration_of_each_program_is_printed_without_a_key() {
    let app = App::empty(Setup::new());
    let listed = app.cli_json(&["connect"]).await;
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.contains(&"claude-code") && names.contains(&"opencode"), "{names:?}");
    for name in names {
        let url = ["connect", name, "--url", "https://pyxis.example.org/mcp/"];
        let ran = app.cli(&url).await.expect(0);
        assert!(ran.stdout.contains("https://pyxis.example.org/mcp"), "{ran:?}");
        assert!(!ran.stdout.contains("/mcp/mcp"), "{ran:?}");
    }
    let file = app.cli(&["connect", "claude-code", "--key-env", "MY_KEY"]).await.expect(0);
    let parsed: serde_json::Value = serde_json::from_str(&file.stdout).unwrap();
    assert_eq!(parsed["mcpServers"]["pyxis"]["headers"], json!({"Authorization": "Bearer ${MY_KEY}"}));
    assert!(
        parsed["mcpServers"]["pyxis"]["url"].as_str().unwrap().starts_with("http://localhost:"),
        "{parsed}"
    );
}

#[tokio::test]
async fn without_a_server_here_the_person_is_told_which_url_is_assumed() {
    let app = App::empty(Setup::new());
    let assumed = app.cli(&["connect", "curl"]).await.expect(0);
    assert!(assumed.stderr.contains("No Pyxis runs from this directory"), "{assumed:?}");
    let mut named = app.command(&["connect", "curl"]);
    named.env("PX_URL", "https://pyxis.example.org");
    let named = run(named).await.expect(0);
    assert!(named.stdout.contains("https://pyxis.example.org/mcp"), "{named:?}");
    assert!(!named.stderr.contains("No Pyxis"), "{named:?}");
}

#[tokio::test]
async fn a_program_or_name_that_makes_no_sense_is_refused_with_what_would() {
    let app = App::empty(Setup::new());
    let unknown = app.cli(&["connect", "claude-cod"]).await.expect(1);
    assert!(unknown.stderr.contains("did you mean claude-code?"), "{unknown:?}");
    for bad in [
        ["--url", "ftp://a.example"],
        ["--url", "nowhere"],
        ["--url", "https://a.example/?x=1"],
        ["--url", "https://a.example/#top"],
        ["--url", "https://user:word@a.example/"],
        ["--key-env", "A B"],
        ["--key-env", "1A"],
    ] {
        let ran = app.cli(&["connect", "codex", bad[0], bad[1]]).await.expect(1);
        assert!(ran.stderr.contains(bad[0]) && ran.stdout.is_empty(), "{ran:?}");
        assert!(!ran.stderr.contains("word@"), "a password is not repeated: {ran:?}");
    }
}

#[tokio::test]
async fn the_command_that_is_printed_for_curl_lists_the_services_of_the_key() {
    let site = Site::new().await;
    let url = format!("http://{}", site.app.address());
    let printed = site.app.cli(&["connect", "curl", "--url", &url, "--key-env", "MY_KEY"]).await.expect(0);
    let mut shell = Command::new("sh");
    shell.args(["-c", &printed.stdout]).env("MY_KEY", &site.agent.key);
    let ran = run(shell).await.expect(0);
    let listed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let services = &listed["result"]["structuredContent"]["services"];
    assert_eq!(services[0]["credential"], "api", "{ran:?}");
}
