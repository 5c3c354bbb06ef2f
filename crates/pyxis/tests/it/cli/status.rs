//! `pyxis status`: the state of a running server.

use pyxis_testkit::engines;
use serde_json::json;

use crate::support::app::run;
use crate::support::{App, Setup, Site};

engines! {
    async fn the_status_of_the_running_server_is_found_wherever_it_listens(setup: Setup) {
        let site = Site::with(setup).await;
        site.pause("/orders").await;
        let status = site.app.cli(&["status", "--json"]).await.expect(0).json();
        assert_eq!(status["url"], format!("http://{}", site.app.address()), "{status}");
        let seen = (&status["reachable"], &status["ready"], &status["database"], &status["version"]);
        assert_eq!(seen, (&json!(true), &json!(true), &json!("ok"), &json!(env!("CARGO_PKG_VERSION"))));
        assert_eq!((&status["pending"], &status["last_backup"]), (&json!(null), &json!(null)), "{status}");
        let mut signed_in = site.app.command(&["status", "--json"]);
        signed_in.env("PX_TOKEN", site.app.owner_token());
        assert_eq!(run(signed_in).await.expect(0).json()["pending"], 1);
        let text = site.app.cli(&["status"]).await.expect(0).stdout;
        assert!(text.contains("ready        yes\n") && text.contains("pyxis login"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_exit_one_with_the_reason() {
    let mut app = App::start(Setup::new()).await;
    app.stop().await;
    let status = app.cli(&["status", "--url", "http://127.0.0.1:1", "--json"]).await.expect(1).json();
    assert_eq!((&status["reachable"], &status["ready"]), (&json!(false), &json!(false)), "{status}");
    assert_eq!(status["reason"], "cannot connect to the host");
}

engines! {
    async fn a_backup_by_command_is_the_last_one(setup: Setup) {
        let app = App::start(setup).await;
        let text = app.cli(&["status"]).await.expect(0).stdout;
        assert!(text.contains("last backup  unknown: no complete backup"), "{text}");
        app.cli(&["backup", app.directory().join("by-hand").to_str().unwrap()]).await.expect(0);
        let text = app.cli(&["status"]).await.expect(0).stdout;
        assert!(text.contains("(0 hours ago)"), "{text}");
    }
}

#[tokio::test]
async fn a_backup_that_was_not_uploaded_is_not_the_last_one() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("pyxis-20260131T090500Z.db"), "x").unwrap();
    let setup = Setup::new()
        .env("PX_BACKUP_DIR", directory.path().to_str().unwrap())
        .env("PX_BACKUP_S3_URL", "http://127.0.0.1:1/bucket")
        .env("PX_BACKUP_S3_ACCESS_KEY_ID", "AKID")
        .env("PX_BACKUP_S3_SECRET_ACCESS_KEY", "canary-storage-secret");
    let app = App::start(setup).await;
    let status = app.cli(&["status", "--json"]).await.expect(0).json();
    assert!(status["last_backup"].is_null(), "{status}");
}

#[tokio::test]
async fn the_last_scheduled_backup_is_named_with_its_time() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::new().env("PX_BACKUP_DIR", directory.path().to_str().unwrap());
    let app = App::start(setup).await;
    std::fs::write(directory.path().join("pyxis-20260131T090500.250Z.db"), "x").unwrap();
    let status = app.cli(&["status", "--json"]).await.expect(0).json();
    assert!(status["last_backup"].is_string(), "{status}");
}
