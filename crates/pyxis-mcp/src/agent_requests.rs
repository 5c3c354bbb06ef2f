//! The requests that tools send, as an agent would send them over HTTP.

use axum::Router;
use axum::body::Body;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_gateway as gateway;
use pyxis_gateway::EntryPoint;
use pyxis_gateway::entry_points::{self, ExplainedRequest, Explanation};
use tower::ServiceExt;

use crate::arguments::Call;
use crate::caller::McpCaller;

/// Name of this entry point in the audit trail.
const DOOR: &str = "mcp";

/// Sends requests to the proxy in the same process.
#[derive(Clone)]
pub(crate) struct AgentRequests {
    pub(crate) gateway: gateway::State,
    proxy: Router,
}

impl AgentRequests {
    pub(crate) fn new(gateway: gateway::State) -> Self {
        let proxy = gateway::router(gateway.clone());
        Self { gateway, proxy }
    }

    /// `POST /forward`, held if a person must decide.
    pub(crate) async fn forward(
        &self,
        caller: &McpCaller,
        client: Option<&str>,
        call: &Call,
    ) -> Result<Response<Body>, http::Error> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(gateway::FORWARD)
            .header("x-px-key", key(caller)?)
            .header("x-px-credential", text(&call.credential)?)
            .header("x-px-target", text(&call.url)?)
            .header("x-px-method", text(&call.method)?);
        if let Some(reason) = &call.reason {
            request = request.header("x-px-reason", text(reason)?);
        }
        for (name, value) in &call.headers {
            request = request.header(HeaderName::try_from(name)?, text(value)?);
        }
        let client = client.or(caller.user_agent.as_deref());
        let request = request
            .extension(EntryPoint::new(DOOR, client, self.gateway.config.mcp_wait))
            .body(Body::from(call.body.clone()))?;
        Ok(gateway::forward(&self.gateway, request).await)
    }

    /// `GET /agent/services`.
    pub(crate) async fn services(&self, caller: &McpCaller) -> Result<Response<Body>, http::Error> {
        self.send(caller, Method::GET, "/agent/services").await
    }

    /// `GET /agent/approvals/{txn_id}`, held for `wait` seconds.
    pub(crate) async fn poll(
        &self,
        caller: &McpCaller,
        txn: &str,
        wait: u64,
    ) -> Result<Response<Body>, http::Error> {
        self.send(caller, Method::GET, &format!("{}?wait={wait}", transaction(txn))).await
    }

    /// `DELETE /agent/approvals/{txn_id}`.
    pub(crate) async fn withdraw(
        &self,
        caller: &McpCaller,
        txn: &str,
    ) -> Result<Response<Body>, http::Error> {
        self.send(caller, Method::DELETE, &transaction(txn)).await
    }

    /// Explains a request without sending it.
    pub(crate) async fn explain(
        &self,
        caller: &McpCaller,
        call: &Call,
    ) -> Result<Explanation, gateway::Error> {
        let request = ExplainedRequest {
            method: &call.method,
            url: &call.url,
            agent: None,
            body: std::str::from_utf8(&call.body).ok(),
            content_type: call.content_type(),
        };
        entry_points::explain(&self.gateway, caller.key.expose(), &call.credential, request).await
    }

    async fn send(
        &self,
        caller: &McpCaller,
        method: Method,
        path: &str,
    ) -> Result<Response<Body>, http::Error> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("x-px-key", key(caller)?)
            .body(Body::empty())?;
        let Ok(response) = self.proxy.clone().oneshot(request).await;
        Ok(response)
    }
}

fn transaction(txn: &str) -> String {
    format!("/agent/approvals/{}", utf8_percent_encode(txn, NON_ALPHANUMERIC))
}

fn text(value: &str) -> Result<HeaderValue, http::Error> {
    Ok(HeaderValue::from_bytes(value.as_bytes())?)
}

fn key(caller: &McpCaller) -> Result<HeaderValue, http::Error> {
    let mut value = text(caller.key.expose())?;
    value.set_sensitive(true);
    Ok(value)
}
