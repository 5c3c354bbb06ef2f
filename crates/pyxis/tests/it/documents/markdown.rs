//! Links and headings of Markdown, as code hosts show them.

use std::collections::BTreeSet;

/// Lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// Targets of links and pictures.
pub(super) fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(text) {
        for (start, _) in line.match_indices("](") {
            let code = line[..start].matches('`').count() % 2 == 1;
            let rest = &line[start + 2..];
            if let (false, Some(end)) = (code, rest.find(')')) {
                found.push(rest[..end].split(' ').next().unwrap_or_default());
            }
        }
    }
    found
}

/// Anchors of the headings: lower case, spaces as hyphens, no punctuation, repeated ones numbered.
pub(super) fn headings(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let title = line.trim_start_matches('#');
        let depth = line.len() - title.len();
        if !(1..=6).contains(&depth) || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title.trim());
        let repeated = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(repeated).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

fn anchor(title: &str) -> String {
    let shown = title.replace('`', "").replace("](", "\u{0}");
    let mut text = String::new();
    let mut inside = false;
    for c in shown.chars() {
        match c {
            '\u{0}' => inside = true,
            ')' if inside => inside = false,
            _ if inside => {}
            ' ' => text.push('-'),
            '-' | '_' => text.push(c),
            c if c.is_alphanumeric() => text.extend(c.to_lowercase()),
            _ => {}
        }
    }
    text
}

#[test]
fn anchors_are_those_that_code_hosts_make() {
    let text = "# 1. Write SQL once\n## `/sign` and GET /healthz\n## What holds\n## What holds\n```\n# no\n```\n### A [b](c.md) d\n";
    let expected = ["1-write-sql-once", "sign-and-get-healthz", "what-holds", "what-holds-1", "a-b-d"];
    assert_eq!(headings(text), expected.map(str::to_owned).into());
    assert_eq!(links("see [a](b.md#c), `[x](y)`\n```\n[q](r)\n```\n![p](i.png)"), ["b.md#c", "i.png"]);
}
