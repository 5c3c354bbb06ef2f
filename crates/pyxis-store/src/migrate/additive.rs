//! Test that reads the SQL of migrations that are declared additive.
//!
//! Only statements that leave older programs' statements valid are allowed. A migration that needs another one is
//! declared breaking, and then waits for the next minor release.

use super::{Effect, MIGRATIONS};
use crate::Engine;

/// The first statement that may break a program that does not know it.
fn breaking_statement(script: &str) -> Option<String> {
    let without_comments: Vec<&str> =
        script.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let text = without_comments.join(" ");
    let statements: Vec<String> = text
        .split(';')
        .map(|statement| statement.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|statement| !statement.is_empty())
        .collect();
    let is_new = |table: &str| {
        let created = format!("CREATE TABLE {table}");
        statements
            .iter()
            .any(|one| one.split(" (").next().is_some_and(|start| start.eq_ignore_ascii_case(&created)))
    };
    statements.iter().find(|statement| !is_additive(statement, is_new)).cloned()
}

fn is_additive(statement: &str, is_new: impl Fn(&str) -> bool) -> bool {
    let words: Vec<String> = statement.split(' ').map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let after = |word: &str| {
        let position = words.iter().position(|one| *one == word)?;
        statement.split(' ').nth(position + 1)
    };
    match words.as_slice() {
        // A body of a trigger in SQLite ends alone. Data may be filled in.
        ["CREATE", "TABLE" | "INDEX", ..] | ["END"] | ["INSERT", "INTO", ..] | ["UPDATE", ..] => true,
        // Older programs would be refused rows that they may store today, unless the table is new to them, too.
        ["CREATE", "UNIQUE", "INDEX", ..] | ["CREATE", "TRIGGER", ..] => after("ON").is_some_and(is_new),
        ["ALTER", "TABLE", _, "ADD", "COLUMN", _, _, constraints @ ..] => {
            let has = |word| constraints.iter().any(|one| one.starts_with(word));
            (!has("NOT") || has("DEFAULT"))
                && !has("CHECK")
                && !has("UNIQUE")
                && !has("PRIMARY")
                && !has("REFERENCES")
        }
        _ => false,
    }
}

#[test]
fn every_migration_that_is_declared_additive_leaves_the_statements_of_older_programs_valid() {
    let additive: Vec<_> =
        MIGRATIONS.iter().filter(|migration| migration.effect == Effect::Additive).collect();
    assert!(!additive.is_empty());
    for migration in additive {
        for engine in [Engine::Sqlite, Engine::Postgres] {
            let found = breaking_statement(migration.text(engine));
            assert_eq!(
                found, None,
                "{} on {engine:?} may break older nodes; change the statement, or declare the migration Breaking in \
                 the next minor release (CONTRIBUTING.md, Compatibility)",
                migration.name
            );
        }
    }
}

#[test]
fn migrations_have_ascending_versions_and_names_that_start_with_them() {
    assert!(MIGRATIONS.is_sorted_by(|before, after| before.version < after.version));
    for migration in MIGRATIONS {
        assert!(migration.name.starts_with(&format!("{:04}_", migration.version)), "{}", migration.name);
    }
}

#[test]
fn statements_that_older_programs_cannot_bear_are_found() {
    for breaking in [
        "DROP TABLE scores",
        "drop index by_name",
        "ALTER TABLE nodes RENAME TO servers",
        "ALTER TABLE nodes DROP COLUMN level",
        "ALTER TABLE nodes RENAME COLUMN level TO schema",
        "ALTER TABLE nodes ALTER COLUMN level TYPE INTEGER",
        "ALTER TABLE nodes ALTER COLUMN level SET NOT NULL",
        "ALTER TABLE nodes ADD COLUMN zone TEXT NOT NULL",
        "ALTER TABLE nodes ADD COLUMN zone TEXT CHECK (zone <> '')",
        "ALTER TABLE nodes ADD COLUMN zone TEXT UNIQUE",
        "ALTER TABLE nodes ADD CONSTRAINT small CHECK (level < 100)",
        "CREATE UNIQUE INDEX one_name ON agents (name)",
        "CREATE TRIGGER no_more BEFORE INSERT ON agents FOR EACH ROW EXECUTE FUNCTION refuse()",
        "DELETE FROM agents",
        "CREATE TABLE zones (name TEXT);\n-- all\nTRUNCATE scores",
    ] {
        let last = breaking.rsplit('\n').next().unwrap().trim();
        assert_eq!(breaking_statement(breaking).as_deref(), Some(last));
    }
}

#[test]
fn statements_that_only_add_are_allowed() {
    for additive in [
        "-- DROP TABLE in a comment; and more\nCREATE TABLE zones (name TEXT NOT NULL PRIMARY KEY);",
        "CREATE TABLE zones (name TEXT NOT NULL);\nCREATE UNIQUE INDEX one_zone ON zones (name);",
        "CREATE TABLE zones (name TEXT NOT NULL);
         CREATE TRIGGER zones_generation AFTER INSERT ON zones BEGIN UPDATE generations SET value = value + 1; END;",
        "ALTER TABLE nodes ADD COLUMN zone TEXT",
        "ALTER TABLE nodes ADD COLUMN zone TEXT NOT NULL DEFAULT '';\nUPDATE nodes SET zone = 'eu';",
        "CREATE INDEX nodes_by_zone ON nodes (zone)",
    ] {
        assert_eq!(breaking_statement(additive), None);
    }
}
