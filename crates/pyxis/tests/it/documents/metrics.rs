//! Metrics: the page, the uses in the sources, and what rules and dashboards ask for.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pyxis_core::metric::{self, LabelValues, Metric, MetricLabel};

use super::lists::sources;
use super::{read, root};

const PAGE: &str = "docs/reference/metrics.md";
/// Line from which on the page is generated.
const FROM: &str = "<!-- The rest is made from crates/pyxis-core/src/metric.rs. -->";
/// Crates whose sources record metrics.
const RECORDING: &[&str] = &[
    "pyxis",
    "pyxis-dashboard",
    "pyxis-evm",
    "pyxis-gateway",
    "pyxis-http",
    "pyxis-mcp",
    "pyxis-net",
    "pyxis-scoring",
    "pyxis-signer",
    "pyxis-sqlite",
    "pyxis-store",
    "pyxis-verify",
];

fn label(label: &MetricLabel) -> String {
    let values = match label.values {
        LabelValues::Words(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        LabelValues::Described(values) => values.to_owned(),
    };
    format!("`{}`: {values}", label.name)
}

fn tables() -> String {
    let mut text = String::new();
    for group in metric::GROUPS {
        let head = "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|";
        let _ = write!(text, "\n## {}\n\n{head}\n", group.title);
        for Metric { name, kind, unit, labels, meaning, .. } in group.metrics {
            let labels = labels.iter().map(label).collect::<Vec<_>>().join("; ");
            let (kind, unit) = (kind.as_str(), unit.as_str());
            let _ = writeln!(text, "| `{name}` | {kind} | {unit} | {labels} | {meaning} |");
        }
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written again only when someone asks for it")]
fn the_tables_of_metrics_are_made_from_the_list_of_metrics() {
    let page = read(PAGE);
    let (written, _) = page.split_once(FROM).expect("a line from which on the page is generated");
    let wanted = format!("{written}{FROM}\n{}", tables());
    if std::env::var_os("PX_UPDATE_DOCS").is_some() {
        std::fs::write(root().join(PAGE), &wanted).unwrap();
    } else {
        assert!(
            page == wanted,
            "{PAGE} is out of date: run this test with PX_UPDATE_DOCS=1 and commit the page"
        );
    }
}

#[test]
fn every_metric_of_the_list_is_recorded_and_no_other() {
    let sources = sources(RECORDING);
    let uses = |constant: &str| {
        let used = format!("metric::{constant}.name");
        sources.iter().any(|(_, code)| code.contains(&used))
    };
    let unused: Vec<&str> =
        metric::all().filter(|metric| !uses(metric.constant)).map(|metric| metric.name).collect();
    assert_eq!(unused, [] as [&str; 0], "no source records these");
    for (path, code) in &sources {
        for recorder in ["counter!(", "gauge!(", "histogram!("] {
            for (at, _) in code.match_indices(recorder) {
                let name = code[at + recorder.len()..].trim_start();
                // `describe` in the set-up of metrics takes its names from the list.
                let is_listed = name.starts_with("metric::") || name.starts_with("name");
                assert!(is_listed, "{}: {recorder} without a metric of the list", path.display());
            }
        }
    }
}

/// Names of metrics in a text; those of a histogram's series without their ending.
fn metric_names(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_word(c)).filter(|word| word.starts_with("pyxis_"));
    let histogram = |word: &str| {
        let ending = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| word.strip_suffix(end));
        ending.unwrap_or(word).to_owned()
    };
    words.map(histogram).collect()
}

#[test]
fn rules_and_the_dashboard_ask_only_for_metrics_that_exist() {
    let known: BTreeSet<String> = metric::all().map(|metric| metric.name.to_owned()).collect();
    for file in ["packaging/prometheus/alerts.yaml", "packaging/grafana/pyxis.json"] {
        let named = metric_names(&read(file));
        assert!(named.len() > 10, "{file} names {named:?}");
        let unknown: Vec<_> = named.difference(&known).collect();
        assert_eq!(unknown, [] as [&String; 0], "{file}");
    }
}

#[test]
fn the_dashboard_shows_every_metric() {
    let shown = metric_names(&read("packaging/grafana/pyxis.json"));
    let missing: Vec<_> =
        metric::all().map(|metric| metric.name).filter(|&name| !shown.contains(name)).collect();
    assert!(missing.is_empty(), "packaging/grafana/pyxis.json lacks {missing:?}");
}
