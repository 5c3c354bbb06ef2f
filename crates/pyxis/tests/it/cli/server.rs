//! Health, readiness, metrics, shutdown, settings (`docs/reference/behavior/operations.md#health`).

use std::collections::BTreeMap;
use std::io::Write;

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::client::{Address, Client, dial};
use crate::support::{App, SECRET, Setup, Site, until};

#[tokio::test]
async fn health_and_readiness_need_no_key() {
    let app = App::start(Setup::new()).await;
    assert_eq!(app.anonymous().get("/healthz").send().await.expect(200).json()["status"], "ok");
    let ready = app.anonymous().get("/readyz").send().await.expect(200).json();
    for part in ["database", "audit", "resolver"] {
        assert_eq!(ready[part], "ok", "{ready}");
    }
}

#[tokio::test]
async fn metrics_are_on_a_listener_of_their_own() {
    let mut app = App::bootstrapped(Setup::new()).await;
    app.serve_with(&["--metrics-listen", "127.0.0.1:0"]);
    let address = app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    app.default_agent().forward("nothing", "GET", "https://api.example.com/").send().await.expect(404);
    let metrics = Client::new(Address::new(address)).get("/metrics").send().await.expect(200).text();
    assert!(metrics.contains("# TYPE "), "{metrics}");
    assert_eq!(app.anonymous().get("/metrics").send().await.status, 404);
}

/// The current values of the metrics, by name and labels.
async fn numbers(metrics: &Client) -> BTreeMap<String, String> {
    let text = metrics.get("/metrics").send().await.expect(200).text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    pairs.map(|(name, number)| (name.to_owned(), number.to_owned())).collect()
}

engines! {
    async fn metrics_count_what_passed_what_paused_and_what_was_refused(setup: Setup) {
        let site = Site::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
        let address = site.app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
        let metrics = Client::new(Address::new(address));
        let counted = |decision: &str| format!("pyxis_forward_requests_total{{decision=\"{decision}\"}}");
        let names = [
            counted("pass"), counted("pause"), counted("refuse"), "pyxis_upstream_seconds_count".to_owned(),
            "pyxis_upstream_seconds_bucket{le=\"+Inf\"}".to_owned(), "pyxis_redactions_total".to_owned(),
            "pyxis_upstream_failures_total".to_owned(),
        ];
        let seen = async || {
            let numbers = numbers(&metrics).await;
            names.each_ref().map(|name| numbers.get(name).map_or_else(|| "0".to_owned(), String::clone))
        };
        assert_eq!(seen().await, ["0"; 7]);

        site.upstream.reply(Reply::ok(format!("you sent {SECRET}")));
        site.forward("GET", "/").send().await.forwarded(200);
        site.pause("/x").await;
        site.agent.forward("api", "GET", "https://api.example.com/").send().await.problem(403, "host_not_allowed");
        until("every number", async || (seen().await == ["1", "1", "1", "1", "1", "1", "0"]).then_some(())).await;
        assert_ne!(numbers(&metrics).await["pyxis_upstream_seconds_sum"], "0");
    }
}

#[tokio::test]
async fn a_process_serves_only_the_surfaces_that_are_named() {
    let mut app = App::bootstrapped(Setup::new()).await;
    let doors = [
        ("proxy", "POST", "/forward"),
        ("scoring", "GET", "/v2/stamps/1/score/0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"),
        ("verification", "GET", "/sybil-resistance/gov-id/optimism?user=0x&action-id=1"),
        ("dashboard", "GET", "/sign-in"),
    ];
    for (named, ..) in doors {
        app.serve_with(&["--surfaces", named]);
        for (surface, method, path) in doors {
            let answer = app.anonymous().call(method, path).send().await;
            assert_eq!(answer.status != 404, surface == named, "--surfaces {named}: {path}: {answer:?}");
        }
        app.anonymous().get("/healthz").send().await.expect(200);
        app.stop().await;
    }
}

#[tokio::test]
async fn metrics_can_be_off() {
    let app = App::start(Setup::new().env("PX_METRICS_LISTEN", "off")).await;
    assert_eq!(app.greeting["metrics_address"], serde_json::Value::Null);
}

#[tokio::test]
async fn the_default_port_of_the_metrics_gives_way_and_a_chosen_one_does_not() {
    // Taken by this test, or by anything else that runs on this machine.
    let _taken = std::net::TcpListener::bind("127.0.0.1:8701");
    let app = App::start(Setup::new().without("PX_METRICS_LISTEN")).await;
    assert_eq!(app.greeting["metrics_address"], serde_json::Value::Null);
    assert!(app.logs().contains("no metrics"), "{}", app.logs());
    app.anonymous().get("/healthz").send().await.expect(200);

    let ran =
        app.cli(&["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:8701"]).await.expect(1);
    assert!(ran.stderr.contains("127.0.0.1:8701"), "{ran:?}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_answered_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for command in ["quickstart", "serve"] {
        let app = App::empty(Setup::new());
        let ran = app.cli(&[command, "--listen", &address]).await.expect(1);
        let said =
            format!("cannot listen on {address}; set --listen or PX_LISTEN to a free address and port");
        assert!(ran.stderr.contains(&said), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_lets_a_request_under_way_finish() {
    let mut site = Site::new().await;
    let (reply, release) = Reply::ok("finished").hold();
    site.upstream.reply(reply);
    let answer = tokio::spawn(site.forward("GET", "/").send());
    site.upstream.received(1).await;
    site.app.terminate();
    until("the program to say that it stops", async || site.app.logs().contains("stopping").then_some(()))
        .await;
    release.send();
    assert_eq!(answer.await.unwrap().forwarded(200).text(), "finished");
    assert!(site.app.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_tells_those_who_wait_for_a_person_how_far_it_has_come() {
    let mut site = Site::new().await;
    let txn = site.pause("/first").await;
    let (address, key) = (site.app.address(), &site.agent.key);
    let asking =
        format!("GET /agent/approvals/{txn}?wait=60 HTTP/1.1\r\nhost: {address}\r\nx-px-key: {key}\r\n\r\n");
    // It reaches the program before the second request does, whose arrival is visible.
    let mut poll = dial(address).await;
    poll.write_all(asking.as_bytes()).await.unwrap();
    let held = site.forward("POST", "/second").header("prefer", "wait=60").body("{}").send();
    let held = tokio::spawn(held);
    until("the second request", async || {
        let list = site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
        (list["approvals"].as_array().unwrap().len() == 2).then_some(())
    })
    .await;
    site.app.terminate();
    assert_eq!(held.await.unwrap().expect(202).json()["status"], "pending");
    let mut told = String::new();
    poll.read_to_string(&mut told).await.unwrap();
    assert!(told.starts_with("HTTP/1.1 200 ") && told.contains(r#""status":"pending""#), "{told}");
    assert!(site.app.ended().await.success());
}

#[tokio::test]
async fn an_unknown_setting_refuses_to_start() {
    let app = App::bootstrapped(Setup::new()).await;
    let mut file = std::fs::File::create(app.directory().join("pyxis.toml")).unwrap();
    writeln!(file, "aproval_timeout_secs = 5").unwrap();
    let ran = app.cli(&["serve", "--listen", "127.0.0.1:0"]).await;
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    assert!(ran.stderr.contains("aproval_timeout_secs"), "{ran:?}");
}

#[tokio::test]
async fn a_setting_in_the_file_yields_to_the_environment() {
    let mut app = App::bootstrapped(Setup::new()).await;
    std::fs::write(app.directory().join("pyxis.toml"), "base_url = \"https://file.example.com\"\n").unwrap();
    app.serve();
    assert_eq!(app.greeting["base_url"], "https://file.example.com");
    app.restart_with(|setup| setup.env("PX_BASE_URL", "https://env.example.com")).await;
    assert_eq!(app.greeting["base_url"], "https://env.example.com");
}

#[tokio::test]
async fn a_public_base_url_without_tls_refuses_to_start() {
    let app = App::bootstrapped(Setup::new()).await;
    let mut command = app.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("PX_BASE_URL", "http://px.example.com");
    let ran = crate::support::app::run(command).await;
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    assert!(ran.stderr.to_lowercase().contains("base_url"), "{ran:?}");
}

#[tokio::test]
async fn a_setting_that_makes_no_sense_refuses_to_start() {
    let app = App::bootstrapped(Setup::new()).await;
    for (name, value) in [
        ("PX_APPROVAL_TIMEOUT_SECS", "soon"),
        ("PX_EGRESS_ALLOW", "everything"),
        ("PX_EGRESS_CA_FILE", "missing.pem"),
    ] {
        let mut command = app.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env(name, value);
        let ran = crate::support::app::run(command).await;
        assert!(ran.code.is_some_and(|code| code != 0), "{name}: {ran:?}");
        assert!(!ran.stderr.is_empty());
    }
}

#[tokio::test]
async fn agents_find_instructions() {
    let app = App::start(Setup::new()).await;
    let page = app.anonymous().get("/instructions").send().await.expect(200);
    assert!(page.header("content-type").unwrap().starts_with("text/plain"));
    for word in ["/forward", "X-PX-Key", "X-PX-Target", "poll_url"] {
        assert!(page.text().contains(word), "{word}");
    }
    // The other ways, with the address of this server.
    let base = "https://pyxis.example.test";
    let app = App::start(Setup::new().env("PX_BASE_URL", base)).await;
    let text = app.anonymous().get("/instructions").send().await.expect(200).text();
    for way in [format!("{base}/mcp, streamable HTTP"), format!("pyxis run --url {base} -- COMMAND")] {
        assert!(text.contains(&way), "{way}: {text}");
    }
}

#[tokio::test]
async fn the_api_describes_itself() {
    let app = App::start(Setup::new()).await;
    let api = app.anonymous().get("/openapi.json").send().await.expect(200).json();
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"));
    for path in ["/forward", "/agent/approvals/{txn_id}", "/admin/credentials", "/approvals/{txn_id}/approve"]
    {
        assert!(api["paths"][path].is_object(), "{path}");
    }
    app.anonymous().get("/docs").send().await.expect(200);
}
