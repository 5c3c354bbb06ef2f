//! The databases, the audit trail in them, and backups.

use pyxis_testkit::postgres::Database;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;
use tokio::task::JoinSet;

use super::Effect::{By, Dated, Rises};
use super::{causes, is_recent, measured};
use crate::support::metrics::{page, value};
use crate::support::{App, Setup, Site, until};

/// More pages than the log has when a checkpoint begins. This connection moves none of them itself.
const FILL: &str = "PRAGMA wal_autocheckpoint = 0; \
     INSERT INTO meta (key, value) VALUES ('filler', hex(zeroblob(12000000)))";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_sqlite_is_measured() {
    let site = Site::with(measured(Setup::new())).await;
    let write = async || drop(site.pause("/write").await);
    causes(
        &site.app,
        write,
        &[
            ("pyxis_store_commit_seconds_count", Rises),
            ("pyxis_store_sync_seconds_count", Rises),
            ("pyxis_store_wal_bytes", Rises),
        ],
    )
    .await;
    let signed = async || {
        value(&page(&site.app).await, "pyxis_audit_head_timestamp_seconds").filter(|time| is_recent(*time))
    };
    until("a signed head", signed).await;
    let fill = async || {
        site.app.sql(FILL);
        // The writer looks at the log after its own commits.
        drop(site.pause("/next").await);
    };
    causes(&site.app, fill, &[("pyxis_store_checkpoint_seconds_count", Rises)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_and_the_audit_queue_are_measured_while_postgres_is_locked() {
    let setup = measured(Setup::on(Database::migrated("measured locks").await));
    let site =
        Site::with(setup.env("PX_DATABASE_TIMEOUT_SECS", "6").env("PX_DATABASE_STATEMENT_SECS", "8")).await;
    site.forward("GET", "/before").send().await.forwarded(200);
    assert!(
        value(&page(&site.app).await, "pyxis_store_connections{state=\"idle\"}")
            .is_some_and(|idle| idle > 0.0)
    );

    // Records cannot be appended: the first batch waits for the table, the others for the batch.
    let mut calls = JoinSet::new();
    let held = site.app.postgres().hold("LOCK TABLE audit_records IN EXCLUSIVE MODE").await;
    let append = async || {
        calls.spawn(site.forward("GET", "/queued").attempt());
        site.app.postgres().until_one_waits().await;
        for _ in 0..10 {
            calls.spawn(site.forward("GET", "/queued").attempt());
        }
    };
    causes(
        &site.app,
        append,
        &[("pyxis_audit_queue_records", Rises), ("pyxis_audit_append_failures_total", Rises)],
    )
    .await;
    held.release().await;
    while calls.join_next().await.is_some() {}

    // Reads of approvals take every connection, and more wait for one.
    let held = site.app.postgres().hold("LOCK TABLE approvals IN ACCESS EXCLUSIVE MODE").await;
    let read = async || {
        for _ in 0..100 {
            calls.spawn(site.owner.client.get("/approvals").attempt());
        }
        site.app.postgres().until_one_waits().await;
    };
    causes(
        &site.app,
        read,
        &[
            ("pyxis_store_connections{state=\"in_use\"}", Rises),
            ("pyxis_store_connection_waiters", Rises),
            ("pyxis_store_acquire_failures_total", Rises),
        ],
    )
    .await;
    held.release().await;
    while calls.join_next().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_trail_is_counted() {
    let site = Site::with(measured(Setup::new())).await;
    site.forward("GET", "/one").send().await.forwarded(200);
    until("a signed head", async || {
        let newest = site.app.sql("SELECT CAST(max(seq) AS TEXT) FROM audit_records")[0].clone();
        let signed =
            site.app.sql("SELECT COALESCE(CAST(max(seq) AS TEXT), '') FROM audit_checkpoints")[0].clone();
        page(&site.app).await;
        (newest == signed).then_some(())
    })
    .await;
    let cut = async || {
        site.app.sql(
            "DELETE FROM audit_records WHERE seq > 1; DELETE FROM audit_checkpoints WHERE seq > 1; \
             UPDATE audit_head SET seq = 1, mac = (SELECT mac FROM audit_records WHERE seq = 1)",
        );
        // The server signs again once there is something new.
        drop(site.forward("GET", "/two").attempt().await);
    };
    causes(&site.app, cut, &[("pyxis_audit_head_mismatches_total", Rises)]).await;
}

#[tokio::test]
async fn a_push_that_fails_is_counted() {
    let receiver = Upstream::http().await;
    receiver.reply_with(|_| Reply::new(503));
    let setup = measured(Setup::new()).env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url("")));
    let site = Site::with(setup).await;
    let fail = async || drop(receiver.received(receiver.requests().len() + 1).await);
    causes(&site.app, fail, &[("pyxis_audit_push_failures_total", Rises)]).await;
}

async fn backup_by_command(setup: Setup) {
    let app = App::start(measured(setup)).await;
    assert_eq!(value(&page(&app).await, "pyxis_backup_last_success_timestamp_seconds"), None);
    let file = app.directory().join("backup");
    let back_up = async || drop(app.cli(&["backup", file.to_str().unwrap()]).await.expect(0));
    causes(&app, back_up, &[("pyxis_backup_last_success_timestamp_seconds", Dated)]).await;
}

pyxis_testkit::engines! {
    async fn a_backup_by_command_has_an_age_without_a_schedule(setup: Setup) {
        backup_by_command(setup).await;
    }
}

#[tokio::test]
async fn a_schedule_of_backups_shows_its_interval() {
    let mut app = App::bootstrapped(measured(Setup::new())).await;
    let folder = app.directory().join("backups");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap().to_owned();
    app.change(|setup| setup.env("PX_BACKUP_DIR", &folder).env("PX_BACKUP_INTERVAL_SECS", "600"));
    app.serve();
    let interval = value(&page(&app).await, "pyxis_backup_interval_seconds");
    assert_eq!(interval, Some(600.0));
    let made = "pyxis_backup_last_success_timestamp_seconds";
    until("a backup", async || value(&page(&app).await, made).filter(|time| is_recent(*time))).await;
    // A backup by hand does not hide one that the schedule owes.
    let token = json!({ "name": "soon", "scopes": ["px:approve"], "expires_in_days": 1 });
    let change = async || {
        app.sql("UPDATE meta SET value = '4102444800000' WHERE key = 'last_backup_at'");
        drop(app.owner().client.post("/admin/tokens", &token).send().await.expect(201));
    };
    // The page reads the database again once it shows the token.
    causes(&app, change, &[("pyxis_access_tokens_expiring", By(1.0))]).await;
    assert!(value(&page(&app).await, made).is_some_and(is_recent));
}
