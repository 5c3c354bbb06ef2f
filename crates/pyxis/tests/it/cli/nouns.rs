//! Nouns and names that people guess.

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _, Parser as _};
use pyxis::cli::Cli;
use pyxis_testkit::engines;
use serde_json::json;

use crate::support::app::run;
use crate::support::{Setup, Site};

/// Placeholders of names. Ids, numbers, addresses and files have others.
const NAMES: &[&str] = &["NAME", "EMAIL", "MODEL", "CREDENTIAL", "AGENT"];

/// Commands that name two things, a tool and its credential.
const TWO_NAMES: &[&str] = &["pyxis mcp-tool show", "pyxis mcp-tool set"];

/// Every command without commands of its own, with its words.
fn leaves() -> Vec<(String, Command)> {
    fn collect(command: &Command, path: &str, leaves: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = format!("{path} {}", inner.get_name());
            if inner.has_subcommands() {
                collect(inner, &path, leaves);
            } else {
                leaves.push((path, inner.clone()));
            }
        }
    }
    let mut command = Cli::command();
    command.build();
    let mut leaves = Vec::new();
    collect(&command, "pyxis", &mut leaves);
    leaves
}

fn placeholder(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    names.first().map_or_else(|| argument.get_id().to_string().to_uppercase(), ToString::to_string)
}

/// True if the option is `--name`, or answers to it.
fn is_name(argument: &Arg) -> bool {
    argument.get_long() == Some("name") || argument.get_all_aliases().is_some_and(|all| all.contains(&"name"))
}

#[test]
fn what_a_command_acts_on_is_named_by_its_first_argument_or_by_an_option() {
    let mut named = 0;
    for (path, command) in leaves() {
        let first = command.get_positionals().next().map(placeholder);
        if first.is_some_and(|first| NAMES.contains(&first.as_str())) && !TWO_NAMES.contains(&path.as_str()) {
            assert!(command.get_arguments().any(is_name), "{path} has no --name");
            named += 1;
        }
        let required = command.get_opts().find(|option| option.is_required_set() && is_name(option));
        assert_eq!(required.map(Arg::get_id), None, "{path}: the name is an argument");
    }
    assert!(named > 30, "{named}");
}

#[test]
fn a_name_as_an_option_leaves_the_other_arguments_in_their_order() {
    const ISSUER: &str = "0x00000000000000000000000000000000000000aa";
    for line in [
        "agent show --name bot",
        "agent rotate --name bot",
        "agent remove --name bot --yes",
        "connection list --name bot",
        "credential show --name api",
        "credential remove --name api --yes",
        "policy list",
        "policy show --name api",
        "policy edit --name api",
        "policy lint --name api --file draft.json",
        "policy lint api --file draft.json",
        "policy set --name api policy.json",
        "policy explain --name api GET https://api.example.com/",
        "policy explain api GET --name api https://api.example.com/",
        "mcp-tool list --name docs",
        "user disable --email a@people.example",
        "user disable --name a@people.example",
        "user role --email a@people.example admin",
        "user grant --email a@people.example api --approve",
        "issuer add did:ethr:0x1 Ours",
        "issuer add did:ethr:0x1 --name Ours",
        &format!("proofs issuer add {ISSUER} Ours --kinds all"),
        &format!("proof issuer add {ISSUER} --kinds all --name Ours"),
        "models remove polygon",
        "model remove --model polygon",
        "models remove --name polygon",
        &format!("allow-list add --name friends {ISSUER}"),
        &format!("allow-list add friends {ISSUER}"),
        "allow-list add --name friends --file friends.csv",
        "onchain-stamp add --name Holder erc20 contract=0x1 --network optimism",
        "task list --state proposed",
    ] {
        let parsed = Cli::try_parse_from(["pyxis"].into_iter().chain(line.split(' ')));
        assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
    }
    for line in [
        "agent show",
        "policy lint --file draft.json",
        "policy explain GET https://api.example.com/",
        "models remove solana",
        "allow-list show",
        "issuer add did:ethr:0x1",
        "task list --state lost",
    ] {
        let parsed = Cli::try_parse_from(["pyxis"].into_iter().chain(line.split(' ')));
        assert!(parsed.is_err_and(|error| error.exit_code() == 2), "{line}");
    }
}

engines! {
    async fn a_command_does_the_same_whichever_way_its_thing_is_named(setup: Setup) {
        let site = Site::with(setup).await;
        let (cli, url) = (&site.app, "https://api.example.com/");
        for (argument, option) in [
            (&["agent", "show", "default-agent"][..], &["agent", "show", "--name", "default-agent"][..]),
            (&["credential", "show", "api"], &["credential", "show", "--name", "api"]),
            (&["policy", "explain", "api", "GET", url], &["policy", "explain", "GET", "--name", "api", url]),
            (&["policy", "lint", "api"], &["policy", "lint", "--name", "api"]),
        ] {
            let (argument, option) = (cli.cli(argument).await, cli.cli(option).await);
            assert_eq!((argument.code, &argument.stdout), (option.code, &option.stdout), "{argument:?} {option:?}");
        }
        let unclear = cli.cli(&["agent", "show", "one", "--name", "two"]).await.expect(2);
        assert!(unclear.stderr.contains("the argument one and --name two differ; keep one"), "{unclear:?}");
        std::fs::write(cli.directory().join("policy.json"), r#"{"deny_methods": ["PUT"]}"#).unwrap();
        cli.cli(&["policy", "set", "--name", "api", "policy.json"]).await.expect(0);
        let policies = cli.cli_json(&["policy", "list"]).await;
        assert_eq!((&policies[0]["credential"], &policies[0]["version"]), (&json!("api"), &json!(1)));

        cli.admin("ada@people.example").await;
        let role = cli.cli_json(&["user", "role", "--email", "ada@people.example", "member"]).await;
        assert_eq!(role["role"], "member");
        cli.cli(&["user", "grant", "api", "--approve", "--email", "ada@people.example"]).await.expect(0);
        cli.cli(&["user", "disable", "--email", "ada@people.example"]).await.expect(0);
        cli.cli(&["user", "enable", "ada@people.example"]).await.expect(0);
        let strange = cli.cli(&["user", "role", "--email", "ada@people.example", "king"]).await.expect(2);
        assert!(strange.stderr.contains("unknown role king; use owner, admin or member"), "{strange:?}");
        let none = cli.cli(&["user", "role", "--email", "ada@people.example"]).await.expect(2);
        assert!(none.stderr.contains("ROLE is missing"), "{none:?}");

        let address = "0x1111111111111111111111111111111111111111";
        cli.cli(&["allow-list", "create", "--name", "friends"]).await.expect(0);
        cli.cli(&["allow-list", "add", "--name", "friends", address]).await.expect(0);
        cli.cli(&["allow-list", "add", "friends", address]).await.expect(3);
        let listed = cli.cli(&["allow-list", "show", "--name", "friends", "--addresses"]).await.expect(0);
        assert_eq!(listed.stdout.trim(), address);
        let wrong = cli.cli(&["allow-list", "add", "friends", "--name", "foes"]).await.expect(2);
        assert!(wrong.stderr.contains("friends is not an address"), "{wrong:?}");
    }
}

#[test]
fn every_noun_is_understood_in_the_singular_and_in_the_plural() {
    for (one, several) in [
        ("key", "keys"),
        ("workspace", "workspaces"),
        ("user", "users"),
        ("agent", "agents"),
        ("connection", "connections"),
        ("credential", "credentials"),
        ("mcp-tool", "mcp-tools"),
        ("policy", "policies"),
        ("grant", "grants"),
        ("task", "tasks"),
        ("webhook", "webhooks"),
        ("scorer", "scorers"),
        ("score", "scores"),
        ("score-job", "score-jobs"),
        ("score-key", "score-keys"),
        ("api-key", "api-keys"),
        ("stamp", "stamps"),
        ("allow-list", "allow-lists"),
        ("onchain-stamp", "onchain-stamps"),
        ("stamp-key", "stamp-keys"),
        ("address", "addresses"),
        ("model", "models"),
        ("issuer", "issuers"),
        ("proof", "proofs"),
        ("network", "networks"),
        ("check", "checks"),
        ("proofs issuer", "proofs issuers"),
        ("proofs key", "proofs keys"),
    ] {
        for noun in [one, several] {
            let words = ["pyxis"].into_iter().chain(noun.split(' ')).chain(["--help"]);
            let told = Cli::try_parse_from(words).unwrap_err();
            assert_eq!(told.kind(), ErrorKind::DisplayHelp, "{noun}: {told}");
        }
    }
}

#[test]
fn add_and_create_and_remove_and_delete_are_the_same_verbs() {
    fn check(command: &Command, path: &str) {
        let verbs: Vec<_> = command.get_subcommands().collect();
        let knows = |verb: &str| {
            verbs.iter().any(|one| one.get_name() == verb || one.get_all_aliases().any(|alias| alias == verb))
        };
        for (one, other) in [("add", "create"), ("remove", "delete")] {
            assert_eq!(knows(one), knows(other), "{path}: {one} and {other}");
        }
        for verb in verbs {
            check(verb, &format!("{path} {}", verb.get_name()));
        }
    }
    check(&Cli::command(), "pyxis");
}

#[tokio::test]
async fn a_new_name_is_an_argument_or_an_option_but_not_two_different_ones() {
    let site = Site::bare(Setup::new()).await;
    let add = |names: &[&'static str]| {
        let rest = ["--auth", "bearer", "--allow-host", "api.example.com", "--secret-env", "SECRET"];
        let mut command = site.app.command(&[&["credential", "add"][..], names, &rest].concat());
        command.env("SECRET", "a-long-enough-secret");
        run(command)
    };
    add(&["one"]).await.expect(0);
    add(&["--name", "two"]).await.expect(0);
    add(&["three", "--name", "three"]).await.expect(0);
    let refused = add(&["four", "--name", "five"]).await.expect(2);
    assert!(refused.stderr.contains("the argument four and --name five differ; keep one"), "{refused:?}");
    add(&[]).await.expect(2);
    let key = ["credential", "generate-key", "signer", "--algorithm", "ed25519"];
    let mut command = site.app.command(&[&key[..], &["--import-env", "SECRET"]].concat());
    command.env("SECRET", "11".repeat(32));
    run(command).await.expect(0);
    let listed = site.app.cli_json(&["credentials", "list"]).await;
    let mut names: Vec<_> =
        listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["one", "signer", "three", "two"]);

    let added = site.app.cli_json(&["user", "add", "a@people.example", "--role", "admin"]).await;
    assert_eq!(added["email"], "a@people.example");
    let both = ["user", "add", "b@people.example", "--email", "c@people.example"];
    let refused = site.app.cli(&both).await.expect(2);
    assert!(refused.stderr.contains("--email c@people.example differ; keep one"), "{refused:?}");
    assert_eq!(site.app.cli_json(&["users", "list"]).await.as_array().unwrap().len(), 2);
}
