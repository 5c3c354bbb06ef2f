//! `pyxis grant`.

use anyhow::{Context, Result};
use pyxis_gateway::Error;
use pyxis_gateway::admin::grants;
use serde_json::json;

use super::{AlreadySo, acting, out};
use crate::cli::{Global, GrantCommand};

pub(super) async fn run(global: &Global, command: GrantCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    match command {
        GrantCommand::List { ended } => {
            let rows: Vec<_> = grants::list(&app.gateway.store, actor.workspace, ended, app.gateway.now())
                .await?
                .into_iter()
                .map(|row| {
                    json!({
                        "id": row.id,
                        "credential_id": row.credential_id,
                        "agent_id": row.agent_id,
                        "method": row.method.as_str(),
                        "route": row.route,
                        "created_by": row.created_by_email,
                        "expires_at": row.expires_at.to_rfc3339(),
                        "uses": row.uses,
                        "max_uses": row.max_uses,
                        "ended_reason": row.ended_reason,
                    })
                })
                .collect();
            let columns = ["id", "method", "route", "created_by", "expires_at", "uses", "ended_reason"];
            out::list(global.json, "grants", &columns, &rows);
        }
        GrantCommand::Revoke { id } => {
            let id = id.parse().ok().context("not a grant id; `pyxis grant list` shows the ids")?;
            match grants::revoke(&app.gateway.audited, &actor, id).await {
                Err(Error::Conflict(why)) => return Err(AlreadySo(why.to_owned()).into()),
                done => done?,
            }
            if global.json {
                out::json(&json!({ "revoked": id }));
            } else {
                out::line(format_args!("revoked {id}"));
            }
        }
    }
    app.gateway.audit.stop().await?;
    Ok(())
}
