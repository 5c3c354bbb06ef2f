//! Changes caused only by the passing of time, with a clock that stands still until a test moves it.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Response, StatusCode};
use pyxis_core::auth::{Auth, KeyAlgorithm, TokenSigningKey};
use pyxis_core::clock::Clock;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{ApiKeyId, TxnId};
use pyxis_core::window;
use pyxis_gateway::admin::agents::{self, AgentPatch};
use pyxis_gateway::admin::credentials::{self, CredentialInput};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::workers;
use pyxis_store::usage::{self, Batch};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::races::proxy::Proxy;

const MOMENT: Duration = Duration::from_millis(1);

/// A payload that waits for a signature; returns its transaction.
async fn ask_to_sign(proxy: &Proxy) -> TxnId {
    let key = TokenSigningKey { algorithm: KeyAlgorithm::Ed25519, public_key: None, address: None };
    let input = CredentialInput {
        name: "signer".to_owned(),
        auth: Some(Auth::SigningKey(key)),
        ..CredentialInput::default()
    };
    credentials::create(&proxy.state, &proxy.actor(), input).await.unwrap();
    let body = json!({"payload": "68656c6c6f", "algorithm": "ed25519"}).to_string();
    let request = proxy.agent(Method::POST, "/sign").header("x-px-credential", "signer");
    proxy.send_pending(request.header(CONTENT_TYPE, "application/json").body(Body::from(body)).unwrap()).await
}

/// A GET that passes unless the hour's budget is used up.
async fn read(proxy: &Proxy) -> Response<Value> {
    proxy.call(proxy.forward("GET", &proxy.upstream.url("/")).body(Body::empty()).unwrap()).await
}

engines! {
    async fn the_requests_of_an_api_key_are_kept_for_400_days(proxy: &Proxy) {
        let now = proxy.clock().now();
        let key = ApiKeyId::new(&OsEntropy);
        let one = Batch { key, surface: usage::Surface::Stamps, window_start: now, requests: 1, limit: 9, now };
        let used = async || usage::count(&proxy.state.store, &one).await.unwrap().used;
        assert_eq!(used().await, 1);
        proxy.advance(Duration::from_hours(400 * 24));
        workers::cleaning_tick(&proxy.state).await.unwrap();
        assert_eq!(used().await, 2);
        proxy.advance(MOMENT);
        workers::cleaning_tick(&proxy.state).await.unwrap();
        assert_eq!(used().await, 1, "the window was removed");
    }

    async fn an_answer_is_kept_for_a_day_and_a_poll_after_it_says_that_it_was_given(proxy: &Proxy) {
        let (sent, signed) = (proxy.pause(0).await, ask_to_sign(proxy).await);
        for txn in [sent, signed] {
            decide(&proxy.state, &proxy.approver(0, DecisionSurface::Api), txn, Decision::Approve(None)).await.unwrap();
        }
        workers::send_all(&proxy.state).await.unwrap();
        let (answer, signature) = (proxy.poll(sent).await, proxy.poll(signed).await);
        assert_eq!(answer.body()["response"]["body"], "done");
        proxy.advance(Duration::from_hours(24));
        workers::cleaning_tick(&proxy.state).await.unwrap();
        assert_eq!(proxy.poll(sent).await.body(), answer.body());
        assert_eq!(proxy.poll(signed).await.body(), signature.body());

        proxy.advance(MOMENT);
        workers::cleaning_tick(&proxy.state).await.unwrap();
        let gone = json!({
            "status": 200, "headers": [], "body": "", "body_encoding": "utf-8", "truncated": true,
        });
        for (txn, before) in [(sent, answer), (signed, signature)] {
            let after = proxy.poll(txn).await;
            assert_eq!(after.headers().get(RETRY_AFTER), None, "it is over");
            let mut expected = before.into_body();
            expected["response"] = gone.clone();
            assert_eq!(*after.body(), expected);
        }
    }

    async fn a_used_up_budget_lasts_until_the_full_hour_and_not_longer(proxy: &Proxy) {
        let id = agents::by_name(&proxy.state.store, proxy.workspace, "default-agent").await.unwrap().row.id;
        let patch = AgentPatch { rate_limit_per_hour: Some(Some(1)), ..AgentPatch::default() };
        agents::update(&proxy.state, &proxy.actor(), id, patch).await.unwrap();
        // Far from the end of an hour, wherever the clock stood.
        let hour = window::hour_end(proxy.clock_now());
        proxy.advance(hour.since(proxy.clock_now()) + Duration::from_mins(10));
        assert_eq!(read(proxy).await.status(), StatusCode::OK);
        for (later, left) in [(0, "3000"), (2_999_000, "1"), (999, "1")] {
            proxy.advance(Duration::from_millis(later));
            let refused = read(proxy).await;
            assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(refused.headers()[RETRY_AFTER], left);
        }
        proxy.advance(MOMENT);
        assert_eq!(read(proxy).await.status(), StatusCode::OK);
        assert_eq!(read(proxy).await.headers()[RETRY_AFTER], "3600");
        assert_eq!(proxy.upstream.requests().len(), 2);
    }
}
