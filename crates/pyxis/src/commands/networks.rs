//! `pyxis network`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_core::proof::Kind;
use pyxis_verify::service::networks::{self, NetworkStatus};
use serde_json::{Value, json};

use super::{open, out};
use crate::cli::{Global, NetworkCommand};

pub(super) async fn run(global: &Global, command: NetworkCommand) -> Result<ExitCode> {
    let app = open(global).await?;
    match command {
        NetworkCommand::List => {
            let rows: Vec<Value> = networks::list(&app.verify).await.iter().map(network_json).collect();
            let columns =
                ["name", "chain_id", "kinds", "sources", "clock", "head", "head_at", "latency_ms", "error"];
            out::list(global.json, "networks", &columns, &rows);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn network_json(standing: &NetworkStatus<'_>) -> Value {
    let head = standing.head.as_ref().ok();
    json!({
        "name": standing.network.name.as_str(),
        "chain_id": standing.network.chain_id,
        "kinds": standing.kinds.iter().copied().map(Kind::as_str).collect::<Vec<_>>(),
        "sources": standing.network.sources(),
        "clock": standing.clock,
        "head": head.map(|(block, _)| block.height),
        "head_at": head.map(|(block, _)| block.at.to_rfc3339()),
        "latency_ms": head.map(|(_, took)| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        "error": standing.head.as_ref().err(),
    })
}
