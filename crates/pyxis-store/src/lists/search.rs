//! Search for text, ignoring case, alike on both engines.
//!
//! Letters match in both cases where Unicode maps one lowercase letter to one uppercase letter. An ASCII letter matches
//! only ASCII letters. The engines cannot fold other letters themselves: SQLite folds only ASCII, PostgreSQL follows the
//! locale of the database. So a pattern names both cases of each letter.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Engine;
use crate::db::SqlQuery;

/// Longest text to find, in characters. SQLite and PostgreSQL refuse patterns of much longer ones.
const LONGEST: usize = 1000;

/// Letters by their lowercase form, without ASCII.
static UPPERCASE: LazyLock<HashMap<char, Vec<char>>> = LazyLock::new(|| {
    let mut all: HashMap<char, Vec<char>> = HashMap::new();
    for letter in '\u{80}'..=char::MAX {
        let lower = lowercase(letter);
        if lower != letter && !lower.is_ascii() {
            all.entry(lower).or_default().push(letter);
        }
    }
    all
});

/// The lowercase form, if it is one character. A final sigma is a sigma.
fn lowercase(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some('ς'), None) => 'σ',
        (Some(one), None) => one,
        _ => letter,
    }
}

/// Every form of a letter; only itself for anything else.
fn forms(character: char) -> Vec<char> {
    if character.is_ascii() {
        let (lower, upper) = (character.to_ascii_lowercase(), character.to_ascii_uppercase());
        return if lower == upper { vec![character] } else { vec![lower, upper] };
    }
    let lower = lowercase(character);
    let upper = UPPERCASE.get(&lower).into_iter().flatten();
    std::iter::once(lower).chain(upper.copied()).collect()
}

/// Appends a condition to a query.
pub(crate) trait Contains {
    /// The query, limited to rows where any of `expressions` contains `text`. An empty text limits nothing.
    fn contains(&self, engine: Engine, expressions: &'static [&'static str], text: &str) -> SqlQuery;
}

impl Contains for SqlQuery {
    fn contains(&self, engine: Engine, expressions: &'static [&'static str], text: &str) -> SqlQuery {
        if text.is_empty() {
            return self.clone();
        }
        // Neither engine stores a NUL, or accepts it as a value.
        if text.contains('\0') || text.chars().nth(LONGEST).is_some() {
            return self.clone().append(" AND FALSE");
        }
        let (operator, pattern, end) = match engine {
            Engine::Postgres => (" ~ ", regex(text), ""),
            // Its GLOB looks at every position, and LIKE skips to the first letter.
            Engine::Sqlite if text.chars().all(is_folded_by_like) => (" LIKE ", like(text), " ESCAPE '\\'"),
            Engine::Sqlite => (" GLOB ", glob(text), ""),
        };
        self.clone().and_any(expressions, operator, pattern, end)
    }
}

fn is_folded_by_like(character: char) -> bool {
    character.is_ascii() || forms(character).len() == 1
}

fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

fn glob(text: &str) -> String {
    let mut pattern = String::from("*");
    for character in text.chars() {
        // In brackets nothing is special here: a set has letters only, or one character.
        match (character, forms(character).as_slice()) {
            ('*' | '?' | '[', _) => pattern.extend(['[', character, ']']),
            (_, [one]) => pattern.push(*one),
            (_, all) => bracket(&mut pattern, all),
        }
    }
    pattern.push('*');
    pattern
}

fn regex(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        match forms(character).as_slice() {
            [one] if one.is_ascii() && !one.is_ascii_alphanumeric() => pattern.extend(['\\', *one]),
            [one] => pattern.push(*one),
            all => bracket(&mut pattern, all),
        }
    }
    pattern
}

fn bracket(pattern: &mut String, letters: &[char]) {
    pattern.push('[');
    pattern.extend(letters);
    pattern.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_both_cases_of_each_letter() {
        assert_eq!(regex("Ab-1.é"), r"[aA][bB]\-1\.[éÉ]");
        assert_eq!(glob("É*[?]_%"), "*[éÉ][*][[][?]]_%*");
        assert_eq!(like(r"50%_\a"), r"%50\%\_\\a%");
        assert_eq!(forms('k'), ['k', 'K'], "not the Kelvin sign");
        assert_eq!(forms('ß'), ['ß', 'ẞ']);
        assert_eq!(forms('Σ'), forms('ς'));
        assert_eq!(forms('道'), ['道']);
    }

    #[test]
    fn sqlite_compares_text_without_other_letters_by_like() {
        let query =
            |text| crate::db::sql("SELECT a FROM t WHERE TRUE").contains(Engine::Sqlite, &["a", "b"], text);
        assert_eq!(query("").text(), "SELECT a FROM t WHERE TRUE");
        assert_eq!(query("x\0").text(), "SELECT a FROM t WHERE TRUE AND FALSE");
        assert_eq!(
            query("x道").text(),
            "SELECT a FROM t WHERE TRUE AND (a LIKE $1 ESCAPE '\\' OR b LIKE $1 ESCAPE '\\')"
        );
        assert_eq!(query("ü").text(), "SELECT a FROM t WHERE TRUE AND (a GLOB $1 OR b GLOB $1)");
    }
}
