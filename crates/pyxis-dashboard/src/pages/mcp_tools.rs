//! Tools of the MCP server behind a credential, and their permissions.

use axum::response::Response;
use pyxis_core::mcp_tool;
use pyxis_gateway::admin::credentials::{self, CredentialPatch};
use pyxis_gateway::admin::mcp_tools;
use pyxis_gateway::{CredentialOptions, Error as Service};
use pyxis_store::audit::AuditedStore;
use pyxis_store::credentials::CredentialRow;
use pyxis_store::mcp_tools::{McpToolRow, ToolMode};
use serde_json::Value;

use super::agents::unprocessable;
use super::problem;
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::mcp_tools::{McpToolsPage, ToolDifference, ToolView};
use crate::view::{Problems, Timestamp};
use crate::{Error, State, text};

pub(crate) async fn show(
    Page { state, who, .. }: Page<Manager>,
    PathId(name): PathId,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    let url = options(&row).mcp_url.unwrap_or_default();
    page(&state, &who, &row, url, Problems::default()).await
}

async fn page(
    state: &State,
    who: &SignedIn,
    row: &CredentialRow,
    url: String,
    problems: Problems,
) -> Result<Response, Error> {
    let now = state.gateway.now();
    let rows = mcp_tools::list(&state.gateway.store, row.workspace_id, &row.name).await?;
    let mut tools: Vec<ToolView> =
        rows.iter().map(|tool| view(tool, Timestamp::new(tool.seen_at, now))).collect();
    tools.sort_by_key(|tool| (!tool.changed, tool.decided, !tool.offered));
    html(&McpToolsPage { shell: who.shell(state).await?, credential: row.name.clone(), url, problems, tools })
}

pub(super) fn options(row: &CredentialRow) -> CredentialOptions {
    serde_json::from_str(&row.options).unwrap_or_default()
}

fn view(row: &McpToolRow, seen: Timestamp) -> ToolView {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let definition = parse(&row.seen_definition);
    let changes = row.allowed_definition.as_deref().filter(|_| row.has_changed()).map(|allowed| {
        let found = mcp_tool::differences(&parse(allowed), &definition);
        found.into_iter().map(|(path, before, after)| ToolDifference {
            path,
            before: before.map(|text| text::visible(&text)),
            after: after.map(|text| text::visible(&text)),
        })
    });
    ToolView {
        name: row.name.clone(),
        description: definition["description"].as_str().map(text::visible).unwrap_or_default(),
        mode: row.mode.as_str(),
        changed: row.has_changed(),
        decided: row.allowed_fingerprint.is_some(),
        offered: row.offered,
        fingerprint: row.seen_fingerprint.clone(),
        seen,
        arguments: arguments(&definition["inputSchema"]["properties"]),
        differences: changes.into_iter().flatten().collect(),
        definition: serde_json::to_string_pretty(&definition).unwrap_or_default(),
    }
}

/// Name, type and description of each argument.
fn arguments(properties: &Value) -> Vec<(String, String, String)> {
    let of = |schema: &Value, member: &str| match &schema[member] {
        Value::Null => String::new(),
        Value::String(text) => text::visible(text),
        other => other.to_string(),
    };
    let all = properties.as_object().into_iter().flatten();
    all.map(|(name, schema)| (text::visible(name), of(schema, "type"), of(schema, "description"))).collect()
}

/// Names are letters, digits, dots, dashes and underscores, so they need no escaping.
fn path(name: &str) -> String {
    format!("/app/credentials/{name}/tools")
}

pub(crate) async fn set_url(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    let url = fields.trimmed("mcp_url");
    let mcp_url = Some(url.clone()).filter(|url| !url.is_empty());
    let patch = CredentialPatch {
        options: Some(CredentialOptions { mcp_url, ..options(&row) }),
        ..CredentialPatch::default()
    };
    match credentials::update(&state.gateway, &who.person.actor(), &name, patch).await {
        Ok(_) => Ok(Notice::Saved.redirect(state.cookies, &path(&row.name))),
        Err(error) => {
            let problems = problem(error, "mcp_url", |_| "mcp_url")?;
            Ok(unprocessable(page(&state, &who, &row, url, problems).await?))
        }
    }
}

/// Sets the permission of a tool, or, without one, asks the server for its tools.
pub(crate) async fn change(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    let notice = match fields.get("tool") {
        "" => refresh(&state.gateway, &who, &row.name).await?,
        tool => set_mode(&state.gateway.audited, &who, &row.name, tool, &fields).await?,
    };
    Ok(notice.redirect(state.cookies, &path(&row.name)))
}

async fn refresh(gateway: &pyxis_gateway::State, who: &SignedIn, name: &str) -> Result<Notice, Error> {
    Ok(match mcp_tools::refresh(gateway, &who.person.actor(), name).await {
        Ok(()) => Notice::ToolsListed,
        Err(
            Service::Upstream(_)
            | Service::UpstreamTimeout
            | Service::ConnectTimeout
            | Service::Unreachable(_)
            | Service::BrokenAnswer { .. },
        ) => Notice::ToolsFailed,
        Err(Service::HostNotAllowed(_) | Service::TargetNotAllowed(_) | Service::InvalidTarget(_)) => {
            Notice::ProbeHost
        }
        Err(Service::DeniedByPolicy { .. }) => Notice::ToolsDenied,
        Err(Service::TokenEndpoint(_)) => Notice::ProbeToken,
        Err(Service::ReauthorizationRequired { .. }) => Notice::ProbeConnect,
        Err(error) => return Err(error.into()),
    })
}

async fn set_mode(
    audited: &AuditedStore,
    who: &SignedIn,
    name: &str,
    tool: &str,
    fields: &Fields,
) -> Result<Notice, Error> {
    let mode = ToolMode::from_name(fields.get("mode")).ok_or(Error::NotFound)?;
    let tool = (tool, fields.get("fingerprint"));
    let actor = who.person.actor();
    match mcp_tools::set_mode(audited, &actor, name, tool, mode).await {
        Ok(_) => Ok(Notice::Saved),
        Err(Service::Conflict(_)) => Ok(Notice::ToolChanged),
        Err(error) => Err(error.into()),
    }
}
