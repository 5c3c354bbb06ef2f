//! `pyxis credential import-env` reads a `.env` file and never prints its values
//! (`docs/reference/credentials.md#ways-to-store-one`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use crate::support::{App, Setup};

const FILE: &str = r#"# Keys of our tools
export OPENAI_API_KEY="sk-canary-openai" # the team's
GITHUB_TOKEN='ghp_canary-github'
STRIPE_SECRET_KEY = sk_canary-stripe # test mode
EMPTY=
DATABASE_URL=postgres://canary-user:canary-password@db/x
AWS_SECRET_ACCESS_KEY=canary-aws
a stray canary-line
MIIEvcanary/AB==
"#;

/// Credentials that need several variables, in any order; with one missing, and one too many.
const PARTS: &str = "TWILIO_AUTH_TOKEN=canary-twilio
ZENDESK_EMAIL=me@example.com
TWILIO_ACCOUNT_SID=AC1
ZENDESK_API_TOKEN=canary-zendesk
ZENDESK_TOKEN=canary-older
GITHUB_APP_ID=12
MAILGUN_API_KEY=canary-mailgun
JIRA_API_TOKEN=canary-jira
JIRA_EMAIL=me@example.com
";

const CANARY: &str = "canary";
const RSA: &str = include_str!("../../../../pyxis-signing/data/rsa.pem");

fn outcomes(listed: &Value) -> Vec<(u64, Option<&str>, Option<&str>, &str)> {
    let rows = listed.as_array().unwrap().iter();
    rows.map(|row| {
        (
            row["line"].as_u64().unwrap(),
            row["variable"].as_str(),
            row["name"].as_str(),
            row["outcome"].as_str().unwrap(),
        )
    })
    .collect()
}

engines! {
    async fn a_file_becomes_credentials_and_every_line_that_did_not_is_told(setup: Setup) {
        let app = App::start(setup).await;
        let path = app.directory().join(".env");
        std::fs::write(&path, FILE).unwrap();
        let file = path.to_str().unwrap();
        let listed = app.cli_json(&["credential", "import-env", file]).await;
        assert_eq!(outcomes(&listed), [
            (2, Some("OPENAI_API_KEY"), Some("openai"), "stored"),
            (3, Some("GITHUB_TOKEN"), Some("github"), "stored"),
            (4, Some("STRIPE_SECRET_KEY"), Some("stripe"), "stored"),
            (6, Some("DATABASE_URL"), None, "skipped: no preset uses it"),
            (7, Some("AWS_SECRET_ACCESS_KEY"), Some("aws"), "needs AWS_ACCESS_KEY_ID too"),
            (8, None, None, "skipped: sets no variable"),
            (9, None, None, "skipped: sets no variable"),
        ]);
        let table = app.cli(&["credential", "import-env", file]).await.expect(0);
        assert!(table.stdout.contains("already exists, unchanged"), "{}", table.stdout);
        let stored = app.cli_json(&["credential", "list"]).await;
        let openai = stored.as_array().unwrap().iter().find(|row| row["name"] == "openai").unwrap();
        assert_eq!(openai["allowed_hosts"], json!(["api.openai.com"]));
        assert_eq!(openai["version"], 1, "a name that is taken is left alone");
        for printed in [listed.to_string(), table.stdout, table.stderr, stored.to_string(), app.logs()] {
            assert!(!printed.contains(CANARY), "{printed}");
        }
        let audit = app.audit().await;
        assert!(!audit.iter().any(|record| record.to_string().contains(CANARY)));
    }

    async fn variables_that_belong_together_become_one_credential_and_missing_ones_are_named(setup: Setup) {
        let app = App::start(setup).await;
        let path = app.directory().join(".env");
        let told = async |text: &str| {
            std::fs::write(&path, text).unwrap();
            app.cli_json(&["credential", "import-env", path.to_str().unwrap()]).await
        };
        let first = told(PARTS).await;
        assert_eq!(outcomes(&first), [
            (1, Some("TWILIO_AUTH_TOKEN"), Some("twilio"), "stored"),
            (2, Some("ZENDESK_EMAIL"), Some("zendesk"), "stored"),
            (3, Some("TWILIO_ACCOUNT_SID"), Some("twilio"), "stored"),
            (4, Some("ZENDESK_API_TOKEN"), Some("zendesk"), "stored"),
            (5, Some("ZENDESK_TOKEN"), Some("zendesk"), "already exists, unchanged"),
            (
                6,
                Some("GITHUB_APP_ID"),
                Some("github-app"),
                "needs GITHUB_APP_INSTALLATION_ID and GITHUB_APP_PRIVATE_KEY too",
            ),
            (7, Some("MAILGUN_API_KEY"), Some("mailgun"), "stored"),
            (8, Some("JIRA_API_TOKEN"), Some("jira"), "stored"),
            (9, Some("JIRA_EMAIL"), Some("jira"), "stored"),
        ]);
        let second = told(&format!(
            "AWS_SESSION_TOKEN=canary-session\nAWS_ACCESS_KEY_ID=AKIA\nAWS_SECRET_ACCESS_KEY=canary-aws\n\
             GITHUB_APP_ID=12\nGITHUB_APP_INSTALLATION_ID=34\nGITHUB_APP_PRIVATE_KEY=\"{RSA}\"\n\
             GOOGLE_PRIVATE_KEY=canary\nGOOGLE_CLIENT_EMAIL=me@example.com\n"
        ))
        .await;
        let rows = outcomes(&second).into_iter().map(|(_, _, name, outcome)| (name.unwrap(), outcome));
        let (aws, github) = (("aws", "stored"), ("github-app", "stored"));
        let why = "skipped: secret: not a private key for RS256: use PEM that starts with \
                   -----BEGIN … PRIVATE KEY-----";
        let google = ("google-service-account", why);
        assert_eq!(rows.collect::<Vec<_>>(), [aws, aws, aws, github, github, github, google, google]);
        let stored = app.owner().client.get("/admin/credentials/github-app").send().await.expect(200).json();
        let auth = &stored["auth"];
        assert_eq!((&auth["app_id"], &auth["installation_id"]), (&json!("12"), &json!("34")));
        for printed in [first.to_string(), second.to_string(), app.logs()] {
            assert!(!printed.contains(CANARY), "{printed}");
        }
    }
}

#[tokio::test]
async fn the_imported_value_is_what_a_request_carries() {
    let app = App::start(Setup::new()).await;
    let path = app.directory().join(".env");
    std::fs::write(&path, format!("{FILE}{PARTS}AWS_ACCESS_KEY_ID=AKIA1\n")).unwrap();
    app.cli(&["credential", "import-env", path.to_str().unwrap()]).await.expect(0);
    let upstream = Upstream::http().await;
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    for (name, value) in [
        ("openai", "Bearer sk-canary-openai"),
        ("github", "Bearer ghp_canary-github"),
        ("stripe", "Bearer sk_canary-stripe"),
        ("twilio", &basic("AC1:canary-twilio")),
        ("zendesk", &basic("me@example.com/token:canary-zendesk")),
        ("mailgun", &basic("api:canary-mailgun")),
        ("aws", "AWS4-HMAC-SHA256 Credential=AKIA1/"),
    ] {
        let elsewhere = json!({"allowed_hosts": [upstream.addr().to_string()], "allow_http": true});
        let path = format!("/admin/credentials/{name}");
        app.owner().client.patch(&path, &elsewhere).send().await.expect(200);
        app.default_agent().forward(name, "GET", &upstream.url("/")).send().await.forwarded(200);
        let sent = upstream.requests().pop().unwrap();
        let told = sent.header("authorization").unwrap();
        assert!(told.starts_with(value), "{name}: {told}");
    }
}
