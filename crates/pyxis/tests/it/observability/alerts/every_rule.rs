//! Every rule at once: each alert has a target of its own, which shows a real page with the samples of its cause.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use super::RULES;
use super::prometheus::Prometheus;
use super::samples::{CAUSES, Sample, ScrapeState, changed};
use crate::documents::read;
use crate::support::{Setup, Site, metrics};

/// Range of the rules in this test, as short as a few scrapes allow.
const RANGE: &str = "8s";

/// Scrapes that fill a range, with some to spare.
const SCRAPES_OF_A_RANGE: usize = 10;

/// Rules with ranges, offsets and waiting times of seconds. Ages stay, because a page can show any time.
fn shortened(rules: &str) -> String {
    let parts = rules.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest));
    let short = parts.collect::<Vec<_>>().join(&format!("[{RANGE}]"));
    let lines = short.lines().map(|line| match line.split_once("for: ") {
        Some((indent, _)) if indent.trim().is_empty() => format!("{indent}for: 2s"),
        _ => line.to_owned(),
    });
    let short = lines.collect::<Vec<_>>().join("\n");
    // The time after a start, in which a counter is compared with 0, is as long as the range.
    short.replace("offset 15m", &format!("offset {RANGE}")).replace("< 900", "< 8")
}

/// Pages of all targets.
struct Pages {
    served: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    trouble: bool,
    /// Scrapes of each target during the trouble.
    scrapes: HashMap<&'static str, u32>,
}

impl Pages {
    fn set_trouble(&self, trouble: bool) {
        self.state.lock().unwrap().trouble = trouble;
    }

    /// The page of the target that an alert names.
    fn page(&self, alert: &str) -> Reply {
        let Some((alert, samples)) = CAUSES.iter().find(|(name, _)| *name == alert) else {
            return Reply::new(404);
        };
        let scrape = self.scrape(alert);
        if samples.is_empty() && scrape.trouble {
            return Reply::new(500);
        }
        Reply::ok(changed(&self.served, samples, scrape))
    }

    fn scrape(&self, alert: &'static str) -> ScrapeState {
        let mut state = self.state.lock().unwrap();
        let trouble = state.trouble;
        let scrapes = state.scrapes.entry(alert).or_default();
        *scrapes += u32::from(trouble);
        ScrapeState { now: SystemClock.now(), trouble, scrapes: *scrapes }
    }
}

/// A target for each alert, with the alert's name as its instance.
fn targets(server: &Upstream) -> Value {
    let target = |alert: &str| {
        let labels = json!({"instance": alert, "__metrics_path__": format!("/{alert}")});
        json!({"targets": [server.addr().to_string()], "labels": labels})
    };
    CAUSES.iter().map(|(alert, _)| target(alert)).collect()
}

#[test]
fn every_rule_has_a_cause_of_metrics_that_the_program_has() {
    let rules = read(RULES);
    let rules: Vec<&str> =
        rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: ")).collect();
    let causes: Vec<&str> = CAUSES.iter().map(|(alert, _)| *alert).collect();
    assert_eq!(causes, rules, "one line of CAUSES for each rule, in the order of {RULES}");
    CAUSES.iter().flat_map(|(_, samples)| *samples).for_each(Sample::assert_known);
}

#[tokio::test]
async fn prometheus_sees_each_alert_fire_for_its_own_cause_alone_and_clear() {
    let site = Site::with(Setup::new().env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    site.forward("GET", "/").send().await.forwarded(200);
    let served = metrics::page(&site.app).await;
    let pages = Arc::new(Pages { served, state: Mutex::default() });
    let target = Upstream::http().await;
    let shown = pages.clone();
    target.reply_with(move |request| shown.page(request.target.trim_start_matches('/')));
    let prometheus = Prometheus::start(&shortened(&read(RULES)), "1s").await;
    prometheus.watch(&targets(&target));
    prometheus.wait_scraped(CAUSES.len(), 1).await;
    prometheus.wait_scraped(CAUSES.len(), SCRAPES_OF_A_RANGE).await;
    assert_eq!(prometheus.fired().await, BTreeSet::new(), "nothing is wrong yet");

    pages.set_trouble(true);
    for (alert, _) in CAUSES {
        prometheus.wait(alert, true).await;
    }
    pages.set_trouble(false);
    for (alert, _) in CAUSES {
        prometheus.wait(alert, false).await;
    }
    let expected: BTreeSet<_> =
        CAUSES.iter().map(|(alert, _)| ((*alert).to_owned(), (*alert).to_owned())).collect();
    assert_eq!(prometheus.fired().await, expected, "an alert fired on a page that is right for it");
}
