//! `pyxis bootstrap`: the first workspace and its keys, without a server.

use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::catalogue::default_weights;
use pyxis_core::entropy;
use pyxis_core::id::{ApiKeyId, ScorerId};
use pyxis_core::mode::ApprovalMode;
use pyxis_core::secret::SecretString;
use pyxis_gateway::service::sessions::{self, Holder};
use pyxis_gateway::service::workspaces;
use pyxis_store::api_keys::{self, ApiKeyRow};
use pyxis_store::scorers;
use pyxis_store::workspaces::WorkspaceRow;
use serde_json::json;

use super::{NOTHING_TO_DO, open, out};
use crate::app::App;
use crate::cli::Global;

/// Owner of a workspace that nobody named one for.
pub(super) const DEFAULT_OWNER: &str = "owner@localhost";
/// Name of the first workspace.
const FIRST_WORKSPACE: &str = "default";
/// What every API key of the scoring surface starts with.
const API_KEY_PREFIX: &str = "px_api_";

/// Everything that was just made.
pub(super) struct First {
    pub(super) workspace: WorkspaceRow,
    pub(super) owner_email: String,
    pub(super) owner_session_token: SecretString,
    pub(super) owner_link: SecretString,
    pub(super) agent_key: SecretString,
    pub(super) scorer: ScorerId,
    pub(super) api_key: SecretString,
}

pub(super) async fn run(global: &Global, owner_email: &str) -> Result<ExitCode> {
    let app = open(global).await?;
    if !workspaces::list(&app.gateway).await?.is_empty() {
        tracing::warn!("this database has a workspace already; nothing was changed");
        return Ok(ExitCode::from(NOTHING_TO_DO));
    }
    let first = first_workspace(&app, owner_email).await?;
    app.gateway.audit.stop().await?;
    print(global.json, &first);
    Ok(ExitCode::SUCCESS)
}

/// Makes the first workspace with its owner, keys and scorer.
pub(super) async fn first_workspace(app: &App, owner_email: &str) -> Result<First> {
    let state = &app.gateway;
    let made = workspaces::create(state, FIRST_WORKSPACE, ApprovalMode::Gated, Some(owner_email)).await?;
    let (owner, owner_link) = made.owner.context("the workspace was made without an owner")?;
    let session = sessions::open(state, &owner, Holder::Bearer, sessions::SESSION_LIFETIME).await?;
    let now = state.now();
    let defaults = default_weights();
    let mut tx = app.store.begin().await?;
    let (threshold, weights) = (defaults.threshold, &defaults.weights);
    let scorer =
        scorers::insert(&mut tx, made.workspace.id, FIRST_WORKSPACE, threshold, weights, now).await?;
    tx.commit().await?;
    let api_key = SecretString::new(entropy::token::<32>(&*state.entropy, API_KEY_PREFIX));
    let row = ApiKeyRow {
        id: ApiKeyId::new(&*state.entropy),
        workspace_id: made.workspace.id,
        name: FIRST_WORKSPACE.to_owned(),
        key_hash: pyxis_core::digest::sha256_hex(api_key.expose().as_bytes()),
        key_hint: api_key.expose()[..API_KEY_PREFIX.len() + 6].to_owned(),
        stamps_tier: 1,
        stamps_limit: None,
        models_tier: 1,
        models_limit: None,
        can_read: true,
        can_write: true,
        can_read_history: false,
        revoked_at: None,
        created_at: now,
        last_used_at: None,
    };
    api_keys::insert(&app.store, &row).await?;
    Ok(First {
        workspace: made.workspace,
        owner_email: owner.email,
        owner_session_token: session.token,
        owner_link,
        agent_key: made.agent_key,
        scorer,
        api_key,
    })
}

fn print(as_json: bool, first: &First) {
    if as_json {
        out::json(&json!({
            "workspace_id": first.workspace.id,
            "owner_email": first.owner_email,
            "owner_session_token": first.owner_session_token.expose(),
            "owner_link": first.owner_link.expose(),
            "agent_key": first.agent_key.expose(),
            "scorer_id": first.scorer,
            "api_key": first.api_key.expose(),
        }));
        return;
    }
    for (name, value) in [
        ("workspace", &first.workspace.name),
        ("owner", &first.owner_email),
        ("owner's session token (24 hours)", first.owner_session_token.expose()),
        ("owner's sign-in link (once, 48 hours)", first.owner_link.expose()),
        ("key of default-agent", first.agent_key.expose()),
        ("scorer", &first.scorer.to_string()),
        ("API key", first.api_key.expose()),
    ] {
        out::line(format_args!("{name}: {value}"));
    }
    out::line("None of these is shown again.");
}
