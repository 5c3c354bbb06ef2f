//! `pyxis healthcheck` (`docs/reference/behavior/operations.md#health`), and notices to a service manager.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;

use pyxis_testkit::engines;
use pyxis_testkit::postgres::Database;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use crate::support::app::Ran;
use crate::support::{App, Setup, Site, until};

async fn check(app: &App, url: &str) -> Ran {
    app.cli(&["healthcheck", "--url", url]).await
}

/// Asserts that the check failed with one line, and returns the reason in it.
#[track_caller]
fn reason(ran: Ran) -> String {
    let ran = ran.expect(1);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    assert_eq!(ran.stderr, "");
    ran.stdout.trim_end().strip_prefix("not ready: ").expect("a reason").to_owned()
}

engines! {
    async fn a_check_follows_the_database(setup: Setup) {
        let site = Site::with(setup).await;
        let url = format!("http://{}", site.app.address());
        let ready = check(&site.app, &url).await.expect(0);
        assert_eq!((ready.stdout.as_str(), ready.stderr.as_str()), ("ready\n", ""));
        assert_eq!(check(&site.app, &format!("{url}/readyz")).await.expect(0).stdout, "ready\n");
        let ready = site.app.cli_json(&["healthcheck", "--url", &url]).await;
        assert_eq!(ready, json!({"ready": true, "reason": null}));

        site.app.sql("ALTER TABLE audit_records RENAME TO audit_records_away");
        assert_eq!(reason(check(&site.app, &url).await), "unavailable: audit");
        site.app.sql("ALTER TABLE audit_records_away RENAME TO audit_records");
        check(&site.app, &url).await.expect(0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_postgres_database_a_server_fails_the_check() {
    let database = Database::migrated("without_its_postgres_database").await;
    let app = App::start(Setup::on(database)).await;
    let url = format!("http://{}", app.address());
    check(&app, &url).await.expect(0);
    app.postgres().set_reachable(false).await;
    reason(check(&app, &url).await);
    app.postgres().set_reachable(true).await;
    until("the server to be ready again", async || (check(&app, &url).await.code == Some(0)).then_some(()))
        .await;
}

#[tokio::test]
async fn wrong_usage_is_one_line_and_exit_one_and_no_password_is_printed() {
    let app = App::start(Setup::new()).await;
    let told = reason(app.cli(&["healthcheck", "--url"]).await);
    assert!(told.contains("a value is required for '--url"), "{told}");
    let told = reason(check(&app, &format!("http://user:canary-password@{}", app.address())).await);
    assert!(told.starts_with("--url: must not contain a user name or a password"), "{told}");
    let told = reason(app.cli(&["healthcheck", "http://user:canary-password@host.example"]).await);
    assert_eq!(told, "unexpected argument; see pyxis healthcheck --help");
    // A check needs no master key.
    let url = format!("http://{}", app.address());
    let mut command = app.command(&["healthcheck", "--url", &url]);
    command.env("PX_ENCRYPTION_KEY_FILE", "/nonexistent/key");
    assert_eq!(crate::support::app::run(command).await.expect(0).stdout, "ready\n");
}

#[tokio::test]
async fn without_a_url_the_check_asks_where_the_server_of_these_settings_listens() {
    let app = App::start(Setup::new()).await;
    let mut command = app.command(&["healthcheck"]);
    command.env("PX_LISTEN", format!("0.0.0.0:{}", app.address().port()));
    assert_eq!(crate::support::app::run(command).await.expect(0).stdout, "ready\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_drains_fails_the_check_until_it_has_ended() {
    let mut site = Site::new().await;
    let (reply, release) = Reply::ok("finished").hold();
    site.upstream.reply(reply);
    let answer = tokio::spawn(site.forward("GET", "/").send());
    site.upstream.received(1).await;
    site.app.terminate();
    until("the program to say that it stops", async || site.app.logs().contains("stopping").then_some(()))
        .await;
    let url = format!("http://{}", site.app.address());
    let refused = until("the server to stop accepting", async || {
        let ran = check(&site.app, &url).await;
        (ran.code == Some(1)).then_some(ran)
    })
    .await;
    assert!(reason(refused).starts_with(&url), "nothing listens there");
    release.send();
    answer.await.unwrap().forwarded(200);
    assert!(site.app.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_answers_fails_the_check() {
    let app = App::empty(Setup::new());
    // Connections wait in the queue, and nobody takes them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ran = check(&app, &format!("http://{}", silent.local_addr().unwrap())).await;
    assert_eq!(reason(ran), "no answer within 2.8 seconds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_answer_of_a_ready_server_passes_the_check() {
    let app = App::start(Setup::new()).await;
    let upstream = Upstream::http().await;
    let url = format!("http://127.0.0.1:{}", upstream.port());
    let ready = format!("http://{}/readyz", app.address());
    upstream.reply(Reply::new(302).header("location", &ready));
    upstream.reply(Reply::ok("welcome to this hotel"));
    upstream.reply(Reply::ok(r#"{"status":"draining"}"#));
    assert!(reason(check(&app, &url).await).contains("answered 302"));
    assert!(reason(check(&app, &url).await).contains("answered 200"));
    assert_eq!(reason(check(&app, &url).await), "it is stopping");
    let paths: Vec<_> = upstream.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(paths, ["/readyz"; 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_with_a_private_certificate_is_checked_if_its_authority_is_trusted() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &["127.0.0.1"]).await;
    let url = format!("https://127.0.0.1:{}", upstream.port());
    let app = App::empty(Setup::new());
    assert!(reason(check(&app, &url).await).contains("tls"));
    let roots = app.directory().join("roots.pem");
    std::fs::write(&roots, authority.pem()).unwrap();
    let mut command = app.command(&["healthcheck", "--url", &url]);
    command.env("PX_EGRESS_CA_FILE", &roots);
    upstream.reply(Reply::ok(r#"{"status":"ok"}"#));
    crate::support::app::run(command).await.expect(0);
}

#[tokio::test]
async fn a_wrong_setting_fails_the_check_in_one_line() {
    let app = App::empty(Setup::new());
    std::fs::write(app.directory().join("pyxis.toml"), "listen = \"127.0.0.1:1\"\nlisten = 2\n").unwrap();
    assert!(reason(app.cli(&["healthcheck"]).await).contains("pyxis.toml"));
    assert!(reason(check(&app, "ftp://127.0.0.1").await).contains("pyxis.toml"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_manager_is_told_when_the_server_is_ready_and_when_it_stops() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let told = || {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let mut app = App::start(Setup::new().env("NOTIFY_SOCKET", path.to_str().unwrap())).await;
    assert_eq!(told(), "READY=1");
    app.anonymous().get("/readyz").send().await.expect(200);
    app.stop().await;
    assert_eq!(told(), "STOPPING=1");
    socket.set_nonblocking(true).unwrap();
    assert_eq!(socket.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
