//! `pyxis policy lint`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::hosts::AllowedHosts;
use pyxis_core::policy::{Policy, idle_rules};
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{credentials, policies, satisfiability};
use pyxis_store::credentials::CredentialRow;
use serde_json::{Value, json};

use super::super::credentials::credential_row;
use super::super::out;
use super::document;
use crate::app::App;
use crate::cli::Global;

/// Checks one policy or all of them, and prints what is wrong.
pub(super) async fn run(
    global: &Global,
    app: &App,
    actor: &Actor,
    credential: Option<&str>,
    file: Option<&Path>,
) -> Result<ExitCode> {
    let mut checked = 0;
    let mut problems: Vec<Value> = Vec::new();
    for (row, policy) in wanted(app, actor, credential, file).await? {
        checked += 1;
        problems.extend(examine(app, &row, &policy).await?);
    }
    if global.json {
        out::json(&json!({ "checked": checked, "problems": problems }));
    } else {
        for problem in &problems {
            let member = |name: &str| problem[name].as_str().unwrap_or_default();
            out::line(format_args!("{}: {}: {}", member("credential"), member("field"), member("detail")));
        }
        let policies = if checked == 1 { "1 policy".to_owned() } else { format!("{checked} policies") };
        out::notice(format_args!("{policies} checked: {}", out::count_noun(problems.len(), "problem")));
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The policies to check, with their credentials.
async fn wanted(
    app: &App,
    actor: &Actor,
    credential: Option<&str>,
    file: Option<&Path>,
) -> Result<Vec<(CredentialRow, Policy)>> {
    let (store, workspace) = (&app.gateway.store, actor.workspace);
    let Some(name) = credential else {
        let policies = policies::list(store, workspace).await?;
        let rows = credentials::list(store, workspace).await?;
        let policy = |row: CredentialRow| {
            let (_, policy) = policies.iter().find(|(id, _)| *id == row.id)?;
            Some((row, policy.clone()))
        };
        return Ok(rows.into_iter().filter_map(policy).collect());
    };
    let row = credential_row(app, actor, name).await?;
    let policy = if let Some(file) = file {
        Policy::from_json(&document(file)?).map_err(policies::invalid)?
    } else {
        let stored = policies::get(store, workspace, &row.name).await?;
        stored.context("this credential has no policy; the workspace's approval mode applies")?.1
    };
    Ok(vec![(row, policy)])
}

async fn examine(app: &App, row: &CredentialRow, policy: &Policy) -> Result<Vec<Value>> {
    let obstacles = satisfiability::obstacles(&app.gateway.store, row.workspace_id, row.id, policy).await?;
    let hosts: Vec<String> = serde_json::from_str(&row.allowed_hosts).unwrap_or_default();
    // Hosts that cannot be read are refused elsewhere.
    let hosts = AllowedHosts::parse(&hosts).unwrap_or_default();
    let problem =
        |field: &str, detail: String| json!({ "credential": row.name, "field": field, "detail": detail });
    let unsatisfiable = obstacles.into_iter().map(|obstacle| problem(obstacle.field, obstacle.detail));
    let idle = idle_rules(policy, &hosts).into_iter().map(|rule| problem(rule.field, rule.detail));
    Ok(unsatisfiable.chain(idle).collect())
}
