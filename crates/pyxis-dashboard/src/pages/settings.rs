//! Settings of the workspace, and the server's configuration.

use std::time::Duration;

use axum::response::Response;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_gateway::admin::{credentials, policies, workspaces};
use pyxis_gateway::{Config, Error as Service};
use pyxis_store::Engine;

use super::agents::unprocessable;
use super::policy_form;
use crate::error::html;
use crate::form::{Page, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::Problems;
use crate::view::settings::{Fact, SettingsPage};
use crate::{Error, State, text};

pub(crate) async fn page(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    let workspace = workspaces::get(&state.gateway.store, who.person.workspace()).await?;
    let window = policy_form::minutes(stored_window(workspace.approval_timeout_secs));
    let autonomous = workspace.mode == ApprovalMode::Autonomous;
    show(&state, &who, autonomous, window, Problems::default()).await
}

fn stored_window(seconds: Option<i64>) -> Option<u64> {
    seconds.and_then(|seconds| u64::try_from(seconds).ok())
}

async fn show(
    state: &State,
    who: &SignedIn,
    autonomous: bool,
    window: String,
    problems: Problems,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let all = credentials::list(&state.gateway.store, workspace).await?.len();
    let own = policies::list(&state.gateway.store, workspace).await?.len();
    html(&SettingsPage {
        shell: who.shell(state).await?,
        autonomous,
        window,
        server_window: text::duration(state.gateway.config.approval_timeout.as_secs()),
        problems,
        following: text::count_noun(all.saturating_sub(own) as u64, "credential"),
        facts: facts(&state.gateway.config, state.gateway.store.engine()),
        audit: state.health.health(&state.gateway).await,
    })
}

fn facts(config: &Config, engine: Engine) -> Vec<Fact> {
    let fact = |name: &str, value: String, set_by: &str| Fact {
        name: name.to_owned(),
        value,
        set_by: set_by.to_owned(),
    };
    let seconds = |duration: Duration| text::duration(duration.as_secs());
    let engine = match engine {
        Engine::Sqlite => "SQLite",
        Engine::Postgres => "PostgreSQL",
    };
    vec![
        fact("URL", config.base_url.clone(), "PX_BASE_URL"),
        fact("Approval window", seconds(config.approval_timeout), "PX_APPROVAL_TIMEOUT_SECS"),
        fact("Upstream timeout", seconds(config.forward_timeout), "PX_FORWARD_TIMEOUT_SECS"),
        fact("Largest body of a pending request", text::size(config.pending_body_max as u64), ""),
        fact("Largest stored response", text::size(config.response_max as u64), ""),
        fact("Retention of bodies and responses", seconds(config.retention), ""),
        fact("Database", engine.to_owned(), "PX_DATABASE_URL"),
        fact("Version", env!("CARGO_PKG_VERSION").to_owned(), ""),
    ]
}

pub(crate) async fn save(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let mode = ApprovalMode::from_name(fields.get("default_approval_mode"));
    let before = workspaces::get(&state.gateway.store, who.person.workspace()).await?;
    let typed = fields.trimmed("approval_timeout_minutes");
    let problems = match policy_form::seconds(&typed, stored_window(before.approval_timeout_secs)) {
        None if !typed.is_empty() => {
            let mut problems = Problems::default();
            problems.add("approval_timeout_minutes", policy_form::window_problem());
            problems
        }
        seconds => {
            let window = seconds.and_then(|seconds| seconds.as_u64()).map(Duration::from_secs);
            let actor = who.person.actor();
            match workspaces::update(&state.gateway.audited, &actor, mode, Some(window)).await {
                Ok(_) => return Ok(Notice::Saved.redirect(state.cookies, "/app/settings")),
                Err(Service::InvalidField { .. }) => {
                    let mut problems = Problems::default();
                    problems.add("approval_timeout_minutes", policy_form::window_problem());
                    problems
                }
                Err(error) => return Err(error.into()),
            }
        }
    };
    let autonomous = mode == Some(ApprovalMode::Autonomous);
    Ok(unprocessable(show(&state, &who, autonomous, typed, problems).await?))
}
