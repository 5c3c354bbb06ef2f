//! The file of saved logins: an agent key for a server, and a person's access token for one.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pyxis_core::secret::SecretString;
use serde::Deserialize;
use serde_json::json;

use crate::config::env::{Env, ProcessEnv};

/// Saved logins of an agent and of a person.
#[derive(Debug, Default, Deserialize)]
pub(super) struct LoginFile {
    #[serde(flatten)]
    pub(super) agent: Option<SavedLogin>,
    pub(super) person: Option<SavedPerson>,
}

/// A saved login of an agent.
#[derive(Debug, Deserialize)]
pub(super) struct SavedLogin {
    /// Base URL of the server.
    pub(super) url: String,
    pub(super) agent_key: SecretString,
}

/// A saved login of a person.
#[derive(Debug, Deserialize)]
pub(super) struct SavedPerson {
    /// Base URL of the server.
    pub(super) url: String,
    /// Access token for it.
    pub(super) token: SecretString,
}

/// The saved login of an agent, if there is one.
pub(super) fn agent() -> Result<Option<SavedLogin>> {
    Ok(read_file()?.agent)
}

/// The saved login of a person, if there is one.
pub(super) fn person() -> Result<Option<SavedPerson>> {
    Ok(read_file()?.person)
}

fn read_file() -> Result<LoginFile> {
    let Some((path, text)) = read_text()? else { return Ok(LoginFile::default()) };
    parse(&text).with_context(|| format!("{} is damaged; run `pyxis login` again", path.display()))
}

/// The file to add a login to. A damaged one is replaced.
pub(super) fn file_to_change() -> Result<LoginFile> {
    Ok(read_text()?.and_then(|(_, text)| parse(&text)).unwrap_or_default())
}

/// The content of a file. An error of the parser would quote it.
fn parse(text: &SecretString) -> Option<LoginFile> {
    serde_json::from_str(text.expose()).ok()
}

/// Path and content of the file, if there is one.
fn read_text() -> Result<Option<(PathBuf, SecretString)>> {
    let Ok(path) = path() else { return Ok(None) };
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!("{} holds a key, and others may read it: run chmod 600 on it", path.display());
    }
    let text = SecretString::new(fs::read_to_string(&path)?);
    Ok(Some((path, text)))
}

/// `pyxis/login.json` in the user's configuration directory (XDG Base Directory Specification).
fn path() -> Result<PathBuf> {
    let configured = ProcessEnv.var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || ProcessEnv.var("HOME").map(|home| Path::new(&home).join(".config"));
    let base = configured.or_else(home).context("no place to save the login: set HOME or XDG_CONFIG_HOME")?;
    Ok(base.join("pyxis").join("login.json"))
}

/// Removes the file and returns its place; `None` if there is none.
pub(super) fn remove() -> Result<Option<PathBuf>> {
    let path = path()?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(Some(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", path.display())),
    }
}

/// Writes the file next to its place and moves it there, so that a login is whole or absent. Returns the place.
pub(super) fn save(file: &LoginFile) -> Result<PathBuf> {
    let path = path()?;
    write(&path, &content(file)).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn content(file: &LoginFile) -> SecretString {
    let mut content = json!({});
    if let Some(SavedLogin { url, agent_key }) = &file.agent {
        content["url"] = url.as_str().into();
        content["agent_key"] = agent_key.expose().as_str().into();
    }
    if let Some(SavedPerson { url, token }) = &file.person {
        content["person"] = json!({ "url": url, "token": token.expose() });
    }
    SecretString::new(content.to_string())
}

fn write(path: &Path, text: &SecretString) -> Result<()> {
    let directory = path.parent().context("no directory")?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let next = path.with_extension("json.new");
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
    file.write_all(text.expose().as_bytes())?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_of_an_agent_and_one_of_a_person_are_kept_together_each_with_its_server() {
        let key = |text: &str| SecretString::new(text.to_owned());
        let agent = SavedLogin { url: "https://one.example".to_owned(), agent_key: key("px_agent_a") };
        let person = SavedPerson { url: "https://two.example".to_owned(), token: key("px_pat_b") };
        let both = LoginFile { agent: Some(agent), person: Some(person) };
        let read = |file: &LoginFile| serde_json::from_str::<LoginFile>(content(file).expose()).unwrap();
        let again = read(&both);
        assert_eq!(again.agent.as_ref().map(|agent| agent.url.as_str()), Some("https://one.example"));
        assert_eq!(again.person.as_ref().map(|person| person.token.expose().as_str()), Some("px_pat_b"));
        let person_alone = read(&LoginFile { agent: None, ..again });
        assert!(person_alone.agent.is_none() && person_alone.person.is_some());
        let earlier = r#"{"url": "https://one.example", "agent_key": "px_agent_a"}"#;
        let earlier: LoginFile = serde_json::from_str(earlier).unwrap();
        assert!(earlier.agent.is_some() && earlier.person.is_none());
    }
}
