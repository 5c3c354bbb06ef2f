//! The server and the agent key that a proxy uses.

use std::path::Path;

use anyhow::{Context, Result, bail};
use pyxis_core::secret::SecretString;
use pyxis_net::Client;
use pyxis_run::{Server, ServerError};

use crate::cli::AccessOptions;
use crate::commands::saved_login::SavedLogin;
use crate::commands::{connect, saved_login};
use crate::config::Config;
use crate::config::env::{Env, ProcessEnv};
use crate::config::read_secret;
use crate::config::secrets::clean_secret;

/// A server, and an agent key or a token for it.
pub(in crate::commands) struct Access {
    /// Base URL of the server.
    pub(in crate::commands) url: String,
    pub(in crate::commands) key: SecretString,
    /// Place that the key is from, for errors.
    pub(in crate::commands) key_source: String,
}

impl Access {
    /// The access that variables give, or the saved login: a variable comes first. The variable with the key may also have
    /// `_FILE` appended; it then holds the path of a file with it.
    pub(in crate::commands) fn with_key(config: &Config, options: &AccessOptions) -> Result<Self> {
        let key_env = &options.agent_key_env;
        let given = connect::given_url(options.url.as_deref());
        let key = secret_variable(key_env)?;
        let saved = if key.is_some() && given.is_some() { None } else { saved_login::agent()? };
        let url = match (&given, &saved) {
            (Some((name, url)), _) => connect::base_url(name, url)?,
            (None, Some(saved)) => saved.url.clone(),
            (None, None) => connect::installation_url(config),
        };
        if let Some(key) = key {
            return Ok(Self { url, key, key_source: format!("the agent key of {key_env}") });
        }
        match saved {
            Some(SavedLogin { url: own, agent_key }) if own == url => {
                Ok(Self { url, key: agent_key, key_source: "the saved login".to_owned() })
            }
            Some(SavedLogin { url: own, .. }) => bail!(
                "the saved login is for {own}; run `pyxis login --url {url}`, or put its agent key into {key_env}"
            ),
            None => bail!(
                "no agent key: run `pyxis login`, or put the key into {key_env} (`pyxis agent add NAME` makes one)"
            ),
        }
    }

    /// The server. Its address is the operator's own, and often a private one.
    pub(in crate::commands) fn server(&self, client: &Client) -> Result<Server, ServerError> {
        Server::new(client.private(), self.url.clone(), &self.key)
    }
}

/// The secret in a variable, or in the file that the variable with `_FILE` appended names.
pub(in crate::commands) fn secret_variable(name: &str) -> Result<Option<SecretString>> {
    if let Some(text) = ProcessEnv.var(name) {
        return clean_secret(name, text).map(Some);
    }
    let file = format!("{name}_FILE");
    let path = ProcessEnv.var(&file);
    path.map(|path| read_secret(Path::new(&path)).with_context(|| file.clone())).transpose()
}
