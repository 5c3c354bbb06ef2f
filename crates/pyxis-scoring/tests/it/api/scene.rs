//! A workspace with an issuer, a key with all permissions, and whatever a test adds.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::digest::sha256_hex;
use pyxis_core::entropy::{OsEntropy, SeededEntropy, token};
use pyxis_core::id::{ApiKeyId, ScorerId, WorkspaceId};
use pyxis_core::score::Weights;
use pyxis_scoring::contract_wallets::ContractWallets;
use pyxis_scoring::engine::{Revocation, revoke};
use pyxis_scoring::models::ActivitySource;
use pyxis_scoring::signed::SignerConfig;
use pyxis_scoring::{Config, EvmNetworks, ScoringDependencies, State};
use pyxis_store::Store;
use pyxis_store::api_keys::{self, ApiKeyRow};
use pyxis_store::issuers::{self, IssuerRow};
use pyxis_store::revocations::RevocationRow;
use pyxis_store::scorers::{self, Terms};
use pyxis_testbed::{NoManagers, scoring_parts};
use pyxis_testkit::database::{Fixture, TestDatabase};
pub(crate) use pyxis_testkit::installation::START;
use pyxis_testkit::installation::{Installation, Workspace};
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::DAY;

/// The start of a day.
pub(crate) fn day(day: i64) -> UnixMillis {
    UnixMillis(START.0 + day * DAY)
}

/// A moment as responses show it.
pub(crate) fn timestamp(at: UnixMillis) -> String {
    at.to_iso_micros()
}

/// A wallet by number.
pub(crate) fn wallet(number: u64) -> EvmAddress {
    let mut bytes = [0xab; 20];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

pub(crate) struct Scene {
    pub(crate) state: State,
    pub(crate) workspace: WorkspaceId,
    pub(crate) issuer: Eip712Issuer,
    /// A key with all permissions and no practical limit.
    pub(crate) key: String,
    router: Router,
    /// Installation of the state; removed last.
    installation: Installation,
}

impl Deref for Scene {
    type Target = Installation;

    fn deref(&self) -> &Installation {
        &self.installation
    }
}

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let Workspace { installation, id: workspace } = Workspace::start(database).await;
        let issuer = Eip712Issuer::new(&SeededEntropy::new(7));
        let row = IssuerRow { did: issuer.did(), name: "tests".to_owned(), created_at: START };
        issuers::put(&installation.store, workspace, &row).await.unwrap();
        let state = State::new(scoring_parts(&installation, Arc::new(NoManagers)));
        let router = pyxis_scoring::router(state.clone());
        let mut scene = Self { state, workspace, issuer, key: String::new(), router, installation };
        scene.key = scene.add_key(|_| ()).await;
        scene
    }
}

impl Scene {
    pub(crate) async fn on_sqlite() -> Self {
        Self::start(TestDatabase::sqlite()).await
    }

    /// Another process on the same database.
    pub(crate) fn node(&self, config: Config) -> Node {
        self.node_on(self.reopen(), config)
    }

    /// Another process, with its own connections.
    pub(crate) fn node_on(&self, store: Store, config: Config) -> Node {
        Self::node_with(ScoringDependencies { store, config, ..self.parts() })
    }

    /// Another process, with a different activity source.
    pub(crate) fn node_asking(&self, source: Arc<dyn ActivitySource>) -> Node {
        Self::node_with(ScoringDependencies { store: self.reopen(), activity: Some(source), ..self.parts() })
    }

    /// Another process, with other settings of signed scores.
    pub(crate) fn node_signing(&self, signer: SignerConfig) -> Node {
        Self::node_with(ScoringDependencies { store: self.reopen(), signer, ..self.parts() })
    }

    /// Another process, with nodes of networks.
    pub(crate) fn node_reading(&self, networks: EvmNetworks) -> Node {
        Self::node_with(ScoringDependencies { store: self.reopen(), networks, ..self.parts() })
    }

    /// Another process, with nodes that check contract wallets.
    pub(crate) fn node_with_wallets(&self, wallets: Arc<dyn ContractWallets>) -> Node {
        Self::node_with(ScoringDependencies {
            store: self.reopen(),
            contract_wallets: Some(wallets),
            ..self.parts()
        })
    }

    fn parts(&self) -> ScoringDependencies {
        scoring_parts(&self.installation, Arc::new(NoManagers))
    }

    fn node_with(parts: ScoringDependencies) -> Node {
        let state = State::new(parts);
        Node { router: pyxis_scoring::router(state.clone()), state }
    }

    /// Runs statements directly on the database; returns the first column of a query.
    pub(crate) async fn sql(&self, statements: &str) -> Vec<String> {
        self.database.run(statements).await
    }

    /// Number of rows.
    pub(crate) async fn count(&self, table: &str) -> u64 {
        self.sql(&format!("SELECT count(*) FROM {table}")).await[0].parse().unwrap()
    }

    /// Moves the clock to the start of a day.
    pub(crate) fn on_day(&self, number: i64) {
        self.clock.set(day(number));
    }

    /// Adds a key that `change` derives from one with all permissions.
    pub(crate) async fn add_key(&self, change: impl FnOnce(&mut ApiKeyRow)) -> String {
        self.add_key_row(change).await.0
    }

    /// The same, with its row.
    pub(crate) async fn add_key_row(&self, change: impl FnOnce(&mut ApiKeyRow)) -> (String, ApiKeyRow) {
        let text = token::<16>(&OsEntropy, "px_api_");
        let mut row = ApiKeyRow {
            id: ApiKeyId::new(&OsEntropy),
            workspace_id: self.workspace,
            name: "key".to_owned(),
            key_hash: sha256_hex(text.as_bytes()),
            key_hint: "px_api_".to_owned(),
            stamps_tier: 4,
            stamps_limit: Some(1_000_000_000),
            models_tier: 1,
            models_limit: None,
            can_read: true,
            can_write: true,
            can_read_history: true,
            revoked_at: None,
            created_at: START,
            last_used_at: None,
        };
        change(&mut row);
        api_keys::insert(&self.state.store, &row).await.unwrap();
        (text, row)
    }

    /// Adds another workspace with a key and a scorer.
    pub(crate) async fn neighbor(&self) -> (WorkspaceId, String, ScorerId) {
        let id = self.add_workspace("neighbor").await;
        let key = self.add_key(|key| key.workspace_id = id).await;
        let scorer = add_scorer(&self.state.store, id, "20", &[("A", "1")]).await;
        (id, key, scorer)
    }

    /// Adds a scorer with threshold and weights.
    pub(crate) async fn scorer(&self, threshold: &str, weights: &[(&str, &str)]) -> ScorerId {
        add_scorer(&self.state.store, self.workspace, threshold, weights).await
    }

    /// Changes a scorer's terms.
    pub(crate) async fn set_terms(&self, scorer: ScorerId, threshold: &str, weights: &[(&str, &str)]) {
        let store = &self.state.store;
        let before = scorers::terms(store, self.workspace, scorer).await.unwrap().unwrap();
        let terms = Terms {
            revision: before.revision,
            threshold: threshold.parse().unwrap(),
            weights: self::weights(weights),
            kept: before.kept,
        };
        let mut tx = store.begin().await.unwrap();
        scorers::set_terms(&mut tx, self.workspace, scorer, &terms).await.unwrap().unwrap();
        tx.commit().await.unwrap();
    }

    /// A credential, valid from day 0 until the start of a day; nullifiers separated by spaces.
    pub(crate) fn credential(&self, of: EvmAddress, provider: &str, marks: &str, until: i64) -> String {
        self.credential_from(of, provider, marks, START, day(until))
    }

    pub(crate) fn credential_from(
        &self,
        of: EvmAddress,
        provider: &str,
        marks: &str,
        from: UnixMillis,
        until: UnixMillis,
    ) -> String {
        let nullifiers: Vec<&str> = marks.split(' ').collect();
        self.issuer.issue(&CredentialFields {
            address: of,
            provider,
            nullifiers: &nullifiers,
            issued_at: from,
            expires_at: until,
        })
    }

    /// Adds credentials and returns each outcome as a word: a status or the code of a rejection.
    pub(crate) async fn bring(&self, to: EvmAddress, credentials: &[String]) -> Vec<String> {
        let body = format!("[{}]", credentials.join(","));
        let answer = self.send_with_key(Method::POST, &format!("/v2/stamps/{to}"), &self.key, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let items = answer.json()["items"].as_array().unwrap().clone();
        let word = |item: &Value| {
            let status = item["status"].as_str().unwrap();
            item["error"]["code"].as_str().unwrap_or(status).to_owned()
        };
        items.iter().map(word).collect()
    }

    /// Issues a credential today, valid until the start of a day, and adds it.
    pub(crate) async fn verify(&self, to: EvmAddress, provider: &str, marks: &str, until: i64) -> String {
        let text = self.credential_from(to, provider, marks, self.state.now(), day(until));
        let outcome = self.bring(to, std::slice::from_ref(&text)).await;
        assert!(["accepted", "replaced"].contains(&&*outcome[0]), "{outcome:?}");
        text
    }

    /// Removes a Stamp as the holder's application does.
    pub(crate) async fn delete(&self, of: EvmAddress, provider: &str) -> HttpResponse {
        let path = format!("/v2/stamps/{of}?provider={provider}");
        self.send_with_key(Method::DELETE, &path, &self.key, String::new()).await
    }

    /// Revokes a credential as its issuer does.
    pub(crate) async fn revoke(&self, of: EvmAddress, credential: &str) -> Revocation {
        let row = revocation(of, credential, self.state.now());
        revoke(&self.state.db, self.workspace, &row).await.unwrap()
    }

    /// The process that [`Scene::get`] queries.
    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    /// `GET` with the usual key.
    pub(crate) async fn get(&self, path: &str) -> HttpResponse {
        self.get_as(&self.key, path).await
    }

    pub(crate) async fn get_as(&self, key: &str, path: &str) -> HttpResponse {
        self.send_with_key(Method::GET, path, key, String::new()).await
    }

    pub(crate) async fn send_with_key(
        &self,
        method: Method,
        path: &str,
        key: &str,
        body: String,
    ) -> HttpResponse {
        self.send(request(method, path, key, body)).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> HttpResponse {
        send(&self.router, request).await
    }

    /// The record of a score, as answered.
    pub(crate) async fn record(&self, scorer: ScorerId, of: EvmAddress) -> String {
        let answer = self.get(&score_path(scorer, of)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.text
    }

    /// The same, parsed.
    pub(crate) async fn score(&self, scorer: ScorerId, of: EvmAddress) -> Value {
        serde_json::from_str(&self.record(scorer, of).await).unwrap()
    }

    /// The records of several addresses, in one request.
    pub(crate) async fn scores(&self, scorer: ScorerId, of: &[EvmAddress]) -> HttpResponse {
        let body = json!({ "addresses": of }).to_string();
        self.send_with_key(Method::POST, &format!("/v2/stamps/{scorer}/scores"), &self.key, body).await
    }
}

/// Another process.
pub(crate) struct Node {
    pub(crate) state: State,
    pub(crate) router: Router,
}

impl Node {
    pub(crate) async fn get(&self, key: &str, path: &str) -> HttpResponse {
        send(&self.router, request(Method::GET, path, key, String::new())).await
    }

    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl HttpResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {:?}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts a refusal, exactly: status and text.
    pub(crate) fn refuses(&self, status: u16, detail: &str) {
        let expected = json!({ "detail": detail }).to_string();
        assert_eq!((self.status.as_u16(), self.text.as_str()), (status, expected.as_str()));
        assert_eq!(self.header("content-type"), "application/json");
    }

    /// Asserts a missing or malformed parameter: 422 with its place and name.
    pub(crate) fn complains_about(&self, place: &str, name: &str) {
        assert_eq!(self.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", self.text);
        assert_eq!(self.header("content-type"), "application/json");
        let body = self.json();
        let [item] = body["detail"].as_array().unwrap().as_slice() else { panic!("{body}") };
        assert_eq!(item["loc"], json!([place, name]));
        let members: Vec<&String> = item.as_object().unwrap().keys().collect();
        assert_eq!(members, ["loc", "msg", "type"]);
        assert!(item["type"].as_str().is_some_and(|text| !text.is_empty()), "{item}");
        assert!(item["msg"].as_str().is_some_and(|text| !text.is_empty()), "{item}");
    }
}

/// The row that revokes a credential, expired or not.
pub(crate) fn revocation(of: EvmAddress, credential: &str, now: UnixMillis) -> RevocationRow {
    let read: Value = serde_json::from_str(credential).unwrap();
    let issued_at = UnixMillis::parse_rfc3339(read["issuanceDate"].as_str().unwrap()).unwrap();
    let verified = pyxis_scoring::credential::parse_and_verify(credential, of, issued_at, |_| true);
    let digest = verified.unwrap().digest;
    RevocationRow { digest, revoked_at: now, revoked_by: "issuer".to_owned(), reason: None }
}

pub(crate) fn score_path(scorer: ScorerId, of: EvmAddress) -> String {
    format!("/v2/stamps/{scorer}/score/{of}")
}

pub(crate) fn request(method: Method, path: &str, key: &str, body: String) -> Request<Body> {
    Request::builder().method(method).uri(path).header("X-API-KEY", key).body(Body::from(body)).unwrap()
}

pub(crate) async fn send(router: &Router, request: Request<Body>) -> HttpResponse {
    let answering = router.clone().oneshot(request);
    let response =
        tokio::time::timeout(Duration::from_secs(100), answering).await.expect("an answer").unwrap();
    let (head, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    HttpResponse { status: head.status, headers: head.headers, text }
}

async fn add_scorer(
    store: &Store,
    workspace: WorkspaceId,
    threshold: &str,
    weights: &[(&str, &str)],
) -> ScorerId {
    let (threshold, weights) = (threshold.parse().unwrap(), self::weights(weights));
    let mut tx = store.begin().await.unwrap();
    let id = scorers::insert(&mut tx, workspace, "scorer", threshold, &weights, START).await.unwrap();
    tx.commit().await.unwrap();
    id
}

pub(crate) fn weights(all: &[(&str, &str)]) -> Weights {
    all.iter().map(|(name, weight)| (name.parse().unwrap(), weight.parse().unwrap())).collect()
}
