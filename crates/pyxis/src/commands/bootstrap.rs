//! `pyxis bootstrap`: the first workspace and its keys, without a server.

mod reissue;

use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::id::ScorerId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::sessions::{self, LinkHolder};
use pyxis_gateway::admin::{agents, workspaces};
use pyxis_gateway::{Actor, Error};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_scoring::service::scorers::{self, ScorerInput};
use pyxis_store::workspaces::WorkspaceRow;
use serde_json::json;

use super::{nothing_to_do, open_with, out, quiet, settings};
use crate::app::App;
use crate::cli::Global;

/// Owner of a workspace created without naming one.
pub(super) const DEFAULT_OWNER: &str = "owner@localhost";
/// Name of the first workspace.
const FIRST_WORKSPACE: &str = "default";

/// Reader of the first keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstKeys {
    /// The caller prints or stores them.
    Received,
    /// No one: the agent gets its key when someone asks for it, and there is no API key.
    Withheld,
}

/// Everything that was just created. Keys are left out if they are in use ([`reissue`]) or withheld.
pub(super) struct First {
    pub(super) workspace: WorkspaceRow,
    pub(super) owner_email: String,
    pub(super) owner_session_token: SecretString,
    pub(super) owner_link: SecretString,
    pub(super) agent_key: Option<SecretString>,
    pub(super) scorer: ScorerId,
    pub(super) api_key: Option<SecretString>,
}

pub(super) async fn run(global: &Global, owner_email: Option<&str>, again: bool) -> Result<ExitCode> {
    let app = open_with(settings(&quiet(global.flags()))?).await?;
    let all = workspaces::list(&app.gateway.store).await?;
    let first = match all.as_slice() {
        [] => first_workspace(&app, owner_email.unwrap_or(DEFAULT_OWNER), FirstKeys::Received).await?,
        _ if again => Some(reissue::reissue(&app, all, owner_email).await?),
        _ => None,
    };
    let Some(first) = first else {
        return nothing_to_do(
            "this database already has a workspace; nothing was changed. If its keys were never received, \
             --reissue replaces those that were never used",
        );
    };
    app.gateway.audit.stop().await?;
    print(global.json, &first);
    Ok(ExitCode::SUCCESS)
}

/// Creates the first workspace with its owner, keys and scorer; `None` if another process created it meanwhile.
pub(super) async fn first_workspace(app: &App, owner_email: &str, keys: FirstKeys) -> Result<Option<First>> {
    let state = &app.gateway;
    let made = match workspaces::create(state, FIRST_WORKSPACE, ApprovalMode::Gated, Some(owner_email)).await
    {
        Err(Error::NameTaken(_)) => return Ok(None),
        made => made?,
    };
    let (owner, owner_link) = made.owner.context("the workspace was created without an owner")?;
    let session = sessions::open(state, &owner, LinkHolder::Bearer, sessions::SESSION_LIFETIME).await?;
    let actor = Actor::cli(made.workspace.id);
    let scorer = scorers::create(&app.scoring.audited, &actor, scorer_input()).await?.id;
    let (agent_key, api_key) = match keys {
        FirstKeys::Received => {
            let (_, api_key) = api_keys::create(&app.scoring, &actor, api_key_input()).await?;
            (Some(made.agent_key), Some(api_key))
        }
        FirstKeys::Withheld => {
            agents::withhold_key(state, &actor, workspaces::FIRST_AGENT).await?;
            (None, None)
        }
    };
    Ok(Some(First {
        workspace: made.workspace,
        owner_email: owner.email,
        owner_session_token: session.token,
        owner_link,
        agent_key,
        scorer,
        api_key,
    }))
}

fn scorer_input() -> ScorerInput {
    ScorerInput { name: FIRST_WORKSPACE.to_owned(), threshold: None, weights: None }
}

/// It reads and writes Stamps; history is granted on request.
fn api_key_input() -> ApiKeyInput {
    ApiKeyInput { can_write: true, ..ApiKeyInput::with_name(FIRST_WORKSPACE) }
}

fn print(as_json: bool, first: &First) {
    if as_json {
        out::json(&json!({
            "workspace_id": first.workspace.id,
            "owner_email": first.owner_email,
            "owner_session_token": first.owner_session_token.expose(),
            "owner_link": first.owner_link.expose(),
            "agent_key": first.agent_key.as_ref().map(SecretString::expose),
            "scorer_id": first.scorer,
            "api_key": first.api_key.as_ref().map(SecretString::expose),
        }));
        return;
    }
    let known = |key: &Option<SecretString>| {
        key.as_ref().map_or_else(|| "in use, and not replaced".to_owned(), |key| key.expose().clone())
    };
    for (name, value) in [
        ("workspace", &first.workspace.name),
        ("owner", &first.owner_email),
        ("owner's session token (24 hours)", first.owner_session_token.expose()),
        ("owner's sign-in link (once, 48 hours)", first.owner_link.expose()),
        ("key of default-agent", &known(&first.agent_key)),
        ("scorer", &first.scorer.to_string()),
        ("API key", &known(&first.api_key)),
    ] {
        out::line(format_args!("{name}: {value}"));
    }
    out::line("The token, the link and the keys are not shown again.");
}
