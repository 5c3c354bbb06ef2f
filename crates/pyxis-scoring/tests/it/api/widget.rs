//! The widget's routes (`docs/reference/widget.md`): a page, a wallet, a session and a score.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request, StatusCode};
use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_scoring::contract_wallets::{ContractWallets, WalletFuture};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_signing::keys::{Algorithm, SigningKey};
use pyxis_signing::payload::personal_message;
use pyxis_store::api_keys::{ApiKeyChange, ApiKeyRow};
use pyxis_store::widget_sessions;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{HttpResponse, Node, Scene, send};
use super::signed::verified;

pub(super) const PAGE: &str = "https://app.example.org";
const MINUTE: i64 = 60_000;

/// A wallet with a key.
pub(super) struct Wallet(SigningKey);

impl Wallet {
    pub(super) fn number(number: u8) -> Self {
        Self(SigningKey::new(Algorithm::Secp256k1, &[number; 32]).unwrap())
    }

    pub(super) fn address(&self) -> EvmAddress {
        self.0.address().unwrap().parse().unwrap()
    }

    pub(super) fn sign(&self, message: &str) -> String {
        format!("0x{}", hex::encode(&self.0.sign_recoverable(&personal_message(message.as_bytes())).unwrap()))
    }
}

/// A page with a publishable key.
pub(super) struct TestPage<'s> {
    scene: &'s Scene,
    node: Option<&'s Node>,
    scorer: ScorerId,
    key: String,
    row: ApiKeyRow,
    origin: &'static str,
}

impl<'s> TestPage<'s> {
    async fn open(scene: &'s Scene) -> Self {
        let scorer = scene.scorer("20", &[("A", "12.5"), ("B", "10"), ("C", "0"), ("Discord", "1")]).await;
        Self::for_origins(scene, scorer, &[PAGE, "http://localhost:*"]).await
    }

    pub(super) async fn for_origins(scene: &'s Scene, scorer: ScorerId, origins: &[&str]) -> Self {
        let origins = origins.iter().map(|&origin| origin.to_owned()).collect();
        let input = ApiKeyInput::publishable("page", scorer, origins);
        let (row, key) = api_keys::create(&scene.state, &actor(scene), input).await.unwrap();
        Self { scene, node: None, scorer, key: key.expose().clone(), row, origin: PAGE }
    }

    fn request(&self, method: Method, path: &str, token: Option<&str>, body: &Value) -> Request<Body> {
        let path = format!("/widget/v1/{}{path}", self.scorer);
        let request = Request::builder().method(method).uri(path);
        let request = request.header("X-API-KEY", &self.key).header("Origin", self.origin);
        let request = match token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        request.body(Body::from(body)).unwrap()
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        token: Option<&str>,
        body: Value,
    ) -> HttpResponse {
        let request = self.request(method, path, token, &body);
        match self.node {
            Some(node) => send(&node.router(), request).await,
            None => self.scene.send(request).await,
        }
    }

    pub(super) async fn message(&self, address: EvmAddress) -> String {
        let asked = json!({ "address": address, "chain_id": 10 });
        let answer = self.send(Method::POST, "/nonce", None, asked).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["message"].as_str().unwrap().to_owned()
    }

    async fn present(&self, message: &str, signature: &str) -> HttpResponse {
        self.send(Method::POST, "/session", None, json!({ "message": message, "signature": signature })).await
    }

    pub(super) async fn sign_in(&self, wallet: &Wallet) -> String {
        let message = self.message(wallet.address()).await;
        let answer = self.present(&message, &wallet.sign(&message)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    pub(super) async fn score(&self, token: &str) -> HttpResponse {
        self.send(Method::GET, "/score", Some(token), Value::Null).await
    }
}

/// Claims of a signed score, verified with the published key.
async fn claims(scene: &Scene, answer: &HttpResponse) -> Value {
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    verified(scene, answer.json()["jwt"].as_str().unwrap()).await.1
}

fn actor(scene: &Scene) -> Actor {
    Actor::cli(scene.workspace)
}

impl HttpResponse {
    fn is_refused(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status.as_u16(), self.json()["code"].as_str()),
            (status, Some(code)),
            "{}",
            self.text
        );
        assert!(self.json()["detail"].as_str().is_some_and(|detail| detail.ends_with('.')), "{}", self.text);
    }
}

/// Contract wallets whose only accepted signature is `0x01`, on chain 10.
struct OneByte;

impl ContractWallets for OneByte {
    fn accepts<'a>(
        &'a self,
        chain_id: u64,
        _wallet: EvmAddress,
        _hash: [u8; 32],
        signature: &'a [u8],
    ) -> WalletFuture<'a> {
        Box::pin(async move {
            match signature {
                [2] => Err("the node is down".into()),
                _ => Ok((chain_id == 10).then_some(signature == [1])),
            }
        })
    }
}

engines! {
    async fn a_holder_signs_in_and_reads_the_own_score_signed_for_the_page(scene: &Scene) {
        let page = TestPage::open(scene).await;
        let wallet = Wallet::number(1);
        scene.verify(wallet.address(), "A", "a:1", 20).await;
        scene.verify(wallet.address(), "B", "b:1", 20).await;
        let view = page.send(Method::GET, "", None, Value::Null).await.json();
        assert_eq!((&view["threshold"], &view["session_seconds"]), (&json!("20.00000"), &json!(1800)));
        let names: Vec<_> = view["stamps"].as_array().unwrap().iter().map(|stamp| stamp["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["A", "B", "Discord"], "with weight, the heaviest first");
        assert_eq!(view["stamps"][0]["platform"], Value::Null);
        let platform = view["stamps"][2]["platform"].as_str().unwrap();
        assert!(view["platforms"][platform]["name"].is_string(), "{view}");

        let token = page.sign_in(&wallet).await;
        let record = page.score(&token).await.json();
        assert_eq!((&record["score"], &record["passing_score"]), (&json!("22.50000"), &json!(true)));
        assert_eq!(record["address"], json!(wallet.address()));
        let signed = page.send(Method::POST, "/score", Some(&token), json!({ "challenge": "c-1" })).await;
        let signed = claims(scene, &signed).await;
        assert_eq!((&signed["aud"], &signed["nonce"]), (&json!(PAGE), &json!("c-1")));
        assert_eq!((&signed["sub"], &signed["passing_score"]), (&json!(wallet.address()), &json!(true)));
        let bare = page.send(Method::POST, "/score", Some(&token), json!({})).await;
        assert_eq!(claims(scene, &bare).await.get("nonce"), None);
        for challenge in ["", "line\nbreak", &"x".repeat(257)] {
            let wrong = page.send(Method::POST, "/score", Some(&token), json!({ "challenge": challenge })).await;
            wrong.complains_about("body", "challenge");
        }
    }

    async fn a_nonce_works_once_for_its_page_address_and_chain_and_five_minutes(scene: &Scene) {
        let page = TestPage::open(scene).await;
        let wallet = Wallet::number(1);
        let message = page.message(wallet.address()).await;
        assert_eq!(page.present(&message, &wallet.sign(&message)).await.status, StatusCode::OK);
        page.present(&message, &wallet.sign(&message)).await.is_refused(401, "nonce_expired");

        let changed = |from: &str, to: &str, message: &str| {
            let changed = message.replace(from, to);
            assert_ne!(changed, message);
            changed
        };
        let other = Wallet::number(2);
        let checksummed = other.0.address().unwrap();
        for (from, to) in [
            ("app.example.org wants", "evil.example wants"),
            ("app.example.org wants", "http://app.example.org wants"),
            ("URI: https://app.example.org", "URI: https://evil.example"),
            ("URI: https://app.example.org", "URI: http://app.example.org"),
            ("Chain ID: 10", "Chain ID: 1"),
            (wallet.0.address().unwrap().as_str(), checksummed.as_str()),
        ] {
            let message = changed(from, to, &page.message(wallet.address()).await);
            let signer = if to == checksummed { &other } else { &wallet };
            page.present(&message, &signer.sign(&message)).await.is_refused(422, "invalid_message");
            page.present(&message, &signer.sign(&message)).await.is_refused(401, "nonce_expired");
        }
        let message = page.message(wallet.address()).await;
        page.present(&message, &other.sign(&message)).await.is_refused(422, "no_node");
        page.present("sign this", "0x00").await.is_refused(422, "invalid_message");
        let message = page.message(wallet.address()).await;
        page.present(&message, "0x0").await.complains_about("body", "signature");

        let late = page.message(wallet.address()).await;
        scene.clock.advance(std::time::Duration::from_mins(5));
        page.present(&late, &wallet.sign(&late)).await.is_refused(401, "nonce_expired");
        assert!(widget_sessions::purge(&scene.state.store, scene.state.now()).await.unwrap() >= 1);
        assert_eq!(scene.count("widget_nonces").await, 0);
    }

    async fn a_session_holds_for_its_key_scorer_origin_and_half_an_hour(scene: &Scene) {
        let page = TestPage::open(scene).await;
        let wallet = Wallet::number(1);
        let token = page.sign_in(&wallet).await;
        assert_eq!(page.score(&token).await.status, StatusCode::OK);
        let twin = TestPage::for_origins(scene, page.scorer, &[PAGE]).await;
        twin.score(&token).await.is_refused(401, "session_needed");
        let local = TestPage { origin: "http://localhost:3000", key: page.key.clone(), row: page.row.clone(), ..twin };
        local.score(&token).await.is_refused(401, "session_needed");
        for wrong in ["px_wid_0", "", &page.key] {
            page.score(wrong).await.is_refused(401, "session_needed");
        }
        page.send(Method::POST, "/score", None, json!({})).await.is_refused(401, "session_needed");
        assert_eq!(scene.sql("SELECT count(*) FROM widget_sessions WHERE token_hash LIKE 'px%'").await, ["0"]);

        let ended = page.sign_in(&wallet).await;
        let answer = page.send(Method::DELETE, "/session", Some(&ended), Value::Null).await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
        page.score(&ended).await.is_refused(401, "session_needed");
        scene.clock.set(pyxis_core::clock::UnixMillis(scene.state.now().0 + 30 * MINUTE));
        page.score(&token).await.is_refused(401, "session_needed");
    }

    async fn a_publishable_key_works_only_in_its_origins_and_for_its_scorer(scene: &Scene) {
        let page = TestPage::open(scene).await;
        let view = |origin: &'static str| {
            let request = page.request(Method::GET, "", None, &Value::Null);
            let (mut head, body) = request.into_parts();
            head.headers.insert("origin", origin.parse().unwrap());
            scene.send(Request::from_parts(head, body))
        };
        for origin in [PAGE, "http://localhost:5173", "http://localhost"] {
            let answer = view(origin).await;
            assert_eq!((answer.status, answer.header("access-control-allow-origin")), (StatusCode::OK, origin));
            assert_eq!(answer.header("vary"), "origin");
            assert!(answer.header("access-control-expose-headers").contains("retry-after"));
        }
        for origin in ["https://evil.example", "http://app.example.org", "https://app.example.org:8443", "null", "https://localhost:3000"] {
            let answer = view(origin).await;
            answer.is_refused(403, "origin_not_allowed");
            assert!(answer.text.contains(origin) && !answer.headers.contains_key("access-control-allow-origin"));
        }
        let mut without = page.request(Method::GET, "", None, &Value::Null);
        without.headers_mut().remove("origin");
        scene.send(without).await.is_refused(403, "origin_missing");
        let mut twice = page.request(Method::GET, "", None, &Value::Null);
        twice.headers_mut().append("origin", "https://evil.example".parse().unwrap());
        scene.send(twice).await.is_refused(403, "origin_missing");

        let other = scene.scorer("1", &[]).await;
        let wrong = TestPage { scorer: other, key: page.key.clone(), row: page.row.clone(), ..page };
        let answer = wrong.send(Method::GET, "", None, Value::Null).await;
        answer.is_refused(403, "other_scorer");
        assert_eq!(answer.header("access-control-allow-origin"), PAGE, "the page can read why");
    }

    async fn cors_answers_exactly_the_allowed_origins_errors_included(scene: &Scene) {
        let page = TestPage::open(scene).await;
        let preflight = |origin: &'static str| {
            let request = Request::builder()
                .method(Method::OPTIONS)
                .uri(format!("/widget/v1/{}/score", page.scorer))
                .header("Origin", origin)
                .header("Access-Control-Request-Method", "POST")
                .header("Access-Control-Request-Headers", "authorization,x-api-key");
            scene.send(request.body(Body::empty()).unwrap())
        };
        let allowed = preflight(PAGE).await;
        assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (StatusCode::NO_CONTENT, PAGE));
        assert_eq!(allowed.header("access-control-allow-methods"), "GET,POST,DELETE");
        assert_eq!(allowed.header("access-control-allow-headers"), "authorization,content-type,x-api-key");
        let refused = preflight("https://evil.example").await;
        refused.is_refused(403, "origin_not_allowed");
        assert!(!refused.headers.contains_key("access-control-allow-origin"));

        let mut unknown = page.request(Method::GET, "", None, &Value::Null);
        unknown.headers_mut().insert("x-api-key", "px_pub_unknown".parse().unwrap());
        let unknown = scene.send(unknown).await;
        assert_eq!((unknown.status, unknown.header("access-control-allow-origin")), (StatusCode::UNAUTHORIZED, PAGE));
        let method = page.send(Method::PUT, "/score", None, Value::Null).await;
        assert_eq!((method.status, method.header("access-control-allow-origin")), (StatusCode::METHOD_NOT_ALLOWED, PAGE));
        let mut server = page.request(Method::GET, "", None, &Value::Null);
        server.headers_mut().insert("x-api-key", scene.key.parse().unwrap());
        scene.send(server).await.is_refused(403, "server_key");

        api_keys::revoke(&scene.state.audited, &actor(scene), page.row.id).await.unwrap();
        assert_eq!(page.send(Method::GET, "", None, Value::Null).await.status, StatusCode::UNAUTHORIZED);
        preflight(PAGE).await.is_refused(403, "origin_not_allowed");
    }

    async fn the_key_has_a_limit_of_its_own_and_refused_origins_do_not_count(scene: &Scene) {
        let mut page = TestPage::open(scene).await;
        page.origin = "https://evil.example";
        page.send(Method::GET, "", None, Value::Null).await.is_refused(403, "origin_not_allowed");
        page.origin = PAGE;
        for used in 1..=125 {
            let answer = page.send(Method::GET, "", None, Value::Null).await;
            assert_eq!((answer.status, answer.header("ratelimit-remaining")), (StatusCode::OK, (125 - used).to_string().as_str()));
        }
        let answer = page.send(Method::GET, "", None, Value::Null).await;
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (StatusCode::TOO_MANY_REQUESTS, PAGE));
        assert!(!answer.header("retry-after").is_empty());
    }

    async fn origins_that_are_removed_stop_at_once_and_permissions_cannot_be_added(scene: &Scene) {
        let page = TestPage::open(scene).await;
        let token = page.sign_in(&Wallet::number(1)).await;
        let db = &scene.state.audited;
        let update = |change: ApiKeyChange, origins: Option<&[&str]>| {
            let origins = origins.map(|origins| origins.iter().map(|&one| one.to_owned()).collect());
            async move { api_keys::update(db, &actor(scene), page.row.id, change, origins).await }
        };
        let allow = |change: ApiKeyChange| update(change, None);
        for change in [
            ApiKeyChange { can_read: Some(true), ..ApiKeyChange::default() },
            ApiKeyChange { can_write: Some(true), ..ApiKeyChange::default() },
            ApiKeyChange { can_read_history: Some(true), ..ApiKeyChange::default() },
        ] {
            let refused = allow(change).await.unwrap_err().to_string();
            assert!(refused.contains("no other permission"), "{refused}");
        }
        for origins in [&["https://*.example.org"][..], &["http://app.example.org"], &[]] {
            assert!(update(ApiKeyChange::default(), Some(origins)).await.is_err(), "{origins:?}");
        }
        update(ApiKeyChange::default(), Some(&["https://new.example", "https://new.example"])).await.unwrap();
        let stored = api_keys::publishable_of(&scene.state.store, scene.workspace, page.row.id).await.unwrap().unwrap();
        assert_eq!(stored.origins, ["https://new.example"]);
        page.score(&token).await.is_refused(403, "origin_not_allowed");
    }

    async fn a_contract_wallet_signs_in_where_a_node_of_its_chain_is_configured(scene: &Scene) {
        let node = scene.node_with_wallets(Arc::new(OneByte));
        let page = TestPage { node: Some(&node), ..TestPage::open(scene).await };
        let contract = EvmAddress([7; 20]);
        let message = page.message(contract).await;
        let opened = page.present(&message, "0x01").await;
        assert_eq!((opened.status, &opened.json()["address"]), (StatusCode::OK, &json!(contract)));
        let message = page.message(contract).await;
        page.present(&message, "0x00").await.is_refused(401, "wrong_signature");
        let message = page.message(contract).await;
        page.present(&message, "0x02").await.is_refused(502, "node_unavailable");
        let asked = json!({ "address": contract, "chain_id": 5 });
        let answer = page.send(Method::POST, "/nonce", None, asked).await.json();
        let refused = page.present(answer["message"].as_str().unwrap(), "0x01").await;
        refused.is_refused(422, "no_node");
        assert!(refused.text.contains("chain 5"), "{}", refused.text);
    }
}
