//! `pyxis migrate`, `doctor`.

mod browsers;
mod destinations;
mod hosts;
mod networks;
mod releases;
mod resolver;
mod trail;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::OsEntropy;
use pyxis_gateway::admin::channels;
use pyxis_store::audit::AuditKeys;
use pyxis_store::cipher::Keyring;
use pyxis_store::{Engine, Store, StoreError};
use serde_json::json;

use super::{NOTHING_TO_DO, out, quiet, settings};
use crate::app;
use crate::cli::Global;
use crate::config::Config;
use crate::config::env::ProcessEnv;
use crate::config::warnings::warnings;
use crate::open_files;
use crate::serve::default_base_url;
use crate::signed_head;

pub(super) async fn migrate(global: &Global) -> Result<ExitCode> {
    let config = settings(&quiet(global.flags()))?;
    // An empty PostgreSQL database may be migrated before its first start.
    if config.database.sqlite_path().is_some() {
        app::check_exists(&config)?;
    }
    let store = app::connect_store(&config)?;
    app::expect_sessions(&store).await?;
    let before = store.schema_version().await?;
    let level = app::migrate(&store).await?;
    let is_current = before == level;
    let value = json!({ "schema_version": level });
    if is_current {
        out::outcome(global.json, &value, format_args!("level {level}: nothing to do"));
    } else {
        out::outcome(global.json, &value, format_args!("the schema is now at level {level}"));
    }
    Ok(if is_current { ExitCode::from(NOTHING_TO_DO) } else { ExitCode::SUCCESS })
}

/// Advice for a database server that does not answer, or refuses.
const UNREACHABLE: &str =
    "check that the database server is running, and the address, database and role in PX_DATABASE_URL";
/// Advice where no database is and none is known to have been.
const NOT_HERE: &str = "check PX_DATA_DIR and PX_DATABASE_URL; for a new installation, run pyxis bootstrap";

/// Advice for a database that cannot be used.
fn unusable(store: &Store) -> &'static str {
    match store.engine() {
        Engine::Sqlite => trail::RESTORE,
        Engine::Postgres => UNREACHABLE,
    }
}

/// The error with the causes behind it, such as the words of PostgreSQL.
fn with_cause(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(behind) = cause {
        let words = behind.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = behind.source();
    }
    text
}

struct Finding {
    part: String,
    /// Additional information.
    detail: Option<String>,
    wrong: Option<String>,
    fix: &'static str,
}

impl Finding {
    fn good(part: impl Into<String>) -> Self {
        Self { part: part.into(), detail: None, wrong: None, fix: "" }
    }

    fn detail(self, detail: String) -> Self {
        Self { detail: Some(detail), ..self }
    }

    /// A part that works and is probably not as it was meant.
    fn doubtful(part: impl Into<String>, warning: String, fix: &'static str) -> Self {
        Self { part: part.into(), detail: Some(warning), wrong: None, fix }
    }

    fn bad(part: impl Into<String>, wrong: impl std::fmt::Display, fix: &'static str) -> Self {
        Self { part: part.into(), detail: None, wrong: Some(wrong.to_string()), fix }
    }
}

pub(super) async fn doctor(global: &Global) -> Result<ExitCode> {
    let config = settings(&quiet(global.flags()))?;
    let mut findings: Vec<Finding> = warnings(&global.flags(), &ProcessEnv)
        .into_iter()
        .map(|found| Finding::doubtful(found.place, found.message, found.fix))
        .collect();
    let complete = examine(&config, &mut findings).await;
    let healthy = findings.iter().all(|finding| finding.wrong.is_none());
    if global.json {
        let parts: Vec<_> = findings
            .iter()
            .map(|f| {
                json!({
                    "part": f.part, "ok": f.wrong.is_none(), "detail": f.detail, "wrong": f.wrong, "fix": f.fix,
                })
            })
            .collect();
        out::json(&json!({ "ok": healthy, "complete": complete, "parts": parts }));
    } else {
        for finding in &findings {
            match &finding.wrong {
                None if !finding.fix.is_empty() => {
                    let warning = finding.detail.as_deref().unwrap_or_default();
                    out::line(format_args!("warn  {}: {warning}\n      {}", finding.part, finding.fix));
                }
                None => {
                    let detail = finding.detail.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
                    out::line(format_args!("ok    {}{detail}", finding.part));
                }
                Some(wrong) => {
                    out::line(format_args!("WRONG {}: {wrong}\n      {}", finding.part, finding.fix));
                }
            }
        }
        if !complete {
            out::line("      the other parts are not checked until this is right");
        }
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Examines every part, deepest first. False if it stopped at one on which the rest depends. Changes nothing.
async fn examine(config: &Config, findings: &mut Vec<Finding>) -> bool {
    findings.push(data_dir(config));
    findings.push(open_files_limit(config));
    findings.extend(resolver::examine(config).await);
    let store = match usable_database(config).await {
        Ok(store) => store,
        Err(finding) => {
            findings.push(finding);
            return false;
        }
    };
    findings.push(Finding::good("database"));
    findings.push(trail::file(&store).await);
    let schema = schema(&store).await;
    let usable = schema.wrong.is_none();
    findings.push(schema);
    if !usable {
        return false;
    }
    let (key, keyring) = master_key(config, &store).await;
    findings.push(key);
    let has_key = keyring.is_some();
    if let Some(keyring) = keyring {
        findings.extend(trail::records(config, &store, &AuditKeys::new(&keyring)).await);
    }
    findings.extend(releases::examine(&store).await);
    findings.push(ca_file(config));
    findings.extend(destinations::backups(config).await);
    findings.extend(destinations::audit_push(config).await);
    findings.extend(hosts::examine(&store).await);
    findings.extend(browsers::examine(&store).await);
    findings.extend(networks::examine(config, &store).await);
    if has_key {
        findings.extend(chats(config).await);
    }
    has_key
}

/// The database, if it answers and holds the records that belong to the data directory.
async fn usable_database(config: &Config) -> Result<Store, Finding> {
    let part = "database";
    signed_head::expect_file(config).map_err(|error| trail::missing_database(&error))?;
    let store = open_existing(config).map_err(|error| {
        let is_here = config.database.sqlite_path().is_some_and(Path::exists);
        Finding::bad(part, format!("{error:#}"), if is_here { trail::RESTORE } else { NOT_HERE })
    })?;
    // Before any prepared statement, which a pooler in transaction mode refuses in other words.
    store.check_sessions().await.map_err(|error| {
        let fix = match &error {
            StoreError::Address(_) => "give Pyxis a session of its own",
            _ => unusable(&store),
        };
        Finding::bad(part, with_cause(&error), fix)
    })?;
    store.ping().await.map_err(|error| Finding::bad(part, with_cause(&error), unusable(&store)))?;
    // Everything below reads tables, which another release may have changed.
    match store.schema_version().await {
        Ok(_) => {}
        Err(StoreError::Schema(_)) => return Err(schema(&store).await),
        Err(error) => return Err(Finding::bad(part, with_cause(&error), unusable(&store))),
    }
    let records = signed_head::expect_records(config, &store).await;
    records.map_err(|error| trail::missing_database(&error))?;
    Ok(store)
}

/// The limit of a server started as this command was; a service manager may set another one.
fn open_files_limit(config: &Config) -> Finding {
    let shortage = match open_files::raise() {
        Ok(limit) => open_files::shortage(config.websockets_max, limit),
        Err(error) => Some(format!("the limit cannot be raised: {error}")),
    };
    match shortage {
        Some(warning) => Finding::doubtful("open files", warning, open_files::FIX),
        None => Finding::good("open files"),
    }
}

fn data_dir(config: &Config) -> Finding {
    use std::os::unix::fs::PermissionsExt;
    let part = "data directory";
    let Ok(meta) = std::fs::metadata(&config.data_dir) else {
        return Finding::bad(part, format!("{} does not exist", config.data_dir.display()), NOT_HERE);
    };
    if meta.permissions().mode() & 0o077 != 0 {
        return Finding::bad(part, "other users can read it", "chmod 700 the data directory");
    }
    let key = app::key_path(config);
    if std::fs::metadata(&key).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        return Finding::bad(part, "other users can read master.key", "chmod 600 master.key");
    }
    Finding::good(part)
}

fn open_existing(config: &Config) -> Result<Store> {
    if let Some(path) = config.database.sqlite_path()
        && !path.exists()
    {
        bail!("{} does not exist", path.display());
    }
    Store::open(&app::database_options(config)).context("cannot open the database")
}

async fn schema(store: &Store) -> Finding {
    let engine = match store.engine() {
        Engine::Sqlite => "schema (SQLite)",
        Engine::Postgres => "schema (PostgreSQL)",
    };
    let known = Store::wanted_schema_version();
    match store.schema_version().await {
        Ok(found) if found == known => Finding::good(engine).detail(format!("level {found}")),
        Ok(found) if found > known => Finding::good(engine).detail(format!(
            "level {found}: a newer release added to it, and this one, which knows level {known}, may go on using it"
        )),
        Ok(found) => Finding::bad(engine, format!("level {found}, not {known}"), "run pyxis migrate"),
        Err(error) => Finding::bad(engine, error, "see docs/guides/upgrade.md"),
    }
}

async fn master_key(config: &Config, store: &Store) -> (Finding, Option<Keyring>) {
    let part = "master key";
    if config.encryption_key.is_none() && !app::key_path(config).exists() {
        let wrong = "not found";
        return (Finding::bad(part, wrong, "restore master.key, or set PX_ENCRYPTION_KEY_FILE"), None);
    }
    let key = match app::master_key(config, &OsEntropy) {
        Ok(key) => key,
        Err(error) => {
            return (Finding::bad(part, format!("{error:#}"), "restore the key from its backup"), None);
        }
    };
    match Keyring::load(store, &key, &OsEntropy, SystemClock.now()).await {
        Ok(keyring) => (Finding::good(part), Some(keyring)),
        Err(error) => (Finding::bad(part, error, "use the key that belongs to this database"), None),
    }
}

/// The bots and their rooms, if there are any.
async fn chats(config: &Config) -> Vec<Finding> {
    const FIX: &str = "see docs/reference/notifications.md";
    if config.chats.platforms.is_empty() {
        return Vec::new();
    }
    let part = "chats";
    let base_url = config.base_url.clone().unwrap_or_else(|| default_base_url(config.listen));
    let app = match app::open(config.clone(), base_url).await {
        Ok(app) => app,
        Err(error) => return vec![Finding::bad(part, format!("{error:#}"), FIX)],
    };
    match channels::examine(&app.gateway).await {
        Ok(parts) => parts
            .into_iter()
            .map(|(part, wrong)| match wrong {
                None => Finding::good(&part),
                Some(wrong) => Finding::bad(&part, wrong, FIX),
            })
            .collect(),
        Err(error) => vec![Finding::bad(part, error, FIX)],
    }
}

fn ca_file(config: &Config) -> Finding {
    let part = "egress certificates";
    let Some(path) = &config.egress_ca_file else { return Finding::good(part) };
    match std::fs::read(path).map(|pem| pyxis_net::tls::roots_from_pem(&pem)) {
        Ok(Ok(_)) => Finding::good(part),
        Ok(Err(error)) => Finding::bad(part, error, "PX_EGRESS_CA_FILE must hold PEM certificates"),
        Err(error) => Finding::bad(part, error, "PX_EGRESS_CA_FILE cannot be read"),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_error_of_the_database_is_shown_with_its_cause() {
        let refused = io::Error::other("FATAL: database \"nodb\" does not exist");
        let shown = with_cause(&StoreError::Unavailable(Arc::new(refused)));
        assert_eq!(shown, "the database is not available: FATAL: database \"nodb\" does not exist");
    }
}
