//! MCP clients that run in a browser, on a page of another origin (`docs/reference/mcp.md#clients-in-a-browser`).

use serde_json::json;

use super::client::Mcp;
use super::oauth_client::{REDIRECT, Scene};
use crate::support::{App, HttpResponse, Setup, Site};

const PAGE: &str = "https://inspector.example";

const DOCUMENTS: [&str; 5] = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration/mcp",
];
const ENDPOINTS: [&str; 3] = ["/oauth/token", "/oauth/register", "/oauth/revoke"];

async fn preflight(app: &App, path: &str, method: &str, headers: &str) -> HttpResponse {
    let call = app.anonymous().call("OPTIONS", path).header("origin", PAGE);
    call.header("access-control-request-method", method)
        .header("access-control-request-headers", headers)
        .send()
        .await
}

/// Asserts that a page of any origin may read the response, and that no cookie counts.
#[track_caller]
fn readable(answer: &HttpResponse) {
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{answer:?}");
    assert_eq!(answer.header("access-control-allow-credentials"), None, "{answer:?}");
}

/// Asserts that only pages of the server's own origin may read the response.
#[track_caller]
fn unreadable(answer: &HttpResponse) {
    assert_eq!(answer.header("access-control-allow-origin"), None, "{answer:?}");
}

#[tokio::test]
async fn a_page_of_any_origin_finds_the_endpoints_and_may_ask_them() {
    let site = Site::new().await;
    for path in DOCUMENTS {
        let allowed = preflight(&site.app, path, "GET", "mcp-protocol-version").await.expect(200);
        readable(&allowed);
        let headers = allowed.header("access-control-allow-headers").unwrap();
        assert!(headers.contains("mcp-protocol-version"), "{path}: {headers}");
        let document = site.app.anonymous().get(path).header("origin", PAGE).send().await.expect(200);
        readable(&document);
    }
    for path in ENDPOINTS {
        let allowed = preflight(&site.app, path, "POST", "authorization,content-type").await.expect(200);
        readable(&allowed);
        assert_eq!(allowed.header("access-control-allow-methods"), Some("POST"), "{path}");
        let headers = allowed.header("access-control-allow-headers").unwrap();
        assert!(headers.contains("authorization") && headers.contains("content-type"), "{path}: {headers}");
    }
}

#[tokio::test]
async fn a_page_reads_why_it_was_refused() {
    let site = Site::new().await;
    let call = |method: &str, path: &str| site.app.anonymous().call(method, path).header("origin", PAGE);
    for path in ENDPOINTS {
        let refused = call("POST", path).body("x").send().await;
        assert!((400..500).contains(&refused.status), "{refused:?}");
        readable(&refused);
        let exposed = refused.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("www-authenticate") && exposed.contains("px-error"), "{exposed}");
        let method = call("GET", path).send().await.expect(405);
        readable(&method);
        assert_eq!(
            (method.header("allow"), method.header("px-error")),
            (Some("POST"), Some("method_not_allowed"))
        );
        let long = call("POST", path).body("x".repeat(70 * 1024)).send().await;
        assert!((400..500).contains(&long.status), "{long:?}");
        readable(&long);
    }
    for path in DOCUMENTS {
        readable(&call("POST", path).send().await.expect(405));
    }
    // A client tries several places for the metadata.
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/other"] {
        readable(&call("GET", path).send().await.expect(404));
        readable(&preflight(&site.app, path, "GET", "mcp-protocol-version").await);
    }
}

#[tokio::test]
async fn a_page_gets_tokens_for_the_code_that_a_person_gave_it() {
    let scene = Scene::start(Setup::new()).await;
    let registered = json!({"client_name": "Inspector", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let client = scene.site.app.anonymous().post("/oauth/register", &registered).header("origin", PAGE);
    readable(&client.send().await.expect(201));
    let code = scene.code(&[]).await;
    let tokens = scene.exchange(&code, &[]).header("origin", PAGE).send().await.expect(200);
    readable(&tokens);
    let refresh = tokens.json()["refresh_token"].as_str().unwrap().to_owned();
    let revoked = scene.revoke(&refresh, &[]).header("origin", PAGE).send().await.expect(200);
    readable(&revoked);
    let again = scene.refresh(&refresh, &[]).header("origin", PAGE).send().await.expect(400);
    readable(&again);
}

#[tokio::test]
async fn the_pages_that_people_sign_in_on_are_never_readable() {
    let scene = Scene::start(Setup::new()).await;
    for path in
        ["/oauth/authorize", "/app/oauth/consent", "/app/agents", "/sign-in", "/admin/agents", "/forward"]
    {
        let own = scene.site.app.anonymous().get(path).header("origin", PAGE).send().await;
        unreadable(&own);
        unreadable(&preflight(&scene.site.app, path, "POST", "content-type").await);
        unreadable(&scene.manager.get(path).await);
    }
}

#[tokio::test]
async fn by_default_no_page_of_another_origin_talks_to_the_mcp_server() {
    let site = Site::new().await;
    unreadable(&preflight(&site.app, "/mcp", "POST", "authorization,content-type").await);
    let mcp = Mcp::new(&site);
    let refused = mcp.request("tools/list", &json!({})).header("origin", PAGE).send().await.expect(403);
    unreadable(&refused);
    let anonymous = mcp.request("tools/list", &json!({})).without("authorization").header("origin", PAGE);
    unreadable(&anonymous.send().await.expect(401));
}

#[tokio::test]
async fn pages_of_an_origin_that_the_operator_named_talk_to_the_mcp_server() {
    let setup = Setup::new().env("PX_MCP_ORIGINS", "https://inspector.example:443/, http://localhost:6274");
    let site = Site::with(setup).await;
    let mcp = Mcp::new(&site);
    for origin in [PAGE, "http://localhost:6274"] {
        let asks = site.app.anonymous().call("OPTIONS", "/mcp").header("origin", origin);
        let asks = asks.header("access-control-request-method", "POST");
        let allowed = asks
            .header("access-control-request-headers", "authorization,mcp-method")
            .send()
            .await
            .expect(200);
        assert_eq!(allowed.header("access-control-allow-methods"), Some("GET,POST,DELETE"));
        assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
        assert_eq!(allowed.header("access-control-allow-credentials"), None);
        assert_eq!(allowed.header("access-control-allow-headers"), Some("authorization,mcp-method"));
        let listed = mcp.request("tools/list", &json!({})).header("origin", origin).send().await.expect(200);
        assert_eq!(listed.header("access-control-allow-origin"), Some(origin));
        assert!(listed.header("access-control-expose-headers").unwrap().contains("mcp-session-id"));
        let anonymous =
            mcp.request("tools/list", &json!({})).without("authorization").header("origin", origin);
        let refused = anonymous.send().await.expect(401);
        assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
        assert!(refused.header("access-control-expose-headers").unwrap().contains("www-authenticate"));
    }
    for origin in
        ["https://evil.example", "null", "http://inspector.example", "https://inspector.example:8443"]
    {
        let refused = mcp.request("tools/list", &json!({})).header("origin", origin).send().await.expect(403);
        unreadable(&refused);
    }
}
