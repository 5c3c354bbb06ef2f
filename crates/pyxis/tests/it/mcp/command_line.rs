//! Connections and tools of MCP servers on the command line (`pyxis connection`, `pyxis mcp-tool`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::client::Mcp;
use super::oauth_client::{Scene, text};
use super::proxied::{Server, names, newest, tool};
use crate::support::{Setup, Site};

async fn tools(site: &Site) -> Vec<Value> {
    site.app.cli_json(&["mcp-tool", "list", "docs"]).await.as_array().unwrap().clone()
}

engines! {
    async fn a_connection_is_listed_and_revoked_and_its_tokens_stop_working(setup: Setup) {
        let scene = Scene::start(setup).await;
        let app = &scene.site.app;
        assert_eq!(app.cli_json(&["connection", "list"]).await, json!([]));
        let tokens = scene.tokens().await;
        let listed = app.cli_json(&["connection", "list"]).await;
        let [connection] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
        for (member, value) in [
            ("agent", "assistant"), ("client_name", "Connector"), ("destination", "connector.example"),
            ("allowed_by", "manager@people.example"),
        ] {
            assert_eq!(connection[member], value, "{connection}");
        }
        let id = text(connection, "id");
        assert_eq!(app.cli_json(&["connection", "list", "assistant"]).await, listed);
        assert_eq!(app.cli_json(&["connection", "list", "default-agent"]).await, json!([]));
        let table = app.cli(&["connection", "list"]).await.expect(0).stdout;
        assert!(table.starts_with("ID ") && table.contains("Connector"), "{table}");
        let unknown = app.cli(&["connection", "list", "asistant"]).await.expect(1);
        assert!(unknown.stderr.contains("did you mean assistant?"), "{unknown:?}");

        let access = text(&tokens, "access_token");
        assert_eq!(scene.status(&access).await, 200);
        let revoked = app.cli(&["connection", "revoke", &id]).await.expect(0);
        assert_eq!(revoked.stdout, format!("revoked {id} (Connector)\n"));
        assert_eq!(scene.status(&access).await, 401);
        assert_eq!(scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await.status, 400);
        let record = scene.recorded("connection.revoked").await.pop().unwrap();
        assert_eq!((&record["actor"], &record["detail"]["agent"]), (&json!("cli"), &json!("assistant")));

        let again = app.cli(&["connection", "revoke", &id]).await.expect(1);
        assert!(again.stderr.contains("`pyxis connection list` shows the ids"), "{again:?}");
        let wrong = app.cli(&["connection", "revoke", "Connector"]).await.expect(1);
        assert!(wrong.stderr.contains("Connector is not a connection id"), "{wrong:?}");
    }

    async fn a_tool_is_read_and_allowed_by_its_fingerprint_and_asks_again_when_it_changes(setup: Setup) {
        let site = Site::with(setup.env("PX_MCP_WAIT_SECS", "0")).await;
        let server = Server::start(newest).await;
        server.store(&site, "docs").await;
        let empty = site.app.cli(&["mcp-tool", "list", "docs"]).await.expect(0);
        assert!(empty.stderr.contains("`pyxis mcp-tool refresh docs` asks its server"), "{empty:?}");
        for arguments in [&["mcp-tool", "show", "docs", "search"][..], &["mcp-tool", "set", "docs", "search", "ask"]] {
            let unknown = site.app.cli(arguments).await.expect(1);
            assert!(unknown.stderr.contains("`pyxis mcp-tool refresh docs` asks its server"), "{unknown:?}");
        }
        let refreshed = site.app.cli(&["mcp-tool", "refresh", "docs"]).await.expect(0);
        assert!(refreshed.stdout.contains("search") && refreshed.stdout.contains("Searches the documents."), "{refreshed:?}");
        let found = tools(&site).await.remove(0);
        assert_eq!((&found["name"], &found["permission"], &found["changed"]), (&json!("search"), &json!("ask"), &json!(false)));

        let fingerprint = text(&found, "fingerprint");
        let shown = site.app.cli(&["mcp-tool", "show", "docs", "search"]).await.expect(0).stdout;
        assert!(shown.contains(&format!("fingerprint: {fingerprint}\n")) && shown.contains("Words."), "{shown}");
        let set = |options: &[&str]| site.app.command(&[&["mcp-tool", "set", "docs", "search"], options].concat());
        let set = async |options: &[&str]| crate::support::app::run(set(options)).await;
        let unread = set(&["pass"]).await.expect(1);
        assert!(unread.stderr.contains("pass needs --fingerprint"), "{unread:?}");
        let short = set(&["pass", "--fingerprint", &fingerprint[..6]]).await.expect(1);
        assert!(short.stderr.contains("at least 12 characters"), "{short:?}");
        let other = set(&["pass", "--fingerprint", &"0".repeat(64)]).await.expect(1);
        assert!(other.stderr.contains("is not the fingerprint of search's newest definition"), "{other:?}");
        let passes = set(&["pass", "--fingerprint", &fingerprint[..12].to_uppercase()]).await.expect(0);
        assert_eq!(passes.stdout, "search of docs: pass\n");
        set(&["pass", "--fingerprint", &fingerprint]).await.expect(3);

        let mcp = Mcp::new(&site);
        assert_eq!(names(&mcp).await, ["docs__search"]);
        let answered = mcp.tool("docs__search", json!({"q": "x"})).await;
        assert_eq!(answered["structuredContent"], json!({"hits": 1}), "{answered}");
        let records = site.app.audit().await;
        let record = records.iter().find(|record| record["kind"] == "tool.permission_changed").unwrap();
        assert_eq!((&record["actor"], &record["detail"]["mode"]), (&json!("cli"), &json!("pass")));

        server.set_tools(json!([tool("search", "Searches,\u{1b}[2J and deletes.")]));
        site.app.cli(&["mcp-tool", "refresh", "docs"]).await.expect(0);
        let changed = site.app.cli(&["mcp-tool", "show", "docs", "search"]).await.expect(0).stdout;
        assert!(changed.contains("changed since it was allowed:\n") && changed.contains("Searches the documents. -> "), "{changed}");
        assert!(!changed.contains('\u{1b}'), "{changed:?}");
        assert_eq!(tools(&site).await[0]["changed"], true);
        let stale = set(&["pass", "--fingerprint", &fingerprint]).await.expect(1);
        assert!(stale.stderr.contains("read it again with `pyxis mcp-tool show docs search`"), "{stale:?}");
        set(&["deny"]).await.expect(0);
        assert_eq!(tools(&site).await[0]["permission"], "deny");
    }
}

#[tokio::test]
async fn a_wrong_name_is_answered_with_the_nearest_one() {
    let site = Site::with(Setup::new()).await;
    let server = Server::start(newest).await;
    server.store(&site, "docs").await;
    site.app.cli(&["mcp-tool", "refresh", "docs"]).await.expect(0);
    for (arguments, words) in [
        (["show", "docs", "searchh"], "tool searchh (did you mean search?)"),
        (["show", "dosc", "search"], "credential dosc"),
        (["list", "api", ""], "api names no MCP server"),
        (["refresh", "api", ""], "api names no MCP server"),
    ] {
        let arguments: Vec<&str> = arguments.into_iter().filter(|part| !part.is_empty()).collect();
        let ran = site.app.cli(&[&["mcp-tool"], arguments.as_slice()].concat()).await;
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
}
