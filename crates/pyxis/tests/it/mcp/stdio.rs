//! The bridge over standard input and output.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::client::{Mcp, forwarded};
use crate::support::{App, Setup, Site};

/// The answers of `pyxis mcp` to these lines.
async fn bridged(app: &App, url: &str, key: &str, lines: &[String]) -> Vec<Value> {
    let mut command = app.command(&["mcp", "--url", url]);
    command.env("PX_AGENT_KEY", key).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = format!("{}\n", lines.join("\n"));
    let running = move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = tokio::task::spawn_blocking(running).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn url(site: &Site) -> String {
    format!("http://{}", site.app.address())
}

#[tokio::test]
async fn clients_of_the_old_and_the_new_protocol_reach_the_server_through_the_bridge() {
    let site = Site::new().await;
    let key = site.app.bootstrap["agent_key"].as_str().unwrap();
    let mcp = Mcp::new(&site);
    let call = json!({"name": "call", "arguments": forwarded(&site, "GET", "/things")});
    let [answer] = bridged(&site.app, &url(&site), key, &[mcp.message("tools/call", &call).to_string()])
        .await
        .try_into()
        .unwrap();
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["status"]),
        (&json!(7), &json!(200)),
        "{answer}"
    );

    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "0"}});
    let old = mcp.speaking("2025-06-18");
    let lines = [
        old.message("initialize", &hello).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        old.message("tools/call", &call).to_string(),
    ];
    let answers = bridged(&site.app, &url(&site), key, &lines).await;
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["structuredContent"]["status"], 200, "{answers:?}");
}

#[tokio::test]
async fn a_client_behind_the_bridge_has_a_session_and_opens_the_approval_page() {
    // Without a wait, the result could leave before the request to open the page.
    let site = Site::with(Setup::new().env("PX_MCP_WAIT_SECS", "1")).await;
    let key = site.app.bootstrap["agent_key"].as_str().unwrap();
    let older = Mcp::new(&site).speaking("2025-11-25");
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"url": {}}},
        "clientInfo": {"name": "older", "version": "3"},
    });
    let call = json!({"name": "call", "arguments": forwarded(&site, "POST", "/things")});
    let lines = [
        older.message("initialize", &hello).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        older.message("tools/call", &call).to_string(),
    ];
    let [_, asked, result] = bridged(&site.app, &url(&site), key, &lines).await.try_into().unwrap();
    assert_eq!((&asked["method"], &asked["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    assert_eq!(result["result"]["structuredContent"]["outcome"], "pending", "{result}");
}

#[tokio::test]
async fn the_bridge_answers_every_message_that_it_cannot_pass_on() {
    let site = Site::new().await;
    let list = Mcp::new(&site).message("tools/list", &json!({})).to_string();
    let refused = bridged(&site.app, &url(&site), "px_agent_wrong", std::slice::from_ref(&list)).await;
    assert!(refused[0]["error"]["message"].as_str().unwrap().contains("401"), "{refused:?}");
    let lines =
        ["{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}", "[]", "7", "{\"jsonrpc\":\"2.0\",\"id\":\"a\"}"];
    let invalid = bridged(&site.app, &url(&site), "px_agent_wrong", &lines.map(str::to_owned)).await;
    let mut answered: Vec<_> =
        invalid.iter().map(|answer| (answer["id"].to_string(), answer["error"]["code"].clone())).collect();
    answered.sort_by(|one, two| one.0.cmp(&two.0));
    let expected = ["\"a\"", "4", "null", "null"].map(|id| (id.to_owned(), json!(-32600)));
    assert_eq!(answered, expected);
    let broken = bridged(&site.app, &url(&site), "px_agent_wrong", &["{\"jsonrpc\":".to_owned()]).await;
    assert_eq!(broken[0]["error"]["code"], -32700);
    let away = bridged(&site.app, "http://127.0.0.1:9", "px_agent_wrong", &[list]).await;
    assert!(
        away[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot reach Pyxis at http://127.0.0.1:9/mcp"),
        "{away:?}"
    );
}

#[tokio::test]
async fn the_bridge_finds_server_and_key_as_pyxis_run_does() {
    let site = Site::new().await;
    let home = tempfile::tempdir().unwrap();
    let list = format!("{}\n", Mcp::new(&site).message("tools/list", &json!({})));
    let piped = async |arguments: &[&str], input: &str, change: &dyn Fn(&mut Command)| {
        let mut command = site.app.command(arguments);
        command.env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let input = input.to_owned();
        let running = move || {
            let mut child = command.spawn().unwrap();
            // A command that is refused does not read.
            let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
            child.wait_with_output().unwrap()
        };
        tokio::task::spawn_blocking(running).await.unwrap()
    };
    let none = piped(&["mcp"], &list, &|_| {}).await;
    assert!(String::from_utf8_lossy(&none.stderr).contains("pyxis login"), "{none:?}");
    let key = site.app.bootstrap["agent_key"].as_str().unwrap();
    let file = home.path().join("key");
    std::fs::write(&file, key).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let by_file = |command: &mut Command| {
        command.env("PX_URL", url(&site)).env("PX_AGENT_KEY_FILE", &file);
    };
    let read = piped(&["mcp"], &list, &by_file).await;
    assert!(String::from_utf8_lossy(&read.stdout).contains("\"propose_task\""), "{read:?}");
    piped(&["login", "--url", &url(&site)], &format!("{key}\n"), &|_| {}).await;
    let saved = piped(&["mcp"], &list, &|_| {}).await;
    assert!(String::from_utf8_lossy(&saved.stdout).contains("\"propose_task\""), "{saved:?}");
}
