//! `pyxis serve`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_gateway::admin::workspaces;
use serde_json::json;

use super::bootstrap::{self, First, FirstKeys};
use super::{out, serving_settings};
use crate::app;
use crate::cli::{Global, Serving};
use crate::config::Flags;
use crate::config::env::ProcessEnv;
use crate::config::warnings::warnings;
use crate::serve::{self, Bound};
use crate::signed_head;
use crate::stop_signals::StopSignals;

pub(super) async fn run(global: &Global, listen: &Serving) -> Result<ExitCode> {
    let mut flags = global.flags();
    listen.add_to(&mut flags);
    let (mut config, traces) = serving_settings(&flags)?;
    config.accept_lost_database = listen.accept_lost_database;
    warn_of_settings(&flags);
    let bound = serve::bind(&config).await?;
    let app = app::open(config, bound.base_url.clone()).await?;
    let lock = (app.store.engine() == pyxis_store::Engine::Sqlite)
        .then(|| app::lock_dir(&app.config))
        .transpose()?;
    signed_head::check_records(&app.config, &app.gateway).await?;
    if app.config.surfaces.verification {
        // Heights counted by other nodes are resolved before any request is answered from them.
        pyxis_verify::block_height::start(&app.verify).await?;
    }
    let signals = StopSignals::register()?;
    let announcement = serve::announce(&app, &bound)?;
    print_address(global.json, &bound);
    if workspaces::list(&app.gateway.store).await?.is_empty()
        && let Some(made) =
            bootstrap::first_workspace(&app, bootstrap::DEFAULT_OWNER, FirstKeys::Withheld).await?
    {
        welcome(global.json, app.config.surfaces.dashboard, &made);
    }
    serve::run(app, bound, signals, traces).await?;
    drop((announcement, lock));
    Ok(ExitCode::SUCCESS)
}

/// Logs settings that are probably not what was meant.
pub(super) fn warn_of_settings(flags: &Flags) {
    for found in warnings(flags, &ProcessEnv) {
        tracing::warn!(setting = found.place, "{}; {}", found.message, found.fix);
    }
}

/// Prints the secret that is needed to sign in for the first time. It is never logged.
fn welcome(as_json: bool, has_dashboard: bool, made: &First) {
    let told = if has_dashboard {
        format!("first start: sign in with this link, which works once: {}", made.owner_link.expose())
    } else {
        // Links lead to the dashboard.
        "first start: this server has no dashboard; `pyxis agent rotate default-agent` prints a key for an agent, and \
         `pyxis api-key add NAME` one for scores"
            .to_owned()
    };
    // A program that reads standard output expects only the address there.
    if as_json { out::notice(told) } else { out::line(told) }
}

/// Prints the first line of output: the server's address.
pub(super) fn print_address(as_json: bool, bound: &Bound) {
    if as_json {
        out::json(&json!({
            "address": bound.address.to_string(),
            "host": bound.address.ip().to_string(),
            "port": bound.address.port(),
            "base_url": bound.base_url,
            "metrics_address": bound.metrics_address().map(|address| address.to_string()),
        }));
    } else {
        out::line(format_args!("listening on http://{}", bound.address));
    }
}
