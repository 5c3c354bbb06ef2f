//! `pyxis signer`: the sidecar. It opens no database and needs no data directory.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::SystemClock;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::secret::SecretString;
use pyxis_http::serve;
use pyxis_signer::{Credentials, Signer, SignerContext, State};
use serde_json::json;
use tokio::net::TcpListener;

use super::{out, settings};
use crate::app;
use crate::cli::Global;
use crate::config::Config;
use crate::config::env::{Env, ProcessEnv};
use crate::config::secrets::clean_secret;
use crate::stop_signals::StopSignals;

const DEFAULT_PORT: u16 = 8080;

pub(super) async fn run(global: &Global, listen: &str) -> Result<ExitCode> {
    let config = settings(&global.flags())?;
    let state = state(&config, &ProcessEnv)?;
    let address = address(listen, &ProcessEnv)?;
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() && state.token.is_none() {
        tracing::warn!(%address, "anyone who reaches this address can sign: set OAUTH_SIGNER_TOKEN");
    }
    let signals = StopSignals::register()?;
    print_address(global.json, address, &state);
    let finished = serve::serve(listener, Signer::new(state), signals.received()).await;
    if !finished {
        tracing::warn!("some requests did not finish in time and were aborted");
    }
    Ok(ExitCode::SUCCESS)
}

fn state(config: &Config, env: &impl Env) -> Result<State> {
    let found = Credentials::discover(env.starting_with("OAUTH_CRED_"))?;
    for variable in &found.stray {
        tracing::warn!(%variable, "ignored a variable without a credential: there is no \
            OAUTH_CRED_*_CONSUMER_KEY of this name");
    }
    if found.credentials.names().is_empty() {
        tracing::warn!("no credentials: set the four OAUTH_CRED_<NAME>_* variables of each credential");
    }
    Ok(State::new(SignerContext {
        credentials: found.credentials,
        token: token(env)?,
        allow_http: allow_http(env)?,
        net: app::client(config)?,
        first_byte: config.forward_timeout,
        idle: config.stream_idle,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
    }))
}

fn token(env: &impl Env) -> Result<Option<SecretString>> {
    const NAME: &str = "OAUTH_SIGNER_TOKEN";
    let Some(text) = env.var(NAME) else { return Ok(None) };
    let token = clean_secret(NAME, text)?;
    if token.expose().is_empty() {
        // An accidentally empty file must not lead to an open signer.
        bail!("{NAME} is empty: set it to a token, or unset it");
    }
    Ok(Some(token))
}

fn address(listen: &str, env: &impl Env) -> Result<SocketAddr> {
    if let Ok(host) = listen.parse::<IpAddr>() {
        return Ok(SocketAddr::new(host, port(env)?));
    }
    listen
        .parse()
        .with_context(|| format!("--listen is {listen:?}; it must be an IP address, with or without a port"))
}

fn port(env: &impl Env) -> Result<u16> {
    let Some(text) = env.var("OAUTH_SIGNER_PORT") else { return Ok(DEFAULT_PORT) };
    text.trim()
        .parse()
        .with_context(|| format!("OAUTH_SIGNER_PORT is {text:?}; it must be a port from 0 to 65535"))
}

fn allow_http(env: &impl Env) -> Result<bool> {
    match env.var("OAUTH_SIGNER_ALLOW_HTTP").as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => bail!("OAUTH_SIGNER_ALLOW_HTTP must be true or false"),
    }
}

/// Prints the first line of output: the signer's address.
fn print_address(as_json: bool, address: SocketAddr, state: &State) {
    if as_json {
        out::json(&json!({
            "address": address.to_string(),
            "host": address.ip().to_string(),
            "port": address.port(),
            "credentials": state.credentials.names(),
        }));
    } else {
        out::line(format_args!("listening on http://{address}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_port_is_8080_unless_a_variable_says_another() {
        let env = |value: &str| BTreeMap::from([("OAUTH_SIGNER_PORT".to_owned(), value.to_owned())]);
        let at = |listen: &str, env: &BTreeMap<String, String>| {
            address(listen, env).map(|address| address.to_string())
        };
        assert_eq!(at("127.0.0.1", &BTreeMap::new()).unwrap(), "127.0.0.1:8080");
        assert_eq!(at("::1", &env("9000")).unwrap(), "[::1]:9000");
        assert_eq!(at("0.0.0.0:1", &env("9000")).unwrap(), "0.0.0.0:1");
        assert!(at("127.0.0.1", &env("http")).unwrap_err().to_string().contains("OAUTH_SIGNER_PORT"));
    }
}
