//! Starts that find less than the signed head names (`docs/reference/behavior/operations.md#lost-records`).

use std::fs;

use pyxis_testkit::engines;
use pyxis_testkit::postgres::Database;
use serde_json::json;

use crate::support::{App, Setup};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// An installation whose server ran and stopped, so that a signed head is outside the database.
async fn stopped(setup: Setup) -> App {
    let mut app = App::start(setup).await;
    // Before that, the signal would end it without a word.
    app.anonymous().get("/readyz").send().await.expect(200);
    app.stop().await;
    assert!(app.data().join("audit-head.json").exists());
    app
}

/// Moves the installation to an empty database; its files remain.
async fn move_to_empty_database(app: &mut App) {
    if app.is_postgres() {
        let empty = Database::create("after the loss").await;
        app.change(|_| Setup::on(empty));
    } else {
        fs::remove_file(app.data().join("pyxis.db")).unwrap();
    }
}

engines! {
    async fn a_start_without_the_database_that_the_signed_head_names_refuses_until_a_person_accepts(setup: Setup) {
        let mut app = stopped(setup).await;
        move_to_empty_database(&mut app).await;
        for command in [&SERVE[..], &["bootstrap"], &["agent", "list"], &["doctor"]] {
            let ran = app.cli(command).await.expect(1);
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(told.contains("audit-head.json is here, but its database"), "{ran:?}");
            assert!(told.contains("--accept-lost-database"), "{ran:?}");
        }
        if !app.is_postgres() {
            assert!(!app.data().join("pyxis.db").exists(), "nothing was made in its place");
        }
        app.serve_with(&["--accept-lost-database"]);
        app.anonymous().get("/readyz").send().await.expect(200);
        let accepted = app.audit().await.into_iter().find(|record| record["kind"] == "audit.loss_accepted");
        let accepted = accepted.expect("a record");
        assert_eq!(accepted["actor"], "cli");
        assert_eq!(accepted["detail"]["head_file"], "audit-head.json.lost-1");
        assert!(app.data().join("audit-head.json.lost-1").exists());
        app.restart().await;
        assert_eq!(app.cli_json(&["doctor"]).await["ok"], true);
    }

    async fn a_start_without_its_database_refuses_also_if_the_signed_head_is_damaged(setup: Setup) {
        let mut app = stopped(setup).await;
        move_to_empty_database(&mut app).await;
        for damage in ["", "half a li"] {
            fs::write(app.data().join("audit-head.json"), damage).unwrap();
            for command in [&SERVE[..], &["bootstrap", "--json"], &["agent", "list"], &["doctor"]] {
                let ran = app.cli(command).await.expect(1);
                let told = format!("{}{}", ran.stdout, ran.stderr);
                assert!(told.contains("audit-head.json is here, but its database"), "{ran:?}");
                assert!(told.contains("pyxis restore") && !told.contains("run pyxis bootstrap"), "{ran:?}");
            }
        }
        if !app.is_postgres() {
            assert!(!app.data().join("pyxis.db").exists(), "nothing was made in its place");
        }
        app.serve_with(&["--accept-lost-database"]);
        app.anonymous().get("/readyz").send().await.expect(200);
    }

    async fn a_start_that_lacks_records_refuses_until_a_person_accepts(setup: Setup) {
        let mut app = stopped(setup).await;
        let newest = app.audit().await.len();
        app.sql(&format!(
            "DELETE FROM audit_checkpoints WHERE seq >= {newest}; DELETE FROM audit_records WHERE seq = {newest}; \
             UPDATE audit_head SET seq = {0}, mac = (SELECT mac FROM audit_records WHERE seq = {0})",
            newest - 1
        ));
        let missing = format!("it names record {newest} of the audit trail, but the newest record is {}", newest - 1);
        let ran = app.cli(&SERVE).await.expect(1);
        assert!(ran.stderr.contains(&missing), "{ran:?}");
        let ran = app.cli(&["doctor"]).await.expect(1);
        assert!(ran.stdout.contains(&format!("WRONG signed audit head: {missing}")), "{ran:?}");
        let ran = app.cli(&["backup", app.directory().join("b").to_str().unwrap()]).await.expect(1);
        assert!(ran.stderr.contains("the audit trail is damaged"), "{ran:?}");

        app.serve_with(&["--accept-lost-database"]);
        app.anonymous().get("/readyz").send().await.expect(200);
        app.restart().await;
        assert_eq!(app.cli_json(&["audit", "verify"]).await["ok"], true);
    }

    async fn a_signed_head_that_cannot_be_read_refuses_the_start_and_is_put_aside_on_request(setup: Setup) {
        let mut app = stopped(setup).await;
        fs::write(app.data().join("audit-head.json"), "half a li").unwrap();
        let ran = app.cli(&SERVE).await.expect(1);
        let cause = format!("error: {} is damaged", app.data().join("audit-head.json").display());
        assert!(ran.stderr.contains(&cause), "the cause is first: {ran:?}");
        app.serve_with(&["--accept-lost-database"]);
        app.anonymous().get("/readyz").send().await.expect(200);
        app.restart().await;
        assert_eq!(app.cli_json(&["audit", "verify"]).await["anchored"], true);
    }

    async fn accepting_a_loss_that_did_not_happen_changes_nothing(setup: Setup) {
        let mut app = stopped(setup).await;
        app.serve_with(&["--accept-lost-database"]);
        assert!(app.audit().await.iter().all(|record| record["kind"] != "audit.loss_accepted"));
        assert!(!app.data().join("audit-head.json.lost-1").exists());
        assert_eq!(app.cli_json(&["audit", "verify"]).await["anchored"], json!(true));
    }
}
