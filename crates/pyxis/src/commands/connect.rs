//! `pyxis connect`.

use anyhow::{Context, Result, bail};
use pyxis_core::agent_client::{self, AgentClient};
use pyxis_core::nearest;
use serde_json::{Value, json};

use super::{out, quiet, saved_login, settings};
use crate::cli::{Connect, Global};
use crate::config::Config;
use crate::config::env::{Env, ProcessEnv};
use crate::running;
use crate::serve::default_base_url;

/// Prints the configuration of a program, or the programs that are known.
pub(super) fn run(global: &Global, options: Connect) -> Result<()> {
    let Connect { client, url, key_env } = options;
    let Some(name) = client.as_deref() else {
        let row = |client: &AgentClient| json!({ "name": client.name, "program": client.label });
        let rows: Vec<Value> = agent_client::ALL.iter().map(row).collect();
        out::table(global.json, &["name", "program"], &rows);
        return Ok(());
    };
    let client = AgentClient::from_name(name).with_context(|| {
        let known: Vec<&str> = agent_client::ALL.iter().map(|client| client.name).collect();
        let meant = nearest::suggestion(name, known.iter().copied());
        format!("unknown program: {name}{meant}; known: {}", known.join(", "))
    })?;
    if !is_variable_name(&key_env) {
        bail!(
            "--key-env: not the name of an environment variable: {key_env}; use letters, digits and _, and no digit \
             first"
        );
    }
    let text = client.configuration(&server_url(global, url.as_deref())?, &key_env);
    if global.json {
        out::json(&json!({ "name": client.name, "place": client.place, "configuration": text }));
        return Ok(());
    }
    // What to do is kept apart from the text, so that the text can go into a file.
    out::notice(format_args!("{}: {}\n", client.label, client.place));
    out::line(text.trim_end());
    // Some programs ask for the key, or keep it themselves.
    if text.contains(&key_env) {
        out::notice(format_args!("\nKeep the agent key in {key_env}; `pyxis agent add NAME` makes one."));
    }
    Ok(())
}

/// URL of the MCP server of the Pyxis that `pyxis run` would use.
fn server_url(global: &Global, url: Option<&str>) -> Result<String> {
    let base_url = if let Some((name, url)) = given_url(url) {
        base_url(name, &url)?
    } else if let Some(saved) = saved_login::agent()? {
        saved.url
    } else {
        let config = settings(&quiet(global.flags()))?;
        known_url(&config).unwrap_or_else(|| assumed_url(&config))
    };
    Ok(format!("{base_url}{}", pyxis_mcp::PATH))
}

/// The default base URL. Another program may be there, so the person is told.
fn assumed_url(config: &Config) -> String {
    let url = default_base_url(config.listen);
    out::notice(format_args!(
        "No Pyxis runs from this directory. This is for {url}; --url names another server.\n"
    ));
    url
}

/// Base URL of this installation: the known one, or the default one.
pub(super) fn installation_url(config: &Config) -> String {
    known_url(config).unwrap_or_else(|| default_base_url(config.listen))
}

/// Base URL of this installation: the configured one, or that of the server that runs here.
fn known_url(config: &Config) -> Option<String> {
    config.base_url.clone().or_else(|| running::find(&config.data_dir).map(|server| server.base_url))
}

/// True for a name that every shell can set.
fn is_variable_name(name: &str) -> bool {
    let is_inner = |char: char| char.is_ascii_alphanumeric() || char == '_';
    !name.is_empty() && name.chars().all(is_inner) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// The URL of an option or of `PX_URL`, with the name of the one that gave it.
pub(super) fn given_url(option: Option<&str>) -> Option<(&'static str, String)> {
    let variable = || Some(("PX_URL", ProcessEnv.var("PX_URL")?));
    option.map(|url| ("--url", url.to_owned())).or_else(variable)
}

/// An http or https URL without the path of the MCP server and without a final slash. `name` says where it was given.
pub(super) fn base_url(name: &str, url: &str) -> Result<String> {
    // Asked of the text first, because the text of a password must not be repeated.
    if url.contains('@') {
        bail!(
            "{name}: must not contain a user name or a password; only scheme, host, port and path are allowed"
        );
    }
    let parsed = url::Url::parse(url).with_context(|| format!("{name}: not a URL: {url}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        bail!("{name}: must begin with https:// or http://: {url}");
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        bail!(
            "{name}: must not contain a query or a fragment; remove everything from the first ? or # on: {url}"
        );
    }
    let url = url.trim_end_matches('/');
    Ok(url.strip_suffix(pyxis_mcp::PATH).unwrap_or(url).to_owned())
}
