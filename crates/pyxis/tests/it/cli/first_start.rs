//! The objects and the output of `pyxis serve` on an empty database
//! (`docs/reference/behavior/operations.md#first-start`).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use pyxis_store::{OpenOptions, Store};
use pyxis_testkit::engines;
use serde_json::Value;

use crate::support::app::Ran;
use crate::support::client::{Address, Client};
use crate::support::{App, Setup, until};
use pyxis_testkit::postgres::Database;

const INVITES: &str = "first start: sign in with this link, which works once: ";

/// Serves once with everything logged, until the server is up and was told to stop. Log readers expect JSON.
async fn serve_once(app: &App, arguments: &[&str], level: &str) -> Ran {
    let mut command = app.command(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat());
    command.env("PX_LOG", level).env("PX_LOG_JSON", "true");
    // A file, because a pipe that no one reads can fill up.
    let log = app.directory().join("first.log");
    command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut stdout = String::new();
    printed.read_line(&mut stdout).unwrap();
    let address = match serde_json::from_str::<Value>(&stdout) {
        Ok(greeting) => greeting["address"].as_str().unwrap().parse(),
        Err(_) => stdout.trim().strip_prefix("listening on http://").expect(&stdout).parse(),
    };
    let ready = Client::new(Address::new(address.unwrap())).get("/readyz").send().await;
    pyxis_testkit::signal::send("TERM", &child);
    printed.read_to_string(&mut stdout).unwrap();
    let code = child.wait().unwrap().code();
    ready.expect(200);
    Ran { code, stdout, stderr: fs::read_to_string(log).unwrap() }
}

fn is_logged(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok()
}

engines! {
    async fn the_first_owner_s_link_is_printed_below_the_address_and_not_logged(setup: Setup) {
        let mut app = App::empty(setup);
        let ran = serve_once(&app, &[], "trace").await.expect(0);
        let [_, told] = ran.stdout.lines().collect::<Vec<_>>()[..] else { panic!("{ran:?}") };
        let link = told.strip_prefix(INVITES).expect(told);
        let token = link.rsplit('/').next().unwrap();
        assert!(!ran.stderr.is_empty() && !ran.stderr.contains(token), "{ran:?}");
        assert!(ran.stderr.lines().all(is_logged), "{ran:?}");

        // No one received a key, so none exists.
        let agents = app.cli_json(&["agent", "list"]).await;
        assert_eq!(agents[0]["key_hint"], "", "{agents}");
        assert_eq!(app.cli_json(&["api-key", "list"]).await, serde_json::json!([]));

        app.serve();
        let path = &link[link.find("/link/").expect(link)..];
        app.anonymous().get(path).send().await.expect(200);
        assert!(!app.logs().contains(INVITES), "a second start invites nobody");
    }

    async fn a_program_that_reads_the_address_finds_no_link_there_and_people_see_it_whatever_is_logged(setup: Setup) {
        let app = App::empty(setup);
        let ran = serve_once(&app, &["--json"], "error").await.expect(0);
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        let [told] = ran.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{ran:?}") };
        let token = told.strip_prefix(INVITES).expect(told).rsplit('/').next().unwrap();
        assert!(!ran.stdout.contains(token), "{ran:?}");
    }
}

#[tokio::test]
async fn without_the_dashboard_no_link_is_printed_that_leads_nowhere() {
    let app = App::empty(Setup::new());
    let ran = serve_once(&app, &["--surfaces", "scoring"], "error").await.expect(0);
    assert!(!ran.stdout.contains("/link/") && ran.stdout.contains("pyxis api-key add NAME"), "{ran:?}");
    let rotated = app.cli(&["agent", "rotate", "default-agent"]).await.expect(0);
    assert!(rotated.stdout.starts_with("key of default-agent"), "a command that works: {rotated:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_that_start_at_once_on_an_empty_postgres_database_both_serve_one_workspace() {
    let database = Database::create("two servers on an empty database").await;
    Store::open(&OpenOptions::new(database.url())).unwrap().migrate().await.unwrap();
    // Both find no workspace, and neither can create one yet.
    let held = database.hold("LOCK TABLE workspaces IN SHARE MODE").await;
    let mut app = App::empty(Setup::on(database).env("PX_ENCRYPTION_KEY", &"1f".repeat(32)));
    app.serve();
    let other = app.another_node();
    let waiting = "SELECT count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until("both to make the first workspace", async || (app.sql(waiting) == ["2"]).then_some(())).await;
    held.release().await;
    for server in [app.anonymous(), other.anonymous()] {
        server.get("/readyz").send().await.expect(200);
    }
    assert_eq!(app.sql("SELECT name FROM workspaces"), ["default"]);
    assert_eq!(app.logs().matches(INVITES).count(), 1, "{}", app.logs());
}
