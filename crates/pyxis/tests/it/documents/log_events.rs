//! Log events that operators can count on: the page and the sources.

use super::lists::sources;
use super::read;

const PAGE: &str = "docs/reference/logging.md";
/// Crates that a server consists of.
const LOGGING: &[&str] = &[
    "pyxis",
    "pyxis-dashboard",
    "pyxis-evm",
    "pyxis-gateway",
    "pyxis-http",
    "pyxis-mcp",
    "pyxis-net",
    "pyxis-scoring",
    "pyxis-sqlite",
    "pyxis-store",
    "pyxis-verify",
];

/// Message and level of each row in the table of events.
fn listed(page: &str) -> Vec<(&str, &str)> {
    let (_, rest) = page.split_once("\n## Events\n").expect("a section of events");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (message, rest) = row.split_once("` | ").expect("a message");
        (message, rest.split(" | ").next().expect("a level"))
    })
    .collect()
}

/// True if a source writes this message at this level.
fn is_written(sources: &[(std::path::PathBuf, String)], message: &str, level: &str) -> bool {
    let (start, text) = (format!("{level}!("), format!("\"{message}\""));
    let mut events = sources.iter().flat_map(|(_, code)| code.split("tracing::").skip(1));
    events.any(|event| {
        event.starts_with(&start) && event.split(");").next().is_some_and(|call| call.contains(&text))
    })
}

#[test]
fn every_log_event_of_the_page_is_in_the_sources_at_its_level() {
    let (page, sources) = (read(PAGE), sources(LOGGING));
    let listed = listed(&page);
    assert!(listed.len() > 15, "{listed:?}");
    let missing: Vec<_> =
        listed.iter().filter(|(message, level)| !is_written(&sources, message, level)).collect();
    assert!(missing.is_empty(), "{PAGE} lists what no source writes: {missing:?}");
}

#[test]
fn the_first_line_of_a_server_has_the_fields_of_the_page() {
    let page = read(PAGE);
    let row = page.lines().find(|line| line.starts_with("| `started` |")).expect("a row");
    let (_, fields) = row.split_once("; with ").expect("fields");
    let fields: Vec<&str> = fields.split('`').skip(1).step_by(2).collect();
    let code = read("crates/pyxis/src/serve.rs");
    let (before, _) = code.split_once("\"started\")").expect("the event");
    let (_, call) = before.rsplit_once("tracing::info!(").expect("the call");
    let logged: Vec<&str> = call
        .split(',')
        .map(|field| field.trim().trim_start_matches('%'))
        .filter(|field| !field.is_empty())
        .collect();
    assert_eq!(fields, logged);
}

#[test]
fn every_alert_has_a_line_that_says_what_to_do() {
    let guide = read("docs/guides/run-in-production.md");
    let rules = read("packaging/prometheus/alerts.yaml");
    let alerts = rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: "));
    let rows: Vec<&str> = guide.lines().filter(|line| line.starts_with("| `Pyxis")).collect();
    let missing: Vec<&str> =
        alerts.filter(|alert| !rows.iter().any(|row| row.contains(&format!("`{alert}`")))).collect();
    assert!(missing.is_empty(), "docs/guides/run-in-production.md#alerts lacks {missing:?}");
}
