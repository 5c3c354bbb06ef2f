//! The proxy in this process, with a clock that the test moves and a resolver that it can pause.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::approval_mode::{ApprovalMode, Role};
use pyxis_core::auth::{Auth, BearerToken, KeyAlgorithm, TokenSigningKey};
use pyxis_core::clock::{Clock, FixedClock, SystemClock, UnixMillis};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{NodeId, TxnId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::credentials::{self, CredentialInput};
use pyxis_gateway::admin::{people, policies, workspaces};
use pyxis_gateway::approvals::decide::Approver;
use pyxis_gateway::{Actor, Config, GatewayDependencies, SecretValue, State, workers};
use pyxis_net::resolve::{Resolve, Resolving};
use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_store::agents::{self, AgentChange};
use pyxis_store::audit::Appender;
use pyxis_store::users::UserRow;
use pyxis_testbed::Node;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::installation::Installation;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tower::ServiceExt;

/// The proxy, two owners, a credential that asks for every POST, and an upstream that counts.
pub(crate) struct Proxy {
    pub(crate) state: State,
    pub(crate) workspace: WorkspaceId,
    pub(crate) upstream: Upstream,
    pub(crate) gate: Arc<Gate>,
    /// Authority whose certificates the proxy trusts.
    pub(crate) authority: Authority,
    people: Vec<UserRow>,
    key: String,
    /// Node of the state; removed last.
    node: Node,
}

impl Deref for Proxy {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

/// Running background workers; dropping them aborts what is under way.
pub(crate) struct Workers {
    stop: watch::Sender<bool>,
    loops: JoinSet<()>,
}

impl Workers {
    /// Tells them to stop, and waits until what is under way is finished.
    pub(crate) async fn end(mut self) {
        self.stop.send_replace(true);
        while self.loops.join_next().await.is_some() {}
    }
}

/// The host that [`Gate`] resolves to the upstream.
const HOST: &str = "api.example.com";

/// A resolver that returns loopback, and holds one query when told to. The last step before a request is recorded is a
/// lookup of its address, so holding that holds the request between decision and record.
#[derive(Default)]
pub(crate) struct Gate {
    held: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
    moved: Mutex<Option<IpAddr>>,
    down: AtomicBool,
    queries: AtomicUsize,
}

/// A query that will wait: `asked` reports it, and dropping `release` lets it go on.
pub(crate) struct PausedQuery {
    pub(crate) asked: oneshot::Receiver<()>,
    pub(crate) release: oneshot::Sender<()>,
}

impl Gate {
    /// Holds the next query.
    pub(crate) fn hold(&self) -> PausedQuery {
        let ((tell, asked), (release, released)) = (oneshot::channel(), oneshot::channel());
        *self.held.lock().unwrap() = Some((tell, released));
        PausedQuery { asked, release }
    }

    /// Returns `address` for every name from now on.
    pub(crate) fn moved_to(&self, address: IpAddr) {
        *self.moved.lock().unwrap() = Some(address);
    }

    /// Number of queries for any name.
    pub(crate) fn queries(&self) -> usize {
        self.queries.load(Ordering::Relaxed)
    }

    /// Makes queries fail from now on, or succeed again.
    pub(crate) fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
    }
}

impl Resolve for Gate {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let held = self.held.lock().unwrap().take();
        let address = self.moved.lock().unwrap().unwrap_or(IpAddr::from([127, 0, 0, 1]));
        let down = self.down.load(Ordering::Relaxed);
        Box::pin(async move {
            if let Some((tell, released)) = held {
                let _ = tell.send(());
                let _ = released.await;
            }
            if down { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(vec![address]) }
        })
    }
}

/// A credential without anything but its name and kind.
fn credential(name: &str, auth: Auth) -> CredentialInput {
    CredentialInput { name: name.to_owned(), auth: Some(auth), ..CredentialInput::default() }
}

/// Client of a node: it reaches this machine, by the names that the gate resolves.
fn net(gate: &Arc<Gate>, authority: &Authority) -> ClientConfig {
    let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()], Vec::new());
    ClientConfig {
        resolver: gate.clone(),
        extra_roots: vec![authority.root()],
        // Every check asks again, and waits as long as the test holds it.
        check_ttl: Duration::ZERO,
        check_timeout: Duration::from_mins(5),
        ..ClientConfig::new(guard)
    }
}

impl Fixture for Proxy {
    async fn start(database: TestDatabase) -> Self {
        Self::with_config(database, Config::default()).await
    }
}

impl Proxy {
    /// A proxy with special settings.
    pub(crate) async fn with_config(database: TestDatabase, config: Config) -> Self {
        let installation = Installation::at(database, SystemClock.now()).await;
        let (gate, authority) = (Arc::new(Gate::default()), Authority::new());
        let net = net(&gate, &authority);
        let node = Node::start(installation, &net, config);
        let state = node.gateway.clone();
        let upstream = Upstream::http().await;
        upstream.reply_with(|_| Reply::ok("done"));
        let made =
            workspaces::create(&state, "races", ApprovalMode::Gated, Some("a@example.com")).await.unwrap();
        let actor = Actor::cli(made.workspace.id);
        // Races need many pending requests.
        let mut tx = state.store.begin().await.unwrap();
        for agent in agents::list(&mut tx, made.workspace.id).await.unwrap() {
            let change = AgentChange { max_pending: Some(10_000), ..AgentChange::default() };
            assert!(agents::update(&mut tx, made.workspace.id, agent.id, change).await.unwrap());
        }
        tx.commit().await.unwrap();
        let (second, _) = people::add(&state, &actor, "b@example.com", Role::Owner).await.unwrap();
        let input = CredentialInput {
            allowed_hosts: vec![upstream.addr().to_string(), format!("{HOST}:{}", upstream.port())],
            allow_http: true,
            secret: Some(SecretValue::from_json("s3cret-value".into()).unwrap()),
            ..credential("api", Auth::Bearer(BearerToken {}))
        };
        credentials::create(&state, &actor, input).await.unwrap();
        Self {
            workspace: made.workspace.id,
            people: vec![made.owner.unwrap().0, second],
            key: made.agent_key.expose().clone(),
            upstream,
            gate,
            authority,
            state,
            node,
        }
    }

    /// Another node of the installation, with connections of its own to the database, as another process has them. What
    /// it spawns runs where this is called.
    pub(crate) fn another_node(&self, config: Config) -> (State, Router) {
        let store = self.node.reopen();
        let state = State::new(GatewayDependencies {
            audit: Appender::start(store.clone(), self.node.audit_keys.clone()),
            store,
            keyring: self.node.keyring.clone(),
            audit_keys: self.node.audit_keys.clone(),
            net: Client::new(&net(&self.gate, &self.authority)).unwrap(),
            clock: self.node.clock.clone(),
            entropy: self.node.entropy.clone(),
            node: NodeId::new(self.clock_now(), &*self.node.entropy),
            config,
        });
        (state.clone(), pyxis_gateway::router(state))
    }

    /// Starts the background workers, until they are told to stop. As in the server, the database wakes them. Without
    /// that, each step would wait for the next scheduled look.
    pub(crate) async fn work(&self) -> Workers {
        let (stop, stopping) = watch::channel(false);
        self.state.store.watch();
        Workers { loops: workers::start(&self.state, &stopping).await.unwrap(), stop }
    }

    pub(crate) fn approver(&self, index: usize, surface: DecisionSurface) -> Approver {
        let user = &self.people[index];
        Approver {
            workspace: self.workspace,
            user: user.id,
            email: user.email.clone(),
            role: user.role,
            surface,
        }
    }

    pub(crate) async fn policy(&self, document: &str) {
        self.policy_of("api", document).await;
    }

    async fn policy_of(&self, name: &str, document: &str) {
        let policy = Policy::from_json(document.as_bytes()).unwrap();
        policies::put(&self.state, &self.actor(), name, &policy).await.unwrap();
    }

    /// A signing key (secp256k1) by the name `treasury`, and its policy.
    pub(crate) async fn signing_key(&self, document: &str) {
        let key = TokenSigningKey { algorithm: KeyAlgorithm::Secp256k1, public_key: None, address: None };
        let input = credential("treasury", Auth::SigningKey(key));
        credentials::create(&self.state, &self.actor(), input).await.unwrap();
        self.policy_of("treasury", document).await;
    }

    /// The actor of changes.
    pub(crate) fn actor(&self) -> Actor {
        Actor::cli(self.workspace)
    }

    /// The start of an agent's request to the upstream at this URL.
    pub(crate) fn forward(&self, method: &str, target: &str) -> http::request::Builder {
        self.agent(Method::POST, "/forward")
            .header("x-px-credential", "api")
            .header("x-px-target", target)
            .header("x-px-method", method)
    }

    /// The start of a request with the agent's key.
    pub(crate) fn agent(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path).header("x-px-key", &self.key)
    }

    /// An agent's request by host name, so that its address is looked up; returns status and body.
    pub(crate) fn send_by_name(&self, method: &str, path: &str) -> JoinHandle<(StatusCode, Value)> {
        self.send_to_host(HOST, method, path)
    }

    /// The same with another host.
    pub(crate) fn send_to_host(
        &self,
        host: &str,
        method: &str,
        path: &str,
    ) -> JoinHandle<(StatusCode, Value)> {
        let request = self.forward(method, &self.upstream.url_at(host, path)).body(Body::from("x")).unwrap();
        let answer = self.call(request);
        tokio::spawn(async move {
            let (head, body) = answer.await.into_parts();
            (head.status, body)
        })
    }

    /// A pending request; each round's body differs, so that none collapses into another.
    pub(crate) async fn pause(&self, round: usize) -> TxnId {
        self.pause_because(round, "").await
    }

    /// The same with the agent's reason.
    pub(crate) async fn pause_because(&self, round: usize, reason: &str) -> TxnId {
        let mut request = self.forward("POST", &self.upstream.url("/act"));
        if !reason.is_empty() {
            request = request.header("x-px-reason", reason);
        }
        self.send_pending(request.body(Body::from(format!("round {round}"))).unwrap()).await
    }

    /// An agent's request for a signature of [`signing_key`](Self::signing_key).
    pub(crate) async fn pause_signature(&self, body: &str) -> TxnId {
        let request = self.agent(Method::POST, "/sign").header("x-px-credential", "treasury");
        self.send_pending(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    /// Sends a request that must become pending; returns its transaction.
    pub(crate) async fn send_pending(&self, request: Request<Body>) -> TxnId {
        let answer = self.call(request).await;
        assert_eq!(answer.status(), StatusCode::ACCEPTED, "{}", answer.body());
        answer.body()["txn_id"].as_str().unwrap().parse().unwrap()
    }

    /// The agent's view of its transaction.
    pub(crate) async fn poll(&self, txn: TxnId) -> Response<Value> {
        let request = self.agent(Method::GET, &format!("/agent/approvals/{txn}"));
        self.call(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn withdraw(&self, txn: TxnId) -> StatusCode {
        let request = self.agent(Method::DELETE, &format!("/agent/approvals/{txn}"));
        let answer = self.call(request.body(Body::empty()).unwrap());
        tokio::spawn(async move { answer.await.status() }).await.unwrap()
    }

    /// Sends any request; returns the status.
    pub(crate) async fn send(&self, request: Request<Body>) -> StatusCode {
        self.proxy.clone().oneshot(request).await.unwrap().status()
    }

    /// Sends any request; returns the response, with the body if that is JSON.
    pub(crate) fn call(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Response<Value>> + Send + use<> {
        let router = self.proxy.clone();
        async move {
            let (head, body) = router.oneshot(request).await.unwrap().into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            Response::from_parts(head, serde_json::from_slice(&body).unwrap_or_default())
        }
    }

    pub(crate) fn clock_now(&self) -> UnixMillis {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> Arc<FixedClock> {
        Arc::clone(&self.clock)
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}
