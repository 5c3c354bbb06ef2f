//! `pyxis login` and `pyxis logout`: the server and the agent key that `pyxis run` uses.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pyxis_core::secret::SecretString;
use pyxis_run::Server;
use serde::Deserialize;
use serde_json::json;

use super::{AlreadySo, connect, out, quiet, settings};
use crate::app;
use crate::cli::{Global, Login};
use crate::config::env::{Env, ProcessEnv};
use crate::config::secrets::clean_secret;

/// Longest input that is read as a key, in bytes.
const MAX_KEY: u64 = 4096;

/// A saved login.
#[derive(Debug, Deserialize)]
pub(super) struct SavedLogin {
    /// Base URL of the server.
    pub(super) url: String,
    /// Agent key for it.
    pub(super) agent_key: SecretString,
}

/// Checks a key with the server and saves both.
pub(super) async fn login(global: &Global, options: Login) -> Result<()> {
    let config = settings(&quiet(global.flags()))?;
    let url = match &options.url {
        Some(url) => connect::base_url(url)?,
        None => connect::installation_url(&config),
    };
    let key = read_key()?;
    let server = Server::new(app::client(&config)?.private(), url.clone(), &key)?;
    let routes = server.routes(Vec::new()).await?;
    let path = path()?;
    save(&path, &url, &key).with_context(|| format!("cannot write {}", path.display()))?;
    let value = json!({ "url": url, "agent": routes.agent(), "file": path });
    out::outcome(global.json, &value, format_args!("logged in to {url} as {}", routes.agent()));
    Ok(())
}

/// Removes the saved login.
pub(super) fn logout(global: &Global) -> Result<()> {
    let path = path()?;
    match fs::remove_file(&path) {
        Ok(()) => {
            out::outcome(global.json, &json!({ "removed": path }), "logged out");
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(AlreadySo("there is no saved login".to_owned()).into())
        }
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// The saved login, if there is one.
pub(super) fn read() -> Result<Option<SavedLogin>> {
    let Ok(path) = path() else { return Ok(None) };
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!("{} holds an agent key, and others may read it: run chmod 600 on it", path.display());
    }
    let text = SecretString::new(fs::read_to_string(&path)?);
    // The cause would quote the file.
    let saved = serde_json::from_str(text.expose()).ok();
    saved.map(Some).with_context(|| format!("{} is damaged; run `pyxis login` again", path.display()))
}

/// `pyxis/login.json` in the user's configuration directory (XDG Base Directory Specification).
fn path() -> Result<PathBuf> {
    let configured = ProcessEnv.var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || ProcessEnv.var("HOME").map(|home| Path::new(&home).join(".config"));
    let base = configured.or_else(home).context("no place to save the login: set HOME or XDG_CONFIG_HOME")?;
    Ok(base.join("pyxis").join("login.json"))
}

/// The key that a person types, or the first line of standard input.
fn read_key() -> Result<SecretString> {
    let text = if io::stdin().is_terminal() {
        out::notice("Agent key (it is not shown):");
        rpassword::read_password().context("cannot read the key")?
    } else {
        let mut text = String::new();
        io::stdin().take(MAX_KEY).read_to_string(&mut text).context("cannot read the key")?;
        text
    };
    let key = clean_secret("the agent key", text)?;
    if key.expose().is_empty() {
        bail!("no agent key; type it, or give it on standard input: pyxis login < FILE");
    }
    Ok(key)
}

/// Writes the file next to its place and moves it there, so that a login is whole or absent.
fn save(path: &Path, url: &str, key: &SecretString) -> Result<()> {
    let directory = path.parent().context("no directory")?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let next = path.with_extension("json.new");
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
    let text = SecretString::new(json!({ "url": url, "agent_key": key.expose() }).to_string());
    file.write_all(text.expose().as_bytes())?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    Ok(())
}
