//! `pyxis connection`.

use anyhow::{Context, Result, bail};
use pyxis_gateway::Error;
use pyxis_gateway::admin::{agents, connections};
use pyxis_store::connections::AgentConnectionRow;
use serde_json::json;

use super::{acting, out};
use crate::cli::{ConnectionCommand, Global};

pub(super) async fn run(global: &Global, command: ConnectionCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let (store, workspace) = (&app.gateway.store, actor.workspace);
    match command {
        ConnectionCommand::List { agent } => {
            let agents = match agent.get()? {
                Some(name) => vec![agents::by_name(store, workspace, &name).await?],
                None => agents::list(store, workspace).await?,
            };
            let mut found = Vec::new();
            for agent in agents {
                let rows = connections::list(store, workspace, agent.row.id).await?;
                found.extend(rows.into_iter().map(|row| (agent.row.name.clone(), row)));
            }
            found.sort_by_key(|(_, row)| std::cmp::Reverse(row.created_at));
            let shown = |(agent, row): (String, AgentConnectionRow)| {
                json!({
                    "id": row.id,
                    "agent": agent,
                    "agent_id": row.agent_id,
                    "client_id": row.client_id,
                    "client_name": row.client_name,
                    "destination": row.destination,
                    "allowed_by": row.allowed_by,
                    "created_at": row.created_at.to_rfc3339(),
                    "last_used_at": row.last_used_at.to_rfc3339(),
                })
            };
            let rows: Vec<_> = found.into_iter().map(shown).collect();
            let columns = ["id", "agent", "client_name", "destination", "allowed_by", "last_used_at"];
            out::list(global.json, "connected programs", &columns, &rows);
        }
        ConnectionCommand::Revoke { id } => {
            let known = "`pyxis connection list` shows the ids";
            let id = id.parse().ok().with_context(|| format!("{id} is not a connection id; {known}"))?;
            let row = match connections::revoke(&app.gateway.audited, &actor, id).await {
                Err(Error::NotFound(_)) => {
                    bail!("there is no connection {id}, or it has been revoked; {known}")
                }
                done => done?,
            };
            let client = out::on_one_line(&row.client_name);
            out::outcome(global.json, &json!({ "revoked": id }), format_args!("revoked {id} ({client})"));
        }
    }
    app.gateway.audit.stop().await?;
    Ok(())
}
