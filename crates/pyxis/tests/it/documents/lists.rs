//! Pages that list what the sources have: error codes, webhook events.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pyxis_core::webhook::WebhookEvent;

use super::{files, read, root};

/// Sources of the program, tests left out: their path and their code.
pub(super) fn sources(crates: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for name in crates {
        for (path, text) in files(&root().join("crates").join(name).join("src"), &["rs"]) {
            let is_test =
                path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")));
            if !is_test {
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path, code));
            }
        }
    }
    found
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Words in code spans of the first cells of a page's tables, from `cell` on.
fn listed(page: &str, cells: std::ops::Range<usize>) -> BTreeSet<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.flat_map(|row| row.split('|').skip(1).take(cells.end).skip(cells.start))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

const SERVING: &[&str] =
    &["pyxis", "pyxis-gateway", "pyxis-http", "pyxis-scoring", "pyxis-signer", "pyxis-verify"];

/// Codes next to a status, as in `(S::NOT_FOUND, "not_found")`, and those of a function `code`.
fn codes(code: &str) -> BTreeSet<&str> {
    let next_to_status = code.split("S::").chain(code.split("StatusCode::")).filter_map(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '_');
        rest.strip_prefix(',')?.trim_start().strip_prefix('"')?.split('"').next()
    });
    let of_function = code.split("pub const fn code(").skip(1).flat_map(|rest| {
        let body = rest.split("\n    }\n").next().unwrap_or_default();
        body.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next())
    });
    next_to_status.chain(of_function).filter(|code| is_word(code)).collect()
}

#[test]
fn every_error_code_is_listed() {
    let page = read("docs/reference/errors.md");
    let listed = listed(&page, 0..2);
    let sources = sources(SERVING);
    let missing: BTreeSet<&str> =
        sources.iter().flat_map(|(_, code)| codes(code)).filter(|code| !listed.contains(code)).collect();
    assert!(missing.is_empty(), "docs/reference/errors.md lacks {missing:?}");
    assert!(sources.iter().any(|(_, code)| codes(code).contains("already_decided")), "codes are found");
}

#[test]
fn every_webhook_event_is_listed() {
    let page = read("docs/reference/webhooks.md");
    let listed = listed(&page, 0..1);
    for event in WebhookEvent::ALL {
        assert!(listed.contains(event.as_str()), "docs/reference/webhooks.md lacks {}", event.as_str());
    }
}

#[test]
fn every_resource_of_the_admin_api_is_listed() {
    let page = read("docs/reference/api.md");
    let document = pyxis::openapi::document("https://pyxis.example.org").unwrap();
    let paths = document["paths"].as_object().unwrap();
    let resources: BTreeSet<&str> =
        paths.keys().filter_map(|path| path.strip_prefix("/admin/")?.split('/').next()).collect();
    assert!(resources.len() > 10, "{resources:?}");
    let missing = resources.into_iter().filter(|name| {
        let path = format!("/admin/{name}");
        ![format!("{path}`"), format!("{path}/")].iter().any(|written| page.contains(written))
    });
    assert_eq!(missing.collect::<Vec<_>>(), [] as [&str; 0], "docs/reference/api.md lacks these");
}
