//! SQL statements with parameters.

use std::borrow::Cow;
use std::fmt::Write;

use pyxis_core::hex;
use serde_json::Value as Json;

use super::value::{Bind, Value};
use crate::Engine;

/// Maximum list values bound as separate parameters on SQLite, which accepts about 32,000 per statement.
const MOST_LISTED: usize = 1024;

/// A statement with `$1`, `$2`, … in it. They must first appear in ascending order, because SQLite numbers named
/// parameters by first appearance. That way the same text works for both engines.
#[derive(Clone, Debug)]
pub struct SqlQuery {
    pub(super) text: Cow<'static, str>,
    pub(super) params: Vec<Value>,
    pub(super) relaxed: bool,
}

/// Creates a statement from literal text only. Values can never become part of the text.
pub(crate) fn sql(text: &'static str) -> SqlQuery {
    debug_assert!(ascending(text), "parameters must first appear in ascending order: {text}");
    SqlQuery { text: Cow::Borrowed(text), params: Vec::with_capacity(8), relaxed: false }
}

impl SqlQuery {
    /// Creates a statement assembled from table and column names of the schema, never from input.
    pub(crate) const fn assembled(text: String) -> Self {
        Self { text: Cow::Owned(text), params: Vec::new(), relaxed: false }
    }

    /// Replaces names of tables and columns, or literals, each by another one of the schema.
    #[must_use]
    pub(crate) fn renamed(mut self, names: &[(&'static str, &'static str)]) -> Self {
        for (from, to) in names {
            self.text = Cow::Owned(self.text.replace(from, to));
        }
        self
    }

    /// The statement's text, for inspection.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Relaxes durability or freshness. A write on its own then survives a crash of the process, but a power failure
    /// may lose its last moments. A read may lag commits of other processes, and so other reads, by a millisecond.
    /// Never use it for a read that decides how to interpret another one.
    #[must_use]
    pub const fn relaxed(mut self) -> Self {
        self.relaxed = true;
        self
    }

    /// Binds the next parameter.
    #[must_use]
    pub fn bind(mut self, value: impl Bind) -> Self {
        self.params.push(value.bind());
        self
    }

    /// Appends literal text in which `?` is replaced by a parameter for `value`.
    #[must_use]
    pub fn push(mut self, fragment: &'static str, value: impl Bind) -> Self {
        self.params.push(value.bind());
        let number = self.params.len();
        let (before, after) = fragment.split_once('?').unwrap_or((fragment, ""));
        // Writing to a String does not fail.
        let _ = write!(self.text.to_mut(), "{before}${number}{after}");
        self
    }

    /// Like [`push`](Self::push), if there is a value.
    #[must_use]
    pub fn push_if(self, fragment: &'static str, value: Option<impl Bind>) -> Self {
        match value {
            Some(value) => self.push(fragment, value),
            None => self,
        }
    }

    /// Appends a condition that `column` is one of `values`, if there are any.
    ///
    /// PostgreSQL receives them as one array to join with, because a list of a thousand parameters may be compared one
    /// by one with every row. SQLite looks up each list item. Its last value is repeated up to a power of two,
    /// otherwise every list length would be a separate statement to prepare and cache. Longer lists, of over a thousand
    /// values, are passed as one text.
    #[must_use]
    pub fn and_in<T: Bind>(
        self,
        engine: Engine,
        column: &'static str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values: Vec<Value> = values.into_iter().map(Bind::bind).collect();
        match (values.last().cloned(), engine) {
            (None, _) => self,
            (Some(_), Engine::Sqlite) if values.len() > MOST_LISTED => {
                self.and_in_json(column, values, &T::NULL)
            }
            (Some(last), Engine::Sqlite) => self.and_in_list(column, values, last),
            (Some(_), Engine::Postgres) => self.and_in_array(column, values, T::NULL.array_type()),
        }
    }

    fn and_in_list(mut self, column: &'static str, mut values: Vec<Value>, last: Value) -> Self {
        values.resize(values.len().next_power_of_two(), last);
        let first = self.params.len() + 1;
        self.params.append(&mut values);
        // Writing to a String does not fail.
        let _ = write!(self.text.to_mut(), " AND {column} IN (${first}");
        for number in first + 1..=self.params.len() {
            let _ = write!(self.text.to_mut(), ", ${number}");
        }
        self.append(")")
    }

    fn and_in_json(mut self, column: &'static str, values: Vec<Value>, kind: &Value) -> Self {
        let list: Vec<Json> = values.into_iter().map(json).collect();
        self.params.push(Json::from(list).to_string().bind());
        let number = self.params.len();
        let value = if matches!(kind, Value::Bytes(_)) { "unhex(value)" } else { "value" };
        let _ = write!(self.text.to_mut(), " AND {column} IN (SELECT {value} FROM json_each(${number}))");
        self
    }

    fn and_in_array(mut self, column: &'static str, values: Vec<Value>, kind: &'static str) -> Self {
        self.params.push(Value::List(values));
        let number = self.params.len();
        let _ = write!(self.text.to_mut(), " AND {column} IN (SELECT unnest(CAST(${number} AS {kind})))");
        self
    }

    /// Appends a condition that any of `expressions` compares to `value` as the operator says.
    #[must_use]
    pub fn and_any(
        mut self,
        expressions: &'static [&'static str],
        operator: &'static str,
        value: impl Bind,
        end: &'static str,
    ) -> Self {
        self.params.push(value.bind());
        let number = self.params.len();
        for (place, expression) in expressions.iter().enumerate() {
            let start = if place == 0 { " AND (" } else { " OR " };
            // Writing to a String does not fail.
            let _ = write!(self.text.to_mut(), "{start}{expression}{operator}${number}{end}");
        }
        self.append(")")
    }

    /// The query of `columns` for literal text from ` FROM` on. The columns have no parameters.
    #[must_use]
    pub fn selecting(self, columns: &'static str) -> Self {
        Self { text: format!("SELECT {columns}{}", self.text).into(), ..self }
    }

    /// Appends literal text after a filter.
    #[must_use]
    pub fn append(mut self, text: &'static str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Appends ` LIMIT $n`.
    #[must_use]
    pub fn limit(self, rows: u32) -> Self {
        self.push(" LIMIT ?", i64::from(rows))
    }
}

/// A list value as JSON. Bytes, which JSON lacks, become hex.
fn json(value: Value) -> Json {
    match value {
        Value::Int(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::Bytes(bytes) => bytes.map(|bytes| hex::encode(&bytes)).into(),
        Value::Bool(flag) => flag.into(),
        Value::List(values) => values.into_iter().map(json).collect(),
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
            .and_in(Engine::Sqlite, "e", ["x", "y"])
            .and_in(Engine::Sqlite, "f", Vec::<String>::new())
            .limit(5);
        assert_eq!(query.text, "SELECT a FROM t WHERE b = $1 AND c = $2 AND e IN ($3, $4) LIMIT $5");
        assert_eq!(query.params.len(), 5);
    }

    #[test]
    fn lists_of_many_lengths_make_few_statements() {
        let start = || sql("SELECT a FROM t WHERE b = $1").bind(1_i64);
        let list = start().and_in(Engine::Sqlite, "c", [7_i64, 8, 9]);
        assert_eq!(list.text, "SELECT a FROM t WHERE b = $1 AND c IN ($2, $3, $4, $5)");
        assert_eq!(list.params[3..], [9_i64.bind(), 9_i64.bind()]);
        let array = start().and_in(Engine::Postgres, "c", ["x", "y"]).limit(5);
        let wanted = "SELECT a FROM t WHERE b = $1 AND c IN (SELECT unnest(CAST($2 AS TEXT[]))) LIMIT $3";
        assert_eq!((array.text.as_ref(), array.params.len()), (wanted, 3));
        let long = start().and_in(Engine::Sqlite, "c", std::iter::repeat_n("x\"y", 20_000));
        assert_eq!(long.text, "SELECT a FROM t WHERE b = $1 AND c IN (SELECT value FROM json_each($2))");
        assert_eq!(long.params.len(), 2);
        let bytes = sql("SELECT a FROM t WHERE TRUE").and_in(Engine::Sqlite, "c", [[1, 0xab]; 1025]);
        assert!(bytes.text.ends_with(" AND c IN (SELECT unhex(value) FROM json_each($1))"), "{}", bytes.text);
        for (engine, texts) in [(Engine::Sqlite, 12), (Engine::Postgres, 1)] {
            let all = (1..=2000).map(|count| sql("SELECT").and_in(engine, "c", 0..count).text);
            assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), texts);
        }
    }
}
