//! Unreachable chats as a running server reports them: the page, the metric and `pyxis doctor`.

use crate::support::client::Address;
use crate::support::{Browser, Client, Site, until};

const ADMIN: &str = "admin@people.example";

/// A manager who looks at the pages, and a collector of the metrics.
pub(super) struct Reports {
    browser: Browser,
    metrics: Client,
    platform: &'static str,
}

impl Reports {
    /// Of a server that was started with `PX_METRICS_LISTEN`.
    pub(super) async fn open(site: &Site, platform: &'static str) -> Self {
        site.app.admin(ADMIN).await;
        let browser = Browser::sign_in(&site.app.anonymous(), ADMIN).await;
        Self { browser, metrics: metrics(site), platform }
    }

    /// Follows the server to its new address for metrics.
    pub(super) fn restarted(&mut self, site: &Site) {
        self.metrics = metrics(site);
    }

    /// Waits until the page and the metric report this many unreachable chats.
    pub(super) async fn unreachable(&self, chats: usize) {
        let page =
            async || (self.page().await.matches("has been unreachable since").count() == chats).then_some(());
        until("the page", page).await;
        let line = format!("pyxis_chats_unreachable{{platform=\"{}\"}} {chats}", self.platform);
        let metric = async || {
            let text = self.metrics.get("/metrics").send().await.expect(200).text();
            text.lines().any(|found| found == line).then_some(())
        };
        until("the metric", metric).await;
    }

    pub(super) async fn page(&self) -> String {
        self.browser.get("/app/notifications").await.expect(200).text()
    }
}

fn metrics(site: &Site) -> Client {
    let address = site.app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    Client::new(Address::new(address))
}

/// The problem with a chat as reported by the command line.
pub(super) async fn doctor(site: &Site, part: &str) -> Option<String> {
    let report = site.app.cli(&["doctor", "--json"]).await.json();
    let parts = report["parts"].as_array().unwrap().iter();
    let found = parts.filter(|found| found["part"] == part).collect::<Vec<_>>();
    assert_eq!(found.len(), 1, "{report}");
    assert_eq!(found[0]["ok"], found[0]["wrong"].is_null(), "{report}");
    found[0]["wrong"].as_str().map(str::to_owned)
}
