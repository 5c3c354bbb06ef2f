//! `pyxis credential presets` and `import-env`.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use pyxis_core::presets::{self, Preset};
use pyxis_core::secret::SecretString;
use pyxis_gateway::admin::dotenv;
use pyxis_gateway::{self as gateway, Actor};
use serde_json::{Value, json};

use super::out;
use crate::cli::Global;

/// Prints the matching presets.
pub(super) fn list(global: &Global, search: &str) {
    let rows: Vec<Value> = presets::search(search).into_iter().map(preset_json).collect();
    out::list(global.json, "presets of this name", &["preset", "name", "kind", "hosts", "env"], &rows);
}

fn preset_json(preset: &Preset) -> Value {
    let auth = serde_json::to_value(&preset.auth).unwrap_or_default();
    json!({
        "preset": preset.id,
        "name": preset.name,
        "kind": auth["kind"],
        "hosts": preset.hosts,
        "env": preset.variables().collect::<Vec<_>>(),
        "probe": preset.probe,
        "policy": preset.starter_policy(),
    })
}

/// Stores a credential for each preset whose variables are present. Names already in use are skipped.
pub(super) async fn import(
    global: &Global,
    state: &gateway::State,
    actor: &Actor,
    file: &Path,
) -> Result<()> {
    let text = read(file)?;
    let lines = dotenv::import(state, actor, text.expose()).await?;
    let rows = lines.iter().map(|line| {
        json!({
            "line": line.number,
            "variable": line.variable,
            "name": line.credential,
            "outcome": line.outcome.describe(),
        })
    });
    out::list(global.json, "variables", &["line", "variable", "name", "outcome"], &rows.collect::<Vec<_>>());
    Ok(())
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
