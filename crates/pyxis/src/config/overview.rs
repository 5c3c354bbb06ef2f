//! The effective settings and their sources, without secrets.

use std::path::PathBuf;

use anyhow::Result;
use pyxis_store::DatabaseUrl;

use super::env::Env;
use super::{Flags, SettingSources, file_path, keys, parse, warnings};

/// A setting as it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// Name in `pyxis.toml`.
    pub name: &'static str,
    pub variable: String,
    /// The value; `set` or `not set` for one that may hold a secret.
    pub value: String,
    /// Flag, variable, file or `default`.
    pub source: String,
}

/// Settings whose values may hold keys, next to those that are secrets as a whole.
const WITH_KEYS: [&str; 2] = ["networks", "indexers"];

/// Every setting with its source.
pub fn effective_settings(flags: &Flags, env: &impl Env) -> Result<Vec<EffectiveSetting>> {
    let path = file_path(flags, env);
    let file = path.as_deref().map(parse::file).transpose()?.unwrap_or_default();
    let source = SettingSources { flags, env, file };
    Ok(keys::all().map(|key| effective(&source, path.as_ref(), key.name)).collect())
}

fn effective(
    source: &SettingSources<'_, impl Env>,
    file: Option<&PathBuf>,
    name: &'static str,
) -> EffectiveSetting {
    let variable = keys::env_name(name);
    let file_variable = format!("{variable}_FILE");
    let is_secret = warnings::is_secret(name);
    let is_database = name == "database_url";
    // Secrets come from variables and their files only; the address of the database comes from everywhere.
    let in_file = source.file.get(name).filter(|_| !is_secret || is_database);
    let (written, place) = if let Some(value) = source.flags.get(name) {
        (Some(value.clone()), flag(name))
    } else if let Some(value) = source.env.var(&variable) {
        (Some(value), variable.clone())
    } else if is_secret && source.env.var(&file_variable).is_some() {
        (None, file_variable)
    } else if let Some(value) = in_file {
        (Some(value.clone()), file.map_or_else(String::new, |path| path.display().to_string()))
    } else {
        return EffectiveSetting {
            name,
            variable,
            value: or_not_set(keys::default(name).unwrap_or_default()),
            source: "default".to_owned(),
        };
    };
    let value = match written {
        Some(text) if is_database => {
            text.parse().map_or_else(|_| "set".to_owned(), |url: DatabaseUrl| format!("{url:?}"))
        }
        Some(text) if !is_secret => public(name, &text),
        _ => "set".to_owned(),
    };
    EffectiveSetting { name, variable, value, source: place }
}

/// A value without what may be a secret in it.
fn public(name: &str, text: &str) -> String {
    let has_password = text.contains("://") && text.contains('@');
    if has_password || (WITH_KEYS.contains(&name) && !text.trim().is_empty()) {
        return "set".to_owned();
    }
    or_not_set(text)
}

fn or_not_set(text: &str) -> String {
    if text.trim().is_empty() { "not set".to_owned() } else { text.to_owned() }
}

/// The flag of a setting.
fn flag(name: &str) -> String {
    match name {
        "database_url" => "--database".to_owned(),
        name => format!("--{}", name.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_setting_has_its_source_and_no_secret_is_shown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.toml");
        let text = "log = \"debug\"\nlisten = \"127.0.0.1:1\"\n[networks.base]\nrpc_url = \"https://rpc.example/canary\"\n";
        std::fs::write(&path, text).unwrap();
        let env: BTreeMap<String, String> = [
            ("PX_CONFIG", path.to_str().unwrap()),
            ("PX_VERIFY_API_KEY", "canary"),
            ("PX_TELEGRAM_BOT_TOKEN_FILE", "/run/token"),
            ("PX_DATABASE_URL", "postgres://px:canary@db.example/px"),
            ("PX_AUDIT_PUSH", "otlp+https://me:canary@o.example"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let flags = Flags::from([("listen", "127.0.0.1:2".to_owned())]);
        let all = effective_settings(&flags, &env).unwrap();
        assert!(!format!("{all:?}").contains("canary"), "{all:?}");
        let of = |name: &str| {
            let found = all.iter().find(|setting| setting.name == name).unwrap();
            (found.value.as_str(), found.source.as_str())
        };
        assert_eq!(of("listen"), ("127.0.0.1:2", "--listen"));
        assert_eq!(of("log"), ("debug", path.to_str().unwrap()));
        assert_eq!(of("networks"), ("set", path.to_str().unwrap()));
        assert_eq!(of("verify_api_key"), ("set", "PX_VERIFY_API_KEY"));
        assert_eq!(of("telegram_bot_token"), ("set", "PX_TELEGRAM_BOT_TOKEN_FILE"));
        assert_eq!(of("database_url"), ("postgres://…", "PX_DATABASE_URL"));
        assert_eq!(of("base_url"), ("not set", "default"));
        assert_eq!(of("mcp_wait_secs"), ("45", "default"));
        assert_eq!(of("indexer_api_key"), ("not set", "default"));
        assert_eq!(all.len(), keys::all().count());
    }
}
