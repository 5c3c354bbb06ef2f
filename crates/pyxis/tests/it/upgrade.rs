//! Programs of two releases on one database, and databases of earlier releases (`docs/guides/upgrade.md`).

mod newer_schema;
mod recorded;
mod rolling;
mod scored;

/// Schema of the next release, as it stays when that release is gone again: a table and a column more. It excludes no
/// program that the present schema does not.
const LATER: &str = "CREATE TABLE later (id BIGINT NOT NULL PRIMARY KEY);
    ALTER TABLE approvals ADD COLUMN later TEXT;
    INSERT INTO schema_migrations (version, name, checksum, readable_from, release)
        SELECT 990, '0990_later', 'later', max(readable_from), '0.1.99' FROM schema_migrations;";

/// A migration that no program of today can bear.
const BREAKING: &str = "INSERT INTO schema_migrations (version, name, checksum, readable_from, release)
        VALUES (991, '0991_breaking', 'breaking', 991, '0.2.0');";

/// A setting of the scripts that run these tests in another form.
#[expect(clippy::disallowed_methods, reason = "a test finds the other release this way")]
fn script_setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
