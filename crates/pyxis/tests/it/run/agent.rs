//! `--agent`: a run acts as an agent of the installation, without the agent's key.

use std::process::Command;

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::Scene;
use super::scene::{LOOK, Running, search_path};
use super::websocket::{NODE, socket_host};
use crate::support::app::run;
use crate::support::{App, Setup};

/// `pyxis run` for the first agent, without a key in the environment.
fn command(app: &App, options: &[&str], command: &[&str]) -> Command {
    let mut started = app.command(&[&["run"], options, &["--"], command].concat());
    started.env("PATH", search_path());
    started
}

async fn agent_id(scene: &Scene) -> String {
    let list = scene.site.owner.client.get("/admin/agents").send().await.expect(200).json();
    list["agents"][0]["id"].as_str().unwrap().to_owned()
}

async fn connections(scene: &Scene) -> Vec<Value> {
    let path = format!("/admin/agents/{}/connections", agent_id(scene).await);
    let list = scene.site.owner.client.get(&path).send().await.expect(200).json();
    list["connections"].as_array().unwrap().clone()
}

/// Kinds of the audit records about connections.
async fn recorded(scene: &Scene) -> Vec<String> {
    let records = scene.site.app.audit().await.into_iter();
    let kinds = records.filter_map(|record| record["kind"].as_str().map(str::to_owned));
    kinds.filter(|kind| kind.starts_with("connection.")).collect()
}

engines! {
    async fn a_run_acts_as_an_agent_by_a_token_that_ends_with_it(setup: Setup) {
        let scene = Scene::with(setup).await;
        let server = format!("http://{}", scene.site.app.address());
        let options = ["--url", &server, "--agent", "default-agent"];
        let running = Running::start(command(&scene.site.app, &options, Running::SCRIPT));
        let listed = connections(&scene).await;
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!((&listed[0]["client_name"], &listed[0]["allowed_by"]), (&json!("pyxis run"), &json!("command line")));
        drop(running);
        assert!(connections(&scene).await.is_empty());

        let url = scene.url("/");
        let ran = run(command(&scene.site.app, &options, &["curl", "-sSf", &url])).await.expect(0);
        assert_eq!(ran.stdout, "ok");
        scene.only_request();
        let record = scene.site.forwards().await.pop().unwrap();
        assert_eq!((&record["actor_name"], &record["detail"]["door"]), (&json!("default-agent"), &json!("run")), "{record}");
        let twice = ["connection.allowed", "connection.revoked"].repeat(2);
        assert_eq!(recorded(&scene).await, twice);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_ends_with_the_token_that_opened_it() {
    let scene = Scene::new().await;
    let mut host = socket_host(&scene, true).await;
    let server = format!("http://{}", scene.site.app.address());
    let options = ["--url", &server, "--agent", "default-agent"];
    let running =
        tokio::spawn(run(command(&scene.site.app, &options, &["node", "-e", NODE, &host.url("/live")])));
    let mut socket = host.accept().await;
    assert_eq!(socket.message().await, "hello");
    let id = connections(&scene).await[0]["id"].as_str().unwrap().to_owned();
    scene.site.owner.client.delete(&format!("/admin/connections/{id}")).send().await.expect(204);
    assert_eq!(socket.receive().await.unwrap().close_code(), 1008);
    drop(socket);
    running.await.unwrap();
}

#[tokio::test]
async fn the_token_ends_when_a_signal_ends_the_run() {
    let scene = Scene::new().await;
    let server = format!("http://{}", scene.site.app.address());
    for signal in ["TERM", "HUP", "INT"] {
        let options = ["--url", &server, "--agent", "default-agent"];
        let mut running = Running::start(command(&scene.site.app, &options, Running::SCRIPT));
        assert_eq!(connections(&scene).await.len(), 1);
        running.signal(signal);
        assert!(connections(&scene).await.is_empty(), "{signal}");
    }
}

#[tokio::test]
async fn the_command_sees_neither_the_token_nor_the_variables_of_the_installation() {
    let scene = Scene::new().await;
    let server = format!("http://{}", scene.site.app.address());
    let mut started =
        command(&scene.site.app, &["--url", &server, "--agent", "default-agent"], &["sh", "-c", LOOK]);
    // Keys that are not in use reach the command no more than the one that is.
    let api_key = format!("px_api_{}", "5a".repeat(32));
    started.env("AGENT_KEY", scene.key()).env("SCORE_KEY", &api_key);
    let output = tokio::task::spawn_blocking(move || started.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    // One of the files is no text.
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(seen.contains("BEGIN CERTIFICATE"));
    let data = scene.site.app.data();
    for hidden in ["px_run_", "PX_", scene.key(), &api_key, data.to_str().unwrap()] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
}

/// A run whose server is the test, which thereby learns the token.
async fn overheard(scene: &Scene) -> (Running, String) {
    let fake = Upstream::http().await;
    fake.reply_with(|_| Reply::ok(json!({"agent": "default-agent", "services": []}).to_string()));
    let url = fake.url("");
    let running = Running::start(command(
        &scene.site.app,
        &["--url", &url, "--agent", "default-agent"],
        Running::SCRIPT,
    ));
    let token = fake.requests()[0].header("x-px-key").unwrap().to_owned();
    (running, token)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_is_good_for_the_requests_of_a_run_and_nowhere_else() {
    let scene = Scene::new().await;
    let (running, token) = overheard(&scene).await;
    assert!(token.starts_with("px_run_"));
    let holder = scene.site.app.agent(&token);
    let listed = holder.client.get("/agent/services").send().await.expect(200).json();
    assert_eq!(listed["agent"], "default-agent");
    holder.forward("api", "GET", &scene.url("/")).send().await.expect(200);
    let txn = scene.site.agent.forward("api", "POST", &scene.url("/")).send().await.txn();
    holder.client.get(&format!("/agent/approvals/{txn}")).send().await.expect(401);
    let sign = holder.client.post("/sign", &json!({})).header("x-px-credential", "api");
    sign.send().await.expect(401);
    let bearer = scene.site.app.anonymous().with("authorization", &format!("Bearer {token}"));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let accept = "application/json, text/event-stream";
    bearer.post("/mcp", &list).header("accept", accept).send().await.expect(401);
    bearer.get("/admin/agents").send().await.expect(401);

    let id = connections(&scene).await[0]["id"].as_str().unwrap().to_owned();
    scene.site.owner.client.delete(&format!("/admin/connections/{id}")).send().await.expect(204);
    holder.forward("api", "GET", &scene.url("/")).send().await.expect(401);
    drop(running);
    assert_eq!(recorded(&scene).await, ["connection.allowed", "connection.revoked"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_of_a_disabled_agent_is_refused_and_a_new_key_changes_nothing() {
    let scene = Scene::new().await;
    let (_running, token) = overheard(&scene).await;
    let send = async || scene.site.app.agent(&token).forward("api", "GET", &scene.url("/")).send().await;
    send().await.expect(200);
    scene.site.app.cli(&["agent", "rotate", "default-agent"]).await.expect(0);
    send().await.expect(200);
    scene.site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
    send().await.expect(401);
}

#[tokio::test]
async fn an_agent_without_access_is_a_clear_error_and_leaves_no_token() {
    let mut scene = Scene::new().await;
    let server = format!("http://{}", scene.site.app.address());
    let app = &scene.site.app;
    let refused = async |options: &[&str], words: &str| {
        let ran = run(command(app, options, &["echo", "started"])).await.expect(1);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(words), "{words}: {ran:?}");
    };
    refused(&["--url", &server, "--agent", "default-agnt"], "did you mean default-agent?").await;
    refused(
        &["--url", &server, "--agent", "default-agent", "--data-dir", "nowhere"],
        "nowhere/pyxis.db does not exist",
    )
    .await;
    assert!(!app.directory().join("nowhere").exists(), "nothing is made");
    refused(&["--agent", "default-agent", "--workspace", "other"], "unknown workspace other").await;
    app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
    refused(&["--url", &server, "--agent", "default-agent"], "the agent is disabled").await;
    app.cli(&["agent", "enable", "default-agent"]).await.expect(0);
    let both = ["--agent", "default-agent", "--agent-key-env", "MY_KEY"];
    run(command(app, &both, &["true"])).await.expect(2);
    assert!(recorded(&scene).await.is_empty());

    scene.site.app.stop().await;
    let app = &scene.site.app;
    let ran = run(command(app, &["--url", &server, "--agent", "default-agent"], &["true"])).await.expect(1);
    assert!(ran.stderr.contains("cannot reach Pyxis at"), "{ran:?}");
    scene.site.app.serve();
    assert!(connections(&scene).await.is_empty());
}

#[tokio::test]
async fn a_bad_choice_is_told_once() {
    let scene = Scene::new().await;
    let told = async |choice: &str, words: &str| {
        let ran = scene.run(&["--use", choice], &["true"]).await.expect(1);
        assert_eq!(ran.stderr.matches(words).count(), 1, "{ran:?}");
        assert_eq!(ran.stderr.matches("--use").count(), 1, "{ran:?}");
    };
    told("api.example.com", "is not HOST=CREDENTIAL").await;
    told("api.example.com=apx", "unknown credential").await;
}
