//! The master key, backup and restore, doctor (`docs/reference/behavior/operations.md#master-key`).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pyxis_testkit::engines;
use pyxis_testkit::matrix::StandIn;
use serde_json::json;

use crate::support::app::run;
use crate::support::{App, SECRET, Setup, Site, until};
use pyxis_testkit::postgres::Database;

/// Number of the data key that sealed a credential's secret: the four bytes after the first.
fn data_key_of(app: &App, credential: &str) -> u32 {
    let number = if app.is_postgres() {
        "encode(substring(sealed_secret FROM 2 FOR 4), 'hex')"
    } else {
        "hex(substr(sealed_secret, 2, 4))"
    };
    let found = app.sql(&format!("SELECT {number} FROM credentials WHERE name = '{credential}'"));
    u32::from_str_radix(&found[0], 16).unwrap()
}

engines! {
    async fn the_master_key_rotates_under_a_running_server(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        let old = fs::read(site.app.data().join("master.key")).unwrap();
        site.app.cli(&["key", "rotate"]).await.expect(0);
        assert_ne!(fs::read(site.app.data().join("master.key")).unwrap(), old);
        site.forward("GET", "/").send().await.forwarded(200);
        site.credential("later", &json!({"auth": {"kind": "bearer"}, "secret": "later-canary"})).await;
        site.app.restart().await;
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["response"]["status"], 200);
        site.agent.forward("later", "GET", &site.upstream.url("/")).send().await.forwarded(200);
        site.app.stop().await;
        fs::write(site.app.data().join("master.key"), old).unwrap();
        let refused = site.app.cli(&["serve", "--listen", "127.0.0.1:0"]).await;
        assert_eq!(refused.code, Some(1), "{refused:?}");
    }

    async fn a_new_data_key_seals_under_a_running_server_and_waits_for_its_restart_after_a_new_master_key(setup: Setup) {
        let mut site = Site::with(setup).await;
        site.app.cli(&["key", "rotate", "--data"]).await.expect(0);
        // As if the minute had passed. The server notices it with its next heartbeat.
        site.app.sql("UPDATE data_keys SET created_at = created_at - 60000");
        let later = json!({"auth": {"kind": "bearer"}, "secret": "later-canary"});
        until("a credential that the new key seals", async || {
            site.credential("later", &later).await;
            let is_sealed = data_key_of(&site.app, "later") == 2;
            if !is_sealed {
                site.owner.client.delete("/admin/credentials/later").send().await.expect(204);
            }
            is_sealed.then_some(())
        })
        .await;
        let sealed = site.app.cli_json(&["key", "rotate", "--data"]).await;
        assert_eq!(sealed["data_key"], 3, "{sealed}");
        site.agent.forward("later", "GET", &site.upstream.url("/")).send().await.forwarded(200);
        site.app.cli(&["key", "rotate"]).await.expect(0);
        let refused = site.app.cli(&["key", "rotate", "--data"]).await.expect(1);
        assert!(refused.stderr.contains("started before the master key was replaced; restart it"), "{refused:?}");
        site.app.restart().await;
        site.app.cli(&["key", "rotate", "--data"]).await.expect(0);
        site.agent.forward("later", "GET", &site.upstream.url("/")).send().await.forwarded(200);
    }

    async fn a_rotation_that_was_cut_short_is_finished_by_the_next_start_or_rotation(setup: Setup) {
        let mut site = Site::with(setup).await;
        let (key, next) = (site.app.data().join("master.key"), site.app.data().join("master.key.new"));
        for arguments in [&["agent", "list"][..], &["key", "rotate"]] {
            let old = fs::read(&key).unwrap();
            site.app.cli(&["key", "rotate"]).await.expect(0);
            // The state after a machine failure before the file was renamed.
            fs::rename(&key, &next).unwrap();
            fs::write(&key, &old).unwrap();
            site.app.cli(arguments).await.expect(0);
            assert!(!next.exists() && fs::read(&key).unwrap() != old, "{arguments:?}");
        }
        // The state after a machine failure before anything was wrapped with the new key.
        fs::write(&next, "half a k").unwrap();
        site.app.cli(&["key", "rotate"]).await.expect(0);
        site.app.restart().await;
        site.forward("GET", "/").send().await.forwarded(200);
    }

    async fn the_master_key_is_taken_from_where_it_is_said_to_be(setup: Setup) {
        let key = App::empty(Setup::new()).cli(&["key", "generate"]).await.expect(0).stdout;
        let key = key.trim();
        let mut site = Site::with(setup.env("PX_ENCRYPTION_KEY", key).env("THE_KEY", key)).await;
        site.forward("GET", "/").send().await.forwarded(200);
        let (file, elsewhere) = (site.app.directory().join("key"), site.app.directory().join("moved"));
        fs::write(&file, format!("{key}\n")).unwrap();
        let in_file = |setup: Setup| {
            setup.without("PX_ENCRYPTION_KEY").env("PX_ENCRYPTION_KEY_FILE", file.to_str().unwrap())
        };
        site.app.restart_with(in_file).await;
        site.forward("GET", "/").send().await.forwarded(200);
        site.app.stop().await;
        // The environment points to a file that no longer exists.
        fs::rename(&file, &elsewhere).unwrap();
        for source in ["env:THE_KEY".to_owned(), format!("file:{}", elsewhere.to_str().unwrap())] {
            site.app.serve_with(&["--encryption-key", &source]);
            site.forward("GET", "/").send().await.forwarded(200);
            site.app.stop().await;
        }
        let secret = format!("Bearer {SECRET}");
        let sent = site.upstream.received(4).await;
        assert!(sent.iter().all(|request| request.header("authorization") == Some(&secret)));
        assert!(!site.app.data().join("master.key").exists(), "none was made");
    }

    async fn a_wrong_master_key_is_said_plainly(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let other = app.cli(&["key", "generate"]).await.expect(0);
        for arguments in [["serve", "--listen=127.0.0.1:0"], ["doctor", "--json"]] {
            let mut command = app.command(&arguments);
            command.env("PX_ENCRYPTION_KEY", other.stdout.trim());
            let ran = run(command).await;
            assert_eq!(ran.code, Some(1), "{ran:?}");
            assert!(format!("{}{}", ran.stdout, ran.stderr).contains("key"), "{ran:?}");
        }
    }

    async fn doctor_finds_a_healthy_installation_healthy(setup: Setup) {
        let app = App::start(setup).await;
        let report = app.cli_json(&["doctor"]).await;
        assert_eq!((&report["ok"], &report["complete"]), (&json!(true), &json!(true)), "{report}");
        // As `pyxis healthcheck`, it knows whether names can be resolved.
        let parts = report["parts"].as_array().unwrap();
        assert!(parts.iter().any(|part| part["part"] == "resolver" && part["ok"] == true), "{report}");
    }

    async fn doctor_goes_on_after_a_directory_that_others_can_read_and_says_where_it_stops(setup: Setup) {
        let mut app = App::start(setup).await;
        let data = app.data();
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
        let ran = app.cli(&["doctor"]).await.expect(1);
        assert!(ran.stdout.contains("WRONG data directory: other users can read it"), "{ran:?}");
        assert!(ran.stdout.contains("ok    master key\nok    audit trail\n"), "{ran:?}");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        app.stop().await;
        fs::rename(data.join("master.key"), data.join("elsewhere.key")).unwrap();
        let ran = app.cli(&["doctor"]).await.expect(1);
        assert!(ran.stdout.ends_with("the other parts are not checked until this is right\n"), "{ran:?}");
    }

    async fn a_start_without_the_master_key_of_the_database_makes_no_other_one(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let key = app.data().join("master.key");
        fs::rename(&key, app.data().join("elsewhere.key")).unwrap();
        let refused = app.cli(&["serve", "--listen", "127.0.0.1:0"]).await.expect(1);
        assert!(refused.stderr.contains("the database has a master key already"), "{refused:?}");
        assert!(!key.exists(), "nothing was made in its place");
    }

    async fn a_backup_into_a_directory_that_does_not_exist_says_so(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let file = app.data().join("nowhere/backup.db");
        let ran = app.cli(&["backup", file.to_str().unwrap()]).await.expect(1);
        assert!(ran.stderr.contains("nowhere does not exist; create it first"), "{ran:?}");
    }
}

#[tokio::test]
async fn doctor_advises_a_restore_for_a_database_file_that_is_none() {
    let app = App::bootstrapped(Setup::new()).await;
    fs::write(app.data().join("pyxis.db"), "not a database. ".repeat(1024)).unwrap();
    // Its log has every page, and would repair it.
    for log in ["pyxis.db-wal", "pyxis.db-shm"] {
        fs::remove_file(app.data().join(log)).ok();
    }
    let ran = app.cli(&["doctor"]).await.expect(1);
    assert!(
        ran.stdout.contains("WRONG database: ") && ran.stdout.contains("restore the newest backup"),
        "{ran:?}"
    );
    assert!(!ran.stdout.contains("run pyxis bootstrap"), "{ran:?}");
}

#[tokio::test]
async fn doctor_looks_at_the_receivers_of_backups_and_audit_records() {
    let app = App::bootstrapped(Setup::new()).await;
    let mut command = app.command(&["doctor"]);
    command
        .env("PX_AUDIT_PUSH", "otlp+http://127.0.0.1:1")
        .env("PX_BACKUP_DIR", "/nonexistent")
        .env("PX_BACKUP_S3_URL", "http://127.0.0.1:1/bucket")
        .env("PX_BACKUP_S3_ACCESS_KEY_ID", "AKID")
        .env("PX_BACKUP_S3_SECRET_ACCESS_KEY", "canary-storage-secret");
    let ran = run(command).await.expect(1);
    for part in ["scheduled backups", "object storage of backups", "audit push"] {
        assert!(ran.stdout.contains(&format!("WRONG {part}: ")), "{part}: {ran:?}");
    }
}

#[tokio::test]
async fn doctor_signs_the_bots_in_and_looks_at_the_rooms_that_are_named() {
    let homeserver = StandIn::start().await;
    let setup = Setup::new()
        .env("PX_MATRIX_HOMESERVER", &homeserver.base())
        .env("PX_MATRIX_ACCESS_TOKEN", "canary-matrix-token");
    let site = Site::with(setup).await;
    let room = json!({"channel": "chat_secondary", "matrix_room": "!ops:px.test"});
    site.policy(&room).await;
    let report = site.app.cli_json(&["doctor"]).await;
    let parts = report["parts"].as_array().unwrap();
    let named: Vec<&str> = parts.iter().filter_map(|part| part["part"].as_str()).collect();
    assert!(named.contains(&"Matrix bot") && named.contains(&"Matrix room !ops:px.test"), "{named:?}");
    homeserver.encrypt("!ops:px.test");
    let ran = site.app.cli(&["doctor"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("WRONG Matrix room !ops:px.test: the room is encrypted"), "{ran:?}");
    let other = json!({"channel": "chat_secondary", "matrix_room": "!secret:px.test"});
    homeserver.encrypt("!secret:px.test");
    let refused = site.owner.client.put("/admin/policies/api", &other).send().await;
    let refused = refused.problem(422, "invalid_field");
    assert_eq!(refused["field"], "matrix_room");
    homeserver.set_down(true);
    let ran = site.app.cli(&["doctor"]).await;
    assert!(ran.stdout.contains("WRONG Matrix bot"), "{ran:?}");
}

engines! {
    async fn a_backup_of_a_running_server_restores(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        let file = site.app.directory().join("pyxis.backup");
        let file = file.to_str().unwrap();
        site.app.cli_json(&["backup", file]).await;
        site.pause("/after-the-backup").await;
        let refused = site.app.cli(&["backup", file]).await;
        assert!(refused.code.is_some_and(|code| code != 0), "an existing file is not overwritten: {refused:?}");

        let mut copy = App::empty(if site.app.is_postgres() {
            Setup::on(Database::create("a copy").await)
        } else {
            Setup::new()
        });
        fs::create_dir(copy.data()).unwrap();
        fs::copy(site.app.data().join("master.key"), copy.data().join("master.key")).unwrap();
        fs::write(copy.data().join("audit-head.json"), "of the trail that was here before").unwrap();
        copy.cli(&["restore", file]).await.expect(0);
        assert!(copy.data().join("audit-head.json.before-restore").exists());
        copy.bootstrap = site.app.bootstrap.clone();
        copy.serve();
        let inbox = copy.owner().client.get("/approvals").send().await.expect(200).json();
        assert_eq!(inbox["approvals"].as_array().unwrap().len(), 1);
        copy.owner().approve(&txn).await;
        assert_eq!(copy.default_agent().outcome(&txn).await["response"]["body"], "ok");
        let sent = site.upstream.received(1).await;
        assert_eq!(sent[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        assert_eq!(copy.cli_json(&["audit", "verify"]).await["ok"], true);
        let again = copy.cli(&["restore", file]).await;
        assert!(again.code.is_some_and(|code| code != 0), "a database with data is not overwritten: {again:?}");
    }
}

#[tokio::test]
async fn the_data_directory_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let app = App::start(Setup::new()).await;
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(app.data()), 0o700);
    assert_eq!(mode(app.data().join("master.key")), 0o600);
    assert_eq!(mode(app.data().join("pyxis.db")), 0o600);
}
