//! Readiness, with a resolver that the test holds (`docs/reference/behavior/operations.md#health`).

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use pyxis_testkit::engines;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::races::proxy::Proxy;

async fn ready(proxy: &Proxy, stopping: bool) -> (StatusCode, Value) {
    let request = Request::get("/readyz").body(Body::empty()).unwrap();
    let routes = pyxis::health::routes(proxy.state.clone(), watch::channel(stopping).1);
    let (head, body) = routes.oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, serde_json::from_slice(&body).unwrap())
}

engines! {
    async fn readiness_follows_the_resolver(proxy: &Proxy) {
        let told = |ready: &str, resolver: &str| {
            json!({"status": ready, "database": "ok", "audit": "ok", "resolver": resolver})
        };
        assert_eq!(ready(proxy, false).await, (StatusCode::OK, told("ok", "ok")));
        proxy.gate.set_down(true);
        let unready = (StatusCode::SERVICE_UNAVAILABLE, told("unavailable", "unavailable"));
        assert_eq!(ready(proxy, false).await, unready);
        proxy.gate.set_down(false);
        assert_eq!(ready(proxy, false).await, (StatusCode::OK, told("ok", "ok")));
    }

    async fn a_server_that_stops_is_not_ready(proxy: &Proxy) {
        let (status, body) = ready(proxy, true).await;
        assert_eq!((status, body["status"].as_str()), (StatusCode::SERVICE_UNAVAILABLE, Some("draining")));
    }
}
