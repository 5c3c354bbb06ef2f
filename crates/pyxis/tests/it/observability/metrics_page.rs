//! The page of metrics, as a collector reads it.

use std::process::Stdio;

use pyxis_core::metric::{self, MetricKind};
use pyxis_testkit::engines;
use pyxis_testkit::postgres::Database;
use pyxis_testkit::tls::Authority;
use serde_json::json;

use crate::support::metrics::{self, value};
use crate::support::{Setup, Site, until};

async fn page(site: &Site) -> String {
    metrics::page(&site.app).await
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

#[tokio::test]
async fn certificates_that_the_server_uses_show_their_earliest_expiry() {
    let authority = Authority::new();
    let roots = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(roots.path(), authority.pem()).unwrap();
    let setup = Setup::new().env("PX_EGRESS_CA_FILE", roots.path().to_str().unwrap());
    let site = Site::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    for (name, year) in [("late", 2100), ("early", 2090)] {
        let (certificate, key) = authority.client_until(name, year);
        let secret = json!({"certificate": certificate, "private_key": key});
        let fields = json!({"auth": {"kind": "mtls"}, "secret": secret, "allowed_hosts": ["a.example.com"], "allow_http": false});
        site.credential(name, &fields).await;
    }
    let page = page(&site).await;
    // The first day of 2090 and of 4096, which is as late as a certificate of the testkit's authorities goes.
    for (certificate, expiry) in [("client", 3_786_912_000.0), ("egress_ca", 67_090_118_400.0)] {
        let series = format!("pyxis_certificate_expiry_timestamp_seconds{{certificate=\"{certificate}\"}}");
        assert_eq!(value(&page, &series), Some(expiry), "{page}");
    }
}

engines! {
    async fn an_import_of_another_process_is_seen_until_one_is_complete(setup: Setup) {
        const TIME: &str = "pyxis_import_progress_timestamp_seconds";
        let site = Site::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
        assert_eq!(value(&page(&site).await, TIME), None);
        let rejects = site.app.directory().join("rejects");
        let rejects = rejects.to_str().unwrap();
        let mut importing = site.app.command(&["stamps", "import", "-", "--rejects", rejects]);
        let importing = importing.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut importing = importing.spawn().unwrap();
        let runs = async || value(&page(&site).await, TIME).filter(|time| *time > 1.7e9);
        let begun = until("the import", async || runs().await).await;
        importing.kill().unwrap();
        importing.wait().unwrap();
        assert_eq!(runs().await, Some(begun), "one that was killed is not complete");

        let file = site.app.directory().join("stamps.jsonl");
        std::fs::write(&file, "not json\n").unwrap();
        site.app.cli(&["stamps", "import", file.to_str().unwrap()]).await.expect(1);
        let complete = async || {
            let page = page(&site).await;
            (value(&page, TIME) == Some(0.0)).then_some(page)
        };
        let page = until("the end of the import", complete).await;
        assert_eq!(value(&page, "pyxis_import_lines{result=\"rejected\"}"), Some(1.0));
        assert_eq!(value(&page, "pyxis_import_remaining_bytes"), Some(0.0));
    }
}

#[tokio::test]
async fn waiting_for_connections_is_measured_on_postgres() {
    let setup = Setup::on(Database::migrated("acquire metrics").await);
    let site = Site::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    site.forward("GET", "/").send().await.forwarded(200);
    let page = page(&site).await;
    assert!(value(&page, "pyxis_store_acquire_seconds_count").is_some_and(|count| count > 0.0), "{page}");
    assert_eq!(value(&page, "pyxis_store_acquire_failures_total"), Some(0.0));
}
