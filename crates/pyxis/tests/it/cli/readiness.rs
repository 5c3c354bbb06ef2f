//! Readiness, with a resolver that the test holds (`docs/reference/behavior/operations.md#health`).

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use pyxis_testkit::engines;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::races::proxy::Proxy;

async fn ready(proxy: &Proxy) -> (StatusCode, Value) {
    let request = Request::get("/readyz").body(Body::empty()).unwrap();
    let (head, body) =
        pyxis::health::routes(proxy.state.clone()).oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, serde_json::from_slice(&body).unwrap())
}

engines! {
    async fn readiness_follows_the_resolver(proxy: &Proxy) {
        let told = |ready: &str, resolver: &str| {
            json!({"status": ready, "database": "ok", "audit": "ok", "resolver": resolver})
        };
        assert_eq!(ready(proxy).await, (StatusCode::OK, told("ok", "ok")));
        proxy.gate.set_down(true);
        let unready = (StatusCode::SERVICE_UNAVAILABLE, told("unavailable", "unavailable"));
        assert_eq!(ready(proxy).await, unready);
        proxy.gate.set_down(false);
        assert_eq!(ready(proxy).await, (StatusCode::OK, told("ok", "ok")));
    }
}
