//! `pyxis issuer`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_scoring::service::issuers::{self, Added};
use pyxis_store::issuers::IssuerRow;
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{NOTHING_TO_DO, acting, out};
use crate::cli::{Global, IssuerCommand};

pub(super) async fn run(global: &Global, command: IssuerCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let changed = match command {
        IssuerCommand::Add { did, name } => {
            let name = name.get()?;
            let (row, added) = issuers::add(&state.audited, &actor, &did, &name).await?;
            if global.json {
                out::json(&issuer_json(&row));
            } else {
                out::line(format_args!("{} is trusted as {}", row.did, row.name));
            }
            added != Added::Unchanged
        }
        IssuerCommand::List => {
            let rows: Vec<_> =
                issuers::list(&state.store, actor.workspace).await?.iter().map(issuer_json).collect();
            out::list(global.json, "trusted issuers", &["name", "did", "created_at"], &rows);
            true
        }
        IssuerCommand::Remove { did, confirmation } => {
            let listed = issuers::find(&state.store, actor.workspace, &did).await?;
            confirm(confirmation, &format!("stop trusting the issuer {} ({})", listed.did, listed.name))?;
            issuers::remove(&state.audited, &actor, &did).await?;
            if global.json {
                out::json(&json!({ "removed": did }));
            } else {
                out::line(format_args!("{did} is no longer trusted"));
            }
            true
        }
    };
    app.gateway.audit.stop().await?;
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}

fn issuer_json(row: &IssuerRow) -> Value {
    json!({ "did": row.did, "name": row.name, "created_at": row.created_at.to_rfc3339() })
}
