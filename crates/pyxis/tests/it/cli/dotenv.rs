//! Decisions, Credentials: `pyxis credential import-env` reads a `.env` file and repeats nothing of its values.

use serde_json::{Value, json};

use crate::support::{App, Setup, both_engines};

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

const CANARY: &str = "canary";

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

both_engines! {
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
            (6, Some("DATABASE_URL"), None, "no preset knows it, left out"),
            (7, Some("AWS_SECRET_ACCESS_KEY"), Some("aws"), "needs more than this variable"),
            (8, None, None, "sets no variable, left out"),
            (9, None, None, "sets no variable, left out"),
        ]);
        let table = app.cli(&["credential", "import-env", file]).await.expect(0);
        assert!(table.stdout.contains("exists already, left as it is"), "{}", table.stdout);
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
}

#[tokio::test]
async fn the_imported_value_is_what_a_request_carries() {
    use pyxis_testkit::upstream::Upstream;
    let app = App::start(Setup::new()).await;
    let path = app.directory().join(".env");
    std::fs::write(&path, FILE).unwrap();
    app.cli(&["credential", "import-env", path.to_str().unwrap()]).await.expect(0);
    let upstream = Upstream::http().await;
    for (name, header, value) in [
        ("openai", "authorization", "Bearer sk-canary-openai"),
        ("github", "authorization", "Bearer ghp_canary-github"),
        ("stripe", "authorization", "Bearer sk_canary-stripe"),
    ] {
        let elsewhere = json!({"allowed_hosts": [upstream.addr().to_string()], "allow_http": true});
        let path = format!("/admin/credentials/{name}");
        app.owner().client.patch(&path, &elsewhere).send().await.expect(200);
        app.default_agent().forward(name, "GET", &upstream.url("/")).send().await.forwarded(200);
        assert_eq!(upstream.requests().pop().unwrap().header(header), Some(value), "{name}");
    }
}
