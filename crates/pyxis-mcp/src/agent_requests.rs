//! The requests that tools send, as an agent would send them over HTTP.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_gateway as gateway;
use pyxis_gateway::EntryPoint;
use pyxis_gateway::agent_tools::{self, OfferedTool, ToolTarget};
use pyxis_gateway::entry_points::{self, ExplainedRequest, Explanation, SentParts};
use tower::ServiceExt;

use crate::arguments::Call;
use crate::caller::McpCaller;

/// Name of this entry point in the audit trail.
const DOOR: &str = "mcp";

/// Sends requests to the proxy in the same process.
#[derive(Clone)]
pub(crate) struct AgentRequests {
    pub(crate) gateway: gateway::State,
    /// Made at the first use: most calls go without it.
    proxy: Arc<OnceLock<Router>>,
}

impl AgentRequests {
    pub(crate) fn new(gateway: gateway::State) -> Self {
        Self { gateway, proxy: Arc::default() }
    }

    /// `POST /forward`, held for `wait` if a person must decide.
    pub(crate) async fn forward(
        &self,
        caller: &McpCaller,
        client: Option<&str>,
        call: &Call,
        wait: Duration,
    ) -> Result<Response<Body>, http::Error> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(gateway::FORWARD)
            .extension(caller.agent.key)
            .extension(caller.presence.clone())
            .header("x-px-credential", text(&call.credential)?)
            .header("x-px-target", text(&call.url)?)
            .header("x-px-method", text(&call.method)?);
        if let Some(reason) = &call.reason {
            request = request.header("x-px-reason", text(reason)?);
        }
        for (name, value) in &call.headers {
            request = request.header(HeaderName::try_from(name)?, text(value)?);
        }
        // The name that a person consented to says more than the one in the message.
        let connected = caller.agent.connected_program.as_deref();
        let client = connected.or(client).or(caller.user_agent.as_deref());
        let entry_point = EntryPoint::new(DOOR, client, wait);
        let entry_point = match &call.tool {
            Some(tool) => entry_point.calling(tool),
            None => entry_point,
        };
        let request = request.extension(entry_point).body(Body::from(call.body.clone()))?;
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

    /// `POST /agent/tasks`.
    pub(crate) async fn propose_task(
        &self,
        caller: &McpCaller,
        proposal: String,
    ) -> Result<Response<Body>, http::Error> {
        let request = Request::post("/agent/tasks").header(CONTENT_TYPE, "application/json");
        self.deliver(request.extension(caller.agent.key).body(Body::from(proposal))?).await
    }

    /// `GET /agent/tasks/{id}`, held for `wait` seconds.
    pub(crate) async fn task(
        &self,
        caller: &McpCaller,
        id: &str,
        wait: u64,
    ) -> Result<Response<Body>, http::Error> {
        self.send(caller, Method::GET, &format!("{}?wait={wait}", proposed_task(id))).await
    }

    /// `POST /agent/tasks/{id}/withdraw`.
    pub(crate) async fn withdraw_task(
        &self,
        caller: &McpCaller,
        id: &str,
    ) -> Result<Response<Body>, http::Error> {
        self.send(caller, Method::POST, &format!("{}/withdraw", proposed_task(id))).await
    }

    /// Explains a request without sending it.
    pub(crate) async fn explain(
        &self,
        caller: &McpCaller,
        call: &Call,
    ) -> Result<Explanation, gateway::Error> {
        let headers =
            call.header_map().map_err(|error| gateway::Error::field("headers", error.to_string()))?;
        // Control headers are trimmed, too.
        let request = ExplainedRequest {
            method: call.method.trim(),
            url: call.url.trim(),
            agent: None,
            body: std::str::from_utf8(&call.body).ok(),
            content_type: None,
            sent: Some(SentParts { headers: &headers, reason: call.reason.as_deref().map(str::trim) }),
        };
        entry_points::explain(&self.gateway, caller.agent.key, call.credential.trim(), request).await
    }

    /// Tools of other MCP servers that the agent may use.
    pub(crate) async fn offered_tools(&self, caller: &McpCaller) -> Result<Vec<OfferedTool>, gateway::Error> {
        agent_tools::offered(&self.gateway, caller.agent.key).await
    }

    /// Place of a tool of another MCP server.
    pub(crate) async fn tool_target(
        &self,
        caller: &McpCaller,
        name: &str,
    ) -> Result<ToolTarget, gateway::Error> {
        agent_tools::target(&self.gateway, caller.agent.key, name).await
    }

    async fn send(
        &self,
        caller: &McpCaller,
        method: Method,
        path: &str,
    ) -> Result<Response<Body>, http::Error> {
        let request = Request::builder().method(method).uri(path);
        let request = request.extension(caller.agent.key).extension(caller.presence.clone());
        self.deliver(request.body(Body::empty())?).await
    }

    async fn deliver(&self, request: Request<Body>) -> Result<Response<Body>, http::Error> {
        let proxy = self.proxy.get_or_init(|| gateway::router(self.gateway.clone()));
        let Ok(response) = proxy.clone().oneshot(request).await;
        Ok(response)
    }
}

fn transaction(txn: &str) -> String {
    format!("/agent/approvals/{}", utf8_percent_encode(txn, NON_ALPHANUMERIC))
}

fn proposed_task(id: &str) -> String {
    format!("/agent/tasks/{}", utf8_percent_encode(id, NON_ALPHANUMERIC))
}

fn text(value: &str) -> Result<HeaderValue, http::Error> {
    Ok(HeaderValue::from_bytes(value.as_bytes())?)
}
