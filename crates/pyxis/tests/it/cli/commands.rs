//! The commands that concern the proxy, against a running server (`docs/reference/behavior/operations.md#commands`).

use std::fs;

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::app::run;
use crate::support::{SECRET, Setup, Site, in_one_hour};

engines! {
    async fn a_credential_made_on_the_command_line_works_at_once(setup: Setup) {
        let site = Site::bare(setup).await;
        let host = site.upstream.addr().to_string();
        let arguments = ["credential", "add", "--json", "--name", "api", "--description", "Test API", "--auth", "bearer", "--allow-http", "--allow-host", &host];
        let mut command = site.app.command(&[arguments.as_slice(), &["--secret-env", "THE_SECRET"]].concat());
        command.env("THE_SECRET", SECRET);
        let added = run(command).await.expect(0);
        assert!(!format!("{}{}", added.stdout, added.stderr).contains(SECRET));
        site.forward("GET", "/").send().await.forwarded(200);

        fs::write(site.app.directory().join("secret"), "second-canary").unwrap();
        site.app.cli(&["credential", "set-secret", "api", "--secret-file", "secret", "--json"]).await.expect(0);
        site.forward("GET", "/").send().await.forwarded(200);
        let sent = site.upstream.received(2).await;
        assert_eq!(sent[1].header("authorization"), Some("Bearer second-canary"));
        let list = site.app.cli_json(&["credential", "list"]).await;
        assert_eq!((&list[0]["name"], &list[0]["version"]), (&json!("api"), &json!(2)));
        site.app.cli(&["credential", "remove", "api", "--yes"]).await.expect(0);
        site.forward("GET", "/").send().await.problem(404, "credential_not_found");
    }

    async fn a_reader_that_has_gone_away_ends_a_command_quietly(setup: Setup) {
        let site = Site::with(setup).await;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = site.app.command(&["credential", "list"]);
        command.stdout(writer);
        let ran = run(command).await;
        assert_eq!((ran.code, ran.stderr.contains("panicked")), (Some(0), false), "{ran:?}");
    }

    async fn a_policy_set_on_the_command_line_holds_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        fs::write(site.app.directory().join("policy.json"), r#"{"deny_methods": ["GET"]}"#).unwrap();
        site.app.cli(&["policy", "set", "api", "policy.json", "--json"]).await.expect(0);
        site.forward("GET", "/").send().await.problem(403, "denied_by_policy");
        let shown = site.app.cli_json(&["policy", "show", "api"]).await;
        assert_eq!(shown["deny_methods"], json!(["GET"]));
        let url = site.upstream.url("/");
        let explained = site.app.cli_json(&["policy", "explain", "api", "GET", &url]).await;
        assert_eq!(explained, site.owner.explain("api", "GET", &url).await);
        fs::write(site.app.directory().join("policy.json"), r#"{"passkey_required": true}"#).unwrap();
        let warned = site.app.cli(&["policy", "set", "api", "policy.json"]).await.expect(0);
        let few = "warning: This policy needs 1 approver with a passkey, but no one has one.";
        assert!(warned.stderr.contains(few) && !warned.stdout.contains("warning"), "{warned:?}");
        let warned = site.app.cli_json(&["policy", "set", "api", "policy.json"]).await;
        assert!(warned["warnings"].to_string().contains("no one has one"), "{warned}");
        fs::write(site.app.directory().join("policy.json"), r#"{"deny_urls": ["/x*"]}"#).unwrap();
        let refused = site.app.cli(&["policy", "set", "api", "policy.json"]).await;
        assert!(refused.code.is_some_and(|code| code != 0) && refused.stderr.contains("deny_urls"), "{refused:?}");
    }

    async fn agents_come_and_go_on_the_command_line(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = Site::with(setup).await;
            let url = site.upstream.url("/");
            let added = site.app.cli_json(&["agent", "add", "bot", "--rate-limit-per-hour", "1", "--credential", "api"]).await;
            let bot = site.app.agent(added["key"].as_str().or(added["agent_key"].as_str()).expect("a key"));
            bot.forward("api", "GET", &url).send().await.forwarded(200);
            bot.forward("api", "GET", &url).send().await.problem(429, "rate_limited");
            let list = site.app.cli(&["agent", "list", "--json"]).await.expect(0);
            assert!(!list.stdout.contains(&bot.key));
            let list = list.json();
            let seen: &Value = list.as_array().unwrap().iter().find(|agent| agent["name"] == "bot").unwrap();
            assert_eq!(seen["rate_limit_per_hour"], 1);
            site.app.cli(&["agent", "remove", "bot", "--yes"]).await.expect(0);
            bot.forward("api", "GET", &url).send().await.problem(401, "invalid_key");
            site.app.cli(&["agent", "remove", "bot", "--yes"]).await.expect(1);
        })
        .await;
    }

    async fn a_new_agent_is_told_with_its_credentials_and_how_to_choose_them(setup: Setup) {
        let site = Site::with(setup).await;
        let all = site.app.cli(&["agent", "add", "bot"]).await.expect(0);
        assert!(all.stdout.starts_with("key of bot (shown once): px_agent_"), "{all:?}");
        assert_eq!(all.stdout.lines().count(), 1, "the key alone is for a script: {all:?}");
        let told = "bot may use all credentials, including ones added later (now: api); to change that: `pyxis agent \
                    set-credentials`, or";
        assert!(all.stderr.contains(told), "{all:?}");
        let some = site.app.cli(&["agent", "add", "--name", "clerk", "--credential", "api"]).await.expect(0);
        assert!(some.stderr.contains("clerk may use only api; to change that: `pyxis agent set-credentials`, or"), "{some:?}");
        let quiet = site.app.cli(&["agent", "add", "third", "--json"]).await.expect(0);
        assert_eq!((quiet.stderr.as_str(), &quiet.json()["credentials"]), ("", &json!("all")));
        site.app.cli(&["credential", "remove", "api", "--yes"]).await.expect(0);
        let none = site.app.cli(&["agent", "add", "fourth"]).await.expect(0);
        assert!(none.stderr.contains("(now: none yet)"), "{none:?}");
    }

    async fn the_credentials_of_an_agent_are_replaced_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        let url = site.upstream.url("/");
        fs::write(site.app.directory().join("secret"), "another-canary").unwrap();
        let other = ["credential", "add", "other", "--allow-host", "other.example", "--auth", "bearer", "--secret-file", "secret"];
        site.app.cli(&other).await.expect(0);
        let added = site.app.cli_json(&["agent", "add", "bot"]).await;
        let bot = site.app.agent(added["key"].as_str().expect("a key"));
        bot.forward("api", "GET", &url).send().await.forwarded(200);
        let set = site.app.cli(&["agent", "set-credentials", "bot", "--credential", "other"]).await.expect(0);
        assert_eq!(set.stdout, "bot may use only other\n");
        bot.forward("api", "GET", &url).send().await.problem(404, "credential_not_found");
        let misspelled = site.app.cli(&["agent", "set-credentials", "bot", "--credential", "othr"]).await.expect(1);
        assert!(misspelled.stderr.contains("unknown credential othr (did you mean other?)"), "{misspelled:?}");
        site.app.cli(&["agent", "set-credentials", "bot"]).await.expect(2);
        site.app.cli(&["agent", "set-credentials", "bot", "--all", "--credential", "api"]).await.expect(2);
        let all = site.app.cli_json(&["agent", "set-credentials", "bot", "--all"]).await;
        assert_eq!(all["credentials"], "all");
        bot.forward("api", "GET", &url).send().await.forwarded(200);
    }

    async fn the_hosts_of_a_credential_are_replaced_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        let url = site.upstream.url("/");
        site.agent.forward("api", "GET", &url).send().await.forwarded(200);
        let set = site.app.cli(&["credential", "set-hosts", "api", "--allow-host", "api.example.com"]).await.expect(0);
        assert_eq!(set.stdout, "api may be sent to api.example.com (https and plain http)\n");
        site.agent.forward("api", "GET", &url).send().await.problem(403, "host_not_allowed");
        let back = ["credential", "set-hosts", "api", "--allow-host", "127.0.0.1", "--allow-host", "api.example.com"];
        let https = site.app.cli(&[&back[..], &["--https-only"]].concat()).await.expect(0);
        assert!(https.stdout.ends_with("127.0.0.1, api.example.com (https only)\n"), "{https:?}");
        let refused = site.app.cli(&["credential", "set-hosts", "api", "--allow-host", "*.com"]).await.expect(1);
        assert!(refused.stderr.contains("allowed_hosts entry"), "{refused:?}");
        site.app.cli(&["credential", "set-hosts", "api"]).await.expect(2);
        let open = site.app.cli_json(&[&back[..], &["--allow-http"]].concat()).await;
        assert_eq!(open["allow_http"], true);
        site.agent.forward("api", "GET", &url).send().await.forwarded(200);
    }

    async fn grants_are_listed_and_revoked_on_the_command_line(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
        site.agent.outcome(&txn).await;
        let list = site.app.cli_json(&["grant", "list"]).await;
        let id = list[0]["id"].as_str().unwrap();
        site.app.cli(&["grant", "revoke", id]).await.expect(0);
        site.app.cli(&["grant", "revoke", id]).await.expect(3);
        assert_eq!(site.app.cli_json(&["grant", "list"]).await, json!([]));
        assert_eq!(site.forward("POST", "/x").send().await.status, 202);
    }
}

#[tokio::test]
async fn a_command_that_finds_everything_so_already_exits_with_three() {
    let site = Site::new().await;
    site.app.cli(&["user", "add", "--email", "a@people.example", "--role", "admin"]).await.expect(0);
    for (command, name) in [("agent", "default-agent"), ("user", "a@people.example")] {
        site.app.cli(&[command, "disable", name]).await.expect(0);
        let again = site.app.cli(&[command, "disable", name]).await.expect(3);
        assert!(again.stderr.contains("already disabled") && !again.stderr.contains("WARN"), "{again:?}");
        site.app.cli(&[command, "enable", name]).await.expect(0);
        site.app.cli(&[command, "enable", name]).await.expect(3);
    }
    let said = site.app.cli(&["migrate", "--json"]).await.expect(3);
    let level = said.json()["schema_version"].clone();
    assert!(level.is_number());
    let said = site.app.cli(&["migrate"]).await.expect(3);
    assert_eq!((said.stdout, &*said.stderr), (format!("level {level}: nothing to do\n"), ""));
    let remove = ["models", "remove", "--model", "polygon", "--yes"];
    let said = site.app.cli(&remove).await.expect(3);
    assert_eq!(said.stderr, "no model of your own replaces polygon\n");
    let said = site.app.cli(&["models", "reset"]).await.expect(3);
    assert_eq!(said.stderr, "the built-in models are already in force\n");
    let said = site.app.cli(&["activity", "remove", "none", "--yes"]).await.expect(3);
    assert!(said.stderr.contains("`pyxis activity list`"), "{said:?}");
    let said = site.app.cli(&["score-job", "run"]).await.expect(3);
    assert_eq!(said.stderr, "no job is waiting\n");
}

#[tokio::test]
async fn an_empty_list_says_so_to_people_and_is_an_empty_array_to_programs() {
    let site = Site::bare(Setup::new()).await;
    for (noun, said) in [
        ("grant", "no grants\n"),
        ("credential", "no credentials\n"),
        ("score-job", "no score jobs\n"),
        ("webhook", "no webhook endpoints\n"),
        ("activity", "no imported files\n"),
    ] {
        let listed = site.app.cli(&[noun, "list"]).await.expect(0);
        assert_eq!((listed.stderr.as_str(), listed.stdout.lines().count()), (said, 1), "{listed:?}");
        let listed = site.app.cli(&[noun, "list", "--json"]).await.expect(0);
        assert_eq!((listed.json(), &*listed.stderr), (json!([]), ""));
    }
    let listed = site.app.cli(&["agent", "list"]).await.expect(0);
    assert_eq!(listed.stderr, "", "it is not empty");
}

#[tokio::test]
async fn results_of_a_score_job_never_replace_a_file() {
    let site = Site::bare(Setup::new()).await;
    let (app, scorer) = (&site.app, site.app.bootstrap["scorer_id"].to_string());
    let (addresses, results) = (app.directory().join("addresses.csv"), app.directory().join("kept.csv"));
    fs::write(&addresses, "0x1111111111111111111111111111111111111111\n").unwrap();
    fs::write(&results, "kept").unwrap();
    let create = ["score-job", "create", "addresses.csv", "--scorer", &scorer];
    let refused = app.cli(&[&create[..], &["--out", "kept.csv"]].concat()).await.expect(1);
    assert!(refused.stderr.contains("kept.csv exists; name a new file"), "{refused:?}");
    let refused = app.cli(&[&create[..], &["--out", "nowhere/new.csv"]].concat()).await.expect(1);
    assert!(refused.stderr.contains("cannot write nowhere/new.csv"), "{refused:?}");
    assert_eq!(app.cli_json(&["score-job", "list"]).await, json!([]), "nothing was created");
    let made = app.cli_json(&create).await;
    let download = ["score-job", "download", made["id"].as_str().unwrap(), "--out", "kept.csv"];
    let refused = app.cli(&download).await.expect(1);
    assert!(refused.stderr.contains("kept.csv exists; name a new file"), "{refused:?}");
    assert_eq!(fs::read_to_string(&results).unwrap(), "kept");
    let created = app.cli(&[&create[..], &["--out", "new.csv"]].concat()).await.expect(0);
    assert!(created.stdout.contains(" in new.csv"), "{created:?}");
}

#[tokio::test]
async fn people_and_workspaces_are_listed() {
    let site = Site::new().await;
    let added = site.app.cli_json(&["user", "add", "--email", "a@people.example", "--role", "admin"]).await;
    assert!(added["link"].as_str().unwrap().contains("/link/"));
    let users = site.app.cli_json(&["user", "list"]).await;
    assert_eq!(users.as_array().unwrap().len(), 2);
    site.app.cli_json(&["workspace", "add", "second", "--mode", "autonomous"]).await;
    let workspaces = site.app.cli_json(&["workspace", "list"]).await;
    let modes: Vec<_> =
        workspaces.as_array().unwrap().iter().map(|one| one["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["gated", "autonomous"]);
    let key = site.app.cli_json(&["--workspace", "second", "agent", "list"]).await;
    assert_eq!(key[0]["name"], "default-agent");
    let link = site.app.cli_json(&["user", "link", "a@people.example"]).await;
    assert!(link["link"].as_str().unwrap().contains("/link/"));
    let tail = site.app.cli(&["audit", "tail", "-n", "1"]).await.expect(0);
    assert_eq!(tail.stdout.lines().count(), 1);
}

#[tokio::test]
async fn verify_tells_the_status_and_never_the_secret() {
    let site = Site::new().await;
    let url = site.upstream.url("/me");
    let verified = site.app.cli(&["credential", "verify", "api", "--url", &url, "--json"]).await.expect(0);
    assert!(!verified.stdout.contains(SECRET));
    assert_eq!(verified.json()["status"], 200, "{verified:?}");
    let far = site.app.cli(&["credential", "verify", "api", "--url", "https://far.example.com/"]).await;
    assert_eq!(far.code, Some(1), "{far:?}");
    site.credential(
        "closed",
        &json!({"allowed_hosts": ["127.0.0.1:1"], "auth": {"kind": "bearer"}, "secret": SECRET}),
    )
    .await;
    let closed = site.app.cli(&["credential", "verify", "closed"]).await.expect(1);
    assert!(closed.stderr.contains("127.0.0.1:1: cannot connect to the host"), "{closed:?}");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn wrong_usage_is_exit_2_and_the_unknown_exit_1() {
    let site = Site::new().await;
    site.app.cli(&["agent", "dance"]).await.expect(2);
    site.app.cli(&["credential", "add", "--name", "x", "--auth", "bearer", "--secret", "s"]).await.expect(2);
    site.app.cli(&["policy", "show", "nothing"]).await.expect(1);
    site.app.cli(&["credential", "remove", "nothing"]).await.expect(1);
    site.app.cli(&["--workspace", "nowhere", "agent", "list"]).await.expect(1);
}

const ED25519: &str = include_str!("../../../../pyxis-signing/data/ed25519.pem");
const RSA: &str = include_str!("../../../../pyxis-signing/data/rsa.pem");

/// Arguments, the secret, and the stored form of the kind.
fn kinds() -> Vec<(&'static str, Vec<&'static str>, String, Value)> {
    let (certificate, key) = pyxis_testkit::tls::Authority::new().client("me.example.com");
    let consumer =
        json!({"consumer_key": "k", "consumer_secret": "s-canary", "token": "t", "token_secret": "ts"});
    let client = json!({"client_id": "me", "client_secret": "s-canary"}).to_string();
    let keys = json!({"access_key_id": "AKID", "secret_access_key": "s-canary"}).to_string();
    let account = json!({"type": "service_account", "client_email": "me@example.com", "private_key": RSA});
    vec![
        ("oauth1", vec!["--auth", "oauth1"], consumer.to_string(), json!({"kind": "oauth1"})),
        (
            "mtls",
            vec!["--auth", "mtls"],
            json!({"certificate": certificate, "private_key": key}).to_string(),
            json!({"kind": "mtls"}),
        ),
        (
            "aws",
            vec!["--auth-json", r#"{"kind":"aws_sigv4","region":"eu-central-1","service":"s3"}"#],
            keys,
            json!({"kind": "aws_sigv4", "region": "eu-central-1", "service": "s3"}),
        ),
        (
            "hmac",
            vec![
                "--auth-json",
                r#"{"kind":"hmac","content":"{body}","headers":[{"name":"X-Sign","format":"{signature}"}]}"#,
            ],
            "k-canary".to_owned(),
            json!({"kind": "hmac", "content": "{body}", "hash": "sha256"}),
        ),
        (
            "client",
            vec![
                "--auth-json",
                r#"{"kind":"oauth2_client_credentials","token_url":"https://login.example.com/t","scope":"read"}"#,
            ],
            client.clone(),
            json!({"kind": "oauth2_client_credentials", "token_url": "https://login.example.com/t", "scope": "read"}),
        ),
        (
            "account",
            vec!["--auth-json", r#"{"kind":"oauth2_refresh","token_url":"https://login.example.com/t"}"#],
            client.clone(),
            json!({"kind": "oauth2_refresh", "token_url": "https://login.example.com/t"}),
        ),
        ("google", vec!["--preset", "google"], client, json!({"kind": "oauth2_refresh"})),
        (
            "assertion",
            vec![
                "--auth-json",
                r#"{"kind":"jwt_bearer","token_url":"https://login.example.com/t","issuer":"https://example.com/me","algorithm":"EdDSA"}"#,
            ],
            ED25519.to_owned(),
            json!({"kind": "jwt_bearer", "issuer": "https://example.com/me", "algorithm": "EdDSA"}),
        ),
        (
            "robot",
            vec!["--preset", "google-service-account", "--set", "issuer=me@example.com"],
            account.to_string(),
            json!({"kind": "jwt_bearer", "issuer": "me@example.com", "token_url": "https://oauth2.googleapis.com/token"}),
        ),
        (
            "app",
            vec!["--preset", "github-app", "--set", "app_id=12", "--set", "installation_id=34"],
            RSA.to_owned(),
            json!({"kind": "github_app", "app_id": "12", "installation_id": "34", "api_url": "https://api.github.com"}),
        ),
        ("openai", vec!["--preset", "openai"], "s-canary".to_owned(), json!({"kind": "bearer"})),
    ]
}

#[tokio::test]
async fn every_kind_that_signs_or_fetches_is_made_on_the_command_line() {
    let site = Site::bare(Setup::new()).await;
    for (name, arguments, secret, expected) in kinds() {
        let mut all = vec!["credential", "add", "--json", "--name", name, "--secret-env", "THE_SECRET"];
        if !arguments.contains(&"--preset") {
            all.extend(["--allow-host", "api.example.com"]);
        }
        all.extend(arguments);
        let mut command = site.app.command(&all);
        command.env("THE_SECRET", &secret);
        let added = run(command).await.expect(0);
        assert!(
            !format!("{added:?}").contains("canary") && !format!("{added:?}").contains("PRIVATE KEY"),
            "{name}"
        );
        let path = format!("/admin/credentials/{name}");
        let stored = site.owner.client.get(&path).send().await.expect(200).json();
        for (part, value) in expected.as_object().unwrap() {
            assert_eq!(&stored["auth"][part], value, "{name}: {part}");
        }
        assert!(!stored["allowed_hosts"].as_array().unwrap().is_empty(), "{name}");
    }
    let listed = site.app.cli_json(&["credential", "list"]).await;
    let mut names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let mut expected: Vec<&str> = kinds().iter().map(|(name, ..)| *name).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_preset_with_parts_of_ones_own_says_what_is_missing_and_what_it_does_not_have() {
    let site = Site::bare(Setup::new()).await;
    fs::write(site.app.directory().join("app.pem"), RSA).unwrap();
    let add = ["credential", "add", "--name", "app", "--secret-file", "app.pem", "--preset", "github-app"];
    fs::write(site.app.directory().join("shop"), "canary").unwrap();
    let shop = ["credential", "add", "--name", "shop", "--secret-file", "shop", "--preset", "shopify"];
    let refused = site.app.cli(&shop).await;
    assert!(refused.code == Some(1) && refused.stderr.contains("--allow-host"), "{refused:?}");
    for (set, told) in [
        (&[][..], "auth.app_id"),
        (&["--set", "app_id=12"][..], "auth.installation_id"),
        (&["--set", "nonsense=1"][..], "nonsense"),
        (&["--set", "app_id"][..], "FIELD=VALUE"),
        (&["--set", "kind=bearer"][..], "--auth-json"),
    ] {
        let refused = site.app.cli(&[&add, set].concat()).await;
        assert!(refused.code.is_some_and(|code| code != 0) && refused.stderr.contains(told), "{refused:?}");
    }
    let stray =
        ["credential", "add", "--name", "x", "--auth", "bearer", "--set", "a=b", "--secret-file", "app.pem"];
    let refused = site.app.cli(&stray).await.expect(1);
    assert!(refused.stderr.contains("--auth bearer has no setting a"), "{refused:?}");
}

/// A setting of the kinds that fetch tokens.
const TOKENS: &str = "token_url=https://login.example.com/token";

#[tokio::test]
async fn every_kind_that_is_attached_is_added_by_its_name_and_its_settings() {
    let site = Site::bare(Setup::new()).await;
    let file = |name: &str, text: &str| fs::write(site.app.directory().join(name), text).unwrap();
    file("key.pem", RSA);
    file("text", "canary-secret");
    file("pair", r#"{"username":"ana","password":"canary-secret"}"#);
    file("oauth1", r#"{"consumer_key":"ck","consumer_secret":"canary-secret"}"#);
    file("aws", r#"{"access_key_id":"id","secret_access_key":"canary-secret"}"#);
    file("client", r#"{"client_id":"id","client_secret":"canary-secret"}"#);
    let cases: &[(&str, &[&str], &str)] = &[
        ("bearer", &[], "text"),
        ("header", &["--auth-name", "X-Key"], "text"),
        ("basic", &[], "pair"),
        ("query", &["--set", "parameter=key"], "text"),
        ("cookie", &["--set", "name=sid"], "text"),
        ("oauth1", &["--set", "without_token=empty"], "oauth1"),
        ("aws_sigv4", &["--set", "region=eu-central-1", "--set", "service=s3"], "aws"),
        ("hmac", &["--set", "content={body}", "--auth-name", "X-Sign"], "text"),
        ("oauth2_refresh", &["--set", TOKENS], "client"),
        ("oauth2_client_credentials", &["--set", TOKENS], "client"),
        ("jwt_bearer", &["--set", TOKENS, "--set", "issuer=me"], "key.pem"),
        ("github_app", &["--set", "app_id=12", "--set", "installation_id=34"], "key.pem"),
    ];
    for (kind, settings, secret) in cases {
        let name = kind.replace('_', "-");
        let add = ["credential", "add", "--name", &name, "--allow-host", "api.example.com", "--auth", kind];
        site.app.cli(&[&add[..], settings, &["--secret-file", secret]].concat()).await.expect(0);
    }
    let missing = [
        "credential",
        "add",
        "--name",
        "x",
        "--auth",
        "aws_sigv4",
        "--set",
        "region=r",
        "--secret-file",
        "aws",
    ];
    let refused = site.app.cli(&missing).await.expect(1);
    assert!(refused.stderr.contains("--set service="), "{refused:?}");
    let secret = [
        "credential",
        "add",
        "--name",
        "x",
        "--auth",
        "basic",
        "--set",
        "password=s",
        "--secret-file",
        "pair",
    ];
    let refused = site.app.cli(&secret).await.expect(1);
    assert!(refused.stderr.contains("--secret-file"), "{refused:?}");
    let tested =
        cases.iter().map(|(kind, ..)| *kind).chain(["mtls"]).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(tested, pyxis_core::auth::CredentialKind::attached().map(|kind| kind.name).collect());
}
