//! `pyxis policy`.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::approver_count::ApproverCount;
use pyxis_gateway::admin::policies::ExplainedRequest;
use pyxis_gateway::admin::{credentials, policies};
use serde_json::json;

use super::{acting, out};
use crate::cli::{Global, PolicyCommand};

pub(super) async fn run(global: &Global, command: PolicyCommand) -> Result<()> {
    let (app, actor) = match command {
        PolicyCommand::Explain { .. } => acting_as_server(global).await?,
        _ => acting(global).await?,
    };
    let state = &app.gateway;
    match command {
        PolicyCommand::Set { credential, file } => {
            let policy = Policy::from_json(&document(&file)?).map_err(policies::invalid)?;
            let version = policies::put(state, &actor, &credential, &policy).await?;
            let row = credentials::get(&state.store, actor.workspace, &credential).await?;
            let mode = policies::mode(&state.store, actor.workspace).await?;
            let mut warnings = policies::warnings(&row, Some(&policy), mode);
            warnings.extend(ApproverCount::load(&state.store, &row, &policy).await?.warnings(&policy));
            if global.json {
                out::json(&json!({ "credential": credential, "version": version, "warnings": warnings }));
            } else {
                out::line(format_args!("policy of {credential}: version {version}"));
                for warning in warnings {
                    out::notice(format_args!("warning: {warning}"));
                }
            }
        }
        PolicyCommand::Show { credential } => {
            let found = policies::get(&state.store, actor.workspace, &credential).await?;
            let (_, policy) =
                found.context("this credential has no policy; the workspace's approval mode applies")?;
            out::line(serde_json::to_string_pretty(&policy)?);
        }
        PolicyCommand::Explain { credential, method, url, agent, body, content_type } => {
            let request = ExplainedRequest {
                method: &method,
                url: &url,
                agent: agent.as_deref(),
                body: body.as_deref(),
                content_type: Some(content_type.as_str()),
            };
            let said = policies::explain(state, actor.workspace, &credential, &request).await?;
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
