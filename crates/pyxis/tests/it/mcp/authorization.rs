//! Authorization of connectors (`docs/reference/mcp.md#authorization`): the way of a well-behaved one, and each rule.

use pyxis_testkit::engines;
use serde_json::json;

use super::client::Mcp;
use super::oauth_client::{REDIRECT, Scene, base, form, link_back, parameters, register, return_url, text};
use crate::support::{Browser, Setup, Site};

engines! {
    async fn a_connector_acts_as_the_agent_that_a_person_chose_and_nowhere_but_at_the_mcp_server(setup: Setup) {
        let scene = Scene::start(setup).await;
        let page = scene.consent_page(&[]).await.expect(200);
        for shown in ["Connector", "connector.example", "assistant", "A new agent", "Anyone can choose this name"] {
            assert!(page.text().contains(shown), "{shown}: {}", page.text());
        }
        let tokens = scene.tokens().await;
        assert_eq!((&tokens["token_type"], &tokens["expires_in"], &tokens["scope"]), (&json!("Bearer"), &json!(3600), &json!("mcp")));
        let access = text(&tokens, "access_token");
        let mcp = Mcp::for_key(&scene.site.app, &access);
        let services = mcp.tool("services", json!({})).await;
        assert_eq!(services["structuredContent"]["agent"], "assistant");
        let read = mcp.forward(&scene.site, "GET", "/things").await;
        assert_eq!(read["structuredContent"]["status"], 200, "{read}");
        let sent = scene.site.forwards().await.pop().unwrap();
        assert_eq!((&sent["actor_name"], &sent["detail"]["door"], &sent["detail"]["client"]), (&json!("assistant"), &json!("mcp"), &json!("Connector")));
        let allowed = scene.recorded("connection.allowed").await.pop().unwrap();
        assert_eq!(allowed["actor_name"], "manager@people.example");
        assert_eq!((&allowed["detail"]["client"], &allowed["detail"]["agent"]), (&json!("Connector"), &json!("assistant")));
        // The token is no agent key, no session and no personal access token.
        let agent = scene.site.app.agent(&access);
        agent.forward("api", "GET", &scene.site.upstream.url("/things")).send().await.problem(401, "invalid_key");
        agent.client.get("/agent/services").send().await.problem(401, "invalid_key");
        agent.client.post("/sign", &json!({})).header("x-px-credential", "api").send().await.problem(401, "invalid_key");
        let bearer = scene.site.app.anonymous().with("authorization", &format!("Bearer {access}"));
        for path in ["/admin/agents", "/approvals", "/p/api/things"] {
            bearer.get(path).send().await.expect(401);
        }
        for secret in ["access_token", "refresh_token"] {
            let secret = text(&tokens, secret);
            assert!(!scene.site.app.logs().contains(&secret));
            assert!(!json!(scene.site.app.audit().await).to_string().contains(&secret));
        }
    }
}

#[tokio::test]
async fn the_metadata_names_only_the_configured_origin_whatever_host_a_request_names() {
    let site = Site::new().await;
    let base = base(&site.app);
    let spoofed = |path: &str| {
        let call = site.app.anonymous().get(path).set("host", "evil.example");
        call.header("x-forwarded-host", "evil.example").header("forwarded", "host=evil.example")
    };
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let resource = spoofed(path).send().await.expect(200).json();
        assert_eq!(resource["resource"], format!("{base}/mcp"));
        assert_eq!(resource["authorization_servers"], json!([base]));
        assert_eq!(resource["scopes_supported"], json!(["mcp"]));
    }
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration/mcp",
    ] {
        let server = spoofed(path).send().await.expect(200).json();
        assert_eq!(server["issuer"], json!(base), "{path}");
        for (member, end) in [
            ("authorization_endpoint", "/oauth/authorize"),
            ("token_endpoint", "/oauth/token"),
            ("registration_endpoint", "/oauth/register"),
            ("revocation_endpoint", "/oauth/revoke"),
        ] {
            assert_eq!(server[member], format!("{base}{end}"));
        }
        assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
        for member in
            ["authorization_response_iss_parameter_supported", "client_id_metadata_document_supported"]
        {
            assert_eq!(server[member], true);
        }
    }
    let challenge = |answer: crate::support::HttpResponse| {
        answer.expect(401).header("www-authenticate").unwrap().to_owned()
    };
    let mcp = Mcp::for_key(&site.app, "px_access_unknown");
    let list = || mcp.request("tools/list", &json!({})).set("host", "evil.example");
    let found =
        format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\", scope=\"mcp\"");
    let with_token = challenge(list().send().await);
    assert!(with_token.starts_with("Bearer ") && with_token.contains(&found), "{with_token}");
    assert!(with_token.contains("error=\"invalid_token\""), "{with_token}");
    let without = challenge(list().without("authorization").send().await);
    assert!(without.contains(&found) && !without.contains("error="), "{without}");
}

#[tokio::test]
async fn without_the_dashboard_nobody_could_consent_so_nothing_is_offered() {
    let site = Site::with(Setup::new().env("PX_SURFACES", "proxy")).await;
    site.app.anonymous().get("/.well-known/oauth-protected-resource").send().await.expect(404);
    site.app.anonymous().get("/.well-known/oauth-authorization-server").send().await.expect(404);
    let mcp = Mcp::for_key(&site.app, "px_agent_wrong");
    let answer = mcp.request("tools/list", &json!({})).send().await.expect(401);
    assert!(!answer.header("www-authenticate").unwrap().contains("resource_metadata"), "{answer:?}");
}

#[tokio::test]
async fn a_person_signs_in_first_and_then_sees_the_request_and_only_managers_may_answer() {
    let scene = Scene::start(Setup::new()).await;
    let request = scene.request(&[]);
    let raw: Vec<_> = request.iter().map(|(name, value)| format!("{name}={value}")).collect();
    // As a client writes it that does not encode the slashes of its URIs.
    let authorize = format!("/oauth/authorize?{}", raw.join("&"));
    let first = scene.site.app.anonymous().get(&authorize).send().await.expect(303);
    let consent = first.header("location").unwrap().to_owned();
    let second = scene.site.app.anonymous().get(&consent).send().await.expect(303);
    let sign_in = second.header("location").unwrap().to_owned();
    assert!(sign_in.starts_with("/sign-in?next=%2Fapp%2Foauth%2Fconsent"), "{sign_in}");
    let page = scene.site.app.anonymous().get(&sign_in).send().await.expect(200);
    assert!(page.text().contains("whether a program may act as an agent"), "{}", page.text());
    let page = scene.manager.get(&sign_in).await.expect(303);
    assert_eq!(page.header("location"), Some(consent.as_str()));
    let page = scene.manager.get(&consent).await.expect(200);
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert!(page.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    // Looking at it allows nothing.
    assert_eq!(scene.site.app.sql("SELECT count(*) FROM authorization_codes"), ["0"]);
    let app = &scene.site.app;
    app.cli_json(&["user", "add", "--email", "member@people.example", "--role", "member"]).await;
    app.sign_in("member@people.example").await;
    let member = Browser::sign_in(&app.anonymous(), "member@people.example").await;
    member.get(&consent).await.expect(403);
    let fields: Vec<_> = request.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let fields = [fields, vec![("agent", scene.agent_id.as_str()), ("answer", "allow")]].concat();
    member.submit("/app/oauth/consent", &fields).await.expect(403);
    let stranger = form(app, "/app/oauth/consent", &fields).header("sec-fetch-site", "cross-site");
    stranger.send().await.expect(403);
    assert_eq!(app.sql("SELECT count(*) FROM authorization_codes"), ["0"]);
}

#[tokio::test]
async fn a_new_agent_is_made_with_the_consent_and_a_refusal_is_told_to_the_client() {
    let scene = Scene::start(Setup::new()).await;
    let nothing = scene.answer(&[], &[("answer", "allow")]).await.expect(422);
    assert!(nothing.text().contains("Choose the agent"), "{}", nothing.text());
    let taken = [("agent", "new"), ("name", "assistant"), ("scope", "all"), ("answer", "allow")];
    assert!(scene.answer(&[], &taken).await.expect(422).text().contains("taken"));
    let new = [
        ("agent", "new"),
        ("name", "newcomer"),
        ("scope", "some"),
        ("credential", "api"),
        ("answer", "allow"),
    ];
    let page = scene.answer(&[], &new).await.expect(200);
    let code = text(&parameters(&return_url(&page)), "code");
    let tokens = scene.exchange(&code, &[]).send().await.expect(200).json();
    let services =
        Mcp::for_key(&scene.site.app, &text(&tokens, "access_token")).tool("services", json!({})).await;
    assert_eq!(services["structuredContent"]["agent"], "newcomer");
    assert_eq!(services["structuredContent"]["services"][0]["credential"], "api");
    let denied =
        scene.answer(&[], &[("agent", scene.agent_id.as_str()), ("answer", "deny")]).await.expect(200);
    let told = parameters(&return_url(&denied));
    assert_eq!(
        (&told["error"], &told["state"], &told["iss"]),
        (&json!("access_denied"), &json!("st-1"), &json!(scene.base()))
    );
    assert!(told["code"].is_null(), "{told}");
}

#[tokio::test]
async fn a_mistake_is_shown_to_the_person_and_told_to_a_known_client_only_by_a_link() {
    let scene = Scene::start(Setup::new()).await;
    for (untrusted, reason) in [
        ([("client_id", "px_client_unknown")], "not registered"),
        ([("client_id", "")], "no client_id"),
        ([("redirect_uri", "https://evil.example/callback")], "not one that it registered"),
        ([("redirect_uri", "https://connector.example/callback/")], "not one that it registered"),
        ([("redirect_uri", "https://connector.example/callback?next=evil")], "not one that it registered"),
        ([("redirect_uri", "https://connector.example@evil.example/callback")], "not acceptable"),
        ([("redirect_uri", "javascript:alert(1)")], "not acceptable"),
        ([("redirect_uri", "")], "not acceptable"),
    ] {
        let page = scene.consent_page(&untrusted).await.expect(400);
        assert!(page.header("location").is_none() && page.text().contains(reason), "{}", page.text());
        assert!(!page.text().contains("evil.example"), "{}", page.text());
        assert!(!page.text().contains("Go back to"), "{}", page.text());
        scene
            .answer(&untrusted, &[("agent", scene.agent_id.as_str()), ("answer", "allow")])
            .await
            .expect(400);
    }
    for (mistake, error) in [
        ([("response_type", "token")], "unsupported_response_type"),
        ([("response_type", "")], "unsupported_response_type"),
        ([("code_challenge", "")], "invalid_request"),
        ([("code_challenge", "short")], "invalid_request"),
        ([("code_challenge_method", "plain")], "invalid_request"),
        ([("code_challenge_method", "")], "invalid_request"),
        ([("resource", "https://other.example/mcp")], "invalid_target"),
    ] {
        let page = scene.consent_page(&mistake).await.expect(400);
        assert!(page.header("location").is_none() && !page.text().contains("http-equiv=\"refresh\""));
        assert!(page.text().contains("its request is invalid"), "{}", page.text());
        let told = link_back(&page);
        assert!(told.starts_with(&format!("{REDIRECT}?")), "{told}");
        let told = parameters(&told);
        assert_eq!(
            (&told["error"], &told["state"], &told["iss"]),
            (&json!(error), &json!("st-1"), &json!(scene.base()))
        );
        scene.answer(&mistake, &[("agent", scene.agent_id.as_str()), ("answer", "allow")]).await.expect(400);
    }
    assert_eq!(scene.site.app.sql("SELECT count(*) FROM authorization_codes"), ["0"]);
    // No audience means the only one there is.
    scene.consent_page(&[("resource", "")]).await.expect(200);
}

#[tokio::test]
async fn a_loopback_redirect_may_have_any_port_and_warns() {
    let mut scene = Scene::start(Setup::new()).await;
    let metadata = json!({
        "client_name": "Local\u{202e} tool",
        "redirect_uris": ["http://127.0.0.1/callback"],
        "token_endpoint_auth_method": "none",
    });
    scene.client =
        scene.site.app.anonymous().post("/oauth/register", &metadata).send().await.expect(201).json();
    assert!(scene.client["client_secret"].is_null());
    let local = [("redirect_uri", "http://127.0.0.1:51234/callback")];
    let page = scene.consent_page(&local).await.expect(200).text();
    assert!(page.contains("127.0.0.1:51234") && page.contains("on your own computer"), "{page}");
    assert!(page.contains("Local tool"), "without the mark that would turn the text around");
    let code = scene.code(&local).await;
    scene.exchange(&code, &[]).send().await.expect(400);
    let tokens = scene.exchange(&code, &local).send().await.expect(200).json();
    assert_eq!(scene.status(&text(&tokens, "access_token")).await, 200);
    scene.consent_page(&[("redirect_uri", "http://127.0.0.1:51234/other")]).await.expect(400);
    scene.consent_page(&[("redirect_uri", "http://localhost:51234/callback")]).await.expect(400);
}

#[tokio::test]
async fn a_registration_is_checked_and_answered_as_the_rfc_says() {
    let site = Site::new().await;
    let register = async |metadata| site.app.anonymous().post("/oauth/register", &metadata).send().await;
    let usual = register(json!({"redirect_uris": [REDIRECT], "unknown": {"member": 1}})).await.expect(201);
    assert_eq!(usual.header("cache-control"), Some("no-store"));
    let usual = usual.json();
    assert_eq!(usual["token_endpoint_auth_method"], "client_secret_basic");
    assert!(usual["client_secret"].is_string() && usual["client_secret_expires_at"] == 0, "{usual}");
    for (metadata, error) in [
        (json!({}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["http://evil.example/cb"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["javascript:alert(1)"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": vec![REDIRECT; 21]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": REDIRECT}), "invalid_client_metadata"),
        (
            json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "private_key_jwt"}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": [REDIRECT], "grant_types": ["client_credentials"]}),
            "invalid_client_metadata",
        ),
        (json!({"redirect_uris": [REDIRECT], "response_types": ["token"]}), "invalid_client_metadata"),
    ] {
        let answer = register(metadata).await.expect(400);
        assert_eq!((answer.json()["error"].as_str(), answer.header("px-error")), (Some(error), Some(error)));
    }
}

#[tokio::test]
async fn registrations_are_few_per_address_and_unused_ones_end() {
    let site = Site::new().await;
    let metadata = json!({"redirect_uris": [REDIRECT]});
    let mut refused = 0;
    for _ in 0..25 {
        let answer = site.app.anonymous().post("/oauth/register", &metadata).send().await;
        if answer.status == 429 {
            assert_eq!(answer.json()["error"], "temporarily_unavailable");
            refused += 1;
        } else {
            answer.expect(201);
        }
    }
    assert!(refused >= 5, "at most ten a minute, and no two minutes passed: {refused}");
    let life = site.app.sql("SELECT max(expires_at - created_at) FROM connection_clients");
    assert_eq!(life, ["3600000"], "an hour to consent");
    let mut scene = Scene::start(Setup::new()).await;
    scene.code(&[]).await;
    let life = scene.site.app.sql("SELECT max(expires_at - created_at) FROM connection_clients");
    assert!(life[0].parse::<i64>().unwrap() >= 24 * 3_600_000, "longer once a person consented: {life:?}");
    scene.tokens().await;
    let unused = register(&scene.site.app, "none").await;
    scene.site.app.sql("UPDATE connection_clients SET expires_at = 1");
    scene.consent_page(&[]).await.expect(200);
    scene.client = unused;
    scene.consent_page(&[]).await.expect(400);
}

#[tokio::test]
async fn a_client_proves_itself_in_the_form_or_in_the_header_and_a_public_one_by_its_code_alone() {
    use base64::Engine as _;
    let mut scene = Scene::start(Setup::new()).await;
    let basic = |id: &str, secret: &str| {
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}")))
    };
    let (id, secret) = (text(&scene.client, "client_id"), text(&scene.client, "client_secret"));
    let in_header = [("client_id", ""), ("client_secret", "")];
    let code = scene.code(&[]).await;
    for refused in [
        scene.exchange(&code, &[("client_secret", "")]),
        scene.exchange(&code, &[("client_secret", "px_client_secret_wrong")]),
        scene.exchange(&code, &[("client_id", "px_client_unknown")]),
        scene.exchange(&code, &[("client_id", "")]),
        scene.exchange(&code, &in_header).header("authorization", &basic(&id, "wrong")),
        scene.exchange(&code, &in_header).header("authorization", "Bearer x"),
    ] {
        let answer = refused.send().await.expect(401);
        assert_eq!(answer.json()["error"], "invalid_client");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Basic"), "{answer:?}");
    }
    let twice = scene.exchange(&code, &[]).header("authorization", &basic(&id, &secret));
    assert_eq!(twice.send().await.expect(400).json()["error"], "invalid_request");
    let tokens = scene.exchange(&code, &in_header).header("authorization", &basic(&id, &secret)).send().await;
    let tokens = tokens.expect(200);
    assert_eq!(tokens.header("cache-control"), Some("no-store"));
    scene.client = register(&scene.site.app, "none").await;
    let code = scene.code(&[]).await;
    scene.exchange(&code, &[("client_secret", "made-up")]).send().await.expect(401);
    scene.exchange(&code, &[]).send().await.expect(200);
}

#[tokio::test]
async fn a_token_request_that_makes_no_sense_is_refused_with_its_code() {
    let scene = Scene::start(Setup::new()).await;
    let code = scene.code(&[]).await;
    for (changed, error) in [
        (vec![("grant_type", "password")], "unsupported_grant_type"),
        (vec![("grant_type", "")], "invalid_request"),
        (vec![("code", "")], "invalid_request"),
        (vec![("redirect_uri", "")], "invalid_request"),
        (vec![("code_verifier", "")], "invalid_request"),
        (vec![("code", "px_code_unknown")], "invalid_grant"),
        (vec![("resource", "https://other.example/mcp")], "invalid_target"),
        (vec![("code", code.as_str()), ("code", code.as_str())], "invalid_request"),
    ] {
        let answer = scene.exchange(&code, &changed).send().await.expect(400);
        assert_eq!(answer.json()["error"], error, "{changed:?}");
    }
    let json = scene.site.app.anonymous().post("/oauth/token", &json!({"grant_type": "authorization_code"}));
    assert_eq!(json.send().await.expect(400).json()["error"], "invalid_request");
    let long = form(&scene.site.app, "/oauth/token", &[("code", &"x".repeat(70_000))]);
    assert_eq!(long.send().await.expect(400).json()["error"], "invalid_request");
    scene.site.app.anonymous().get("/oauth/token").send().await.expect(405);
    scene.exchange(&code, &[]).send().await.expect(200);
}

#[tokio::test]
async fn a_manager_sees_the_connections_of_an_agent_and_ends_them_on_its_page_or_by_the_api() {
    let scene = Scene::start(Setup::new()).await;
    let (first, second) = (scene.tokens().await, scene.tokens().await);
    let listed = scene.connections().await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!(
        (&listed[0]["client_name"], &listed[0]["destination"], &listed[0]["allowed_by"]),
        (&json!("Connector"), &json!("connector.example"), &json!("manager@people.example"))
    );
    let page = scene.manager.get(&format!("/app/agents/{}", scene.agent_id)).await.expect(200).text();
    assert!(page.contains("Connected programs") && page.contains("connector.example"), "{page}");
    let [newest, oldest] = [&listed[0], &listed[1]].map(|one| text(one, "id"));
    let ended = scene.manager.submit(&format!("/app/connections/{newest}/revoke"), &[]).await.expect(303);
    assert_eq!(ended.header("location"), Some(format!("/app/agents/{}", scene.agent_id).as_str()));
    assert_eq!(scene.status(&text(&second, "access_token")).await, 401);
    assert_eq!(scene.status(&text(&first, "access_token")).await, 200);
    let path = format!("/admin/connections/{oldest}");
    scene.site.owner.client.delete(&path).send().await.expect(204);
    scene.site.owner.client.delete(&path).send().await.expect(404);
    assert_eq!(scene.status(&text(&first, "access_token")).await, 401);
    assert_eq!(scene.recorded("connection.revoked").await.len(), 2);
    assert_eq!(scene.connections().await.len(), 0);
    let elsewhere = scene.site.owner.client.get("/admin/agents/nonsense/connections");
    elsewhere.send().await.expect(404);
    manager_page_has_no_programs(&scene).await;
}

async fn manager_page_has_no_programs(scene: &Scene) {
    let page = scene.manager.get(&format!("/app/agents/{}", scene.agent_id)).await.expect(200).text();
    assert!(!page.contains("Connected programs"), "{page}");
}

#[tokio::test]
async fn an_agent_key_works_as_before_next_to_a_connection() {
    let scene = Scene::start(Setup::new()).await;
    scene.tokens().await;
    let mcp = Mcp::new(&scene.site);
    let read = mcp.forward(&scene.site, "GET", "/things").await;
    assert_eq!(read["structuredContent"]["status"], 200, "{read}");
    let sent = scene.site.forwards().await.pop().unwrap();
    assert_eq!(sent["detail"]["client"], "a-test 1", "what the client says of itself");
}
