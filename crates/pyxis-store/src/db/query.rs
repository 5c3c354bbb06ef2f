//! A statement and its parameters.

use std::borrow::Cow;

use super::value::{Bind, Value};

/// A statement with `$1`, `$2`, … in it. They must first appear in ascending order: SQLite numbers
/// named parameters by first appearance, and so the same text serves both engines.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) text: Cow<'static, str>,
    pub(super) params: Vec<Value>,
}

/// Starts a statement. Only literal text: there is no way to put a value into the text.
pub fn sql(text: &'static str) -> Query {
    debug_assert!(ascending(text), "parameters must first appear in ascending order: {text}");
    Query { text: Cow::Borrowed(text), params: Vec::with_capacity(8) }
}

impl Query {
    /// Binds the next parameter.
    #[must_use]
    pub fn bind(mut self, value: impl Bind) -> Self {
        self.params.push(value.bind());
        self
    }

    /// Appends ` fragment$n`, bound to `value`, when there is one. For filters: fragments are literal.
    #[must_use]
    pub fn and_if(mut self, fragment: &'static str, value: Option<impl Bind>) -> Self {
        if let Some(value) = value {
            self.params.push(value.bind());
            let number = self.params.len();
            let text = self.text.to_mut();
            text.push_str(" AND ");
            text.push_str(&fragment.replace('?', &format!("${number}")));
        }
        self
    }

    /// Appends ` AND column IN ($n, …)` when `values` is not empty.
    #[must_use]
    pub fn and_in<T: Bind>(mut self, column: &'static str, values: impl IntoIterator<Item = T>) -> Self {
        let mut separator = " AND ";
        for value in values {
            self.params.push(value.bind());
            let number = self.params.len();
            let text = self.text.to_mut();
            text.push_str(separator);
            if separator == " AND " {
                text.push_str(column);
                text.push_str(" IN (");
            }
            text.push_str(&format!("${number}"));
            separator = ", ";
        }
        if separator == ", " {
            self.text.to_mut().push(')');
        }
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
    pub fn limit(mut self, rows: u32) -> Self {
        self.params.push(i64::from(rows).bind());
        let number = self.params.len();
        self.text.to_mut().push_str(&format!(" LIMIT ${number}"));
        self
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
            .and_if("c = ?", Some(2_i64))
            .and_if("d = ?", None::<i64>)
            .and_in("e", ["x", "y"])
            .and_in("f", Vec::<String>::new())
            .limit(5);
        assert_eq!(query.text, "SELECT a FROM t WHERE b = $1 AND c = $2 AND e IN ($3, $4) LIMIT $5");
        assert_eq!(query.params.len(), 5);
    }
}
