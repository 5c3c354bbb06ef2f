//! `pyxis audit receipt` and `pyxis audit verify-receipt`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_core::id::TxnId;
use pyxis_gateway::{Error, ReceiptWait, receipts};
use pyxis_signing::receipt::{self, ReceiptClaims, ReceiptKeySet, VerifiedReceipt};
use serde_json::json;

use super::{open_with, out, quiet, settings, workspace};
use crate::app::{self, App};
use crate::cli::Global;

/// Largest file that is read. A receipt has a few dozen kilobytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// Issues a receipt. Hashes audit records first, however many there are.
pub(super) async fn write(app: &App, global: &Global, txn: TxnId, file: Option<&Path>) -> Result<()> {
    let workspace = workspace(app, global).await?.id;
    let bar = out::progress("hashing records");
    let receipt = loop {
        match receipts::issue(&app.gateway, workspace, txn).await {
            Err(Error::ReceiptNotReady(ReceiptWait::Preparing { hashed, .. })) => {
                bar.set_position(hashed.unsigned_abs());
            }
            receipt => break receipt?,
        }
    };
    bar.finish_and_clear();
    app.gateway.audit.stop().await?;
    let Some(file) = file else {
        if global.json {
            out::json(&json!({ "txn_id": txn, "receipt": receipt }));
        } else {
            out::line(receipt);
        }
        return Ok(());
    };
    let cannot = || format!("cannot write {}; it must not exist yet", file.display());
    let mut new = fs::File::options().write(true).create_new(true).open(file).with_context(cannot)?;
    new.write_all(receipt.as_bytes()).and_then(|()| new.sync_all()).with_context(cannot)?;
    let value = json!({ "txn_id": txn, "file": file });
    out::outcome(global.json, &value, format_args!("wrote the receipt to {}", file.display()));
    Ok(())
}

/// Keys to verify with.
struct TrustedKeys {
    keys: ReceiptKeySet,
    /// File or installation that they come from.
    origin: String,
}

impl TrustedKeys {
    /// The keys in a file. Nothing else is read.
    fn from_file(file: &Path) -> Result<Self> {
        let keys = ReceiptKeySet::parse(&read(file)?).with_context(|| file.display().to_string())?;
        Ok(Self { keys, origin: file.display().to_string() })
    }

    /// The published keys of the installation here.
    async fn of_installation(global: &Global) -> Result<Self> {
        let config = settings(&quiet(global.flags()))?;
        if app::check_exists(&config).is_ok() {
            let origin = format!("the installation in {}", config.data_dir.display());
            let app = open_with(config).await?;
            let keys = receipts::keys::published(&app.gateway).await?;
            app.gateway.audit.stop().await?;
            return Ok(Self { keys, origin });
        }
        // A file next to the receipt may come from the person who forged it.
        bail!(
            "no keys to verify with: there is no installation here. Save the issuer's \
             /.well-known/pyxis-receipt-keys from a place that you trust, and name the file with --keys FILE"
        )
    }
}

/// Verifies a receipt with the keys in a file, or with those of the installation here, and prints what was verified.
pub(super) async fn verify(global: &Global, file: &Path, keys: Option<&Path>) -> Result<ExitCode> {
    let token = read(file)?;
    let TrustedKeys { keys: trusted, origin } = match keys {
        Some(keys) => TrustedKeys::from_file(keys)?,
        None => Box::pin(TrustedKeys::of_installation(global)).await?,
    };
    if keys.is_none() && !global.json {
        out::notice(format_args!("keys: {origin}"));
    }
    match receipt::verify(token.trim(), &trusted) {
        Ok(verified) => {
            print(global.json, &verified, &origin);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            if global.json {
                out::json(&json!({ "ok": false, "error": error.to_string(), "keys": origin }));
            } else {
                out::line(format_args!("NOT GENUINE: {error}"));
                if keys.is_none() {
                    out::notice(
                        "a receipt of another installation needs its own keys: name them with --keys FILE",
                    );
                }
            }
            Ok(ExitCode::FAILURE)
        }
    }
}

fn read(file: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", file.display());
    let length = fs::metadata(file).with_context(cannot)?.len();
    anyhow::ensure!(length <= MAX_FILE, "{} is too large: {length} bytes", file.display());
    fs::read_to_string(file).with_context(cannot)
}

fn print(as_json: bool, verified: &VerifiedReceipt, keys: &str) {
    let claims = &verified.claims;
    if as_json {
        out::json(&json!({ "ok": true, "verified": verified.steps, "receipt": claims, "keys": keys }));
        return;
    }
    for step in &verified.steps {
        out::line(format_args!("verified: {step}"));
    }
    for line in describe(claims) {
        // Names are chosen by people and agents.
        out::line(out::on_one_line(&line));
    }
}

/// The receipt in words.
fn describe(claims: &ReceiptClaims) -> Vec<String> {
    let (request, decision, outcome) = (&claims.request, &claims.decision, &claims.outcome);
    let target = request.target.as_deref().unwrap_or(&request.host);
    let mut lines = vec![
        format!("transaction {} of {}, workspace {}", claims.sub, claims.iss, claims.workspace.name),
        format!(
            "{}: agent {} asked for {} {target} with credential {}",
            request.at, claims.agent.name, request.method, claims.credential.name
        ),
        format!("request digest {}", request.digest),
    ];
    lines.extend(claims.votes.iter().map(|vote| {
        let account = vote.chat.as_ref().map(|chat| format!(" ({} {})", chat.platform, chat.account));
        format!(
            "{}: {} by {} ({}), {}{}",
            vote.at,
            vote.verdict,
            vote.by.name,
            vote.by.id,
            vote.ceremony,
            account.unwrap_or_default()
        )
    }));
    let quorum = match (decision.approvals, decision.min_approvals) {
        (Some(given), Some(needed)) => format!(" with {given} of {needed} approvals"),
        _ => String::new(),
    };
    lines.push(format!("{}: {}{quorum}", decision.at, decision.verdict));
    if let Some(grant) = &claims.grant {
        lines.push(format!("grant {} until {}", grant.id, grant.expires_at.as_deref().unwrap_or("its end")));
    }
    if let Some(sent) = &claims.sent {
        lines.push(format!("{}: sent {}", sent.at, sent.digest.as_deref().unwrap_or("the approved request")));
    }
    let status = outcome.upstream_status.map(|status| format!(", status {status}")).unwrap_or_default();
    let error = outcome.error.as_ref().map(|error| format!(", {error}")).unwrap_or_default();
    lines.push(format!("outcome: {}{status}{error}", outcome.status));
    if let Some(response) = &outcome.response {
        let part = if response.truncated { " (its stored beginning)" } else { "" };
        lines.push(format!("response body SHA-256 {}{part}", response.body_sha256));
    }
    lines
}
