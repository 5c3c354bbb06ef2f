//! Rules for every page: its headers, its errors, and that it shows no secret.

use http::StatusCode;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use pyxis_dashboard::assets;
use pyxis_dashboard::view::credentials::CredentialKind;
use pyxis_gateway::admin::{agents, policies};
use pyxis_testkit::engines;

use crate::support::{Browser, CANARY, Server};

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                   connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                   require-trusted-types-for 'script'; trusted-types 'none'";

const CSP_WITH_WORKER: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                   connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; \
                   frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types pyxis";

/// Every page for managers.
async fn every_page(server: &Server, browser: &mut Browser) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/app",
        "/app/inbox",
        "/app/inbox?order=newest",
        "/app/inbox?q=nothing+like+it",
        "/app/decided",
        "/app/tasks",
        "/app/tasks?before=nonsense",
        "/app/decided?q=billing&after=1.x",
        "/app/account",
        "/app/agents",
        "/app/new/agent",
        "/app/credentials",
        "/app/credentials/billing",
        "/app/credentials/billing/tools",
        "/app/import/credentials",
        "/app/policies",
        "/app/policies/billing",
        "/app/audit",
        "/app/audit?q=billing&outcome=asked&event=requests&from=2026-01-01&to=2026-01-02",
        "/app/audit/export.csv",
        "/app/audit/export.jsonl",
        "/app/people",
        "/app/new/person",
        "/app/settings",
        "/app/webhooks",
        "/app/new/webhook",
        "/app/notifications",
        "/app/brand",
        "/app/brand.css?accent=0f766e",
        "/app/scorers",
        "/app/new/scorer",
        "/app/score-jobs",
        "/app/score-jobs?before=nonsense",
        "/app/api-keys",
        "/app/new/api-key",
        "/app/new/publishable-key",
        "/app/explorer",
        "/app/explorer?address=vitalik.eth&scorer=nonsense",
        "/app/catalogue",
        "/app/catalogue/Discord",
        "/app/new/platform",
        "/app/models",
        "/app/models?address=nobody&model=nonsense",
        "/app/issuers",
    ]
    .map(str::to_owned)
    .to_vec();
    let kinds = CredentialKind::ALL.iter();
    paths.extend(kinds.map(|kind| format!("/app/new/credential?kind={}", kind.name)));
    let inbox = browser.get("/app/inbox").await.text;
    let txn = inbox.split("id=\"r-").nth(1).and_then(|rest| rest.split('"').next()).expect("a card");
    paths.extend([format!("/app/approvals/{txn}"), format!("/approve/{txn}")]);
    let all = pyxis_gateway::admin::workspaces::list(&server.gateway.store).await.unwrap();
    for agent in agents::list(&server.gateway.store, all[0].id).await.unwrap() {
        paths.push(format!("/app/agents/{}", agent.row.id));
    }
    paths
}

#[tokio::test]
async fn every_answer_carries_the_same_strict_headers() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.post_pending(&team, "/v1/items", "why", "{}").await;
    let mut answers = Vec::new();
    for path in every_page(&server, &mut browser).await {
        let page = browser.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        answers.push((path, page));
    }
    for path in [
        "/",
        "/sign-in",
        "/app/nothing",
        "/link/none",
        "/approve/none",
        "/app/agents/none",
        "/app/agents/%ff",
        "/app/scorers/none",
        "/app/api-keys/none",
        "/app/catalogue/none",
        "/app/audit?q=1&q=2",
    ] {
        answers.push((path.to_owned(), browser.get(path).await));
    }
    answers.push(("signed out".into(), server.browser().get("/app/inbox").await));
    answers.push(("sign-in".into(), server.browser().get("/sign-in").await));
    answers.push(("wrong method".into(), browser.get("/sign-out").await));
    answers.push(("stale form".into(), browser.post("/app/agents", &[], &[]).await));
    for (path, page) in answers {
        let header =
            |name| page.headers.get(name).map_or("", |value: &http::HeaderValue| value.to_str().unwrap());
        // The one page that registers a service worker names it, and nothing else.
        let csp = if path == "/app/notifications" { CSP_WITH_WORKER } else { CSP };
        assert_eq!(header(CONTENT_SECURITY_POLICY), csp, "{path}");
        assert_eq!(header(X_CONTENT_TYPE_OPTIONS), "nosniff", "{path}");
        assert_eq!(header(REFERRER_POLICY), "same-origin", "{path}");
        assert_eq!(page.headers["cross-origin-opener-policy"], "same-origin", "{path}");
        assert_eq!(header(CACHE_CONTROL), "no-store", "{path}");
        if page.status.is_client_error() {
            assert_eq!(header(CONTENT_TYPE), "text/html; charset=utf-8", "{path}: an error is a page");
        }
    }
    let style = browser.get(&assets::ASSETS.style.url).await;
    assert!(style.headers[CACHE_CONTROL].to_str().unwrap().contains("immutable"));
}

#[tokio::test]
async fn a_stored_secret_is_on_no_page_and_not_even_in_a_form_that_failed() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.post_pending(&team, "/v1/items", "why", "{}").await;
    let fields = [("kind", "bearer"), ("name", "billing"), ("secret", CANARY)];
    let again = browser.submit("/app/new/credential", "/app/credentials", &fields).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.text.contains("The name billing is taken"));
    assert!(!again.text.contains(CANARY));
    let bad =
        [("kind", "header"), ("name", "x"), ("header_name", "x-key"), ("secret", "{\"a\": canary-Zq8w")];
    let bad = browser.submit("/app/new/credential", "/app/credentials", &bad).await;
    assert!(!bad.text.contains("canary-Zq8w"));
    for path in every_page(&server, &mut browser).await {
        assert!(!browser.get(&path).await.text.contains(CANARY), "{path}");
    }
}

#[tokio::test]
async fn every_kind_of_credential_can_be_added_changed_and_replaced() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let kinds: &[(&str, &[(&str, &str)])] = &[
        ("bearer", &[("secret", "s1")]),
        ("basic", &[("username", "ana"), ("password", "s2")]),
        ("query", &[("parameter", "api_key"), ("secret", "s3")]),
        ("cookie", &[("cookie_name", "sid"), ("secret", "s4")]),
        ("sidecar", &[("api_base", "http://127.0.0.1:8080")]),
        (
            "header",
            &[
                ("header_name", "X-Key"),
                ("header_format", "{secret.key}"),
                ("header_name", "X-Id"),
                ("header_format", "id {secret.id}"),
                ("header_name", ""),
                ("header_format", ""),
                ("secret", "{\"key\":\"k\",\"id\":\"i\"}"),
            ],
        ),
    ];
    for (kind, own) in kinds {
        let name = format!("c-{kind}");
        let common =
            [("kind", *kind), ("name", &name), ("allowed_hosts", "api.example.com\r\n\r\n*.b.example")];
        let fields: Vec<_> = common.iter().chain(*own).copied().collect();
        let added = browser.submit("/app/new/credential", "/app/credentials", &fields).await;
        assert_eq!(added.location(), format!("/app/credentials/{name}"), "{kind}: {}", added.text);
        let page = added.location().to_owned();
        let edit: Vec<_> = [("description", "changed")].iter().chain(*own).copied().collect();
        let edited = browser.submit(&page, &format!("{page}/edit"), &edit).await;
        assert_eq!(edited.location(), page, "{kind}");
        assert!(browser.get(&page).await.text.contains("changed"), "{kind}");
        if *kind != "sidecar" {
            let replaced = browser.submit(&page, &format!("{page}/secret"), own).await;
            assert_eq!(replaced.location(), page, "{kind}");
            assert!(browser.get(&page).await.text.contains("version 2"), "{kind}");
        }
    }
    let rows = pyxis_gateway::admin::credentials::list(&server.gateway.store, team.id).await.unwrap();
    let header = rows.iter().find(|row| row.name == "c-header").unwrap();
    assert!(header.auth.as_deref().unwrap().contains("X-Id"));
    assert_eq!(header.allowed_hosts, "[]", "the edit form left them blank");
}

#[tokio::test]
async fn a_policy_form_keeps_what_it_does_not_show_and_names_what_is_wrong() {
    use pyxis_core::chat::ChatPlatform;
    use pyxis_core::policy::{Method, Policy};
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let hidden = br#"{"telegram_chat": "-100", "passkey_required": true, "approval_timeout_secs": 90}"#;
    let hidden = Policy::from_json(hidden).unwrap();
    let actor = pyxis_gateway::Actor::cli(team.id);
    policies::put(&server.gateway, &actor, "billing", &hidden).await.unwrap();
    let page = "/app/policies/billing";
    let base = [
        ("method_GET", "auto"),
        ("method_DELETE", "deny"),
        ("require_approval_urls", "/payments\r\n"),
        ("min_approvals", "1"),
        ("approval_timeout_minutes", "2"),
        ("channel", "dashboard"),
        ("require_reason", "on"),
        ("passkey_required", "on"),
    ];
    let saved = browser.submit(page, page, &base).await;
    assert_eq!(saved.location(), page, "{}", saved.text);
    let (_, now) = policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap();
    assert_eq!(now.auto_approve_methods, [Method::Get]);
    assert_eq!(now.deny_methods, [Method::Delete]);
    assert_eq!(now.require_approval_urls, ["/payments"]);
    assert!(now.require_reason && now.passkey_required);
    assert_eq!((now.rooms.get(ChatPlatform::TELEGRAM), now.approval_timeout_secs), (Some("-100"), Some(90)));
    let wrong = [("deny_urls", "not a pattern"), ("min_approvals", "zero"), ("channel", "dashboard")];
    let refused = browser.submit(page, page, &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("deny_urls-problem") && refused.text.contains("min_approvals-problem"));
    assert!(refused.text.contains("not a pattern"), "what was typed stays");
    let (_, after) = policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap();
    assert_eq!(after, now);
    let cleared =
        base.map(|(name, value)| (name, if name == "approval_timeout_minutes" { "" } else { value }));
    assert_eq!(browser.submit(page, page, &cleared).await.location(), page);
    let (_, cleared) = policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap();
    assert_eq!(cleared.approval_timeout_secs, None);
}

engines! {
    async fn the_policy_page_names_rules_that_never_decide(server: Server) {
        let (_, mut browser) = server.with_owner().await;
        let page = "/app/policies/billing";
        let save = |urls: &'static str| {
            [("deny_urls", "/admin"), ("auto_approve_urls", urls), ("min_approvals", "1"), ("channel", "dashboard")]
        };
        let saved = browser.submit(page, page, &save("api.other.example/*\r\n/admin/users\r\n/free")).await;
        assert_eq!(saved.location(), page, "{}", saved.text);
        let shown = browser.get(page).await.text;
        let warnings: Vec<&str> = shown.split("class=\"flash warnline\"").skip(1).collect();
        for part in [
            "api.other.example/* never matches: the credential is not sent to this host; correct the host or remove it.",
            "/admin/users has no effect: deny_urls has /admin, which comes first; remove one of them.",
        ] {
            let is_told = |warning: &&str| warning.split("</p>").next().is_some_and(|text| text.contains(part));
            assert_eq!(warnings.iter().filter(|&warning| is_told(warning)).count(), 1, "{part}: {shown}");
        }
        browser.submit(page, page, &save("/free")).await;
        let shown = browser.get(page).await.text;
        assert!(!shown.contains("never matches") && !shown.contains("has no effect"), "{shown}");
    }
}

#[tokio::test]
async fn explain_and_replay_tell_what_would_happen_and_change_nothing() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.post_pending(&team, "/v1/items/1", "", "{}").await;
    let page = "/app/policies/billing";
    let asked = [("method", "POST"), ("url", "http://127.0.0.1:9/v1/items")];
    let told = browser.submit(page, "/app/policies/billing/explain", &asked).await;
    assert!(told.text.contains("Needs approval"), "{}", told.text);
    let draft =
        [("method_POST", "auto"), ("min_approvals", "1"), ("channel", "dashboard"), ("replay_count", "100")];
    let replayed = browser.submit(page, "/app/policies/billing/replay", &draft).await;
    assert!(replayed.text.contains("127.0.0.1:9/v1/items/1"), "{}", replayed.text);
    assert!(policies::get(&server.gateway.store, team.id, "billing").await.unwrap().is_none());
}

#[tokio::test]
async fn an_admin_neither_makes_owners_nor_links_for_them() {
    use pyxis_core::approval_mode::Role;
    use pyxis_gateway::admin::people;
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    let added = owner
        .submit("/app/new/person", "/app/people", &[("email", "bo@example.com"), ("role", "admin")])
        .await;
    let link = added.text.split("/link/").nth(1).unwrap();
    let link = format!("/link/{}", link.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap());
    let mut bo = server.browser();
    bo.use_link(&link).await;
    let eve = [("email", "eve@example.com"), ("role", "owner")];
    assert_eq!(
        bo.submit("/app/new/person", "/app/people", &eve).await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let ana = people::by_email(&server.gateway.store, team.id, "ana@example.com").await.unwrap();
    for verb in ["link", "disable", "role"] {
        let to = format!("/app/people/{}/{verb}", ana.id);
        let refused = bo.submit("/app/people", &to, &[("role", "admin")]).await;
        assert_eq!((refused.status, refused.location()), (StatusCode::SEE_OTHER, "/app/people"), "{verb}");
    }
    let ana = people::get(&server.gateway.store, team.id, ana.id).await.unwrap();
    assert_eq!((ana.role, ana.disabled_at), (Role::Owner, None));
}

#[tokio::test]
async fn an_export_is_whole_and_no_cell_is_a_formula() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.post_pending(&team, "/v1/items", "=cmd|'/c calc'!A1", "{}").await;
    let csv = browser.get("/app/audit/export.csv").await;
    assert!(csv.headers[CONTENT_TYPE].to_str().unwrap().starts_with("text/csv"));
    assert!(csv.text.starts_with("seq,at,"));
    assert!(csv.text.lines().all(|line| !line.contains(",=")), "{}", csv.text);
    let jsonl = browser.get("/app/audit/export.jsonl").await.text;
    assert_eq!(jsonl.lines().count() + 1, csv.text.lines().count());
    assert!(jsonl.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
