//! `pyxis user`.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::ValueEnum as _;
use clap::error::ErrorKind;
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::admin::people::{self, Grant};
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::{Actor, State};
use pyxis_store::users::UserRow;
use serde_json::{Value, json};

use super::{AlreadySo, acting, out};
use crate::cli::{Global, UserCommand, UserRole, usage};

pub(super) async fn run(global: &Global, command: UserCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let state = &app.gateway;
    match command {
        UserCommand::Add { email, role, approve, policy } => {
            let (email, grants) = (email.get()?, grants(&approve, &policy));
            let (user, link) = people::invite(state, &actor, &email, role.into(), &grants).await?;
            let told =
                json!({ "id": user.id, "email": user.email, "role": user.role, "link": link.expose() });
            let told_line = format!("sign-in link of {} (once, 48 hours): {}", user.email, link.expose());
            print_result(global, &told, &told_line);
        }
        UserCommand::Link { email } => {
            let user = people::by_email(&state.store, actor.workspace, &email.get()?).await?;
            let link = people::link(state, &actor, user.id).await?;
            print_result(global, &json!({ "email": user.email, "link": link.expose() }), link.expose());
        }
        UserCommand::List => list(global, state, &actor).await?,
        UserCommand::Role { email, role } => {
            let (email, [role]) = email.with([role.map(role_name)], ["ROLE"])?;
            let user = people::by_email(&state.store, actor.workspace, &email).await?;
            let user = people::set_role(&state.audited, &actor, user.id, read_role(&role)?).await?;
            let line = format!("{} is now {} and must sign in again", user.email, user.role);
            print_result(global, &json!({ "email": user.email, "role": user.role }), &line);
        }
        UserCommand::Grant { email, credential, approve, policy } => {
            let (email, [credential]) = email.with([credential], ["CREDENTIAL"])?;
            let user = people::by_email(&state.store, actor.workspace, &email).await?;
            let right = Right { approve, policy };
            let user = rights::set(&state.audited, &actor, user.id, &credential, right).await?;
            let told = json!({
                "email": user.email, "credential": credential, "approve": approve, "policy": policy,
            });
            print_result(global, &told, &format!("{} on {credential}: {}", user.email, right_text(right)));
        }
        UserCommand::Disable { email } => set_enabled(global, state, &actor, &email.get()?, false).await?,
        UserCommand::Enable { email } => set_enabled(global, state, &actor, &email.get()?, true).await?,
    }
    app.gateway.audit.stop().await?;
    Ok(())
}

impl From<UserRole> for Role {
    fn from(role: UserRole) -> Self {
        match role {
            UserRole::Owner => Self::Owner,
            UserRole::Admin => Self::Admin,
            UserRole::Member => Self::Member,
        }
    }
}

fn role_name(role: UserRole) -> String {
    Role::from(role).to_string()
}

fn read_role(text: &str) -> Result<Role> {
    let role = UserRole::from_str(text, true);
    let unknown =
        || usage(ErrorKind::InvalidValue, &format!("unknown role {text}; use owner, admin or member"));
    role.map(Role::from).map_err(|_| unknown())
}

/// One grant for each credential that either list names.
fn grants(approve: &[String], policy: &[String]) -> Vec<Grant> {
    let mut all: BTreeMap<&str, Right> = BTreeMap::new();
    for name in approve {
        all.entry(name).or_default().approve = true;
    }
    for name in policy {
        all.entry(name).or_default().policy = true;
    }
    all.into_iter().map(|(name, right)| (name.to_owned(), right)).collect()
}

const fn right_text(right: Right) -> &'static str {
    match (right.approve, right.policy) {
        (true, true) => "approve, policy",
        (true, false) => "approve",
        (false, true) => "policy",
        (false, false) => "nothing",
    }
}

fn print_result(global: &Global, told: &Value, line: &str) {
    if global.json {
        out::json(told);
    } else {
        out::line(line);
    }
}

async fn list(global: &Global, state: &State, actor: &Actor) -> Result<()> {
    let row = |user: UserRow| {
        json!({
            "id": user.id,
            "email": user.email,
            "role": user.role,
            "enabled": user.disabled_at.is_none(),
            "last_sign_in_at": user.last_sign_in_at.map(UnixMillis::to_rfc3339),
        })
    };
    let rows: Vec<_> = people::list(&state.store, actor.workspace).await?.into_iter().map(row).collect();
    out::list(global.json, "people", &["email", "role", "enabled", "last_sign_in_at"], &rows);
    Ok(())
}

async fn set_enabled(
    global: &Global,
    state: &State,
    actor: &Actor,
    email: &str,
    enabled: bool,
) -> Result<()> {
    let user = people::by_email(&state.store, actor.workspace, email).await?;
    if user.disabled_at.is_none() == enabled {
        let word = if enabled { "enabled" } else { "disabled" };
        return Err(AlreadySo(format!("{email} is already {word}")).into());
    }
    let user = people::set_enabled(&state.audited, actor, user.id, enabled).await?;
    let line = format!("{} is {}", user.email, if enabled { "enabled" } else { "disabled" });
    print_result(global, &json!({ "email": user.email, "enabled": enabled }), &line);
    Ok(())
}
