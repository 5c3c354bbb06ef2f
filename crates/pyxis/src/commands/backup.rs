//! `pyxis backup`, `restore`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::OsEntropy;
use pyxis_store::audit::AuditKeys;
use pyxis_store::backup::{self, TrailCheck};
use pyxis_store::{Store, audit, home};
use serde_json::json;

use super::{out, quiet, settings};
use crate::cli::Global;
use crate::config::Config;
use crate::{app, signed_head};

pub(super) async fn backup(global: &Global, file: &Path, without_audit_check: bool) -> Result<()> {
    if file.exists() {
        bail!("{} already exists; choose a new file name", file.display());
    }
    if let Some(directory) = file.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir())
    {
        bail!("{} does not exist; create it first", directory.display());
    }
    let config = settings(&quiet(global.flags()))?;
    signed_head::expect_file(&config)?;
    // With PostgreSQL, the check of the audit trail below says that the master key is missing.
    if config.database.sqlite_path().is_some() {
        app::check_exists(&config)?;
    }
    let store = app::open_store(&config).await?;
    let head = signed_head::read(&config);
    let (keys, head) =
        if without_audit_check { (None, None) } else { (Some(trail_keys(&config, &store).await?), head?) };
    let trail = keys.as_ref().map(|keys| TrailCheck { keys, head: head.as_ref() });
    let bar = out::progress("copying");
    let shown = bar.clone();
    let records =
        backup::write(&store, file, trail, move |progress| shown.set_position(progress.done)).await?;
    bar.finish_and_clear();
    // The backup is complete, whether or not the home page learns of it.
    if let Err(error) = home::record_backup(&store, SystemClock.now()).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "the time of the backup was not recorded");
    }
    let told = "it does not contain the master key; store that separately and safely";
    if global.json {
        out::json(&json!({ "file": file, "audit_records": records, "detail": told }));
    } else {
        out::line(format_args!("wrote {}; {told}", file.display()));
    }
    Ok(())
}

/// Keys of the audit trail. An empty database has no records, and gets no master key here.
async fn trail_keys(config: &Config, store: &Store) -> Result<AuditKeys> {
    if config.encryption_key.is_none() && !app::key_path(config).exists() {
        bail!(
            "the master key is not here, so the audit trail cannot be checked; set PX_ENCRYPTION_KEY_FILE, or add \
             --without-audit-check"
        );
    }
    if audit::newest(store).await? == 0 {
        bail!("the database is empty; check PX_DATABASE_URL and PX_DATA_DIR, or add --without-audit-check");
    }
    let keyring = app::keyring(config, store, &OsEntropy, SystemClock.now()).await?;
    Ok(AuditKeys::new(&keyring))
}

pub(super) async fn restore(global: &Global, file: &Path) -> Result<()> {
    if !file.is_file() {
        bail!("{} does not exist", file.display());
    }
    let config = settings(&quiet(global.flags()))?;
    let store = app::open_store(&config).await?;
    let bar = out::progress("restoring");
    let shown = bar.clone();
    backup::restore(&store, file, move |progress| shown.set_position(progress.done)).await?;
    bar.finish_and_clear();
    // It names the head of the audit trail that was here before.
    let head = signed_head::path(&config);
    if head.exists() {
        let aside = head.with_extension("json.before-restore");
        std::fs::rename(&head, &aside).with_context(|| format!("cannot move {}", head.display()))?;
    }
    if global.json {
        out::json(&json!({ "restored": file }));
    } else {
        out::line(format_args!(
            "restored from {}; start the server with the master key that was in use when the backup was made",
            file.display()
        ));
    }
    Ok(())
}
