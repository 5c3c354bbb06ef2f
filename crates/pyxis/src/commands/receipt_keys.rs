//! `pyxis receipt-key`.

use anyhow::Result;
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::receipts::keys::{self, ListedReceiptKey};
use serde_json::{Value, json};

use super::{acting, out};
use crate::cli::{Global, ReceiptKeyCommand};

pub(super) async fn run(global: &Global, command: ReceiptKeyCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let state = &app.gateway;
    let listed = match command {
        ReceiptKeyCommand::List => keys::list(state).await?,
        ReceiptKeyCommand::Rotate { compromised } => vec![keys::rotate(state, &actor, compromised).await?],
        ReceiptKeyCommand::Export => {
            out::json(&serde_json::to_value(keys::published(state).await?)?);
            return Ok(());
        }
    };
    let rows: Vec<Value> = listed.iter().map(key_json).collect();
    let columns = ["number", "status", "id", "created_at", "withdrawn_at"];
    out::list(global.json, "receipt keys", &columns, &rows);
    state.audit.stop().await?;
    Ok(())
}

fn key_json(key: &ListedReceiptKey) -> Value {
    json!({
        "number": key.row.number,
        "status": key.status,
        "id": key.kid,
        "created_at": key.row.created_at.to_rfc3339(),
        "withdrawn_at": key.row.withdrawn_at.map(UnixMillis::to_rfc3339),
    })
}
