//! Fields of JSON and form bodies, and comparisons with what a rule names.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::form::{self, ParameterName};
use super::parsed::ParsedContent;
use super::value::FieldValue;
use super::{Unreadable, json};
use crate::policy::PolicyVerdict;

/// Longest value that is quoted in a fact, in characters.
const LONGEST_QUOTED: usize = 80;

/// Where a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldPlace {
    /// A JSON pointer (RFC 6901), in its segments; `*` is every entry of a list.
    Json(Vec<String>),
    /// A parameter of a form, in the body or in the query.
    Form(ParameterName),
}

/// A condition under which a request passes.
#[derive(Clone, Debug)]
pub(super) struct FieldCheck {
    pub(super) place: FieldPlace,
    /// The place as written.
    pub(super) name: Box<str>,
    pub(super) comparison: Comparison,
    /// The comparison as written.
    pub(super) wanted: Box<str>,
    /// Verdict if the value differs.
    pub(super) otherwise: PolicyVerdict,
}

/// A comparison of a field with values of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// A number up to this one.
    Maximum(Number),
    /// A number from this one on.
    Minimum(Number),
    /// One of these values, of the same type.
    OneOf(Vec<Value>),
    /// A text that begins so.
    StartsWith(String),
    /// A text that ends so.
    EndsWith(String),
}

impl FieldCheck {
    /// The verdict for a request, with the fact that leads to it.
    pub(super) fn evaluate(&self, content: &ParsedContent<'_>) -> (PolicyVerdict, String) {
        let values = match self.values(content) {
            Ok(values) => values,
            Err(Unreadable(why)) => return (PolicyVerdict::RequireApproval, self.unclear(why)),
        };
        let mut worst = (PolicyVerdict::AutoApprove, self.describe(&values[0]));
        for value in &values {
            let found = match self.comparison.holds(value) {
                Ok(true) => continue,
                Ok(false) => (self.otherwise, self.describe(value)),
                Err(Unreadable(why)) => (PolicyVerdict::RequireApproval, self.unclear(why)),
            };
            if found.0 == PolicyVerdict::Deny {
                return found;
            }
            worst = found;
        }
        worst
    }

    /// True if every value is one that the rule allows, for certain.
    pub(super) fn passes(&self, content: &ParsedContent<'_>) -> bool {
        let allowed = |value: &FieldValue| self.comparison.holds(value) == Ok(true);
        self.values(content).is_ok_and(|values| values.iter().all(allowed))
    }

    pub(super) fn fact(&self, content: &ParsedContent<'_>) -> String {
        self.evaluate(content).1
    }

    /// The values of the field: at least one.
    fn values(&self, content: &ParsedContent<'_>) -> Result<Vec<FieldValue>, Unreadable> {
        let values = match &self.place {
            // Some frameworks merge the query into the body.
            FieldPlace::Json(pointer)
                if pointer
                    .first()
                    .is_some_and(|name| content.has_in_query(&ParameterName::new(name.clone()))) =>
            {
                return Err(Unreadable("the query has a parameter of that name"));
            }
            FieldPlace::Json(pointer) => json::values(content.json()?, pointer)?,
            FieldPlace::Form(name) => {
                vec![FieldValue::Text(form::value(content.form()?, name)?.to_owned())]
            }
        };
        if values.is_empty() { Err(Unreadable("it is missing")) } else { Ok(values) }
    }

    fn describe(&self, value: &FieldValue) -> String {
        format!("{} is {}; the rule allows {}", self.name, quoted(value), self.wanted)
    }

    fn unclear(&self, why: &str) -> String {
        format!("{} cannot be compared with {}: {why}", self.name, self.wanted)
    }
}

impl Comparison {
    /// True if the value is one that the rule allows. A value of another type is unreadable.
    fn holds(&self, value: &FieldValue) -> Result<bool, Unreadable> {
        match self {
            Self::Maximum(limit) => Ok(number(value)?.compare(Amount::from_number(limit)).is_le()),
            Self::Minimum(limit) => Ok(number(value)?.compare(Amount::from_number(limit)).is_ge()),
            Self::StartsWith(start) => Ok(text(value)?.starts_with(start.as_str())),
            Self::EndsWith(end) => Ok(ending(value, end)?.ends_with(end.as_str())),
            Self::OneOf(known) => Ok(known.iter().any(|one| equals(one, value))),
        }
    }
}

fn equals(one: &Value, value: &FieldValue) -> bool {
    match (one, value) {
        (Value::Number(one), _) => {
            number(value).is_ok_and(|number| number.compare(Amount::from_number(one)).is_eq())
        }
        (Value::String(one), FieldValue::Text(text)) => one == text,
        (Value::Bool(one), FieldValue::Text(text)) => text == if *one { "true" } else { "false" },
        (one, FieldValue::Json(value)) => one == value,
        (_, FieldValue::Text(_)) => false,
    }
}

fn text(value: &FieldValue) -> Result<&str, Unreadable> {
    match value {
        FieldValue::Text(text) | FieldValue::Json(Value::String(text)) if text.contains(char::is_control) => {
            Err(Unreadable("it contains a control character"))
        }
        FieldValue::Text(text) | FieldValue::Json(Value::String(text)) => Ok(text),
        FieldValue::Json(_) => Err(Unreadable("it is not a text")),
    }
}

/// A text whose end counts. Where that is an address, there must be one address: mail programs read several.
fn ending<'v>(value: &'v FieldValue, end: &str) -> Result<&'v str, Unreadable> {
    let text = text(value)?;
    let is_one_address =
        text.matches('@').count() == 1 && !text.contains([',', ';', '<', '>', '"', '(', ')']);
    if end.contains('@') && !is_one_address {
        return Err(Unreadable("it is not exactly one plain address"));
    }
    Ok(text)
}

/// A number: whole ones are compared exactly, others as most readers do.
#[derive(Clone, Copy)]
enum Amount {
    Whole(i128),
    Fraction(f64),
}

impl Amount {
    fn from_number(number: &Number) -> Self {
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        whole.map_or_else(|| Self::Fraction(number.as_f64().unwrap_or(f64::NAN)), Self::Whole)
    }

    #[expect(clippy::cast_precision_loss, reason = "a fraction has no more precision than that")]
    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Fraction(fraction) => fraction,
        }
    }

    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one.cmp(&other),
            (one, other) => one.as_f64().total_cmp(&other.as_f64()),
        }
    }
}

fn number(value: &FieldValue) -> Result<Amount, Unreadable> {
    match value {
        FieldValue::Json(Value::Number(number)) => Ok(Amount::from_number(number)),
        FieldValue::Json(_) => Err(Unreadable("it is not a number")),
        FieldValue::Text(text) => decimal(text).ok_or(Unreadable("it is not a plain number")),
    }
}

/// A number as every reader writes it: digits, at most one sign and one point. `1e3`, `0x10`, ` 5` and `5,000` mean
/// different things to different readers.
fn decimal(text: &str) -> Option<Amount> {
    const MAX_DIGITS: usize = 18;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // A leading zero makes an octal number of it in some languages.
    let is_plain = is_digits(digits) && is_digits(fraction) && (digits == "0" || !digits.starts_with('0'));
    if !is_plain || digits.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    match text.parse() {
        Ok(whole) => Some(Amount::Whole(whole)),
        Err(_) => text.parse().ok().map(Amount::Fraction),
    }
}

fn quoted(value: &FieldValue) -> String {
    let text = match value {
        FieldValue::Text(text) => format!("\"{}\"", beginning(text)),
        FieldValue::Json(value @ (Value::Array(_) | Value::Object(_))) => {
            let kind = if value.is_array() { "a list" } else { "an object" };
            return kind.to_owned();
        }
        FieldValue::Json(Value::String(text)) => Value::from(beginning(text)).to_string(),
        FieldValue::Json(value) => value.to_string(),
    };
    let shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_QUOTED).collect();
    if text.chars().count() > LONGEST_QUOTED { shown + "…" } else { shown }
}

/// As much of a text as can be quoted, and a little more, so that a longer one is seen to be cut.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(2 * LONGEST_QUOTED).map_or(text, |(end, _)| &text[..end])
}
