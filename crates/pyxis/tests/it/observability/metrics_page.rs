//! The page of metrics, as a collector reads it.

use pyxis_core::metric::{self, MetricKind};
use pyxis_testkit::engines;

use crate::support::client::{Address, Client};
use crate::support::{Setup, Site};

async fn page(site: &Site) -> String {
    let address = site.app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    Client::new(Address::new(address)).get("/metrics").send().await.expect(200).text()
}

/// Value of a series, by its name and labels.
fn value(page: &str, series: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|number| number.parse().unwrap())
}

engines! {
    async fn the_page_shows_routes_the_state_of_the_installation_and_no_unlisted_metric(setup: Setup) {
        let site = Site::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
        site.forward("GET", "/").send().await.forwarded(200);
        let path = format!("/p/api{}", "/with/a/secret-path");
        site.agent.client.get(&path).send().await;
        site.app.anonymous().get("/nowhere/secret-path").send().await.expect(404);
        let txn = site.pause("/act").await;
        let first = page(&site).await;
        for (series, count) in [
            ("pyxis_ready", 1.0),
            ("pyxis_approvals_pending", 1.0),
            ("pyxis_outcome_unknown_total", 0.0),
            ("pyxis_approval_decisions_total{decision=\"approved\"}", 0.0),
            ("pyxis_http_requests_total{route=\"/forward\",status=\"200\"}", 1.0),
            ("pyxis_http_requests_total{route=\"/forward\",status=\"202\"}", 1.0),
            ("pyxis_http_requests_total{route=\"unmatched\",status=\"404\"}", 1.0),
        ] {
            assert_eq!(value(&first, series), Some(count), "{series}: {first}");
        }
        let oldest = value(&first, "pyxis_approvals_oldest_pending_timestamp_seconds").unwrap();
        assert!(oldest > 1.7e9, "{oldest}");
        assert!(value(&first, "pyxis_audit_records").unwrap() >= 2.0);
        assert!(value(&first, "pyxis_audit_append_seconds_count").unwrap() >= 1.0);
        assert!(first.contains("route=\"/p/{credential}/{*path}\""), "{first}");
        assert!(!first.contains("secret-path"), "{first}");
        for line in first.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let (name, kind) = line.split_once(' ').unwrap();
            let listed = metric::all().find(|metric| metric.name == name);
            assert_eq!(listed.map(|metric| metric.kind.as_str()), Some(kind), "{name}");
        }
        let counters = metric::all().filter(|metric| metric.kind == MetricKind::Counter);
        for metric in counters.filter(|metric| metric.labels.is_empty()) {
            assert!(value(&first, metric.name).is_some(), "{} does not begin at 0", metric.name);
        }
        site.owner.client.post(&format!("/approvals/{txn}/deny"), &serde_json::json!({})).send().await.expect(200);
        let denied = "pyxis_approval_decisions_total{decision=\"denied\"}";
        assert_eq!(value(&page(&site).await, denied), Some(1.0));
    }
}
