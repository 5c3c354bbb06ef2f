//! Information for agents: protocol instructions and the agent's own credentials.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::policy::{Method, PolicyVerdict};
use pyxis_core::target::Target;
use pyxis_http::Json;
use pyxis_http::openapi::Name;
use pyxis_store::{agents, credentials};
use serde::Serialize;
use utoipa::ToSchema;

use super::entry_points;
use crate::credentials::requests::authorize;
use crate::error::Result;
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;
use crate::values;

/// A credential that the agent may use.
#[derive(Serialize, ToSchema)]
pub(crate) struct Service {
    #[schema(value_type = Name)]
    credential: String,
    description: String,
    /// Hosts allowed in a target.
    allowed_hosts: Vec<String>,
    /// Example of a target.
    #[schema(required)]
    target_example: Option<String>,
    /// Outcome by method, unless a URL rule applies.
    methods: Vec<Foretold>,
    /// URL rules, applied before method rules.
    url_rules: UrlRules,
    /// True if the policy requires `X-PX-Reason`.
    reason_required: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = MethodOutcome)]
struct Foretold {
    #[schema(value_type = values::MethodName)]
    method: &'static str,
    /// `proceeds`, `pauses` or `denied`.
    #[schema(value_type = values::MethodVerdict)]
    outcome: &'static str,
}

/// URL rules, applied before method rules.
#[derive(Serialize, Default, ToSchema)]
struct UrlRules {
    denied: Vec<String>,
    pauses: Vec<String>,
    proceeds: Vec<String>,
    /// Rules about the bodies of requests that would proceed.
    content: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Services {
    /// Name of the agent that the key belongs to.
    agent: String,
    services: Vec<Service>,
}

/// List the credentials that this key may use.
#[utoipa::path(
    get,
    path = "/agent/services",
    tag = "Agent",
    operation_id = "listServices",
    security(("agentKey" = [])),
    responses(
        (status = 200, description = "Each with its allowed hosts and the outcome of requests by method and URL.", body = Services, example = json!({
            "agent": "default-agent",
            "services": [
                {
                    "credential": "github",
                    "description": "Issues of the main repository",
                    "allowed_hosts": [
                        "api.github.com"
                    ],
                    "target_example": "https://api.github.com/",
                    "methods": [
                        {
                            "method": "GET",
                            "outcome": "proceeds"
                        },
                        {
                            "method": "POST",
                            "outcome": "pauses"
                        }
                    ],
                    "url_rules": {
                        "denied": [],
                        "pauses": [
                            "/repos/*/*/hooks"
                        ],
                        "proceeds": [],
                        "content": []
                    },
                    "reason_required": false
                }
            ]
        })),
    ),
)]
pub(crate) async fn services(Extract(state): Extract<State>, head: Parts) -> Result<Json<Services>> {
    let key = entry_points::caller_of_run(&state.store, state.now(), &head).await?;
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let workspace = agent.workspace_id();
    state.last_used.note_agent(agent.id(), state.now());
    let mut services = Vec::new();
    for row in credentials::list(&state.store, workspace).await? {
        if agents::may_use(&state.store, workspace, agent.id(), row.id).await? {
            let credential = agent.credential(&state.store, &row.name).await?;
            // The tools of an MCP server are listed at `/mcp`.
            if credential.options.mcp_url.is_none() {
                services.push(service(&credential, agent.workspace.mode));
            }
        }
    }
    Ok(Json(Services { agent: agent.row.name.clone(), services }))
}

fn service(credential: &ResolvedCredential, mode: ApprovalMode) -> Service {
    let allowed_hosts: Vec<String> = serde_json::from_str(&credential.row.allowed_hosts).unwrap_or_default();
    let example = allowed_hosts.iter().find(|host| !host.starts_with('*'));
    let scheme = if credential.row.allow_http { "http" } else { "https" };
    let policy = authorize::policy_of(credential);
    Service {
        credential: credential.row.name.clone(),
        description: credential.row.description.clone(),
        target_example: example.map(|host| format!("{scheme}://{host}/")),
        methods: Method::ALL
            .iter()
            .map(|method| Foretold { method: method.as_str(), outcome: by_method(credential, mode, *method) })
            .collect(),
        url_rules: policy.map_or_else(UrlRules::default, |policy| UrlRules {
            denied: policy.deny_urls.clone(),
            pauses: policy.require_approval_urls.clone(),
            proceeds: policy.auto_approve_urls.clone(),
            content: policy.content_rules.clone(),
        }),
        reason_required: policy.is_some_and(|policy| policy.require_reason),
        allowed_hosts,
    }
}

/// Outcome of the method rules alone, for a URL that no pattern matches.
fn by_method(credential: &ResolvedCredential, mode: ApprovalMode, method: Method) -> &'static str {
    let Ok(target) = Target::parse("https://no-pattern-names-this.invalid/") else { return "pauses" };
    let methods_only = authorize::policy_of(credential).map(|policy| {
        let mut policy = policy.clone();
        policy.deny_urls.clear();
        policy.require_approval_urls.clear();
        policy.auto_approve_urls.clear();
        policy.compile()
    });
    match pyxis_core::policy::evaluate(methods_only.as_ref(), mode, method, &target).verdict {
        PolicyVerdict::AutoApprove => "proceeds",
        PolicyVerdict::RequireApproval => "pauses",
        PolicyVerdict::Deny => "denied",
    }
}

/// Read the protocol on one page.
///
/// Plain text for an agent's context.
#[utoipa::path(
    get,
    path = "/instructions",
    tag = "Agent",
    operation_id = "instructions",
    responses((status = 200, description = "The page.", body = String, content_type = "text/plain")),
)]
pub(crate) async fn instructions(Extract(state): Extract<State>) -> Response {
    let text = include_str!("instructions.txt").replace("{base_url}", &state.config.base_url);
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    ([(CONTENT_TYPE, plain)], text).into_response()
}
