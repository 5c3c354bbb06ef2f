//! `pyxis credential presets` and `import-env`.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use pyxis_core::auth::Connector;
use pyxis_core::presets::{self, Preset};
use pyxis_core::secret::SecretString;
use pyxis_gateway::service::credentials::{self, CredentialInput};
use pyxis_gateway::{self as gateway, Actor, CredentialOptions, Error, SecretValue};
use serde_json::{Value, json};

use super::out;
use crate::cli::Global;

/// Prints the presets that fit.
pub(super) fn list(global: &Global, search: &str) {
    let rows: Vec<Value> = presets::search(search).into_iter().map(shown).collect();
    out::table(global.json, &["preset", "name", "kind", "hosts", "env"], &rows);
}

fn shown(preset: &Preset) -> Value {
    let auth = serde_json::to_value(&preset.auth).unwrap_or_default();
    json!({
        "preset": preset.id,
        "name": preset.name,
        "kind": auth["kind"],
        "hosts": preset.hosts,
        "env": preset.env,
        "probe": preset.probe,
    })
}

/// Stores a credential for each variable that a preset knows. Names that are taken are left alone.
pub(super) async fn import(
    global: &Global,
    state: &gateway::State,
    actor: &Actor,
    file: &Path,
) -> Result<()> {
    let text = read(file)?;
    let mut rows = Vec::new();
    for (variable, value) in presets::read_env(text.expose()) {
        let Some(preset) = presets::of_variable(variable) else { continue };
        let outcome = match credentials::create(state, actor, input(preset, value)).await {
            Ok(_) => "stored",
            Err(Error::NameTaken(_)) => "exists already",
            Err(Error::InvalidField { .. }) => "needs more than this variable",
            Err(error) => return Err(error.into()),
        };
        rows.push(json!({ "variable": variable, "name": preset.id, "outcome": outcome }));
    }
    out::table(global.json, &["variable", "name", "outcome"], &rows);
    Ok(())
}

fn input(preset: &Preset, secret: &str) -> CredentialInput {
    CredentialInput {
        name: preset.id.clone(),
        description: preset.name.clone(),
        connector: Connector::Direct,
        api_base: None,
        auth: Some(preset.auth.clone()),
        allowed_hosts: preset.hosts.clone(),
        allow_http: false,
        options: CredentialOptions::default(),
        secret: Some(SecretValue::Text(secret.to_owned())),
    }
}

fn read(file: &Path) -> Result<SecretString> {
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    Ok(SecretString::new(text))
}
