//! The table of credential kinds, made from their registry.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pyxis_core::auth::{Connector, CredentialKind};

use super::{read, root};

const PAGE: &str = "docs/reference/credentials.md";
/// Lines around the generated table.
const FROM: &str = "<!-- This table is made from crates/pyxis-core/src/auth. -->\n";
const TO: &str = "<!-- End of the table. -->\n";

fn kinds() -> impl Iterator<Item = &'static CredentialKind> {
    CredentialKind::ALL.iter().copied().filter(|kind| kind.connector == Connector::Direct)
}

fn settings(kind: &CredentialKind) -> String {
    let optional = |required| if required { "" } else { " (optional)" };
    let fields = kind.settings.iter().map(|field| (field.member, field.is_required()));
    let headers = kind.headers.map(|used| (if used.is_flat { "name`, `format" } else { "headers" }, true));
    let words = fields.chain(headers).map(|(name, required)| format!("`{name}`{}", optional(required)));
    words.collect::<Vec<_>>().join(", ")
}

fn table() -> String {
    let mut text = "\n| kind | settings | secret | example |\n| --- | --- | --- | --- |\n".to_owned();
    for kind in kinds() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            kind.name,
            settings(kind),
            kind.secret_words,
            kind.example
        );
    }
    text + "\n"
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written again only when someone asks for it")]
fn the_table_of_credential_kinds_is_made_from_their_registry() {
    let page = read(PAGE);
    let (before, rest) = page.split_once(FROM).expect("a line before the table");
    let (_, after) = rest.split_once(TO).expect("a line after the table");
    let wanted = format!("{before}{FROM}{}{TO}{after}", table());
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
fn the_api_document_has_every_credential_kind() {
    let document = pyxis::openapi::document("https://pyxis.example.org").unwrap();
    let schemas = document["components"]["schemas"]["Auth"]["oneOf"].as_array().unwrap();
    let described: BTreeSet<&str> =
        schemas.iter().filter_map(|schema| schema["properties"]["kind"]["const"].as_str()).collect();
    assert_eq!(described, kinds().map(|kind| kind.name).collect());
}
