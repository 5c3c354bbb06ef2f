//! `pyxis status`: the state of a running server.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use http::{Request, StatusCode};
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_net::Client;
use pyxis_net::body::{empty, read_capped};
use pyxis_store::{Store, home};
use serde_json::{Value, json};

use super::person_api::PersonApi;
use super::{connect, healthcheck, out, quiet, saved_login, settings};
use crate::app;
use crate::cli::{Global, PersonOptions};
use crate::config::Config;
use crate::running;
use crate::scheduled_backups;

/// Time until an answer begins.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer, in bytes; the API's description is the longest.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;

/// Prints what is known. Exit 1 unless the server is ready.
pub(super) async fn run(global: &Global, options: &PersonOptions) -> Result<ExitCode> {
    let config = settings(&quiet(global.flags()))?;
    let AskedServer { url, login_url } = asked_server(&config, options)?;
    // The address is the operator's own, and often a private one.
    let client = app::client(&config)?.private();
    let mut status = json!({ "url": url });
    let readiness = get(&client, &format!("{url}/readyz")).await;
    let is_ready = match &readiness {
        Err(error) => {
            status["reachable"] = false.into();
            status["reason"] = format!("{error:#}").into();
            false
        }
        Ok((code, parts)) => {
            status["reachable"] = true.into();
            let state = parts["status"].as_str();
            status["status"] = state.unwrap_or("not a Pyxis server").into();
            for part in ["database", "audit", "resolver"] {
                status[part] = parts[part].clone();
            }
            *code == StatusCode::OK && state == Some("ok")
        }
    };
    status["ready"] = is_ready.into();
    if readiness.is_ok() {
        let described = get(&client, &format!("{url}/openapi.json")).await;
        status["version"] =
            described.map(|(_, document)| document["info"]["version"].clone()).unwrap_or_default();
        status["pending"] = pending(&config, &login_url, options).await;
    }
    status["last_backup"] = last_backup(&config).await;
    print(global.json, &status);
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The server that is asked, and the URL that a login for it has.
struct AskedServer {
    url: String,
    login_url: String,
}

/// The named server, the one that runs here, that of the login, or the default one.
fn asked_server(config: &Config, options: &PersonOptions) -> Result<AskedServer> {
    let same = |url: String| AskedServer { login_url: url.clone(), url };
    if let Some((name, url)) = connect::given_url(options.url.as_deref()) {
        return connect::base_url(name, &url).map(same);
    }
    if let Some(server) = running::find(&config.data_dir) {
        let url = format!("http://{}", healthcheck::reachable(server.address));
        return Ok(AskedServer { url, login_url: server.base_url });
    }
    match saved_login::person().ok().flatten() {
        Some(saved) => Ok(same(saved.url)),
        None => healthcheck::local_server_url(config).map(same),
    }
}

async fn get(client: &Client, url: &str) -> Result<(StatusCode, Value)> {
    let request = Request::get(url).body(empty())?;
    let failed = |error: pyxis_net::Error| anyhow!("{}", error.public_message());
    let response = client.send(request, TIMEOUT).await.map_err(failed)?;
    let status = response.status();
    let body = read_capped(response.into_body(), MAX_RESPONSE).await.map_err(failed)?;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Number of pending requests, for a person who is signed in to this server.
async fn pending(config: &Config, login_url: &str, options: &PersonOptions) -> Value {
    let options = PersonOptions { url: Some(login_url.to_owned()), token_env: options.token_env.clone() };
    let Ok(api) = PersonApi::new(config, &options) else { return Value::Null };
    super::decisions::all_pending(&api).await.map_or(Value::Null, |pending| pending.len().into())
}

/// Time of the newest backup that is complete: as the database has it, or in the directory of the settings.
async fn last_backup(config: &Config) -> Value {
    let recorded = tokio::time::timeout(TIMEOUT, recorded_backup(config)).await.ok().flatten();
    // A file in the directory is complete unless it must be uploaded too.
    let complete_here = config.backups.as_ref().filter(|backups| backups.storage.is_none());
    let newest = recorded.max(complete_here.and_then(scheduled_backups::newest));
    newest.map_or(Value::Null, |made| made.to_rfc3339().into())
}

/// The backup that the database of the settings remembers. Nothing is created or migrated.
async fn recorded_backup(config: &Config) -> Option<UnixMillis> {
    app::check_exists(config).ok()?;
    let store = Store::open(&app::database_options(config)).ok()?;
    home::last_backup(&store).await.ok()?
}

fn print(as_json: bool, status: &Value) {
    if as_json {
        return out::json(status);
    }
    let text = |name: &str| status[name].as_str().map(out::on_one_line);
    out::line(format_args!("server       {}", text("url").unwrap_or_default()));
    if status["reachable"] == false {
        out::line(format_args!("reachable    no: {}", text("reason").unwrap_or_default()));
    } else {
        out::line(format_args!("version      {}", text("version").unwrap_or_else(|| "unknown".to_owned())));
        let ready = if status["ready"] == true {
            "yes".to_owned()
        } else {
            format!("no: {}", text("status").unwrap_or_default())
        };
        out::line(format_args!("ready        {ready}"));
        for part in ["database", "audit", "resolver"] {
            out::line(format_args!("{part:<12} {}", text(part).unwrap_or_else(|| "unknown".to_owned())));
        }
        let pending = status["pending"].as_u64().map(|count| count.to_string());
        out::line(format_args!(
            "pending      {}",
            pending.as_deref().unwrap_or("unknown: `pyxis login` with your access token shows it")
        ));
    }
    let backup = text("last_backup").map(|at| {
        let made = UnixMillis::parse_rfc3339(&at);
        let age = made.map(|made| SystemClock.now().since(made).as_secs() / 3600);
        age.map_or_else(|| at.clone(), |hours| format!("{at} ({} ago)", out::count_noun(hours, "hour")))
    });
    out::line(format_args!(
        "last backup  {}",
        backup.as_deref().unwrap_or("unknown: no complete backup is recorded here")
    ));
}
