//! `pyxis bootstrap` and `pyxis serve` (`docs/reference/behavior/operations.md#first-start`).

use pyxis_testkit::engines;

use crate::support::app::Process;
use crate::support::client::{Address, Client};
use crate::support::{App, Setup};

engines! {
    async fn bootstrap_prints_what_a_script_needs_and_does_it_once(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let printed = app.bootstrap.as_object().unwrap();
        let names = ["agent_key", "api_key", "owner_email", "owner_link", "owner_session_token", "scorer_id", "workspace_id"];
        for name in names {
            assert!(printed.contains_key(name), "{name} is missing: {printed:?}");
        }
        assert!(printed["scorer_id"].as_u64().is_some_and(|id| id > 0));
        let again = app.cli(&["bootstrap", "--json"]).await.expect(3);
        assert_eq!(again.stdout, "");
    }
}

#[tokio::test]
async fn serve_says_its_address_in_the_first_line() {
    let app = App::start(Setup::new()).await;
    assert_eq!(app.greeting["address"], app.address().to_string());
    assert_eq!(app.greeting["port"], app.address().port());
    app.anonymous().get("/healthz").send().await.expect(200);
}

#[tokio::test]
async fn serve_says_its_address_to_people_too() {
    let app = App::bootstrapped(Setup::new()).await;
    let (_server, mut lines) = Process::start(app.command(&["serve", "--listen", "127.0.0.1:0"]));
    let line = lines.next().unwrap().unwrap();
    let address = line.strip_prefix("listening on http://").expect(&line).parse().unwrap();
    Client::new(Address::new(address)).get("/healthz").send().await.expect(200);
}
