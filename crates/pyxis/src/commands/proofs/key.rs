//! Keys of issuers who sign on the command line.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_core::entropy::{Entropy, OsEntropy};
use pyxis_core::hex;
use pyxis_core::secret::{SecretBytes, SecretString};
use pyxis_verify::registry::IssuerKey;
use serde_json::json;

use super::super::out;
use crate::cli::Global;
use crate::config::env::ProcessEnv;
use crate::config::secrets::from_source;

/// The current time.
pub(super) fn now() -> UnixMillis {
    SystemClock.now()
}

/// Writes a new key that only this user can read. Never replaces an existing one.
pub(super) fn generate(global: &Global, path: &Path) -> Result<ExitCode> {
    let mut seed = vec![0; 32];
    OsEntropy.fill(&mut seed);
    let seed = SecretBytes::new(seed);
    let key = IssuerKey::from_seed(&seed).context("a key has 32 bytes")?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let text = SecretString::new(hex::encode(seed.expose()) + "\n");
    file.write_all(text.expose().as_bytes())?;
    let issuer = key.issuer().to_string();
    if global.json {
        out::json(&json!({ "issuer": issuer, "file": path.display().to_string() }));
    } else {
        out::line(issuer);
    }
    Ok(ExitCode::SUCCESS)
}

/// `file:PATH` or `env:NAME`: a secret is never given on a command line.
pub(super) fn read(source: &str) -> Result<IssuerKey> {
    let text = from_source(source, &ProcessEnv).context("--key")?;
    let seed = seed(text.expose().trim()).context("the key must be 64 hex characters")?;
    IssuerKey::from_seed(&seed).context("a key has 32 bytes")
}

fn seed(text: &str) -> Option<SecretBytes> {
    let (pairs, rest) = text.strip_prefix("0x").unwrap_or(text).as_bytes().as_chunks::<2>();
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?)).collect();
    bytes.filter(|bytes| rest.is_empty() && bytes.len() == 32).map(SecretBytes::new)
}
