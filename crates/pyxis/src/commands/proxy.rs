//! `pyxis proxy`: the proxy of `pyxis run` for programs that it does not start.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_core::entropy::OsEntropy;
use pyxis_run::{Proxy, ProxyIdentity, TrustFiles, client_script};
use serde_json::json;

use super::run::access::Access;
use super::run::{child, choices, proxy_parts};
use super::{out, settings};
use crate::app;
use crate::cli::{Global, ProxyOptions};
use crate::config::{Config, ProxySettings};
use crate::stop_signals::StopSignals;

/// File of the token and the authority's key, in the data directory.
const IDENTITY: &str = "proxy.json";

pub(super) async fn run(global: &Global, options: ProxyOptions) -> Result<ExitCode> {
    child::hide_memory();
    let mut flags = global.flags();
    options.add_to(&mut flags);
    let config = settings(&flags)?;
    check_address(&config.proxy)?;
    let directory = client_dir(&config)?;
    let choices = choices(&options.hosts)?;
    let access = Access::with_key(&config, &options.access)?;
    app::make_dir(&config.data_dir)?;
    let identity = ProxyIdentity::kept_in(&config.data_dir.join(IDENTITY), &OsEntropy)?;
    let mut parts = proxy_parts(&config, &access, &options.hosts, choices, identity).await?;
    parts.has_pages = true;
    let agent = parts.routes.agent().to_owned();
    let proxy = Proxy::start(parts).await?;
    let files = TrustFiles::write_into(&directory, &proxy)?;
    let script = client_script(&proxy, &files)?;
    let signals = StopSignals::register()?;
    proxy.ready();
    print_address(global.json, &proxy, &agent, &script);
    signals.received().await;
    Ok(ExitCode::SUCCESS)
}

/// Refuses an address that clients cannot use.
fn check_address(settings: &ProxySettings) -> Result<()> {
    match &settings.address {
        None if settings.listen.ip().is_unspecified() => bail!(
            "{} is no address that clients can use: set PX_PROXY_ADDRESS to the host and port by which they reach \
             the proxy, such as pyxis-proxy:{}",
            settings.listen,
            settings.listen.port()
        ),
        Some(address) if address.port_u16().is_none() || address.as_str().contains('@') => {
            bail!("PX_PROXY_ADDRESS is {address}; it must be a host and a port, such as pyxis-proxy:8702")
        }
        _ => Ok(()),
    }
}

/// The directory that clients share. It is made if it is missing.
fn client_dir(config: &Config) -> Result<PathBuf> {
    let directory = config.proxy.client_dir.as_deref().context(
        "set PX_PROXY_CLIENT_DIR to a directory that is shared with clients, for env.sh and the certificates",
    )?;
    // The data directory has the authority's key, which clients must not read.
    let data = std::path::absolute(&config.data_dir).context("PX_DATA_DIR")?;
    let shared = std::path::absolute(directory).context("PX_PROXY_CLIENT_DIR")?;
    refuse_data_below(&data, &shared)?;
    let made = DirBuilder::new().recursive(true).mode(0o755).create(directory);
    made.with_context(|| format!("cannot create {}", directory.display()))?;
    // Once more behind symbolic links, which only what exists can be.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    refuse_data_below(&real(&data), &real(&shared))?;
    // Clients read the paths in its files from elsewhere.
    std::path::absolute(directory).context("PX_PROXY_CLIENT_DIR")
}

fn refuse_data_below(data: &Path, shared: &Path) -> Result<()> {
    if data.starts_with(shared) {
        bail!(
            "PX_PROXY_CLIENT_DIR must not contain the data directory, {}; choose another one",
            data.display()
        );
    }
    Ok(())
}

/// Prints the first line of output: the address.
fn print_address(as_json: bool, proxy: &Proxy, agent: &str, script: &Path) {
    let address = proxy.listening();
    let value = json!({ "address": address.to_string(), "agent": agent, "script": script });
    let text = format_args!(
        "listening on http://{address} for the agent {agent}; clients read {}",
        script.display()
    );
    out::outcome(as_json, &value, text);
}
