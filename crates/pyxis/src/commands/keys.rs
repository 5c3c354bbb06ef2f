//! `pyxis key`.

use std::fs;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::OsEntropy;
use pyxis_store::cipher::{Keyring, MasterKey, SEALS_AFTER};
use serde_json::json;

use super::{existing, out};
use crate::app;
use crate::cli::{Global, KeyCommand};
use crate::config::Config;
use crate::config::env::ProcessEnv;
use crate::config::secrets;

pub(super) async fn run(global: &Global, command: KeyCommand) -> Result<()> {
    match command {
        KeyCommand::Generate => {
            let key = MasterKey::generate(&OsEntropy);
            if global.json {
                out::json(&json!({ "key": key.to_hex().expose() }));
            } else {
                out::line(key.to_hex().expose());
            }
            Ok(())
        }
        KeyCommand::Rotate { data: true, .. } => add_data_key(global).await,
        KeyCommand::Rotate { new_key, data: false } => rotate(global, new_key.as_deref()).await,
    }
}

/// Adds a data key. Running servers load it before it seals anything.
async fn add_data_key(global: &Global) -> Result<()> {
    let config = existing(global)?;
    let store = app::open_store(&config).await?;
    // Finish an earlier rotation that was interrupted.
    app::keyring(&config, &store, &OsEntropy, SystemClock.now()).await?;
    let master = app::master_key(&config, &OsEntropy)?;
    let number = Keyring::add_data_key(&store, &master, &OsEntropy, SystemClock.now()).await?;
    let told = format!(
        "data key {number} seals new secrets in {} seconds; earlier data keys still open what they sealed",
        SEALS_AFTER.as_secs()
    );
    if global.json {
        out::json(&json!({ "data_key": number, "detail": told }));
    } else {
        out::line(told);
    }
    Ok(())
}

async fn rotate(global: &Global, new_key: Option<&str>) -> Result<()> {
    let config = existing(global)?;
    let store = app::open_store(&config).await?;
    // Finish an earlier rotation that was interrupted.
    app::keyring(&config, &store, &OsEntropy, SystemClock.now()).await?;
    let old = app::master_key(&config, &OsEntropy)?;
    let told = match new_key {
        Some(source) => {
            let new = from_source(source)?;
            Keyring::rotate_master(&store, &old, &new, &OsEntropy, SystemClock.now()).await?;
            "the data keys are wrapped with the new key; start the server with it from now on".to_owned()
        }
        None => rotate_file(&config, &store, &old).await?,
    };
    if global.json {
        out::json(&json!({ "rotated": true, "detail": told }));
    } else {
        out::line(told);
    }
    Ok(())
}

/// A new key replaces the generated one. The new file is on disk before the data keys are wrapped with it, and the old
/// one stays until after. A crash in between therefore loses nothing.
async fn rotate_file(config: &Config, store: &pyxis_store::Store, old: &MasterKey) -> Result<String> {
    if config.encryption_key.is_some() {
        bail!(
            "the current master key comes from a setting; name the new one with --new-key file:PATH or env:NAME"
        );
    }
    let (path, next) = (app::key_path(config), app::next_key_path(config));
    // Left over from a rotation that ended before anything was wrapped with it.
    if next.exists() {
        fs::remove_file(&next).with_context(|| format!("cannot remove {}", next.display()))?;
    }
    let new = MasterKey::generate(&OsEntropy);
    app::write_key(&next, &new)?;
    Keyring::rotate_master(store, old, &new, &OsEntropy, SystemClock.now()).await?;
    fs::rename(&next, &path).with_context(|| format!("cannot replace {}", path.display()))?;
    Ok(format!("the data keys are wrapped with a new key, now in {}", path.display()))
}

fn from_source(source: &str) -> Result<MasterKey> {
    let text = secrets::from_source(source, &ProcessEnv)?;
    MasterKey::parse(text.expose()).context("the new key")
}
