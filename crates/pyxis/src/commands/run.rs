//! `pyxis run`: one command whose requests go through Pyxis.

pub(super) mod access;
pub(super) mod child;
#[cfg(target_os = "linux")]
pub(super) mod first_environment;
mod token;

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use pyxis_core::clock::SystemClock;
use pyxis_core::entropy::OsEntropy;
use pyxis_run::{Proxy, ProxyIdentity, ProxyParts, RouteChoice, Surroundings, TrustFiles, Variables};

use self::access::Access;
use self::child::Signals;
use self::token::AgentToken;
use super::{connect, out, quiet, settings};
use crate::app;
use crate::cli::{Global, HostOptions, Others, RunOptions};
use crate::config::Config;
use crate::config::env::all_variables;

pub(super) async fn run(global: &Global, options: RunOptions) -> Result<ExitCode> {
    child::hide_memory();
    let config = settings(&quiet(global.flags()))?;
    let choices = choices(&options.hosts)?;
    // Before a token is made, so that no signal leaves it behind.
    let mut signals = child::signals()?;
    let Some(agent) = &options.agent else {
        let access = Access::with_key(&config, &options.access)?;
        return run_with(global, &config, &options, choices, &access, &mut signals).await;
    };
    let url = match options.access.url.as_deref() {
        Some(url) => connect::base_url("--url", url)?,
        None => connect::installation_url(&config),
    };
    let token = AgentToken::issue(global, &config, agent).await?;
    let access = Access { url, key: token.text.clone(), key_source: format!("a token of {agent}") };
    let done = run_with(global, &config, &options, choices, &access, &mut signals).await;
    token.revoke(&config).await;
    done
}

/// Runs the command with this access, unless a signal comes before it starts.
async fn run_with(
    global: &Global,
    config: &Config,
    options: &RunOptions,
    choices: Vec<RouteChoice>,
    access: &Access,
    signals: &mut Signals,
) -> Result<ExitCode> {
    let prepared = tokio::select! {
        prepared = prepare(config, access, options, choices) => prepared?,
        Some(signal) = signals.recv() => return Ok(child::ended_by(signal)),
    };
    let mut variables = prepared.variables(access);
    for name in options.access.key_variables() {
        variables.remove(OsStr::new(&name));
    }
    // `--encryption-key env:NAME` leads to the master key.
    if let Some(name) = global.flags().get("encryption_key").and_then(|source| source.strip_prefix("env:")) {
        variables.remove(OsStr::new(name));
    }
    child::run(&options.command, &variables, signals).await
}

/// A proxy that serves, and the files with its certificates.
struct Prepared {
    proxy: Proxy,
    files: TrustFiles,
}

impl Prepared {
    fn variables(&self, access: &Access) -> Variables {
        let surroundings = Surroundings { proxy: &self.proxy, files: &self.files, agent_key: &access.key };
        surroundings.environment(all_variables())
    }
}

async fn prepare(
    config: &Config,
    access: &Access,
    options: &RunOptions,
    choices: Vec<RouteChoice>,
) -> Result<Prepared> {
    let identity = ProxyIdentity::for_one_run(&OsEntropy)?;
    let mut parts = proxy_parts(config, access, &options.hosts, choices, identity).await?;
    if let Some(reason) = &options.reason {
        parts.server = parts.server.with_reason(reason)?;
    }
    parts.listen = (Ipv4Addr::LOCALHOST, 0).into();
    let proxy = Proxy::start(parts).await?;
    let files = TrustFiles::write(&proxy)?;
    Ok(Prepared { proxy, files })
}

/// The credentials that hosts are to use.
pub(super) fn choices(hosts: &HostOptions) -> Result<Vec<RouteChoice>> {
    let parsed: Result<_, pyxis_run::RoutesError> =
        hosts.choices.iter().map(|choice| choice.parse()).collect();
    parsed.context("--use")
}

/// Parts of a proxy for the hosts that the server names, with the listener of the settings.
pub(super) async fn proxy_parts(
    config: &Config,
    access: &Access,
    hosts: &HostOptions,
    choices: Vec<RouteChoice>,
    identity: ProxyIdentity,
) -> Result<ProxyParts> {
    let egress = app::client(config)?;
    let server = access.server(&egress)?;
    let routes = server.routes(choices).await.with_context(|| format!("with {}", access.key_source))?;
    if routes.is_empty() {
        let agent = routes.agent();
        out::notice(format_args!(
            "pyxis: the agent {agent} may use no credential, so every request goes out without one"
        ));
    }
    Ok(ProxyParts {
        server,
        routes,
        others: match hosts.others {
            Others::Tunnel => pyxis_run::OtherHosts::Tunnel,
            Others::Refuse => pyxis_run::OtherHosts::Refuse,
        },
        egress,
        listen: config.proxy.listen,
        address: config.proxy.address.clone(),
        has_pages: false,
        identity,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        notice: |text| out::notice(format_args!("pyxis: {text}")),
    })
}
