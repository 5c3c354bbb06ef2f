//! `pyxis workspace`.

use anyhow::Result;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_gateway::admin::workspaces;
use serde_json::json;

use super::{open, out};
use crate::cli::{Global, Mode, WorkspaceCommand};

pub(super) async fn run(global: &Global, command: WorkspaceCommand) -> Result<()> {
    let app = open(global).await?;
    match command {
        WorkspaceCommand::Add { name, mode, owner_email } => {
            let name = name.get()?;
            let mode = match mode {
                Mode::Gated => ApprovalMode::Gated,
                Mode::Autonomous => ApprovalMode::Autonomous,
            };
            let created = workspaces::create(&app.gateway, &name, mode, owner_email.as_deref()).await?;
            let (email, link) = created.owner.map(|(owner, link)| (owner.email, link)).unzip();
            let link = link.map(|link| link.expose().clone());
            if global.json {
                out::json(&json!({
                    "workspace_id": created.workspace.id,
                    "name": created.workspace.name,
                    "mode": created.workspace.mode,
                    "agent_key": created.agent_key.expose(),
                    "owner_email": email,
                    "owner_link": link,
                }));
            } else {
                out::line(format_args!(
                    "workspace {name}; key of default-agent: {}",
                    created.agent_key.expose()
                ));
                if let Some(link) = link {
                    out::line(format_args!("sign-in link of its owner (once, 48 hours): {link}"));
                }
            }
        }
        WorkspaceCommand::List => {
            let all = workspaces::list(&app.gateway.store).await?;
            let rows: Vec<_> = all
                .into_iter()
                .map(|row| json!({ "id": row.id, "name": row.name, "mode": row.mode, "created_at": row.created_at.to_rfc3339() }))
                .collect();
            out::list(global.json, "workspaces", &["name", "mode", "created_at", "id"], &rows);
        }
    }
    app.gateway.audit.stop().await?;
    Ok(())
}
