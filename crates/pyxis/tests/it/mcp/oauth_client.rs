//! A connector that speaks OAuth, and the person who answers it. A test can say every parameter itself.

use serde_json::{Value, json};

use super::client::Mcp;
use crate::support::{App, Browser, Call, HttpResponse, Setup, Site};

/// The example of RFC 7636, appendix B.
pub(super) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(super) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// The connector's redirect URI.
pub(super) const REDIRECT: &str = "https://connector.example/callback";

/// A form, encoded.
pub(super) fn encoded(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A site, a manager with a browser, and a registered connector.
pub(super) struct Scene {
    pub(super) site: Site,
    pub(super) manager: Browser,
    pub(super) client: Value,
    pub(super) agent_id: String,
}

impl Scene {
    pub(super) async fn start(setup: Setup) -> Self {
        let site = Site::with(setup).await;
        let manager = manager(&site.app).await;
        let client = register(&site.app, "client_secret_post").await;
        let agent = site.owner.add_agent(&json!({"name": "assistant"})).await;
        Self { site, manager, client, agent_id: text(&agent, "id") }
    }

    pub(super) fn base(&self) -> String {
        base(&self.site.app)
    }

    /// The parameters of an authorization request; `changed` replaces some, and an empty value removes one.
    pub(super) fn request(&self, changed: &[(&str, &str)]) -> Vec<(String, String)> {
        let resource = format!("{}/mcp", self.base());
        let usual = [
            ("response_type", "code"),
            ("client_id", self.client["client_id"].as_str().unwrap()),
            ("redirect_uri", REDIRECT),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("resource", &resource),
            ("state", "st-1"),
        ];
        let value = |name: &str, usual: &str| {
            let other = changed.iter().find(|(changed, _)| *changed == name);
            other.map_or(usual, |(_, value)| *value).to_owned()
        };
        let all = usual.into_iter().map(|(name, usual)| (name.to_owned(), value(name, usual)));
        all.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The consent page of a request.
    pub(super) async fn consent_page(&self, changed: &[(&str, &str)]) -> HttpResponse {
        let request = self.request(changed);
        let pairs: Vec<_> = request.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.manager.get(&format!("/app/oauth/consent?{}", encoded(&pairs))).await
    }

    /// The manager's answer to a request.
    pub(super) async fn answer(&self, changed: &[(&str, &str)], answer: &[(&str, &str)]) -> HttpResponse {
        let request = self.request(changed);
        let pairs = request.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: Vec<_> = pairs.chain(answer.iter().copied()).collect();
        self.manager.submit("/app/oauth/consent", &fields).await
    }

    /// The code of a consent for the agent `assistant`.
    pub(super) async fn code(&self, changed: &[(&str, &str)]) -> String {
        let answer = [("agent", self.agent_id.as_str()), ("answer", "allow")];
        let page = self.answer(changed, &answer).await.expect(200);
        let returned = parameters(&return_url(&page));
        assert_eq!(returned["state"], "st-1");
        assert_eq!(returned["iss"], self.base());
        text(&returned, "code")
    }

    /// A token request with the connector's secret; `changed` as in [`Scene::request`].
    pub(super) fn exchange(&self, code: &str, changed: &[(&str, &str)]) -> Call {
        let usual = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        self.post("/oauth/token", &usual, changed)
    }

    pub(super) fn refresh(&self, refresh_token: &str, changed: &[(&str, &str)]) -> Call {
        let usual = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        self.post("/oauth/token", &usual, changed)
    }

    pub(super) fn revoke(&self, token: &str, changed: &[(&str, &str)]) -> Call {
        self.post("/oauth/revoke", &[("token", token)], changed)
    }

    fn post(&self, path: &str, usual: &[(&str, &str)], changed: &[(&str, &str)]) -> Call {
        let id = text(&self.client, "client_id");
        let secret = self.client["client_secret"].as_str().unwrap_or_default();
        let own = [("client_id", id.as_str()), ("client_secret", secret)];
        let all = usual.iter().copied().chain(own);
        let kept = all.filter(|(name, _)| !changed.iter().any(|(other, _)| other == name));
        let fields = kept.chain(changed.iter().copied()).filter(|(_, value)| !value.is_empty());
        form(&self.site.app, path, &fields.collect::<Vec<_>>())
    }

    /// Tokens after a consent.
    pub(super) async fn tokens(&self) -> Value {
        self.exchange(&self.code(&[]).await, &[]).send().await.expect(200).json()
    }

    /// The status of a message to the MCP server with this token.
    pub(super) async fn status(&self, token: &str) -> u16 {
        Mcp::for_key(&self.site.app, token).request("tools/list", &json!({})).send().await.status
    }

    /// The connections of the agent `assistant`.
    pub(super) async fn connections(&self) -> Vec<Value> {
        let path = format!("/admin/agents/{}/connections", self.agent_id);
        let list = self.site.owner.client.get(&path).send().await.expect(200).json();
        list["connections"].as_array().unwrap().clone()
    }

    /// Audit records of an event.
    pub(super) async fn recorded(&self, event: &str) -> Vec<Value> {
        self.site.app.audit().await.into_iter().filter(|record| record["kind"] == event).collect()
    }
}

/// A form posted by no one in particular.
pub(super) fn form(app: &App, path: &str, fields: &[(&str, &str)]) -> Call {
    let call = app.anonymous().call("POST", path);
    call.header("content-type", "application/x-www-form-urlencoded").body(encoded(fields))
}

/// Registers a connector that authenticates by this method.
pub(super) async fn register(app: &App, method: &str) -> Value {
    let metadata = json!({
        "client_name": "Connector",
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    app.anonymous().post("/oauth/register", &metadata).send().await.expect(201).json()
}

/// A manager with a browser.
pub(super) async fn manager(app: &App) -> Browser {
    const EMAIL: &str = "manager@people.example";
    app.admin(EMAIL).await;
    Browser::sign_in(&app.anonymous(), EMAIL).await
}

/// The configured origin.
pub(super) fn base(app: &App) -> String {
    format!("http://localhost:{}", app.greeting["address"].as_str().unwrap().rsplit(':').next().unwrap())
}

/// The URL that a page takes the browser to.
pub(super) fn return_url(page: &HttpResponse) -> String {
    let page = page.text();
    let (_, rest) = page.split_once("content=\"0;url=").unwrap_or_else(|| panic!("no way back: {page}"));
    rest.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
}

/// The URL by which a person may tell a client about its mistake.
pub(super) fn link_back(page: &HttpResponse) -> String {
    let page = page.text();
    let (before, _) =
        page.split_once("rel=\"noreferrer\">Go back to").unwrap_or_else(|| panic!("no link: {page}"));
    let (_, url) = before.rsplit_once("href=\"").unwrap();
    url.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&")
}

/// The parameters in a URL's query.
pub(super) fn parameters(url: &str) -> Value {
    let url = url::Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    url.query_pairs().map(|(name, value)| (name.into_owned(), json!(value))).collect()
}

pub(super) fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("no {member}: {value}")).to_owned()
}
