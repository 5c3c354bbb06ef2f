//! Removals are confirmed: on a terminal by the person, in a script by `--yes`.

use clap::{Command, CommandFactory as _};
use pyxis::cli::Cli;
use pyxis_testkit::engines;
use serde_json::json;

use crate::support::{Setup, Site};

engines! {
    async fn a_removal_without_a_terminal_is_refused_and_says_what_to_add(setup: Setup) {
        let site = Site::with(setup).await;
        for (arguments, told) in [
            (["agent", "remove", "default-agent"], "this would remove the agent default-agent and its key"),
            (["credential", "remove", "api"], "this would remove the credential api and its secret"),
        ] {
            let refused = site.app.cli(&arguments).await.expect(1);
            assert!(refused.stderr.contains(told) && refused.stderr.contains("add --yes"), "{refused:?}");
        }
        let list = async |noun: &str| site.app.cli_json(&[noun, "list"]).await;
        assert_eq!(list("agent").await[0]["name"], "default-agent");
        site.app.cli(&["credential", "remove", "api", "--yes"]).await.expect(0);
        assert_eq!(list("credential").await, json!([]));
        let erase = ["address", "erase", "0x1111111111111111111111111111111111111111"];
        assert!(site.app.cli(&erase).await.expect(1).stderr.contains("erase everything"));
        site.app.cli(&[&erase[..], &["--yes"]].concat()).await.expect(3);
    }

    async fn what_is_not_there_is_said_before_anyone_is_asked(setup: Setup) {
        let site = Site::bare(setup).await;
        let refused = site.app.cli(&["agent", "remove", "defualt-agent"]).await.expect(1);
        assert!(refused.stderr.contains("(did you mean default-agent?)"), "{refused:?}");
        let id = "0190a2b4-7c00-7000-8000-000000000001";
        for (arguments, code, told) in [
            (&["issuer", "remove", "did:ethr:0x1"][..], 1, "not found: issuer did:ethr:0x1"),
            (&["onchain-stamp", "remove", "Holder"], 1, "not found: on-chain Stamp Holder"),
            (&["webhook", "remove", id], 1, "not found: webhook 0190a2b4"),
            (&["webhook", "remove", "x"], 1, "not an endpoint id; `pyxis webhook list` shows the ids"),
            (&["allow-list", "delete", "friends"], 1, "not found: allow list friends"),
            (&["score-job", "remove", id], 1, "not found: score job"),
            (&["activity", "remove", "ab"], 3, "no imported file has this SHA-256"),
            (&["models", "remove", "polygon"], 3, "no model of your own replaces polygon"),
            (&["models", "reset"], 3, "the built-in models are already in force"),
        ] {
            let refused = site.app.cli(arguments).await.expect(code);
            assert!(
                refused.stderr.contains(told) && !refused.stderr.contains("--yes"),
                "{arguments:?}: {refused:?}"
            );
        }
    }
}

#[test]
fn every_command_that_removes_or_deletes_takes_yes() {
    fn check(command: &Command, path: &str) {
        for inner in command.get_subcommands() {
            let path = format!("{path} {}", inner.get_name());
            if matches!(inner.get_name(), "remove" | "delete" | "erase" | "reset") {
                assert!(inner.get_arguments().any(|one| one.get_id() == "yes"), "{path}");
            }
            check(inner, &path);
        }
    }
    check(&Cli::command(), "pyxis");
}
