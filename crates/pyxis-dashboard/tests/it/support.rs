//! A workspace, a browser without a network, and pending requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::address::EvmAddress;
use pyxis_core::approval_mode::{ApprovalMode, Role};
use pyxis_core::auth::{Auth, BearerToken, KeyAlgorithm, TokenSigningKey};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::secret::SecretString;
use pyxis_dashboard::State;
use pyxis_gateway::admin::credentials::CredentialInput;
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::admin::{credentials, people, workspaces};
use pyxis_gateway::channels::telegram::TelegramConfig;
use pyxis_gateway::{Actor, ChatSettings, Config, SecretValue};
use pyxis_net::{ClientConfig, Guard};
use pyxis_scoring::activity::{import, rebuild};
use pyxis_scoring::credential::VerifiedCredential;
use pyxis_scoring::engine;
use pyxis_scoring::service::issuers;
use pyxis_store::agents::{self, AgentChange};
use pyxis_testbed::{Node, scoring_parts};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::installation::Installation;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt;

pub(crate) const ORIGIN_URL: &str = "http://localhost:8700";
pub(crate) const CANARY: &str = "canary-Zq8wR5tY2uI9-secret";
pub(crate) const ACCOUNT: &str = "/app/account";
pub(crate) const BOT_SECRET: &str = "the-secret-of-the-hook";
pub(crate) const HOLDER: EvmAddress = EvmAddress([0x11; 20]);
pub(crate) const OTHER: EvmAddress = EvmAddress([0x22; 20]);
pub(crate) const ISSUER: &str = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d00f07e0b22";
pub(crate) const PASSWORD: &str = "correct horse battery";
pub(crate) const UPSTREAM: &str = "127.0.0.1:9";

/// A workspace with one owner, one agent and the credential `billing`.
pub(crate) struct Team {
    pub(crate) id: WorkspaceId,
    pub(crate) link: String,
    pub(crate) agent_key: String,
}

/// A node and its pages.
pub(crate) struct Server {
    pub(crate) pages: Router,
    node: Node,
}

impl Deref for Server {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

impl Fixture for Server {
    async fn start(database: TestDatabase) -> Self {
        Self::with(database, Config::default()).await
    }
}

impl Server {
    /// On SQLite.
    pub(crate) async fn new() -> Self {
        Self::start(TestDatabase::sqlite()).await
    }

    /// With other than the usual settings.
    pub(crate) async fn with(database: TestDatabase, config: Config) -> Self {
        Self::reaching(database, config, &[]).await
    }

    /// The same, and requests reach these addresses.
    pub(crate) async fn reaching(database: TestDatabase, config: Config, hosts: &[SocketAddr]) -> Self {
        let installation = Installation::start(database).await;
        let hosts = hosts.iter().copied().chain([UPSTREAM.parse().unwrap()]).collect();
        let net = ClientConfig::new(Guard::new(Vec::new(), hosts));
        let node = Node::start(installation, &net, Config { base_url: ORIGIN_URL.to_owned(), ..config });
        Self { pages: pages(&node, Some(node.scoring.clone())), node }
    }

    /// A credential whose secret is the canary, for a host over http as well.
    pub(crate) async fn add_bearer(&self, workspace: WorkspaceId, name: &str, host: &str) {
        let input = CredentialInput {
            name: name.to_owned(),
            auth: Some(Auth::Bearer(BearerToken {})),
            allowed_hosts: vec![host.to_owned()],
            allow_http: true,
            secret: Some(SecretValue::Text(CANARY.to_owned())),
            ..CredentialInput::default()
        };
        credentials::create(&self.gateway, &Actor::cli(workspace), input).await.unwrap();
    }

    pub(crate) async fn team(&self, name: &str, owner: &str) -> Team {
        let made = workspaces::create(&self.gateway, name, ApprovalMode::Gated, Some(owner)).await.unwrap();
        self.lift_pending_limits(made.workspace.id).await;
        self.add_bearer(made.workspace.id, "billing", UPSTREAM).await;
        let (_, link) = made.owner.unwrap();
        Team {
            id: made.workspace.id,
            link: link.expose().strip_prefix(ORIGIN_URL).unwrap().to_owned(),
            agent_key: made.agent_key.expose().clone(),
        }
    }

    /// Lets every agent have as many pending requests as a test makes.
    async fn lift_pending_limits(&self, workspace: WorkspaceId) {
        let mut tx = self.gateway.store.begin().await.unwrap();
        for agent in agents::list(&mut tx, workspace).await.unwrap() {
            let change = AgentChange { max_pending: Some(10_000), ..AgentChange::default() };
            assert!(agents::update(&mut tx, workspace, agent.id, change).await.unwrap());
        }
        tx.commit().await.unwrap();
    }

    /// A team and its owner, signed in.
    pub(crate) async fn with_owner(&self) -> (Team, Browser) {
        let team = self.team("acme", "ana@example.com").await;
        let mut browser = self.browser();
        browser.use_link(&team.link).await;
        (team, browser)
    }

    /// The pages of a process that does not serve scoring.
    pub(crate) fn without_scoring(&self) -> Router {
        pages(&self.node, None)
    }

    /// The pages of a process that reads wallets' activity from another source.
    pub(crate) fn asking(&self, source: Arc<dyn pyxis_scoring::models::ActivitySource>) -> Router {
        let parts = scoring_parts(&self.node, Arc::new(self.gateway.clone()));
        let scoring =
            pyxis_scoring::State::new(pyxis_scoring::ScoringDependencies { activity: Some(source), ..parts });
        pages(&self.node, Some(scoring))
    }

    /// Verification, and pages that show it.
    pub(crate) fn with_verification(&self) -> (pyxis_verify::State, Router) {
        let stopping = watch::channel(false).1;
        let state = State::new(self.gateway.clone(), Some(self.scoring.clone()), stopping);
        let pages = pyxis_dashboard::router(state.with_verification(self.verification.clone()));
        (self.verification.clone(), pages)
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser { pages: self.pages.clone(), jar: BTreeMap::new() }
    }

    /// Sends a request to the proxy; returns the status.
    pub(crate) async fn send(&self, request: Request<Body>) -> StatusCode {
        self.proxy.clone().oneshot(request).await.unwrap().status()
    }

    /// An agent's pending POST; returns its transaction.
    pub(crate) async fn post_pending(&self, team: &Team, path: &str, reason: &str, body: &str) -> String {
        let mut request = team.request("billing", "POST", &format!("http://{UPSTREAM}{path}"));
        request.headers_mut().insert("x-px-reason", HeaderValue::from_bytes(reason.as_bytes()).unwrap());
        *request.body_mut() = Body::from(body.to_owned());
        self.accepted(request).await
    }
}

impl Team {
    /// A request of the team's agent, without a body.
    pub(crate) fn request(&self, credential: &str, method: &str, target: &str) -> Request<Body> {
        Request::post("/forward")
            .header("x-px-key", &self.agent_key)
            .header("x-px-credential", credential)
            .header("x-px-target", target)
            .header("x-px-method", method)
            .body(Body::empty())
            .unwrap()
    }
}

impl Server {
    /// Sends a request that must become pending; returns its transaction.
    pub(crate) async fn accepted(&self, request: Request<Body>) -> String {
        let answer = self.proxy.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        value["txn_id"].as_str().unwrap().to_owned()
    }

    /// Creates a signing key, and an agent's payload that waits for it; returns the transaction.
    pub(crate) async fn ask_to_sign(&self, team: &Team, body: &serde_json::Value) -> String {
        let key = TokenSigningKey { algorithm: KeyAlgorithm::Secp256k1, public_key: None, address: None };
        let input = CredentialInput {
            name: "treasury".to_owned(),
            auth: Some(Auth::SigningKey(key)),
            ..CredentialInput::default()
        };
        if credentials::get(&self.gateway.store, team.id, "treasury").await.is_err() {
            credentials::create(&self.gateway, &Actor::cli(team.id), input).await.unwrap();
        }
        let request = Request::post("/sign")
            .header("x-px-key", &team.agent_key)
            .header("x-px-credential", "treasury")
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        self.accepted(request).await
    }
}

fn pages(node: &Node, scoring: Option<pyxis_scoring::State>) -> Router {
    pyxis_dashboard::router(State::new(node.gateway.clone(), scoring, watch::channel(false).1))
}

/// Response of a page.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn location(&self) -> &str {
        self.headers.get(LOCATION).map_or("", |value| value.to_str().unwrap())
    }

    /// The token of the first form.
    pub(crate) fn csrf(&self) -> String {
        let marker = "name=\"csrf\" value=\"";
        let start = self.text.find(marker).expect("a form") + marker.len();
        self.text[start..].split('"').next().unwrap().to_owned()
    }
}

/// Keeps cookies and sends a browser's headers.
#[derive(Clone)]
pub(crate) struct Browser {
    pages: Router,
    pub(crate) jar: BTreeMap<String, String>,
}

impl Browser {
    /// The same person, with a browser that reaches other pages.
    pub(crate) fn elsewhere(self, pages: Router) -> Self {
        Self { pages, ..self }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Page {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    /// Posts from our own origin, with the token of the page that has the form.
    pub(crate) async fn submit(&mut self, form: &str, to: &str, fields: &[(&str, &str)]) -> Page {
        let csrf = self.get(form).await.csrf();
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend_from_slice(fields);
        self.post(to, &[(ORIGIN.as_str(), ORIGIN_URL)], &all).await
    }

    pub(crate) async fn post(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        fields: &[(&str, &str)],
    ) -> Page {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
        };
        let body: Vec<_> =
            fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        self.send(Method::POST, path, headers, Body::from(body.join("&"))).await
    }

    /// The response with its body unread.
    pub(crate) async fn open(&mut self, path: &str) -> http::Response<Body> {
        let cookie = self.cookie();
        let request = Request::get(path).header(COOKIE, cookie).body(Body::empty()).unwrap();
        self.pages.clone().oneshot(request).await.unwrap()
    }

    fn cookie(&self) -> String {
        self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// Sends a request; a POST is a plain form unless its headers say otherwise.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Page {
        let mut request = Request::builder().method(method.clone()).uri(path).header(COOKIE, self.cookie());
        if method == Method::POST && !headers.iter().any(|(name, _)| *name == CONTENT_TYPE.as_str()) {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.pages.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        for cookie in parts.headers.get_all(SET_COOKIE) {
            let text = cookie.to_str().unwrap();
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            if value.is_empty() {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        Page {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    /// Opens a one-time link, sets the password, and is signed in.
    pub(crate) async fn use_link(&mut self, link: &str) {
        let fields = [("password", PASSWORD), ("password_again", PASSWORD)];
        let page = self.submit(link, link, &fields).await;
        assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, "/app"));
    }

    pub(crate) async fn sign_in(&mut self, email: &str, password: &str) -> Page {
        self.submit("/sign-in", "/sign-in", &[("email", email), ("password", password)]).await
    }
}

impl Server {
    /// Adds another person to a team as its owner would; signs in by their link.
    pub(crate) async fn with_person(&self, team: &Team, email: &str, role: Role) -> Browser {
        let actor = Actor::cli(team.id);
        let (_, link) = people::add(&self.gateway, &actor, email, role).await.unwrap();
        let mut browser = self.browser();
        browser.use_link(link.expose().strip_prefix(ORIGIN_URL).unwrap()).await;
        browser
    }

    /// Sets a member's rights for `billing`.
    pub(crate) async fn grant(&self, team: &Team, email: &str, approve: bool, policy: bool) {
        let user = people::by_email(&self.gateway.store, team.id, email).await.unwrap();
        let right = Right { approve, policy };
        rights::set(&self.gateway.audited, &Actor::cli(team.id), user.id, "billing", right).await.unwrap();
    }

    pub(crate) fn later(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// Requests a challenge; returns the JSON for the script.
pub(crate) async fn begin(browser: &mut Browser, form: &str, to: &str, fields: &[(&str, &str)]) -> Value {
    let page = browser.submit(form, to, fields).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    serde_json::from_str(&page.text).unwrap()
}

/// Sends the form with an answer.
pub(crate) async fn finish(
    browser: &mut Browser,
    form: &str,
    to: &str,
    begun: &Value,
    credential: &Value,
    fields: &[(&str, &str)],
) -> Page {
    let (ceremony, credential) = (begun["ceremony"].as_str().unwrap(), credential.to_string());
    let mut all = vec![("ceremony", ceremony), ("credential", credential.as_str())];
    all.extend_from_slice(fields);
    browser.submit(form, to, &all).await
}

pub(crate) async fn register(browser: &mut Browser, key: &mut Authenticator, name: &str) -> Page {
    let begun = begin(browser, ACCOUNT, "/app/account/passkeys/begin", &[("name", name)]).await;
    let made = key.create(&begun["options"]);
    finish(browser, ACCOUNT, "/app/account/passkeys", &begun, &made, &[("name", name)]).await
}

/// A server whose bot receives messages and reaches no one.
pub(crate) fn with_bot() -> Config {
    let telegram = TelegramConfig {
        token: SecretString::new("1:token".to_owned()),
        api_base: "http://127.0.0.1:9".to_owned(),
        webhook_secret: Some(SecretString::new(BOT_SECRET.to_owned())),
        poll: Duration::from_secs(30),
    };
    Config { chats: ChatSettings::default().with_platform(telegram), ..Config::default() }
}

/// Stores a Stamp as if its credential had been submitted.
pub(crate) async fn bring(server: &Server, team: &Team, address: EvmAddress, stamp: &str, nullifier: &str) {
    let (now, actor) = (server.scoring.now(), Actor::cli(team.id));
    issuers::add(&server.scoring.audited, &actor, ISSUER, "Our issuer").await.unwrap();
    let verified = VerifiedCredential {
        address,
        provider: stamp.parse().unwrap(),
        issuer: ISSUER.to_owned(),
        issued_at: UnixMillis(now.0 - 1000),
        expires_at: UnixMillis(now.0 + 90 * 86_400_000),
        digest: digest(address, stamp),
        digests: Vec::new(),
        nullifiers: vec![nullifier.parse().unwrap()],
        credential: "{}".to_owned(),
    };
    let outcomes = engine::ingest(&server.scoring.db, team.id, address, &[&verified], now).await.unwrap();
    assert!(outcomes[0].is_some(), "its issuer is listed");
}

fn digest(address: EvmAddress, stamp: &str) -> [u8; 32] {
    let mut digest = [address.0[0]; 32];
    for (place, byte) in stamp.bytes().take(32).enumerate() {
        digest[place] ^= byte;
    }
    digest
}

/// Imports transfers and computes the features of their wallets.
pub(crate) async fn import_activity(server: &Server, text: String) {
    let reader =
        pyxis_models::activity_reader::Reader::new(Box::new(std::io::Cursor::new(text.into_bytes())))
            .unwrap();
    let store = &server.scoring.store;
    import(store, "aa", "a.csv", reader, server.scoring.now(), |_| ()).await.unwrap();
    let held = server.scoring.models.current().await.unwrap();
    rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
}

/// The next message of an event stream.
pub(crate) async fn next_event(stream: &mut Body) -> String {
    let frame = stream.frame().await.expect("a message").unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}
