//! Secrets from files and variables, without accidental extra characters.

use std::path::Path;

use anyhow::{Context, Result, bail};
use pyxis_core::secret::{self, SecretString};

use super::env::Env;

/// `file:PATH` or `env:NAME`: a secret is never given on a command line.
pub fn from_source(source: &str, env: &impl Env) -> Result<SecretString> {
    match source.split_once(':') {
        Some(("file", path)) => read_secret(Path::new(path)),
        Some(("env", name)) => read_variable(name, env),
        _ => bail!("write file:PATH or env:NAME; a key is never given on the command line"),
    }
}

/// The content of a secret file.
pub fn read_secret(path: &Path) -> Result<SecretString> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    clean_secret(&path.display().to_string(), text)
}

/// The value of a variable that must be set.
pub fn read_variable(name: &str, env: &impl Env) -> Result<SecretString> {
    let text = env.var(name).with_context(|| format!("the environment variable {name} is not set"))?;
    clean_secret(name, text)
}

/// A secret without what editors and shells add around it; `place` is its source.
///
/// # Errors
/// Control characters inside the secret are an error, which names the place and never the text.
pub fn clean_secret(place: &str, text: String) -> Result<SecretString> {
    let text = SecretString::new(text);
    let meant = secret::clean_input(text.expose()).map_err(|error| anyhow::anyhow!("{place} {error}"))?;
    Ok(SecretString::new(meant.to_owned()))
}
