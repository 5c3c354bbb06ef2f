//! `pyxis user`.

use anyhow::Result;
use pyxis_core::mode::Role;
use pyxis_gateway::service::people;
use serde_json::json;

use super::{acting, out};
use crate::cli::{Global, ManagerRole, UserCommand};

pub(super) async fn run(global: &Global, command: UserCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let state = &app.gateway;
    match command {
        UserCommand::Add { email, role } => {
            let role = match role {
                ManagerRole::Owner => Role::Owner,
                ManagerRole::Admin => Role::Admin,
            };
            let (user, link) = people::add(state, &actor, &email, role).await?;
            if global.json {
                out::json(
                    &json!({ "id": user.id, "email": user.email, "role": user.role, "link": link.expose() }),
                );
            } else {
                out::line(format_args!("sign-in link of {} (once, 48 hours): {}", user.email, link.expose()));
            }
        }
        UserCommand::Link { email } => {
            let user = people::by_email(state, actor.workspace, &email).await?;
            let link = people::link(state, &actor, user.id).await?;
            if global.json {
                out::json(&json!({ "email": user.email, "link": link.expose() }));
            } else {
                out::line(link.expose());
            }
        }
        UserCommand::List => {
            let rows: Vec<_> = people::list(state, actor.workspace)
                .await?
                .into_iter()
                .map(|user| {
                    json!({
                        "id": user.id,
                        "email": user.email,
                        "role": user.role,
                        "enabled": user.disabled_at.is_none(),
                        "last_sign_in_at": user.last_sign_in_at.map(|at| at.to_rfc3339()),
                    })
                })
                .collect();
            out::table(global.json, &["email", "role", "enabled", "last_sign_in_at"], &rows);
        }
        UserCommand::Disable { email } | UserCommand::Enable { email } if email.is_empty() => {
            anyhow::bail!("name an e-mail address");
        }
        UserCommand::Disable { email } => set_enabled(&app, &actor, &email, false, global.json).await?,
        UserCommand::Enable { email } => set_enabled(&app, &actor, &email, true, global.json).await?,
    }
    app.gateway.audit.stop().await?;
    Ok(())
}

async fn set_enabled(
    app: &crate::app::App,
    actor: &pyxis_gateway::Actor,
    email: &str,
    enabled: bool,
    as_json: bool,
) -> Result<()> {
    let user = people::by_email(&app.gateway, actor.workspace, email).await?;
    let user = people::set_enabled(&app.gateway, actor, user.id, enabled).await?;
    if as_json {
        out::json(&json!({ "email": user.email, "enabled": enabled }));
    } else {
        out::line(format_args!("{} is {}", user.email, if enabled { "enabled" } else { "disabled" }));
    }
    Ok(())
}
