//! `pyxis inbox`, `pyxis approve`, `pyxis deny` and `pyxis task`: a person decides from a terminal, against a running server.

mod tasks;
mod view;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::id::TxnId;
use serde_json::{Map, Value, json};

use super::confirm::confirm;
use super::person_api::PersonApi;
use super::{out, quiet, settings};
use crate::cli::{Approve, Deny, Global, PersonOptions, TaskCommand};
use crate::config::Config;

/// Transactions in one answer.
const PAGE: usize = 500;

/// Lists pending requests and proposed tasks.
pub(super) async fn inbox(global: &Global, options: &PersonOptions) -> Result<()> {
    let api = PersonApi::new(&config(global)?, options)?;
    let (pending, proposed) = (all_pending(&api).await?, tasks::all_proposed(&api).await?);
    let now = SystemClock.now();
    if global.json {
        view::json_list(&pending, &proposed, now);
        return Ok(());
    }
    view::list(&pending, now);
    if !proposed.is_empty() {
        out::line("");
        tasks::list(&proposed, now);
    }
    Ok(())
}

/// Shows, approves, denies or stops a task.
pub(super) async fn task(global: &Global, command: TaskCommand) -> Result<()> {
    tasks::run(&config(global)?, global.json, command).await
}

/// Every pending request that the person may decide, newest first.
pub(super) async fn all_pending(api: &PersonApi) -> Result<Vec<Value>> {
    let mut pending = Vec::new();
    let mut path = format!("/approvals?state=pending&limit={PAGE}");
    loop {
        let answer = api.get(&path).await?;
        let page = answer["approvals"].as_array().context("the server's answer has no list of approvals")?;
        pending.extend(page.iter().cloned());
        let Some(next) = answer["next_before"].as_str() else { return Ok(pending) };
        path = format!("/approvals?state=pending&limit={PAGE}&before={next}");
    }
}

/// Approves a request after showing it.
pub(super) async fn approve(global: &Global, options: Approve) -> Result<()> {
    let Approve { txn, reason, grant, agent_only, max_uses, confirmation, person } = options;
    let id = transaction(&txn)?;
    let api = PersonApi::new(&config(global)?, &person)?;
    let shown = pending(&api, &id).await?;
    if shown["passkey_required"] == true {
        let page = shown["approval_url"].as_str().unwrap_or(api.url());
        bail!("this request needs a passkey; open {page}");
    }
    // Standard output is for the result.
    out::notice(view::request(&shown, SystemClock.now()));
    let grant_seconds = grant.map(|grant| grant.as_secs());
    if let Some(seconds) = grant_seconds {
        out::notice(view::grant(&shown, seconds, agent_only, max_uses));
    }
    confirm(confirmation, "approve this request")?;
    let mut body = Map::new();
    if let Some(reason) = reason {
        body.insert("reason".to_owned(), reason.into());
    }
    if let Some(seconds) = grant_seconds {
        body.insert("grant_seconds".to_owned(), seconds.into());
        body.insert("agent_only".to_owned(), agent_only.into());
    }
    if let Some(uses) = max_uses {
        body.insert("max_uses".to_owned(), uses.into());
    }
    let decided = decide(&api, &id, "approve", &Value::Object(body)).await?;
    let text = if decided["status"] == "pending" {
        format!(
            "your approval of {id} is recorded: {} of {}; the request stays pending",
            decided["approvals"], decided["min_approvals"]
        )
    } else {
        let grant = decided["grant_id"].as_str().map(|grant| format!("; grant {grant} is open"));
        format!("approved {id}{}", grant.unwrap_or_default())
    };
    out::outcome(global.json, &with_id(decided, &id), text);
    Ok(())
}

/// Denies a request.
pub(super) async fn deny(global: &Global, options: Deny) -> Result<()> {
    let id = transaction(&options.txn)?;
    let api = PersonApi::new(&config(global)?, &options.person)?;
    let body = options.reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
    let decided = decide(&api, &id, "deny", &body).await?;
    out::outcome(global.json, &with_id(decided, &id), format_args!("denied {id}"));
    Ok(())
}

fn config(global: &Global) -> Result<Config> {
    settings(&quiet(global.flags()))
}

/// The id in an argument, which may be the link of the approval page.
fn transaction(text: &str) -> Result<TxnId> {
    let path = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let id = path.rsplit('/').next().unwrap_or_default();
    id.parse().ok().with_context(|| format!("{text} is not a transaction id; `pyxis inbox` shows the ids"))
}

/// The request with this id. Fails unless it is pending.
async fn pending(api: &PersonApi, id: &TxnId) -> Result<Value> {
    let shown = known(api.get(&format!("/approvals/{id}")).await, id)?;
    let by = || shown["decided_by"].as_str().map(|by| format!(" by {by}")).unwrap_or_default();
    match shown["status"].as_str() {
        Some("pending") => Ok(shown),
        Some("expired") => bail!("the request {id} expired before it was decided; nothing was sent"),
        Some(state) => bail!("the request {id} is already {state}{}", by()),
        None => bail!("the server's answer has no status"),
    }
}

async fn decide(api: &PersonApi, id: &TxnId, verb: &str, body: &Value) -> Result<Value> {
    known(api.post(&format!("/approvals/{id}/{verb}"), body).await, id)
}

/// Says where ids come from if this one is unknown.
fn known(answer: Result<Value>, id: &TxnId) -> Result<Value> {
    answer.map_err(|error| match error.downcast_ref::<super::person_api::UnknownItem>() {
        Some(_) => anyhow::anyhow!("there is no request {id} here; `pyxis inbox` shows pending requests"),
        None => error,
    })
}

fn with_id(mut decided: Value, id: &TxnId) -> Value {
    decided["txn_id"] = id.to_string().into();
    decided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_named_by_its_id_or_its_link() {
        let id = "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11";
        for text in [
            id.to_owned(),
            format!("https://pyxis.example/approve/{id}"),
            format!("https://pyxis.example/approve/{id}/?from=mail#top"),
        ] {
            assert_eq!(transaction(&text).unwrap().to_string(), id, "{text}");
        }
        for wrong in ["", "7d9f", "../admin", "https://pyxis.example/approve/"] {
            assert!(transaction(wrong).unwrap_err().to_string().contains("pyxis inbox"), "{wrong}");
        }
    }
}
