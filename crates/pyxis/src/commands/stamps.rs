//! `pyxis stamps`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::hex;
use pyxis_scoring::service::stamps::{self, Explored, StampFilter, StampLine, StampStatus};
use serde_json::{Value, json};

use super::{NOTHING_TO_DO, acting, out, scorers, stamp_signing};
use crate::cli::{Global, ManageStamps};

pub(super) async fn run(global: &Global, command: ManageStamps) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let changed = match command {
        ManageStamps::Sign(wanted) => {
            stamp_signing::run(state, &actor, wanted).await?;
            true
        }
        ManageStamps::Show { address, scorer } => {
            if let Some(scorer) = scorer {
                scorers::check_known(&app, &actor, scorer).await?;
            }
            print(
                global.json,
                &stamps::show(&state.store, actor.workspace, scorer, address, state.now()).await?,
            );
            true
        }
        ManageStamps::Revoke { digest, address, provider, reason } => {
            let which = if let Some(digest) = digest {
                StampFilter::Digest(stamps::read_digest(&digest)?)
            } else {
                let named = address.zip(provider);
                let (address, provider) = named.context("set --digest, or --address and --provider")?;
                StampFilter::Stored(address, provider)
            };
            let (digest, done) = stamps::revoke(state, &actor, which, reason).await?;
            let digest = format!("0x{}", hex::encode(&digest));
            if global.json {
                out::json(&json!({ "digest": digest, "revoked": done.new, "removed": done.removed }));
            } else {
                let word = if done.new { "revoked" } else { "was already revoked" };
                let stamp = if done.removed { "; its Stamp was removed" } else { "" };
                out::line(format_args!("{digest} {word}{stamp}"));
            }
            done.new
        }
    };
    app.gateway.audit.stop().await?;
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}

fn print(as_json: bool, found: &Explored) {
    let rows: Vec<Value> = found.stamps.iter().map(stamp_line_json).collect();
    if as_json {
        return out::json(&json!({
            "address": found.address, "scorer_id": found.scorer.id, "score": found.score,
            "passing_score": found.passing, "threshold": found.scorer.threshold, "stamps": rows, "damaged": found.damaged,
        }));
    }
    let (score, threshold) = (found.score, found.scorer.threshold);
    let passes = if found.passing { "passes" } else { "does not pass" };
    out::line(format_args!(
        "{} in scorer {}: {score} of {threshold}, {passes}",
        found.address, found.scorer.id
    ));
    let columns = ["provider", "weight", "contribution", "standing", "holder", "expires_at", "digest"];
    out::list(false, "Stamps", &columns, &rows);
    for damage in &found.damaged {
        out::line(format_args!("cannot be read and does not count: {damage}"));
    }
}

fn stamp_line_json(line: &StampLine) -> Value {
    let (holder, until) = match line.standing {
        StampStatus::Deduplicated { holder, until } => (Some(holder), Some(until.to_rfc3339())),
        StampStatus::Counts
        | StampStatus::KeepsWeight
        | StampStatus::NoWeight
        | StampStatus::Expired
        | StampStatus::NotYetValid => (None, None),
    };
    json!({
        "provider": line.stamp.provider,
        "issuer": line.stamp.issuer,
        "issued_at": line.stamp.issued_at.to_rfc3339(),
        "expires_at": line.stamp.expires_at.to_rfc3339(),
        "digest": format!("0x{}", hex::encode(&line.stamp.digest)),
        "weight": line.weight,
        "contribution": line.contribution,
        "standing": line.standing.as_str(),
        "holder": holder,
        "until": until,
    })
}
