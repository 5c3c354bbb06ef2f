//! Secrets are cleaned on every way in: a byte order mark and line ends around them are dropped, and control characters
//! inside are refused.

use std::io::Write as _;
use std::process::Stdio;

use pyxis_testkit::engines;
use serde_json::json;

use crate::support::app::{Ran, run};
use crate::support::browser::Browser;
use crate::support::{App, Setup, Site};

const PEM: &str = include_str!("../../../../pyxis-signing/data/rsa.pem");

/// The bearer token that reached the upstream.
async fn bearer(site: &Site, name: &str) -> Option<String> {
    let seen = site.upstream.requests().len();
    site.agent.forward(name, "GET", &site.upstream.url("/")).send().await.forwarded(200);
    let sent = site.upstream.received(seen + 1).await.pop().unwrap();
    sent.header("authorization").map(str::to_owned)
}

engines! {
    async fn what_editors_add_is_cut_and_control_characters_are_refused_by_name(setup: Setup) {
        let site = Site::bare(setup).await;
        let auth = json!({"kind": "bearer"});
        site.credential("api", &json!({"auth": auth, "secret": "\u{feff}key-canary-1\r\n"})).await;
        assert_eq!(bearer(&site, "api").await.as_deref(), Some("Bearer key-canary-1"));
        let path = "/admin/credentials/api/secret";
        site.owner.client.put(path, &json!({"secret": "key-canary-2\n\n"})).send().await.expect(200);
        assert_eq!(bearer(&site, "api").await.as_deref(), Some("Bearer key-canary-2"));

        let client = json!({"kind": "oauth2_client_credentials", "token_url": "https://tokens.example/t"});
        for (auth, secret, field) in [
            (auth, json!("key\u{0}canary"), "secret"),
            (json!({"kind": "header", "name": "X-Key"}), json!("key\ncanary"), "secret"),
            (json!({"kind": "basic"}), json!({"username": "u", "password": "p\tcanary"}), "secret.password"),
            (json!({"kind": "query", "parameter": "key"}), json!("key\u{1b}canary"), "secret"),
            (json!({"kind": "cookie", "name": "sid"}), json!("key\u{7f}canary"), "secret"),
            (json!({"kind": "oauth1"}), json!({"consumer_key": "k", "consumer_secret": "a\r\ncanary"}),
                "secret.consumer_secret"),
            (json!({"kind": "aws_sigv4", "region": "r", "service": "s"}),
                json!({"access_key_id": "A", "secret_access_key": "a\u{85}canary"}), "secret.secret_access_key"),
            (client, json!({"client_id": "c", "client_secret": "a\u{feff}canary"}), "secret.client_secret"),
        ] {
            let body = json!({"name": "bad", "auth": auth, "secret": secret, "allowed_hosts": ["api.example.com"]});
            let refused = site.owner.client.post("/admin/credentials", &body).send().await;
            let refused = refused.problem(422, "invalid_field");
            assert_eq!(refused["field"], field, "{refused}");
            let text = refused.to_string();
            assert!(text.contains("U+") && !text.contains("canary"), "{text}");
        }
        let refused = site.owner.client.put(path, &json!({"secret": "key\u{0}canary"})).send().await;
        refused.problem(422, "invalid_field");
        let sidecar = json!({"name": "side", "connector": "sidecar", "api_base": "http://127.0.0.1:1/",
            "secret": "to\nken"});
        site.owner.client.post("/admin/credentials", &sidecar).send().await.problem(422, "invalid_field");
    }

    async fn a_key_in_pem_keeps_its_lines(setup: Setup) {
        let site = Site::bare(setup).await;
        let auth = json!({"kind": "jwt_bearer", "token_url": "https://tokens.example/t", "issuer": "i", "algorithm": "RS256"});
        for (name, pem) in [("unix", PEM.to_owned()), ("dos", format!("\u{feff}{}", PEM.replace('\n', "\r\n")))] {
            site.credential(name, &json!({"auth": auth, "secret": {"private_key": pem}})).await;
        }
    }
}

/// Runs a command with `text` as its standard input.
async fn fed(app: &App, arguments: &[&str], text: &str) -> Ran {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let mut command = app.command(arguments);
    command.stdin(Stdio::from(file));
    run(command).await
}

#[tokio::test]
async fn the_command_line_takes_a_secret_whole_from_every_source() {
    let site = Site::bare(Setup::new()).await;
    let (app, host) = (&site.app, site.upstream.addr().to_string());
    let add =
        |name: &'static str| vec!["credential", "add", "--name", name, "--allow-host", &host, "--allow-http"];
    let jwt = json!({"kind": "jwt_bearer", "token_url": "https://tokens.example/t", "issuer": "i", "algorithm": "RS256"})
        .to_string();
    // The key would be invalid if only its first line were read.
    fed(app, &[add("key"), vec!["--auth-json", &jwt]].concat(), PEM).await.expect(0);
    fed(app, &[add("piped"), vec!["--auth", "bearer"]].concat(), "\u{feff}key-canary-1\r\n").await.expect(0);
    assert_eq!(bearer(&site, "piped").await.as_deref(), Some("Bearer key-canary-1"));

    let file = app.directory().join("secret");
    std::fs::write(&file, "\u{feff}key-canary-2\n\n").unwrap();
    let source = ["--auth", "bearer", "--secret-file", file.to_str().unwrap()];
    app.cli(&[add("filed"), source.to_vec()].concat()).await.expect(0);
    assert_eq!(bearer(&site, "filed").await.as_deref(), Some("Bearer key-canary-2"));

    for (value, code) in [("key-canary-3\n", 0), ("key\tcanary", 1)] {
        let mut command =
            app.command(&[add("of-variable"), vec!["--auth", "bearer", "--secret-env", "KEY"]].concat());
        command.env("KEY", value);
        let ran = run(command).await.expect(code);
        assert!(code == 0 || ran.stderr.contains("KEY has the invisible character U+0009"), "{ran:?}");
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
    }
    assert_eq!(bearer(&site, "of-variable").await.as_deref(), Some("Bearer key-canary-3"));
    let two_lines = fed(app, &[add("two"), vec!["--auth", "bearer"]].concat(), "one-canary\ntwo").await;
    assert!(two_lines.code == Some(1) && two_lines.stderr.contains("U+000A"), "{two_lines:?}");

    let ran = fed(app, &[add("short"), vec!["--auth", "bearer"]].concat(), "1234").await.expect(0);
    assert!(ran.stderr.contains("warning: secret has fewer than 8 characters"), "{ran:?}");

    std::fs::write(
        &file,
        "OPENAI_API_KEY=\"sk-canary\\tx\"\nGITHUB_TOKEN=\u{feff}ghp_canary-github\nSTRIPE_SECRET_KEY=sk1\n",
    )
    .unwrap();
    let listed = app.cli_json(&["credential", "import-env", file.to_str().unwrap()]).await;
    let outcomes: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|row| row["outcome"].as_str()).collect();
    assert!(outcomes[0].starts_with("skipped: secret: has the invisible character U+0009"), "{listed}");
    assert_eq!(
        outcomes[1..],
        ["stored", "stored, but the secret is too short to be searched for in responses"]
    );
    assert!(!listed.to_string().contains("canary"), "{listed}");
}

#[tokio::test]
async fn the_dashboard_takes_a_secret_as_it_was_meant() {
    let site = Site::bare(Setup::new()).await;
    site.app.admin("admin@people.example").await;
    let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
    let host = site.upstream.addr().to_string();
    let fields = |name: &'static str, secret: &'static str| {
        vec![
            ("kind", "bearer"),
            ("name", name),
            ("allowed_hosts", &*host),
            ("allow_http", "on"),
            ("secret", secret),
        ]
    };
    browser.submit("/app/credentials", &fields("typed", "%EF%BB%BFkey-canary-1%0D%0A")).await.expect(303);
    assert_eq!(bearer(&site, "typed").await.as_deref(), Some("Bearer key-canary-1"));
    let refused = browser.submit("/app/credentials", &fields("bad", "key%07canary")).await.expect(422).text();
    assert!(refused.contains("U+0007"), "{refused}");
    browser.submit("/app/credentials", &fields("pin", "1234")).await.expect(303);
    let page = browser.get("/app/credentials/pin").await.expect(200).text();
    assert!(page.contains("fewer than 8 characters"), "{page}");
}

engines! {
    async fn settings_that_are_secrets_are_taken_as_they_were_meant(setup: Setup) {
        let mut app = App::bootstrapped(setup).await;
        let key = app.data().join("master.key");
        let text = std::fs::read_to_string(&key).unwrap();
        std::fs::write(&key, format!("\u{feff}{}\r\n", text.trim_end())).unwrap();
        app.serve();
        app.stop().await;
        let mut command = app.command(&["doctor"]);
        command.env("PX_VERIFY_API_KEY", "can\nary");
        let ran = run(command).await;
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code != Some(0) && said.contains("PX_VERIFY_API_KEY has the invisible character U+000A"), "{ran:?}");
        assert!(!said.contains("ary:"), "{ran:?}");
    }
}
