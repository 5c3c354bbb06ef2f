//! Nouns and names that people guess.

use clap::Parser as _;
use clap::error::ErrorKind;
use pyxis::cli::Cli;

use crate::support::app::run;
use crate::support::{Setup, Site};

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
    let refused = add(&["four", "--name", "five"]).await.expect(1);
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
    let refused = site.app.cli(&both).await.expect(1);
    assert!(refused.stderr.contains("--email c@people.example differ; keep one"), "{refused:?}");
    assert_eq!(site.app.cli_json(&["users", "list"]).await.as_array().unwrap().len(), 2);
}
