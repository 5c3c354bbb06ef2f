//! Lines that an operator looks for in the log (`docs/reference/logging.md`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Setup, Site, until};

/// The log, a line each.
fn lines(site: &Site) -> Vec<Value> {
    site.app.logs().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_requests(site: &Site) -> Vec<Value> {
    lines(site).into_iter().filter(|line| line["target"] == "pyxis::access").collect()
}

engines! {
    async fn a_server_that_logs_requests_writes_one_line_for_each(setup: Setup) {
        let site = Site::with(setup.env("PX_LOG_JSON", "true").env("PX_LOG_REQUESTS", "true")).await;
        let before = of_requests(&site).len();
        site.forward("GET", "/secret-path?token=secret-query").send().await.forwarded(200);
        let txn = site.pause("/secret-path").await;
        site.app.anonymous().get("/nowhere/secret-path").send().await.expect(404);
        let answered = async || {
            let lines = of_requests(&site).split_off(before);
            (lines.len() >= 3).then_some(lines)
        };
        let found = until("a line for each request", answered).await;
        let shown: Vec<Value> = found
            .iter()
            .map(|line| json!([line["level"], line["method"], line["route"], line["status"], line["txn"]]))
            .collect();
        let wanted = json!([
            ["INFO", "POST", "/forward", 200, null],
            ["INFO", "POST", "/forward", 202, txn],
            ["INFO", "GET", "unmatched", 404, null],
        ]);
        assert_eq!(json!(shown), wanted);
        for line in &found {
            let Value::Number(took) = &line["ms"] else { panic!("no number: {line}") };
            let took = took.to_string();
            let decimals = took.split_once('.').map(|(_, decimals)| decimals.len());
            assert!(decimals.is_some_and(|count| count <= 3), "{line}");
        }
        assert!(!site.app.logs().contains("secret-"), "{}", site.app.logs());
    }

    async fn a_server_logs_its_start_once_and_no_request_unless_it_is_told_to(setup: Setup) {
        let engine = if setup.postgres().is_some() { "postgresql" } else { "sqlite" };
        let setup = setup.env("PX_LOG_JSON", "true").env("PX_BASE_URL", "https://pyxis.example.org");
        let mut site = Site::with(setup).await;
        site.forward("GET", "/").send().await.forwarded(200);
        let nodes = site.app.sql("SELECT node_id FROM nodes");
        let address = site.app.address().to_string();
        assert!(site.app.stop().await.success());
        assert_eq!(of_requests(&site), [] as [Value; 0]);
        let lines = lines(&site);
        let starts: Vec<_> = lines.iter().filter(|line| line["message"] == "started").collect();
        let [start] = starts.as_slice() else { panic!("{lines:?}") };
        assert_eq!(start["level"], "INFO");
        assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(start["listen"], address);
        assert_eq!(start["base_url"], "https://pyxis.example.org");
        assert_eq!(start["store"], engine);
        assert_eq!(json!([start["node"]]), json!(nodes));
    }
}
