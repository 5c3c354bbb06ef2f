//! `pyxis run`: one command whose requests go through Pyxis.

mod child;

use std::ffi::OsStr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::OsEntropy;
use pyxis_core::secret::SecretString;
use pyxis_run::{OtherHosts, Proxy, ProxyParts, RouteChoice, Server, Surroundings, TrustFiles};

use super::login::SavedLogin;
use super::{connect, login, out, quiet, settings};
use crate::app;
use crate::cli::{Global, Others, RunOptions};
use crate::config::Config;
use crate::config::env::{Env, ProcessEnv, all_variables};
use crate::config::secrets::entered;

pub(super) async fn run(global: &Global, options: RunOptions) -> Result<ExitCode> {
    child::hide_memory();
    let config = settings(&quiet(global.flags()))?;
    let (url, key) = access(&config, &options)?;
    let choices: Vec<RouteChoice> = options
        .choices
        .iter()
        .map(|choice| choice.parse())
        .collect::<Result<_, pyxis_run::RoutesError>>()
        .context("--use")?;
    let client = app::client(&config)?;
    // The server's address is the operator's own, and often a private one.
    let server = Server::new(client.private(), url, &key)?;
    let routes = server.routes(choices).await?;
    if routes.is_empty() {
        out::notice(format_args!(
            "pyxis run: the agent {} may use no credential, so every request goes out without one",
            routes.agent()
        ));
    }
    let proxy = Proxy::start(ProxyParts {
        server,
        routes,
        others: match options.others {
            Others::Tunnel => OtherHosts::Tunnel,
            Others::Refuse => OtherHosts::Refuse,
        },
        egress: client,
        now: SystemClock.now(),
        entropy: Arc::new(OsEntropy),
        notice: |text| out::notice(format_args!("pyxis run: {text}")),
    })
    .await?;
    let files = TrustFiles::write(&proxy)?;
    let surroundings = Surroundings { proxy: &proxy, files: &files, agent_key: &key };
    let mut variables = surroundings.environment(all_variables());
    variables.remove(OsStr::new(&options.agent_key_env));
    // `--encryption-key env:NAME` leads to the master key.
    if let Some(name) = global.flags().get("encryption_key").and_then(|source| source.strip_prefix("env:")) {
        variables.remove(OsStr::new(name));
    }
    child::run(&options.command, &variables).await
}

/// The server's URL and the agent key: the variable comes before the saved login.
fn access(config: &Config, options: &RunOptions) -> Result<(String, SecretString)> {
    let variable = ProcessEnv.var(&options.agent_key_env);
    let saved = if variable.is_some() && options.url.is_some() { None } else { login::read()? };
    let url = match (&options.url, &saved) {
        (Some(url), _) => connect::base_url(url)?,
        (None, Some(saved)) => saved.url.clone(),
        (None, None) => connect::installation_url(config),
    };
    if let Some(text) = variable {
        return Ok((url, entered(&options.agent_key_env, text)?));
    }
    match saved {
        Some(SavedLogin { url: own, agent_key }) if own == url => Ok((url, agent_key)),
        Some(SavedLogin { url: own, .. }) => bail!(
            "the saved login is for {own}; run `pyxis login --url {url}`, or put its agent key into {}",
            options.agent_key_env
        ),
        None => bail!(
            "no agent key: run `pyxis login`, or put the key into {} (`pyxis agent add NAME` makes one)",
            options.agent_key_env
        ),
    }
}
