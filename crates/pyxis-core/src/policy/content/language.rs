//! The text form of content rules.
//!
//! ```text
//! [METHOD] URL json POINTER COMPARISON [else ask|deny]
//! [METHOD] URL form NAME COMPARISON [else ask|deny]
//! [METHOD] URL graphql query|mutation|subscription|any [FIELD,…] pass|ask|deny
//! ```
//!
//! A condition is the part from `json`, `form` or `graphql` on, without `else` and without a verdict.

use serde_json::{Number, Value};

use super::field::{Comparison, FieldCheck, FieldPlace};
use super::form::ParameterName;
use super::graphql::{OperationCheck, OperationKind};
use super::{ContentCheck, ContentRule};
use crate::pattern::{Pattern, PatternError};
use crate::policy::{Method, PolicyVerdict};

/// The longest rule, in bytes.
const MAX_RULE_BYTES: usize = 4096;

/// Comparisons, as written.
const OPERATORS: &[&str] = &["<=", ">=", "=", "in", "starts_with", "ends_with"];

/// Reasons for refusing a content rule, each with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentRuleError {
    /// Over the limit.
    #[error("a rule may have at most {MAX_RULE_BYTES} bytes")]
    TooLong,
    /// Nothing follows the URL, or something else does.
    #[error("after the URL, write `json`, `form` or `graphql`, as in `/v1/pay json /amount <= 500`")]
    Kind,
    /// Something else begins a condition.
    #[error(
        "write `json`, `form` or `graphql`, as in `json /amount <= 500`; the URL of the action is not repeated"
    )]
    ConditionKind,
    /// A condition goes on after its values.
    #[error("a condition ends after its values: without `else`, `pass`, `ask` or `deny`")]
    ConditionEnd,
    /// The URL is no pattern.
    #[error("the URL: {0}")]
    Url(#[from] PatternError),
    /// The pointer is none.
    #[error("after `json`, write a JSON pointer such as `/amount` or `/to/*/email`")]
    Pointer,
    /// The name of a form's parameter is missing.
    #[error("after `form`, write the name of a parameter, as in `form amount <= 500`")]
    Parameter,
    /// No comparison, or an unknown one.
    #[error(
        "write a comparison: `<= 500`, `>= 1`, `= true`, `in \"eur\", \"usd\"`, `starts_with \"a\"` or `ends_with \"b\"`"
    )]
    Comparison,
    /// The value of a comparison is missing or of the wrong type.
    #[error("{0}")]
    Value(&'static str),
    /// After the comparison.
    #[error("after the comparison only `else ask` or `else deny` may follow")]
    Otherwise,
    /// No kind of operation.
    #[error("after `graphql`, write `query`, `mutation`, `subscription` or `any`")]
    Operation,
    /// No verdict at the end.
    #[error(
        "a graphql rule ends with `pass`, `ask` or `deny`, as in `graphql mutation deleteRepository deny`"
    )]
    Verdict,
    /// Not a GraphQL name.
    #[error("fields are names, separated by commas, as in `createIssue, closeIssue`")]
    Fields,
}

pub(super) fn parse(text: &str) -> Result<ContentRule, ContentRuleError> {
    let text = text.trim();
    if text.len() > MAX_RULE_BYTES {
        return Err(ContentRuleError::TooLong);
    }
    let (first, rest) = split_word(text);
    let method = Method::parse(first);
    let (url, rest) = if method.is_some() { split_word(rest) } else { (first, rest) };
    let pattern = Pattern::parse(url)?;
    let (kind, rest) = split_word(rest);
    let check = match kind {
        "json" | "form" => {
            let (mut check, rest) = field(kind, rest)?;
            check.otherwise = otherwise(rest)?;
            ContentCheck::Field(check)
        }
        "graphql" => ContentCheck::GraphQl(operations(rest)?),
        _ => return Err(ContentRuleError::Kind),
    };
    Ok(ContentRule { text: text.into(), method, pattern, check })
}

/// Parses what a rule says after the URL, without a consequence.
pub(super) fn parse_condition(text: &str) -> Result<ContentCheck, ContentRuleError> {
    if text.len() > MAX_RULE_BYTES {
        return Err(ContentRuleError::TooLong);
    }
    let (kind, rest) = split_word(text);
    match kind {
        "json" | "form" => {
            let (check, rest) = field(kind, rest)?;
            if rest.is_empty() { Ok(ContentCheck::Field(check)) } else { Err(ContentRuleError::ConditionEnd) }
        }
        "graphql" => {
            let (kind, rest) = split_word(rest);
            let kind = operation_kind(kind)?;
            if rest.split_whitespace().next_back().is_some_and(|word| verdict(word).is_some()) {
                return Err(ContentRuleError::ConditionEnd);
            }
            let verdict = PolicyVerdict::AutoApprove;
            Ok(ContentCheck::GraphQl(OperationCheck { kind, fields: names(rest)?, verdict }))
        }
        _ => Err(ContentRuleError::ConditionKind),
    }
}

/// The first word and what follows it.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// The segments of a pointer (RFC 6901, section 3).
fn pointer(text: &str) -> Option<Vec<String>> {
    let segments = text.strip_prefix('/')?.split('/');
    segments
        .map(|segment| {
            let has_stray = segment.replace("~0", "").replace("~1", "").contains('~');
            (!segment.is_empty() && !has_stray).then(|| segment.replace("~1", "/").replace("~0", "~"))
        })
        .collect()
}

/// The place of a field and its comparison, and what follows them. A value that differs asks.
fn field<'t>(kind: &str, text: &'t str) -> Result<(FieldCheck, &'t str), ContentRuleError> {
    let (name, text) = split_word(text);
    let place = match kind {
        "json" => FieldPlace::Json(pointer(name).ok_or(ContentRuleError::Pointer)?),
        _ if name.is_empty() => return Err(ContentRuleError::Parameter),
        _ => FieldPlace::Form(ParameterName::new(name.to_owned())),
    };
    let (operator, rest) = split_word(text);
    if !OPERATORS.contains(&operator) {
        return Err(ContentRuleError::Comparison);
    }
    let (values, rest) = values(rest)?;
    let comparison = comparison(operator, values)?;
    let wanted = text[..text.len() - rest.len()].trim_end();
    let otherwise = PolicyVerdict::RequireApproval;
    Ok((FieldCheck { place, name: name.into(), comparison, wanted: wanted.into(), otherwise }, rest))
}

/// The consequence of a value that differs.
fn otherwise(text: &str) -> Result<PolicyVerdict, ContentRuleError> {
    match split_word(text) {
        ("", _) | ("else", "ask") => Ok(PolicyVerdict::RequireApproval),
        ("else", "deny") => Ok(PolicyVerdict::Deny),
        _ => Err(ContentRuleError::Otherwise),
    }
}

/// JSON values separated by commas, and what follows them.
fn values(text: &str) -> Result<(Vec<Value>, &str), ContentRuleError> {
    const NO_VALUE: ContentRuleError =
        ContentRuleError::Value("write a value: a number, a string in double quotes, true, false or null");
    let (mut values, mut rest) = (Vec::new(), text);
    loop {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) if !value.is_array() && !value.is_object() => values.push(value),
            _ => return Err(NO_VALUE),
        }
        rest = rest[stream.byte_offset()..].trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return Ok((values, rest)),
        }
    }
}

fn comparison(operator: &str, values: Vec<Value>) -> Result<Comparison, ContentRuleError> {
    if operator == "in" {
        return Ok(Comparison::OneOf(values));
    }
    let Ok([value]) = <[Value; 1]>::try_from(values) else {
        return Err(ContentRuleError::Value("only `in` takes several values"));
    };
    match operator {
        "<=" => number(value).map(Comparison::Maximum),
        ">=" => number(value).map(Comparison::Minimum),
        "starts_with" => text(value).map(Comparison::StartsWith),
        "ends_with" => text(value).map(Comparison::EndsWith),
        _ => Ok(Comparison::OneOf(vec![value])),
    }
}

fn number(value: Value) -> Result<Number, ContentRuleError> {
    match value {
        Value::Number(number) => Ok(number),
        _ => Err(ContentRuleError::Value("`<=` and `>=` compare with a number, as in `<= 500`")),
    }
}

fn text(value: Value) -> Result<String, ContentRuleError> {
    match value {
        Value::String(text) if !text.is_empty() => Ok(text),
        _ => Err(ContentRuleError::Value(
            "`starts_with` and `ends_with` compare with a string in double quotes, as in `ends_with \"@example.com\"`",
        )),
    }
}

fn operations(text: &str) -> Result<OperationCheck, ContentRuleError> {
    let (kind, rest) = split_word(text);
    let kind = operation_kind(kind)?;
    let (fields, last) = match rest.trim_end().rsplit_once(char::is_whitespace) {
        Some((fields, last)) => (fields, last),
        None => ("", rest.trim_end()),
    };
    let verdict = verdict(last).ok_or(ContentRuleError::Verdict)?;
    Ok(OperationCheck { kind, fields: names(fields)?, verdict })
}

/// A kind of operation; `None` for any.
fn operation_kind(word: &str) -> Result<Option<OperationKind>, ContentRuleError> {
    match word {
        "query" => Ok(Some(OperationKind::Query)),
        "mutation" => Ok(Some(OperationKind::Mutation)),
        "subscription" => Ok(Some(OperationKind::Subscription)),
        "any" => Ok(None),
        _ => Err(ContentRuleError::Operation),
    }
}

fn verdict(word: &str) -> Option<PolicyVerdict> {
    match word {
        "pass" => Some(PolicyVerdict::AutoApprove),
        "ask" => Some(PolicyVerdict::RequireApproval),
        "deny" => Some(PolicyVerdict::Deny),
        _ => None,
    }
}

fn names(text: &str) -> Result<Vec<String>, ContentRuleError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let names = text.split(',').map(str::trim);
    names.map(|name| is_name(name).then(|| name.to_owned()).ok_or(ContentRuleError::Fields)).collect()
}
