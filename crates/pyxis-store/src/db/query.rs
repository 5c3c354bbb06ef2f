//! A statement and its parameters.

use std::borrow::Cow;
use std::fmt::Write;

use super::value::{Bind, Value};

/// A statement with `$1`, `$2`, … in it. They must first appear in ascending order: SQLite numbers
/// named parameters by first appearance, and so the same text serves both engines.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) text: Cow<'static, str>,
    pub(super) params: Vec<Value>,
}

/// Starts a statement. Only literal text: there is no way to put a value into the text.
pub(crate) fn sql(text: &'static str) -> Query {
    debug_assert!(ascending(text), "parameters must first appear in ascending order: {text}");
    Query { text: Cow::Borrowed(text), params: Vec::with_capacity(8) }
}

impl Query {
    /// A statement put together from names of tables and columns of the schema, never from input.
    pub(crate) const fn assembled(text: String) -> Self {
        Self { text: Cow::Owned(text), params: Vec::new() }
    }

    /// The statement, for those who look at it instead of running it.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Binds the next parameter.
    #[must_use]
    pub fn bind(mut self, value: impl Bind) -> Self {
        self.params.push(value.bind());
        self
    }

    /// Appends literal text in which `?` stands for `value`.
    #[must_use]
    pub fn push(mut self, fragment: &'static str, value: impl Bind) -> Self {
        self.params.push(value.bind());
        let number = self.params.len();
        let (before, after) = fragment.split_once('?').unwrap_or((fragment, ""));
        // Writing to a String does not fail.
        let _ = write!(self.text.to_mut(), "{before}${number}{after}");
        self
    }

    /// The same, when there is a value.
    #[must_use]
    pub fn push_if(self, fragment: &'static str, value: Option<impl Bind>) -> Self {
        match value {
            Some(value) => self.push(fragment, value),
            None => self,
        }
    }

    /// Appends ` AND column IN ($n, …)` when `values` is not empty. The last value is repeated up to a
    /// power of two: else every number of values would be a statement of its own to prepare and keep.
    #[must_use]
    pub fn and_in<T: Bind>(mut self, column: &'static str, values: impl IntoIterator<Item = T>) -> Self {
        let bound = self.params.len();
        self.params.extend(values.into_iter().map(Bind::bind));
        if self.params.len() == bound {
            return self;
        }
        let length = (self.params.len() - bound).next_power_of_two();
        if let Some(last) = self.params.last().cloned() {
            self.params.resize(bound + length, last);
        }
        let text = self.text.to_mut();
        let _ = write!(text, " AND {column} IN (${}", bound + 1);
        for number in bound + 2..=bound + length {
            let _ = write!(text, ", ${number}");
        }
        text.push(')');
        self
    }

    /// Appends literal text, for what follows a filter.
    #[must_use]
    pub fn then(mut self, text: &'static str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Appends ` LIMIT $n`.
    #[must_use]
    pub fn limit(self, rows: u32) -> Self {
        self.push(" LIMIT ?", i64::from(rows))
    }
}

fn ascending(text: &str) -> bool {
    let mut highest = 0;
    text.split('$').skip(1).all(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = rest[..digits].parse().unwrap_or(0);
        let fits = number >= 1 && number <= highest + 1;
        highest = highest.max(number);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_must_first_appear_in_ascending_order() {
        assert!(ascending("SELECT $1, $2, $1"));
        assert!(!ascending("SELECT $2, $1"));
        assert!(!ascending("SELECT $"));
    }

    #[test]
    fn filters_append_numbered_fragments_only_for_present_values() {
        let query = sql("SELECT a FROM t WHERE b = $1")
            .bind(1_i64)
            .push_if(" AND c = ?", Some(2_i64))
            .push_if(" AND d = ?", None::<i64>)
            .and_in("e", ["x", "y"])
            .and_in("f", Vec::<String>::new())
            .limit(5);
        assert_eq!(query.text, "SELECT a FROM t WHERE b = $1 AND c = $2 AND e IN ($3, $4) LIMIT $5");
        assert_eq!(query.params.len(), 5);
    }

    #[test]
    fn lists_of_many_lengths_make_few_statements() {
        let query = sql("SELECT a FROM t WHERE b = $1").bind(1_i64).and_in("c", [7_i64, 8, 9]);
        assert_eq!(query.text, "SELECT a FROM t WHERE b = $1 AND c IN ($2, $3, $4, $5)");
        assert_eq!(query.params[3..], [9_i64.bind(), 9_i64.bind()]);
        let texts: std::collections::BTreeSet<_> =
            (1..=1000).map(|count| sql("SELECT").and_in("c", 0..count).text).collect();
        assert_eq!(texts.len(), 11);
    }
}
