//! `pyxis quickstart`: from nothing to a first result in one command.

mod proofs;
mod samples;

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use pyxis_core::address::EvmAddress;
use pyxis_core::auth::{Auth, BearerToken};
use pyxis_core::entropy;
use pyxis_core::id::ScorerId;
use pyxis_gateway::admin::credentials::{self, CredentialInput, CredentialPatch};
use pyxis_gateway::admin::{people, workspaces};
use pyxis_gateway::{Actor, SecretValue};
use pyxis_scoring::service::sandbox::{self, WalletState};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::bootstrap::{self, FirstKeys};
use super::scorers::sandbox_wallets;
use super::{out, server, serving_settings};
use crate::app::{self, App};
use crate::cli::{Global, Serving};
use crate::serve;
use crate::signed_head;
use crate::stop_signals::StopSignals;
use samples::Samples;

/// Name of the demo credential.
const DEMO: &str = "demo";

pub(super) async fn run(global: &Global, listen: &Serving, demo: bool) -> Result<ExitCode> {
    let mut flags = global.flags();
    listen.add_to(&mut flags);
    flags.entry("log").or_insert_with(|| "warn".to_owned());
    let (mut config, traces) = serving_settings(&flags)?;
    config.accept_lost_database = listen.accept_lost_database;
    server::warn_of_settings(&flags);
    let upstream = if demo { Some(TcpListener::bind("127.0.0.1:0").await?) } else { None };
    if let Some(upstream) = &upstream {
        // Exactly this address and port, and only here.
        config.egress_allow_addrs.push(upstream.local_addr()?);
    }
    let bound = serve::bind(&config).await?;
    let app = app::open(config, bound.base_url.clone()).await?;
    let lock = (app.store.engine() == pyxis_store::Engine::Sqlite)
        .then(|| app::lock_dir(&app.config))
        .transpose()?;
    signed_head::check_records(&app.config, &app.gateway).await?;
    let welcome = prepare(&app, upstream.as_ref()).await?;
    let signals = StopSignals::register()?;
    let _announcement = serve::announce(&app, &bound)?;
    server::print_address(global.json, &bound);
    if global.json {
        out::json(&welcome.json());
    } else {
        welcome.print(&bound.base_url);
    }
    if let Some(upstream) = upstream {
        tokio::spawn(serve::serve_plain(upstream, Router::new().fallback(demo_answer)));
    }
    serve::run(app, bound, signals, traces).await?;
    drop(lock);
    Ok(ExitCode::SUCCESS)
}

/// Values that are printed for the person.
struct Welcome {
    link: String,
    agent_key: Option<String>,
    target: Option<String>,
    samples: Option<Samples>,
    sandbox: Option<ScorerId>,
    proved: Option<EvmAddress>,
}

async fn prepare(app: &App, upstream: Option<&TcpListener>) -> Result<Welcome> {
    let known = app.config.data_dir.join("quickstart-agent-key");
    let all = workspaces::list(&app.gateway.store).await?;
    let (workspace, agent_key, link) = match all.into_iter().next() {
        None => {
            let first =
                bootstrap::first_workspace(app, bootstrap::DEFAULT_OWNER, FirstKeys::Received).await?;
            let first = first.context("another process is creating the first workspace; run this again")?;
            if let Some(key) = &first.agent_key {
                store_key(&known, key.expose())?;
            }
            if let Some(key) = &first.api_key {
                store_key(&samples::key_path(app), key.expose())?;
            }
            let agent_key = first.agent_key.map(|key| key.expose().clone());
            (first.workspace, agent_key, first.owner_link.expose().clone())
        }
        Some(workspace) => {
            let owners = people::list(&app.gateway.store, workspace.id).await?;
            let owner = owners.iter().find(|user| user.role.is_manager() && user.disabled_at.is_none());
            let owner = owner.context("no one can sign in; add a person with `pyxis user add`")?;
            let link = people::link(&app.gateway, &Actor::cli(workspace.id), owner.id).await?;
            (workspace, fs::read_to_string(&known).ok(), link.expose().clone())
        }
    };
    let actor = Actor::cli(workspace.id);
    let (mut target, mut samples, mut sandbox, mut proved) = (None, None, None, None);
    if let Some(upstream) = upstream {
        target = Some(demo_credential(app, &actor, upstream).await?);
        if app.config.surfaces.scoring {
            samples = Some(samples::prepare(app, &actor).await?);
            sandbox = Some(sandbox::prepare(&app.scoring, &actor).await?);
        }
        if app.config.surfaces.verification {
            proved = Some(proofs::prepare(app, &actor).await?);
        }
    }
    Ok(Welcome { link, agent_key, target, samples, sandbox, proved })
}

/// Stores the first key next to the master key, so that a second run can print the same lines.
fn store_key(path: &std::path::Path, key: &str) -> Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(key.as_bytes())?;
    Ok(())
}

async fn demo_credential(app: &App, actor: &Actor, upstream: &TcpListener) -> Result<String> {
    let state = &app.gateway;
    let host = upstream.local_addr()?.to_string();
    let hosts = vec![host.clone()];
    if credentials::list(&state.store, actor.workspace).await?.iter().any(|row| row.name == DEMO) {
        let patch = CredentialPatch { allowed_hosts: Some(hosts), ..CredentialPatch::default() };
        credentials::update(state, actor, DEMO, patch).await?;
    } else {
        let secret = entropy::token::<16>(&*state.entropy, "demo-secret-");
        let input = CredentialInput {
            name: DEMO.to_owned(),
            description: "A secret for the demo upstream that quickstart runs".to_owned(),
            auth: Some(Auth::Bearer(BearerToken {})),
            allowed_hosts: hosts,
            allow_http: true,
            secret: Some(SecretValue::from_json(Value::String(secret))?),
            ..CredentialInput::default()
        };
        credentials::create(state, actor, input).await?;
    }
    Ok(format!("http://{host}/notes"))
}

impl Welcome {
    fn json(&self) -> Value {
        let samples = self.samples.as_ref();
        json!({
            "owner_link": self.link,
            "agent_key": self.agent_key,
            "demo_target": self.target,
            "api_key": samples.map(|samples| &samples.api_key),
            "scorer_id": samples.map(|samples| samples.scorer),
            "proved_address": self.proved,
            "sample_addresses": samples.map(|samples| &samples.addresses),
            "sandbox_scorer_id": self.sandbox,
            "sandbox_wallets": self.sandbox.map(|_| sandbox_wallets()),
        })
    }

    fn print(&self, base_url: &str) {
        out::line(format_args!("\n  Dashboard (this link signs you in once):\n    {}\n", self.link));
        let Some(target) = &self.target else { return };
        let key = self.agent_key.as_deref().unwrap_or("<agent key: pyxis agent rotate default-agent>");
        let curl = |method: &str, body: &str| {
            format!(
                "    curl -s -X POST {base_url}/forward -H 'X-PX-Key: {key}' \\\n      -H 'X-PX-Credential: {DEMO}' \
                 -H 'X-PX-Target: {target}' -H 'X-PX-Method: {method}'{body}\n"
            )
        };
        out::line("  1. As an agent, read something. Reads are allowed; see what happened to the secret:\n");
        out::line(curl("GET", ""));
        out::line("  2. Now write something. It waits: approve it in the dashboard's inbox.\n");
        out::line(curl(
            "POST",
            " \\\n      -H 'X-PX-Reason: to show you how approval works' -H 'Prefer: wait=60' \\\n      \
             -H 'Content-Type: application/json' -d '{\"note\":\"hello\"}'",
        ));
        out::line(format_args!("  Instructions for agents: {base_url}/instructions\n"));
        if let Some(samples) = &self.samples {
            samples.print(base_url);
        }
        if let Some(address) = self.proved {
            proofs::print(address, base_url);
        }
        if let Some(scorer) = self.sandbox {
            out::line(format_args!(
                "  Wallets to test your application with, in scorer {scorer}, the sandbox:\n"
            ));
            for state in WalletState::ALL {
                out::line(format_args!("    {}  {}", state.wallet(), state.as_str()));
            }
            out::line("");
        }
    }
}

/// The demo upstream: returns what it received, including the secret, so that scrubbing is visible.
async fn demo_answer(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 * 1024).await.unwrap_or_default();
    let authorization = head.headers.get("authorization").and_then(|value| value.to_str().ok());
    let said = json!({
        "upstream": "the demo upstream received this request",
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "authorization": authorization,
        "body": String::from_utf8_lossy(&body),
    });
    let text = serde_json::to_string_pretty(&said).unwrap_or_default() + "\n";
    ([(http::header::CONTENT_TYPE, "application/json")], Arc::<str>::from(text).to_string()).into_response()
}
