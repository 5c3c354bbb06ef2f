//! The page of audit events: its tables are made from the list of events.

use std::fmt::Write as _;

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::EventGroup;

use super::{read, root};

const PAGE: &str = "docs/reference/audit-events.md";
/// Line from which on the page is generated.
const FROM: &str = "<!-- The rest is made from crates/pyxis-core/src/audit_event.rs. -->";

fn tables() -> String {
    let mut text = String::new();
    for group in EventGroup::ALL {
        let _ = write!(
            text,
            "\n## {}\n\n| event | recorded when | earlier name |\n|---|---|---|\n",
            group.title()
        );
        for event in group.events() {
            let earlier: Vec<String> = event.earlier_names().iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(text, "| `{event}` | {} | {} |", event.meaning(), earlier.join(", "));
        }
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written again only when someone asks for it")]
fn the_tables_of_audit_events_are_made_from_the_list_of_events() {
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
fn the_page_of_audit_events_lists_every_decision() {
    let page = read(PAGE);
    let line = page.lines().find(|line| line.starts_with("| `decision` |")).expect("a line for decisions");
    let listed: Vec<&str> = line.split('`').skip(3).step_by(2).collect();
    let known: Vec<&str> = AuditDecision::ALL.iter().map(|decision| decision.as_str()).collect();
    assert_eq!(listed, known);
}
