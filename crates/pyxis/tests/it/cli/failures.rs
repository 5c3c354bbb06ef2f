//! Errors for programs: JSON on standard error with `--json`, with the exit code as it is for people.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::app::Ran;
use crate::support::{App, Setup, Site};

fn error(ran: &Ran) -> Value {
    let parsed: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("not JSON: {ran:?}"));
    assert_eq!(ran.stdout, "", "{ran:?}");
    parsed["error"].clone()
}

engines! {
    async fn an_error_is_json_for_a_program_and_keeps_its_exit_code(setup: Setup) {
        let site = Site::with(setup).await;
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
}

#[tokio::test]
async fn help_and_version_are_text_even_for_a_program() {
    let app = App::empty(Setup::new());
    let version = app.cli(&["--json", "--version"]).await.expect(0);
    assert!(version.stdout.starts_with("pyxis "), "{version:?}");
    let help = app.cli(&["agent", "--json", "--help"]).await.expect(0);
    assert!(help.stdout.contains("Usage:"), "{help:?}");
}

engines! {
    async fn a_credential_that_is_nearly_named_is_answered_with_the_right_name(setup: Setup) {
        let site = Site::with(setup).await;
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
}

engines! {
    async fn what_is_nearly_named_is_answered_with_the_right_name_for_every_noun(setup: Setup) {
        let site = Site::with(setup).await;
        let app = &site.app;
        app.admin("ada@people.example").await;
        let did = "did:pkh:eip155:1:0x00000000000000000000000000000000000000aa";
        let did = app.cli_json(&["issuer", "add", did, "Ours"]).await["did"].as_str().unwrap().to_owned();
        let near_did = did.replacen("did:", "dit:", 1);
        app.cli(&["allow-list", "create", "Friends"]).await.expect(0);
        let scorer = app.cli_json(&["scorer", "add", "main"]).await["id"].to_string();
        let add = ["proofs", "issuer", "add", "0x00000000000000000000000000000000000000aa", "Ours", "--kinds", "all"];
        let proof_issuer = app.cli_json(&add).await["issuer"].as_str().unwrap().to_owned();
        let url = "https://8.8.8.8/in";
        let webhook = app.cli_json(&["webhook", "add", "--url", url]).await["id"].as_str().unwrap().to_owned();
        let last = if webhook.ends_with('0') { '1' } else { '0' };
        let near_webhook = format!("{}{last}", &webhook[..webhook.len() - 1]);
        let others = "0x00000000000000000000000000000000000000ab";
        let address = "0x1111111111111111111111111111111111111111";
        for (arguments, told) in [
            (&["user", "link", "adda@people.example"][..], "user adda@people.example (did you mean ada@people.example?)".to_owned()),
            (&["user", "disable", "adda@people.example"], "(did you mean ada@people.example?)".to_owned()),
            (&["user", "link", "someone@else.example"], "not found: user someone@else.example".to_owned()),
            (&["issuer", "remove", &near_did], format!("issuer {near_did} (did you mean {did}?)")),
            (&["proofs", "issuer", "remove", others], format!("(did you mean {proof_issuer}?)")),
            (&["allow-list", "show", "Freinds"], "allow list Freinds (did you mean Friends?)".to_owned()),
            (&["allow-list", "delete", "Freinds"], "(did you mean Friends?)".to_owned()),
            (&["allow-list", "remove", "Freinds", address], "(did you mean Friends?)".to_owned()),
            (&["onchain-stamp", "show", "Freinds"], "not found: on-chain Stamp Freinds".to_owned()),
            (&["scorer", "show", "9999"], "not found: scorer 9999; known: ".to_owned()),
            (&["stamps", "show", address, "--scorer", "9999"], format!("{scorer} (main)")),
            (&["webhook", "disable", &near_webhook], format!("(did you mean {webhook}?)")),
        ] {
            let ran = app.cli(arguments).await.expect(1);
            assert!(ran.stderr.contains(&told), "{told}: {ran:?}");
        }
        for arguments in [&["user", "link", "adda@people.example"][..], &["issuer", "remove", &near_did], &["scorer", "show", "9999"]] {
            let ran = app.cli(&[arguments, &["--json"]].concat()).await.expect(1);
            assert_eq!(error(&ran)["code"], "not_found", "{ran:?}");
        }
    }
}

engines! {
    async fn one_agent_and_one_credential_are_shown_without_key_and_secret(setup: Setup) {
        let site = Site::with(setup).await;
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
}
