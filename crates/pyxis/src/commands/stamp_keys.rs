//! `pyxis stamp-key`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_scoring::service::stamp_keys::{self, ListedStampKey};
use serde_json::{Value, json};

use super::{acting, out};
use crate::cli::{Global, StampKeyCommand};

pub(super) async fn run(global: &Global, command: StampKeyCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let keys = match command {
        StampKeyCommand::List => stamp_keys::list(&state.store, actor.workspace).await?,
        StampKeyCommand::Rotate { compromised } => {
            vec![stamp_keys::rotate(state, &actor, compromised).await?]
        }
    };
    let rows: Vec<Value> = keys.iter().map(key_json).collect();
    out::list(global.json, "stamp keys", &["number", "did", "signs", "trusted", "created_at"], &rows);
    app.gateway.audit.stop().await?;
    Ok(ExitCode::SUCCESS)
}

fn key_json(key: &ListedStampKey) -> Value {
    json!({
        "number": key.row.number,
        "did": key.row.did,
        "signs": key.signs,
        "trusted": key.trusted,
        "created_at": key.row.created_at.to_rfc3339(),
    })
}
