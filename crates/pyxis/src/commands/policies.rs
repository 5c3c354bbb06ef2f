//! `pyxis policy`.

mod edit;
mod lint;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::approver_count::ApproverCount;
use pyxis_gateway::admin::explanation::{self, ExplainedRequest};
use pyxis_gateway::admin::{credentials, policies, workspaces};
use pyxis_store::credentials::CredentialRow;
use serde_json::json;

use super::credentials::credential_row;
use super::{acting, acting_as_server, out};
use crate::app::App;
use crate::cli::{Global, PolicyCommand};

pub(super) async fn run(global: &Global, command: PolicyCommand) -> Result<ExitCode> {
    let (app, actor) = match command {
        PolicyCommand::Explain { .. } => acting_as_server(global).await?,
        _ => acting(global).await?,
    };
    let state = &app.gateway;
    match command {
        PolicyCommand::Set { credential, file } => {
            let (credential, [file]) = credential.with([file], ["FILE"])?;
            let credential = credential_row(&app, &actor, &credential).await?;
            let policy = Policy::from_json(&document(&file)?).map_err(policies::invalid)?;
            let version = policies::put(state, &actor, &credential.name, &policy).await?;
            stored(global, &app, &credential, &policy, version).await?;
        }
        PolicyCommand::Edit { credential, confirmation } => {
            let credential = credential_row(&app, &actor, &credential.get()?).await?;
            edit::run(global, &app, &actor, &credential, confirmation).await?;
        }
        PolicyCommand::Lint { credential, file } => {
            let code = lint::run(global, &app, &actor, credential.get()?.as_deref(), file.as_deref()).await?;
            app.gateway.audit.stop().await?;
            return Ok(code);
        }
        PolicyCommand::List => list(global, &app, &actor).await?,
        PolicyCommand::Show { credential } => {
            let credential = credential_row(&app, &actor, &credential.get()?).await?;
            let found = policies::get(&state.store, actor.workspace, &credential.name).await?;
            let (_, policy) =
                found.context("this credential has no policy; the workspace's approval mode applies")?;
            out::line(serde_json::to_string_pretty(&policy)?);
        }
        PolicyCommand::Explain { credential, method, url, agent, body, content_type } => {
            let (credential, [method, url]) = credential.with([method, url], ["METHOD", "URL"])?;
            let request = ExplainedRequest {
                method: &method,
                url: &url,
                agent: agent.as_deref(),
                body: body.as_deref(),
                content_type: Some(content_type.as_str()),
                sent: None,
            };
            let row = credential_row(&app, &actor, &credential).await?;
            let said = explanation::explain(state, actor.workspace, &row.name, &request).await?;
            if global.json {
                out::json(&serde_json::to_value(&said)?);
            } else {
                let pattern = said.pattern.map(|pattern| format!(" {pattern}")).unwrap_or_default();
                let decision = decision_text(said.decision);
                out::line(format_args!("{decision}: {} (rule {}{pattern})", said.detail, said.rule));
                if let Some(warning) = said.warning {
                    out::line(format_args!("warning: {warning}"));
                }
            }
        }
    }
    app.gateway.audit.stop().await?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the credentials with a policy.
async fn list(global: &Global, app: &App, actor: &Actor) -> Result<()> {
    let (store, workspace) = (&app.gateway.store, actor.workspace);
    let stored = pyxis_store::policies::list(store, workspace).await?;
    let row = |credential: CredentialRow| {
        let policy = stored.iter().find(|policy| policy.credential_id == credential.id)?;
        Some(json!({
            "credential": credential.name,
            "version": policy.version,
            "updated_at": policy.updated_at.to_rfc3339(),
            "updated_by": policy.updated_by,
        }))
    };
    let rows: Vec<_> = credentials::list(store, workspace).await?.into_iter().filter_map(row).collect();
    out::list(global.json, "policies", &["credential", "version", "updated_at", "updated_by"], &rows);
    Ok(())
}

/// Prints the version of a policy that was stored, and its warnings.
async fn stored(
    global: &Global,
    app: &App,
    credential: &CredentialRow,
    policy: &Policy,
    version: i64,
) -> Result<()> {
    let (store, workspace, name) = (&app.gateway.store, credential.workspace_id, &credential.name);
    let mode = workspaces::get(store, workspace).await?.mode;
    let mut warnings = policies::warnings(credential, Some(policy), mode);
    warnings.extend(ApproverCount::load(store, workspace, credential.id, policy).await?.warnings(policy));
    if global.json {
        out::json(&json!({ "credential": name, "version": version, "warnings": warnings }));
        return Ok(());
    }
    out::line(format_args!("policy of {name}: version {version}"));
    for warning in warnings {
        out::notice(format_args!("warning: {warning}"));
    }
    Ok(())
}

/// A decision as people say it.
fn decision_text(decision: &str) -> &str {
    match decision {
        "auto_approve" => "allowed",
        "require_approval" => "needs approval",
        "deny" => "denied",
        "refuse" => "refused",
        other => other,
    }
}

fn document(file: &Path) -> Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().lock().read_to_end(&mut text)?;
        return Ok(text);
    }
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
