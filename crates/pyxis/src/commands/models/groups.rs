//! `pyxis models clusters`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use pyxis_models::clusters::{Group, SharedCounterparty};
use pyxis_models::plot;
use pyxis_scoring::service::clusters::{self, ClusterFormat};
use pyxis_store::models;
use serde_json::{Value, json};

use crate::app::App;
use crate::commands::{out, streamed};

/// Writes all groups with all their members to a file.
pub(super) async fn export(app: &App, as_json: bool, format: ClusterFormat, file: &Path) -> Result<()> {
    streamed::check_output(file)?;
    let pieces = clusters::export(app.store.clone(), format)?;
    let bytes = streamed::write(pieces, file).await?;
    streamed::print_result(as_json, file, bytes);
    Ok(())
}

pub(super) async fn run(app: &App, as_json: bool, limit: i64, plots: Option<&Path>) -> Result<()> {
    let mut groups: Vec<Group> = Vec::new();
    for (_, document) in models::groups(&app.store, 1, limit.max(0)).await? {
        groups.push(
            serde_json::from_str(&document)
                .context("a stored group is damaged; run pyxis activity rebuild")?,
        );
    }
    if let Some(directory) = plots {
        fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
        for group in &groups {
            fs::write(directory.join(format!("{}.svg", group.id)), plot::group(group))?;
        }
    }
    let rows: Vec<Value> = groups.iter().map(|group| row(group, as_json)).collect();
    let columns = [
        "group",
        "users",
        "median_score",
        "shared_funder",
        "funded",
        "shared_sink",
        "collected",
        "same_day",
        "transfers_within",
    ];
    out::list(as_json, "suspected groups", &columns, &rows);
    Ok(())
}

fn row(group: &Group, with_members: bool) -> Value {
    let address = |shared: &Option<SharedCounterparty>| shared.as_ref().map(|shared| shared.address);
    let members = |shared: &Option<SharedCounterparty>| shared.as_ref().map(|shared| shared.members);
    let mut row = json!({
        "group": group.id,
        "users": group.size,
        "median_score": group.median_score,
        "shared_funder": address(&group.shared_funder),
        "funded": members(&group.shared_funder),
        "shared_sink": address(&group.shared_sink),
        "collected": members(&group.shared_sink),
        "same_day": group.same_day,
        "transfers_within": group.transfers_within,
    });
    if with_members {
        row["members"] = json!(group.members);
    }
    row
}
