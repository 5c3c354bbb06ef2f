//! Commands that were not meant as they were typed: each says what is wrong and what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::app::run;
use crate::support::{App, Setup, Site};

/// A setup without a server, so that nothing is there yet.
fn without_server() -> App {
    App::empty(Setup::new())
}

#[tokio::test]
async fn a_command_in_the_wrong_directory_makes_no_installation_there() {
    let app = without_server();
    for arguments in [
        &["agent", "add", "bot"][..],
        &["credential", "list"],
        &["key", "rotate"],
        &["backup", "copy.db"],
        &["migrate"],
        &["network", "list"],
    ] {
        let ran = app.cli(arguments).await.expect(1);
        assert!(ran.stderr.contains("there is no installation here"), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("--data-dir") && ran.stderr.contains("PX_DATA_DIR"), "{ran:?}");
        assert!(!app.data().exists(), "{arguments:?}");
    }
    app.cli(&["bootstrap"]).await.expect(0);
    app.cli(&["agent", "add", "bot"]).await.expect(0);
}

#[tokio::test]
async fn a_misspelt_variable_and_a_key_that_everyone_can_read_are_named_by_doctor_and_by_the_server() {
    let app = without_server();
    let key = app.directory().join("master.txt");
    fs::write(&key, "ab".repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = app.command(arguments);
        command.env("PX_ENCRYPTION_KEY_FILE", &key).env("PX_BASEURL", "https://canary.example");
        command
    };
    run(command(&["bootstrap"])).await.expect(0);
    let ran = run(command(&["doctor"])).await.expect(0);
    assert!(
        ran.stdout.contains("warn  PX_BASEURL: there is no such setting (did you mean PX_BASE_URL?)"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("warn  PX_ENCRYPTION_KEY_FILE: every user of this machine can read"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("canary"), "{ran:?}");
    let setup = Setup::new().env("PX_BASEURL", "https://canary.example");
    let site = Site::with(setup).await;
    assert!(site.app.logs().contains("did you mean PX_BASE_URL?"), "{}", site.app.logs());
}

#[tokio::test]
async fn a_misspelt_variable_is_named_by_every_command_for_people_and_by_none_for_programs() {
    let app = without_server();
    let with = |variable: &str, arguments: &[&str]| {
        let mut command = app.command(arguments);
        command.env(variable, "canary");
        run(command)
    };
    let bootstrap = with("PX_BASEURL", &["bootstrap"]).await.expect(0);
    let told = "warning: PX_BASEURL: there is no such setting (did you mean PX_BASE_URL?); correct or remove";
    assert!(bootstrap.stderr.contains(told), "{bootstrap:?}");
    for (variable, arguments) in [
        ("PX_DATADIR", &["agent", "list"][..]),
        ("PX_TOKN", &["inbox"]),
        ("PX_TOKN", &["task", "list"]),
        ("PX_BASEURL", &["user", "link", "owner@localhost"]),
        ("PX_BASEURL", &["config", "show"]),
        ("PX_BASEURL", &["status"]),
    ] {
        let ran = with(variable, arguments).await;
        let told = format!("warning: {variable}: there is no such setting");
        assert_eq!(ran.stderr.matches(&told).count(), 1, "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("canary") && !ran.stdout.contains("warning"), "{ran:?}");
    }
    for arguments in [
        &["agent", "list", "--json"][..],
        &["completions", "bash"],
        &["man", "."],
        &["inbox", "--url", "http://127.0.0.1:1", "--token-env", "PX_DATADIR"],
    ] {
        let ran = with("PX_DATADIR", arguments).await;
        assert!(!ran.stderr.contains("PX_DATADIR: "), "{arguments:?}: {ran:?}");
    }
    let doctor = with("PX_BASEURL", &["doctor"]).await.expect(0);
    assert!(doctor.stdout.contains("PX_BASEURL") && !doctor.stderr.contains("PX_BASEURL"), "{doctor:?}");
}

#[tokio::test]
async fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let app = without_server();
    let ran = app.cli(&["connect", "claude"]).await.expect(1);
    assert!(ran.stderr.contains("unknown program: claude (did you mean claude-code?); known: "), "{ran:?}");
    let ran = app.cli(&["login", "--url", "http://127.0.0.1:1"]).await.expect(1);
    assert!(ran.stderr.contains("no agent key"), "{ran:?}");
    app.cli(&["proofs", "keygen", "issuer.key"]).await.expect(0);
    let sign = ["proofs", "sign", "0x00000000000000000000000000000000000000aa", "--network", "optimsm"];
    let what = ["--kind", "gov-id", "--action-id", "1", "--nullifier", "0x07", "--key", "file:issuer.key"];
    let ran = app.cli(&[&sign[..], &what[..]].concat()).await.expect(0);
    assert!(
        ran.stderr.contains("there is no network optimsm here (did you mean optimism?); known: "),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_wrong_setting_of_a_credential_is_answered_with_the_field_the_values_and_the_nearest_one() {
    let site = Site::bare(Setup::new()).await;
    fs::write(site.app.directory().join("text"), "canary-secret").unwrap();
    let sign = ["--auth", "hmac", "--auth-name", "X-Sign", "--set", "content={body}"];
    let signed = |more: &[&'static str]| [&sign[..], more].concat();
    for (given, words) in [
        (
            signed(&["--set", "hash=sha265"]),
            "--set hash=sha265: sha265 is not allowed (did you mean sha256?); write sha256 or sha512 or sha1",
        ),
        (
            signed(&["--set", "hsh=sha256"]),
            "--auth hmac has no setting hsh (did you mean hash?); it has content, hash, ",
        ),
        (signed(&["--set", "content=x"]), "--set names content twice; keep one"),
        (
            vec!["--preset", "github-app", "--set", "ap_id=12"],
            "the preset github-app has no setting ap_id (did you mean app_id?); it has app_id, ",
        ),
        (vec!["--preset", "github-app", "--set", "app_id="], "--set app_id= has no value"),
        (
            vec!["--preset", "github-app", "--set", "app_id"],
            "--set app_id: write FIELD=VALUE, for example --set app_id=12",
        ),
        (
            vec!["--preset", "github", "--auth-name", "X-Key"],
            "--auth-name needs --auth; a preset or --auth-json already says",
        ),
        (
            vec!["--auth", "bearer", "--auth-name", "X-Key"],
            "--auth bearer takes no --auth-name; it has no settings",
        ),
        (vec!["--auth", "query", "--auth-name", "key", "--set", "parameter=key"], "say the same; keep one"),
        (
            vec!["--auth", "cookie", "--auth-name", "sid", "--auth-format", "{secret}"],
            "--auth cookie takes no --auth-format",
        ),
        (
            vec!["--auth", "header"],
            "--auth header needs --auth-name with the header, for example --auth-name ",
        ),
        (
            vec!["--auth", "oauth1", "--api-base", "http://127.0.0.1:9", "--set", "without_token=empty"],
            "--set has no use with --api-base",
        ),
        (vec!["--auth", "beerer"], "a similar value exists: 'bearer'"),
    ] {
        let add =
            ["credential", "add", "--name", "x", "--allow-host", "api.example.com", "--secret-file", "text"];
        let ran = site.app.cli(&[&add[..], &given].concat()).await;
        assert!(ran.code != Some(0) && ran.stderr.contains(words), "{words}: {ran:?}");
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
    }
    assert_eq!(site.app.cli_json(&["credential", "list"]).await, serde_json::json!([]));
}

#[tokio::test]
async fn a_credential_that_cannot_be_used_is_warned_of_and_one_that_is_missing_is_named() {
    let site = Site::with(Setup::new()).await;
    let mut command = site.app.command(&[
        "credential",
        "add",
        "--name",
        "bare",
        "--auth",
        "bearer",
        "--secret-env",
        "SECRET",
    ]);
    command.env("SECRET", "a-long-enough-secret");
    let ran = run(command).await.expect(0);
    assert!(ran.stderr.contains("warning: This credential has no allowed hosts"), "{ran:?}");
    let ran = site.app.cli(&["credential", "remove", "absent"]).await.expect(1);
    assert!(ran.stderr.contains("not found: credential absent"), "{ran:?}");
}
