//! `pyxis score-key`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use pyxis_core::clock::UnixMillis;
use pyxis_scoring::service::score_keys::{self, ListedKey, Rotation};
use pyxis_store::score_keys::ScoreKeyScheme;
use serde_json::{Value, json};

use super::{acting, out};
use crate::cli::{Global, ScoreKeyCommand};

pub(super) async fn run(global: &Global, command: ScoreKeyCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let keys = match command {
        ScoreKeyCommand::List => score_keys::list(&state.signer, state.now()).await?,
        ScoreKeyCommand::Rotate { scheme, after, compromised } => {
            let scheme = ScoreKeyScheme::from_name(&scheme).context("unknown scheme; use es256 or eip712")?;
            let signs_from = after.map(|days| state.now().plus(Duration::from_hours(24 * u64::from(days))));
            vec![score_keys::rotate(state, &actor, scheme, Rotation { signs_from, compromised }).await?]
        }
    };
    let now = state.now();
    let rows: Vec<Value> = keys.iter().map(|key| key_json(key, now)).collect();
    let columns = ["scheme", "number", "status", "id", "signs_from", "signs_until", "trusted_until"];
    out::list(global.json, "score keys", &columns, &rows);
    app.gateway.audit.stop().await?;
    Ok(ExitCode::SUCCESS)
}

fn key_json(key: &ListedKey, now: UnixMillis) -> Value {
    json!({
        "scheme": key.row.scheme.as_str(),
        "number": key.row.number,
        "status": key.status(now),
        "id": key.id(),
        "signs_from": key.times.signs_from.to_rfc3339(),
        "signs_until": key.times.signs_until.map(UnixMillis::to_rfc3339),
        "trusted_until": key.times.trusted_until.map(UnixMillis::to_rfc3339),
    })
}
