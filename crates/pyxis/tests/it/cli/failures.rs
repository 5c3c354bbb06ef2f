//! Errors for programs: JSON on standard error with `--json`, with the exit code as it is for people.

use serde_json::{Value, json};

use crate::support::app::Ran;
use crate::support::{App, Setup, Site};

fn error(ran: &Ran) -> Value {
    let parsed: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("not JSON: {ran:?}"));
    assert_eq!(ran.stdout, "", "{ran:?}");
    parsed["error"].clone()
}

#[tokio::test]
async fn an_error_is_json_for_a_program_and_keeps_its_exit_code() {
    let site = Site::new().await;
    let missing = error(&site.app.cli(&["agent", "show", "defualt-agent", "--json"]).await.expect(1));
    assert_eq!(missing["code"], "not_found");
    assert_eq!(missing["message"], "not found: agent defualt-agent (did you mean default-agent?)");
    let usage = error(&site.app.cli(&["agent", "lst", "--json"]).await.expect(2));
    assert_eq!(usage["code"], "usage");
    assert!(usage["message"].as_str().unwrap().contains("similar subcommand exists: 'list'"), "{usage}");
    site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
    let again = error(&site.app.cli(&["agent", "disable", "default-agent", "--json"]).await.expect(3));
    assert_eq!(again, json!({"code": "nothing_to_do", "message": "default-agent is already disabled"}));
    let text = site.app.cli(&["agent", "show", "nobody"]).await.expect(1);
    assert!(text.stderr.starts_with("error: not found"), "{text:?}");
}

#[tokio::test]
async fn help_and_version_are_text_even_for_a_program() {
    let app = App::empty(Setup::new());
    let version = app.cli(&["--json", "--version"]).await.expect(0);
    assert!(version.stdout.starts_with("pyxis "), "{version:?}");
    let help = app.cli(&["agent", "--json", "--help"]).await.expect(0);
    assert!(help.stdout.contains("Usage:"), "{help:?}");
}

#[tokio::test]
async fn a_credential_that_is_nearly_named_is_answered_with_the_right_name() {
    let site = Site::new().await;
    site.credential("billing", &json!({"auth": {"kind": "bearer"}, "secret": "a-long-enough-secret"})).await;
    for arguments in [
        &["credential", "show", "biling"][..],
        &["credential", "verify", "biling"],
        &["credential", "remove", "biling", "--yes"],
        &["policy", "show", "biling"],
        &["policy", "explain", "biling", "GET", "https://api.example.com/"],
    ] {
        let ran = site.app.cli(arguments).await.expect(1);
        assert!(ran.stderr.contains("credential biling (did you mean billing?)"), "{ran:?}");
    }
}

#[tokio::test]
async fn one_agent_and_one_credential_are_shown_without_key_and_secret() {
    let site = Site::new().await;
    let shown = site.app.cli(&["credential", "show", "api", "--json"]).await.expect(0);
    assert!(
        !shown.stdout.contains(crate::support::SECRET) && !shown.stdout.contains("sk-canary"),
        "{shown:?}"
    );
    let shown = shown.json();
    assert_eq!((&shown["name"], &shown["has_secret"]), (&json!("api"), &json!(true)));
    assert_eq!((&shown["auth"]["kind"], &shown["policy_version"]), (&json!("bearer"), &json!(null)));
    let text = site.app.cli(&["credential", "show", "api"]).await.expect(0);
    assert!(
        text.stdout.lines().any(|line| line.split_whitespace().eq(["has", "secret", "true"])),
        "{text:?}"
    );
    let shown = site.app.cli(&["agent", "show", "default-agent", "--json"]).await.expect(0);
    assert!(!shown.stdout.contains(&site.agent.key), "{shown:?}");
    assert_eq!(shown.json()["credentials"], "all");
}
