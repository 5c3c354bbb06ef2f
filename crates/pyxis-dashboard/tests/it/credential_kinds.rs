//! A form for each kind of credential, and the import of a `.env` file.

use http::StatusCode;
use pyxis_core::auth::CredentialKind;
use pyxis_gateway::admin::{credentials, policies};
use pyxis_store::credentials::CredentialChange;
use serde_json::{Value, json};

use crate::support::{CANARY, Server};

const ED25519: &str = include_str!("../../../pyxis-signing/data/ed25519.pem");
const RSA: &str = include_str!("../../../pyxis-signing/data/rsa.pem");

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// A kind, its configuration and secret as a person types them, and the stored configuration.
struct Sample<'a> {
    kind: &'a str,
    config: Pairs<'a>,
    secret: Pairs<'a>,
    stored: Value,
}

const TOKENS: &str = "https://login.example.com/token";

fn samples(identity: Pairs<'_>) -> Vec<Sample<'_>> {
    vec![
        Sample {
            kind: "oauth1",
            config: &[],
            secret: &[
                ("consumer_key", "ck"),
                ("consumer_secret", CANARY),
                ("token", "t"),
                ("token_secret", "ts"),
            ],
            stored: json!({}),
        },
        Sample {
            kind: "aws_sigv4",
            config: &[("region", "eu-central-1"), ("service", "s3")],
            secret: &[("access_key_id", "AKIA1"), ("secret_access_key", CANARY)],
            stored: json!({"region": "eu-central-1", "service": "s3"}),
        },
        Sample {
            kind: "hmac",
            config: &[
                ("content", "{timestamp}{method}\\n{target}{body}"),
                ("hash", "sha512"),
                ("key_encoding", "text"),
                ("signature_encoding", "base64"),
                ("header_name", "X-Sign"),
                ("header_format", "{signature}"),
                ("header_name", "X-Key"),
                ("header_format", "{secret.id}"),
                ("header_name", ""),
                ("header_format", ""),
            ],
            secret: &[("key", CANARY), ("id", "me")],
            stored: json!({
                "hash": "sha512", "content": "{timestamp}{method}\\n{target}{body}", "key_encoding": "text",
                "signature_encoding": "base64",
                "headers": [
                    {"name": "X-Sign", "format": "{signature}"}, {"name": "X-Key", "format": "{secret.id}"},
                ],
            }),
        },
        Sample { kind: "mtls", config: &[], secret: identity, stored: json!({}) },
        Sample {
            kind: "oauth2_refresh",
            config: &[
                ("authorization_url", "https://login.example.com/authorize"),
                ("token_url", TOKENS),
                ("scope", "openid email"),
                ("authorization_parameters", "access_type=offline"),
                ("client_auth", "body"),
            ],
            secret: &[("client_id", "me"), ("client_secret", CANARY), ("refresh_token", "")],
            stored: json!({
                "authorization_url": "https://login.example.com/authorize", "token_url": TOKENS,
                "scope": "openid email", "authorization_parameters": "access_type=offline", "client_auth": "body",
            }),
        },
        Sample {
            kind: "oauth2_client_credentials",
            config: &[("token_url", TOKENS), ("scope", ""), ("audience", "a"), ("client_auth", "basic")],
            secret: &[("client_id", "me"), ("client_secret", CANARY)],
            stored: json!({"token_url": TOKENS, "audience": "a", "client_auth": "basic"}),
        },
        Sample {
            kind: "jwt_bearer",
            config: &[("token_url", TOKENS), ("issuer", "i"), ("key_id", "k1"), ("algorithm", "EdDSA")],
            secret: &[("private_key", ED25519)],
            stored: json!({"token_url": TOKENS, "issuer": "i", "key_id": "k1", "algorithm": "EdDSA"}),
        },
        Sample {
            kind: "github_app",
            config: &[("app_id", "12"), ("installation_id", "34"), ("api_url", "")],
            secret: &[("private_key", RSA)],
            stored: json!({"app_id": "12", "installation_id": "34", "api_url": "https://api.github.com"}),
        },
    ]
}

#[tokio::test]
async fn every_signing_and_fetching_kind_has_a_form_that_adds_changes_and_replaces() {
    let (certificate, key) = pyxis_testkit::tls::Authority::new().client("me.example.com");
    let identity = [("certificate", certificate.as_str()), ("private_key", key.as_str())];
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    for sample in samples(&identity) {
        let kind = sample.kind;
        let new = format!("/app/new/credential?kind={kind}");
        let form = browser.get(&new).await.text;
        for (name, _) in sample.config.iter().chain(sample.secret) {
            assert!(form.contains(&format!(" name=\"{name}\"")), "{kind}: no field {name}");
        }
        let name = format!("c-{kind}");
        let common = [("kind", kind), ("name", &name), ("allowed_hosts", "api.example.com")];
        let fields: Vec<_> = common.iter().chain(sample.config).chain(sample.secret).copied().collect();
        let added = browser.submit(&new, "/app/credentials", &fields).await;
        let page = format!("/app/credentials/{name}");
        assert_eq!(added.location(), page, "{kind}: {}", added.text);
        let row = credentials::get(&server.gateway.store, team.id, &name).await.unwrap();
        let mut expected = sample.stored;
        expected["kind"] = kind.into();
        let stored: Value = serde_json::from_str(row.auth.as_deref().unwrap()).unwrap();
        assert_eq!(stored, expected);

        let shown = browser.get(&page).await.text;
        assert!(!shown.contains(CANARY) && !shown.contains("PRIVATE KEY-----\n"), "{kind}");
        let edit: Vec<_> = [("description", "changed"), ("allowed_hosts", "api.example.com")]
            .iter()
            .chain(sample.config)
            .copied()
            .collect();
        let edited = browser.submit(&page, &format!("{page}/edit"), &edit).await;
        assert_eq!(edited.location(), page, "{kind}: {}", edited.text);
        let replaced = browser.submit(&page, &format!("{page}/secret"), sample.secret).await;
        assert_eq!(replaced.location(), page, "{kind}: {}", replaced.text);
        let row = credentials::get(&server.gateway.store, team.id, &name).await.unwrap();
        assert_eq!((row.version, row.description.as_str()), (2, "changed"), "{kind}");
        assert_eq!(serde_json::from_str::<Value>(row.auth.as_deref().unwrap()).unwrap(), expected, "{kind}");
    }
}

#[tokio::test]
async fn the_page_of_a_new_credential_lists_every_kind_and_its_form_has_every_field() {
    let server = Server::new().await;
    let (_, mut browser) = server.with_owner().await;
    let list = browser.get("/app/new/credential").await.text;
    for kind in CredentialKind::ALL {
        let new = format!("/app/new/credential?kind={}", kind.name);
        assert!(list.contains(&format!("href=\"{new}\"")), "{}", kind.name);
        let form = browser.get(&new).await.text;
        for field in kind.settings.iter().chain(kind.secret_fields()).chain(kind.secret.text_field()) {
            assert!(form.contains(&format!(" name=\"{}\"", field.name)), "{}: {}", kind.name, field.name);
        }
        assert_eq!(form.contains(" name=\"header_name\""), kind.headers.is_some(), "{}", kind.name);
        assert_eq!(form.contains(" name=\"allowed_hosts\""), kind.has_hosts, "{}", kind.name);
    }
}

#[tokio::test]
async fn a_form_that_failed_says_what_is_wrong_with_each_field_and_keeps_all_but_secrets() {
    let server = Server::new().await;
    let (_, mut browser) = server.with_owner().await;
    let refused = async |browser: &mut crate::support::Browser, fields: Pairs<'_>| {
        let page = browser.submit("/app/new/credential", "/app/credentials", fields).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(!page.text.contains(CANARY));
        page.text
    };
    // Everything that is missing at once.
    let fields =
        [("kind", "aws_sigv4"), ("name", "s3"), ("region", "eu-central-1"), ("secret_access_key", CANARY)];
    let text = refused(&mut browser, &fields).await;
    for field in ["service", "access_key_id"] {
        assert!(text.contains(&format!("id=\"{field}-problem\"")), "{field}");
    }
    assert!(text.contains("value=\"eu-central-1\"") && !text.contains("region-problem"));

    // Errors that only the service finds, next to their field.
    for (fields, field, kept) in [
        (
            &[
                ("kind", "oauth2_client_credentials"),
                ("name", "x"),
                ("token_url", "http://tokens.example.com/"),
                ("client_id", "kept-id"),
                ("client_secret", CANARY),
            ][..],
            "token_url",
            "kept-id",
        ),
        (
            &[
                ("kind", "oauth2_refresh"),
                ("name", "x"),
                ("token_url", TOKENS),
                ("client_id", "kept-id"),
                ("authorization_url", "nonsense"),
                ("client_secret", CANARY),
            ],
            "authorization_url",
            "kept-id",
        ),
        (
            &[
                ("kind", "hmac"),
                ("name", "x"),
                ("content", "{nobody}"),
                ("header_name", "X-Kept"),
                ("header_format", "{signature}"),
                ("key", CANARY),
            ],
            "content",
            "X-Kept",
        ),
        (
            &[
                ("kind", "hmac"),
                ("name", "x"),
                ("content", "{body}"),
                ("header_name", "X-Kept"),
                ("header_format", "no"),
                ("key", CANARY),
            ],
            "header_name",
            "X-Kept",
        ),
        (
            &[
                ("kind", "github_app"),
                ("name", "x"),
                ("app_id", "kept-id"),
                ("installation_id", "1/2"),
                ("private_key", RSA),
            ],
            "installation_id",
            "kept-id",
        ),
        (
            &[
                ("kind", "jwt_bearer"),
                ("name", "x"),
                ("token_url", TOKENS),
                ("issuer", "kept-id"),
                ("private_key", CANARY),
            ],
            "private_key",
            "kept-id",
        ),
        (
            &[("kind", "mtls"), ("name", "x"), ("certificate", "kept-certificate"), ("private_key", CANARY)],
            "private_key",
            "kept-certificate",
        ),
    ] {
        let text = refused(&mut browser, fields).await;
        assert!(text.contains(&format!("id=\"{field}-problem\"")), "{field}: {text}");
        assert!(text.contains(kept), "{field}");
    }
}

#[tokio::test]
async fn a_preset_fills_the_form_of_its_kind() {
    let server = Server::new().await;
    let (_, mut browser) = server.with_owner().await;
    let google = browser.get("/app/new/credential?preset=google").await.text;
    assert!(google.contains("value=\"https://oauth2.googleapis.com/token\""));
    assert!(google.contains("http://localhost:8700/app/oauth/callback"), "what to register there");
    assert!(google.contains("<option value=\"body\" selected>"));
    let aws = browser.get("/app/new/credential?preset=aws").await.text;
    assert!(aws.contains("value=\"us-east-1\"") && aws.contains("aria-current=\"page\">AWS</a>"));
}

#[tokio::test]
async fn a_pasted_env_file_becomes_credentials_and_is_never_shown_again() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let page = "/app/import/credentials";
    let file = format!(
        "# ours\r\nexport OPENAI_API_KEY='{CANARY}'\r\nUNKNOWN_THING={CANARY}\r\nstray {CANARY}\r\n\
         TWILIO_ACCOUNT_SID=AC1\r\nTWILIO_AUTH_TOKEN={CANARY}\r\nJIRA_TOKEN={CANARY}\r\n"
    );
    let told = browser.submit(page, page, &[("env", &file)]).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    assert!(!told.text.contains(CANARY));
    for said in [
        "OPENAI_API_KEY",
        "href=\"/app/credentials/openai\"",
        "UNKNOWN_THING",
        "no preset uses it",
        "sets no variable",
        "href=\"/app/credentials/twilio\"",
        "also needs JIRA_EMAIL",
    ] {
        assert!(told.text.contains(said), "{said}: {}", told.text);
    }
    let stored = credentials::get(&server.gateway.store, team.id, "openai").await.unwrap();
    assert_eq!(stored.allowed_hosts, "[\"api.openai.com\"]");
    let again = browser.submit(page, page, &[("env", &file)]).await;
    assert!(again.text.contains("already exists"));
    let empty = browser.submit(page, page, &[("env", " \r\n")]).await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(empty.text.contains("id=\"env-problem\""));
}

#[tokio::test]
async fn a_preset_offers_its_starter_policy_which_is_stored_with_the_credential_if_chosen() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let page = "/app/new/credential?preset=slack";
    let form = browser.get(page).await.text;
    assert!(form.contains("value=\"starter\" checked") && form.contains("Starter policy for Slack"));
    assert!(form.contains("slack.com/api/users.profile.get is allowed"), "its rules: {form}");
    for (name, choice) in [("slack", "starter"), ("slack-open", "mode")] {
        let fields = [
            ("kind", "bearer"),
            ("preset", "slack"),
            ("policy", choice),
            ("name", name),
            ("secret", CANARY),
            ("allowed_hosts", "slack.com"),
        ];
        let added = browser.submit(page, "/app/credentials", &fields).await;
        assert_eq!(added.location(), format!("/app/credentials/{name}"), "{}", added.text);
        let stored = policies::get(&server.gateway.store, team.id, name).await.unwrap();
        assert_eq!(stored.is_some(), choice == "starter", "{name}");
    }
    assert!(
        !browser.get("/app/new/credential").await.text.contains("name=\"policy\""),
        "no preset, no starter policy"
    );
}

#[tokio::test]
async fn presets_are_searched_next_to_the_form() {
    let server = Server::new().await;
    let (_, mut browser) = server.with_owner().await;
    let form = browser.get("/app/new/credential").await.text;
    assert!(form.contains("name=\"search\"") && !form.contains("?preset="));
    let found = browser.get("/app/new/credential?search=GitHub+app").await.text;
    assert!(
        found.contains("href=\"/app/new/credential?preset=github-app\"") && !found.contains("preset=openai")
    );
    let by_host = browser.get("/app/new/credential?search=api.openai.com").await.text;
    assert!(by_host.contains("href=\"/app/new/credential?preset=openai\""));
    let nothing = browser.get("/app/new/credential?search=nonsense+of+ours").await.text;
    assert!(nothing.contains("No matching preset") && !nothing.contains("?preset="));
}

#[tokio::test]
async fn a_wildcard_over_a_public_suffix_is_refused_by_the_form_and_a_stored_one_is_shown() {
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    let page = "/app/credentials/billing";
    let edit = [("kind", "bearer"), ("description", ""), ("allowed_hosts", "api.example.com\r\n*.co.uk")];
    let refused = owner.submit(page, &format!("{page}/edit"), &edit).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("covers a public suffix") && refused.text.contains("*.co.uk"));
    assert!(!owner.get(page).await.text.contains("where anyone can register one"));
    let row = credentials::get(&server.gateway.store, team.id, "billing").await.unwrap();
    let change =
        CredentialChange { allowed_hosts: Some(r#"["*.co.uk"]"#.to_owned()), ..CredentialChange::default() };
    let (store, now) = (&server.gateway.store, server.gateway.now());
    assert!(pyxis_store::credentials::update(store, team.id, row.id, change, now).await.unwrap());
    assert!(
        owner.get(page).await.text.contains("covers every name under co.uk, where anyone can register one")
    );
}
