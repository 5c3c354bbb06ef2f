//! `pyxis login` and `pyxis logout`: the server and the key that commands use.
//!
//! An agent key is for `pyxis run`, `pyxis proxy` and `pyxis mcp`. A person's access token is for `pyxis inbox` and the
//! commands that decide. One login can hold both, each with its server.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, Result, bail};
use pyxis_core::secret::SecretString;
use pyxis_run::Server;
use serde_json::json;

use super::person_api::PersonApi;
use super::saved_login::{self, SavedLogin, SavedPerson, file_to_change, save};
use super::{AlreadySo, connect, out, quiet, settings};
use crate::app;
use crate::cli::{Global, Login};
use crate::config::Config;
use crate::config::secrets::clean_secret;

/// Longest input that is read as a key, in bytes.
const MAX_KEY: u64 = 4096;

/// Beginnings of a person's tokens: one that they created, and that of a session.
const PERSON_PREFIXES: [&str; 2] = ["px_pat_", "px_session_"];

/// Checks a key with the server and saves both.
pub(super) async fn login(global: &Global, options: Login) -> Result<()> {
    let config = settings(&quiet(global.flags()))?;
    let url = match &options.url {
        Some(url) => connect::base_url("--url", url)?,
        None => connect::installation_url(&config),
    };
    let key = read_key()?;
    if PERSON_PREFIXES.iter().any(|prefix| key.expose().starts_with(prefix)) {
        return login_person(global, &config, url, key).await;
    }
    let server = Server::new(app::client(&config)?.private(), url.clone(), &key)?;
    let routes = server.routes(Vec::new()).await?;
    let mut file = file_to_change()?;
    file.agent = Some(SavedLogin { url: url.clone(), agent_key: key });
    let path = save(&file)?;
    let value = json!({ "url": url, "agent": routes.agent(), "file": path });
    out::outcome(global.json, &value, format_args!("logged in to {url} as {}", routes.agent()));
    Ok(())
}

/// Checks a person's token by what it is for, and saves it.
async fn login_person(global: &Global, config: &Config, url: String, token: SecretString) -> Result<()> {
    PersonApi::with_token(config, url.clone(), &token)?.get("/approvals?state=pending&limit=1").await?;
    let mut file = file_to_change()?;
    file.person = Some(SavedPerson { url: url.clone(), token });
    let path = save(&file)?;
    let value = json!({ "url": url, "person": true, "file": path });
    out::outcome(global.json, &value, format_args!("logged in to {url} with your access token"));
    Ok(())
}

/// Removes the saved login.
pub(super) fn logout(global: &Global) -> Result<()> {
    match saved_login::remove()? {
        Some(path) => {
            out::outcome(global.json, &json!({ "removed": path }), "logged out");
            Ok(())
        }
        None => Err(AlreadySo("there is no saved login".to_owned()).into()),
    }
}

/// The key that a person types, or the first line of standard input.
fn read_key() -> Result<SecretString> {
    let text = if io::stdin().is_terminal() {
        out::notice("Agent key, or your access token (it is not shown):");
        rpassword::read_password().context("cannot read the key")?
    } else {
        let mut text = String::new();
        io::stdin().take(MAX_KEY).read_to_string(&mut text).context("cannot read the key")?;
        text
    };
    let key = clean_secret("the key", text)?;
    if key.expose().is_empty() {
        bail!(
            "no agent key and no access token; type one of them, or give it on standard input: pyxis login < FILE"
        );
    }
    Ok(key)
}
