//! `pyxis score`.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_scoring::merkle::AddressTree;
use pyxis_scoring::service::score_attestations;
use pyxis_scoring::service::score_lists::{self, PassingList};
use pyxis_scoring::signed::{EasRequest, SignedAttestation, schema_uid};
use serde_json::json;

use super::{NOTHING_TO_DO, acting, out, scorers};
use crate::cli::{Global, ScoreCommand};

pub(super) async fn run(global: &Global, command: ScoreCommand) -> Result<ExitCode> {
    match command {
        ScoreCommand::Merkle { scorer, at, out } => merkle(global, scorer, at, &out).await,
        ScoreCommand::Eas { address, scorer, chain_id, contract, schema } => {
            let schema = schema.unwrap_or_else(|| schema_uid(EvmAddress([0; 20]), true));
            eas(global, scorer, address, EasRequest { chain_id, contract, schema }).await
        }
        ScoreCommand::Proof { address, list } => proof(global, address, &list),
    }
}

async fn merkle(global: &Global, scorer: ScorerId, at: Option<UnixMillis>, file: &Path) -> Result<ExitCode> {
    if file.exists() {
        bail!("{} exists; a list is never replaced, because its root may be in a contract", file.display());
    }
    let (app, actor) = acting(global).await?;
    scorers::check_known(&app, &actor, scorer).await?;
    let found = score_lists::passing(&app.scoring, &actor, scorer, at).await;
    app.gateway.audit.stop().await?;
    let PassingList { tree, at, partial } = found?;
    if partial > 0 {
        out::notice(format_args!(
            "warning: {} left off the list, because the score could be computed only in part",
            out::count_noun(partial, "passing address")
        ));
    }
    let Some(tree) = tree else {
        out::notice(format_args!("no address passes scorer {scorer}; no file was written"));
        return Ok(ExitCode::from(NOTHING_TO_DO));
    };
    write(&tree, file).with_context(|| format!("cannot write {}", file.display()))?;
    let (root, count) = (tree.root(), tree.count());
    if global.json {
        out::json(&json!({ "root": root, "count": count, "at": at.to_rfc3339(), "file": file }));
    } else {
        let addresses = out::count_noun(count, "address");
        out::line(format_args!("{addresses} in {}\nroot {root}", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

async fn eas(global: &Global, scorer: ScorerId, address: EvmAddress, asked: EasRequest) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    scorers::check_known(&app, &actor, scorer).await?;
    let made = score_attestations::attest(&app.scoring, &actor, scorer, address, asked).await;
    app.gateway.audit.stop().await?;
    let SignedAttestation { json, signer, calldata } = made?;
    out::json(&json!({
        "signer": signer,
        "attestation": json,
        "transaction": { "to": asked.contract, "data": calldata, "value": "0x0" },
    }));
    Ok(ExitCode::SUCCESS)
}

/// Writes the list under another name first, so that a file of this name is always whole.
fn write(tree: &AddressTree, file: &Path) -> Result<()> {
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let mut to = BufWriter::new(OpenOptions::new().write(true).create(true).truncate(true).open(&partial)?);
    for chunk in (0..).map_while(|number| tree.chunk(number)) {
        to.write_all(chunk.as_bytes())?;
    }
    to.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    // Unlike a rename, a link does not replace a file that appeared meanwhile.
    let linked = fs::hard_link(&partial, file);
    fs::remove_file(&partial)?;
    Ok(linked?)
}

fn proof(global: &Global, address: EvmAddress, file: &Path) -> Result<ExitCode> {
    let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let tree = AddressTree::read(&text).with_context(|| file.display().to_string())?;
    let Some(proof) = tree.proof(address) else {
        out::notice(format_args!("{address} is not on the list"));
        return Ok(ExitCode::FAILURE);
    };
    if global.json {
        out::json(&json!({ "root": tree.root(), "address": address, "proof": proof }));
    } else {
        out::line(proof.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}
