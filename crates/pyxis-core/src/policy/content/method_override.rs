//! Methods that a request names in its content (`docs/reference/policy.md#named-methods`).
//!
//! Rails, Laravel, Symfony, Spring and others replace POST by what a parameter `_method` says. The policy would then
//! have decided about another method than the one that runs.

mod json;
mod multipart;

use std::borrow::Cow;
use std::sync::LazyLock;

use super::form::{self, ParameterName};
use super::{Finding, RequestContent, leniency};
use crate::policy::{Method, PolicyVerdict};
use crate::target::Target;

/// Names of the parameter. Headers of these names are never forwarded.
static NAMES: LazyLock<Vec<ParameterName>> = LazyLock::new(|| {
    let names = ["_method", "x-http-method-override", "x-http-method", "x-method-override"];
    names.map(|name| ParameterName::new(name.to_owned())).into()
});

/// Part of all these names, in lower case.
const COMMON: &[u8] = b"method";

/// Methods that may replace another. OPTIONS does nothing, and few policies list it.
pub(in crate::policy) const REPLACING: [Method; 6] =
    [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete];

/// A parameter that names a method.
struct NamedMethod {
    /// Name of the parameter, as it was sent.
    parameter: String,
    /// `None` if readers may see different ones.
    method: Option<Method>,
}

/// Forms of a body in which a method can be named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyForm {
    Form,
    Json,
    Multipart,
    /// Without a type, or with several.
    Any,
}

impl BodyForm {
    fn from_content_type(content_type: Option<&str>) -> Option<Self> {
        let Some(text) = content_type else { return Some(Self::Any) };
        let text = text.to_ascii_lowercase();
        // Rack ends a type at a comma, PHP at a space.
        let media = text.trim_start().split([';', ',', ' ', '\t']).next().unwrap_or_default();
        match media {
            "application/x-www-form-urlencoded" => Some(Self::Form),
            "application/json" | "text/json" => Some(Self::Json),
            _ if media.ends_with("+json") => Some(Self::Json),
            "" => Some(Self::Any),
            _ if media.starts_with("multipart/") => Some(Self::Multipart),
            // Laravel looks for these in the whole header.
            _ if text.contains("/json") || text.contains("+json") => Some(Self::Any),
            _ => None,
        }
    }
}

/// True if a form is written in a charset in which its ASCII letters may be others, which Tomcat would follow.
fn names_other_charset(content_type: &str) -> bool {
    let mut charsets =
        content_type.split("charset").skip(1).map(|rest| rest.trim_start_matches([' ', '=', '"']));
    charsets
        .any(|name| !["utf-8", "utf8", "us-ascii", "iso-8859-1"].iter().any(|known| name.starts_with(known)))
}

/// True if a body of this type has parameters, one of which may name a method. A JSON body that is too long to be
/// read is left alone. Only frameworks in PHP take the parameter from JSON, and PHP drops bodies of that length
/// (`post_max_size`).
pub fn may_have_parameters(content_type: Option<&str>, is_too_long: bool) -> bool {
    match BodyForm::from_content_type(content_type) {
        None => false,
        Some(BodyForm::Json) => !is_too_long,
        Some(BodyForm::Form | BodyForm::Multipart | BodyForm::Any) => true,
    }
}

/// True if the query may name a method. Cheap; it may be wrong in this direction.
pub fn query_may_name_method(target: &Target) -> bool {
    target.query().is_some_and(|query| query.contains('%') || mentions(query.as_bytes()))
}

/// The strictest finding about the methods that a request names besides its own. `verdict` is that for its URL.
pub(super) fn finding(
    verdict: impl Fn(Method) -> PolicyVerdict,
    method: Method,
    content: &RequestContent<'_>,
) -> Option<Finding<'static>> {
    let found = find_overrides(method, content).into_iter().map(|named| Finding {
        verdict: named.method.map_or_else(|| strictest(&verdict), &verdict),
        rule: None,
        fact: describe(&named),
    });
    let strictest = found.min_by_key(|finding| leniency(finding.verdict))?;
    (strictest.verdict != PolicyVerdict::AutoApprove).then_some(strictest)
}

/// The verdict for a method that is not certain.
fn strictest(verdict: impl Fn(Method) -> PolicyVerdict) -> PolicyVerdict {
    REPLACING
        .into_iter()
        .map(verdict)
        .min_by_key(|verdict| leniency(*verdict))
        .unwrap_or(PolicyVerdict::RequireApproval)
}

/// The fact that a request names another method, for people.
pub(super) fn fact(method: Method, content: &RequestContent<'_>) -> Option<String> {
    find_overrides(method, content).first().map(describe)
}

fn describe(named: &NamedMethod) -> String {
    let name: String = named.parameter.chars().filter(|c| !c.is_control()).take(40).collect();
    match named.method {
        Some(method) => format!("the parameter {name} turns the request into {method}"),
        None => format!("the parameter {name} can turn the request into another method"),
    }
}

/// Every parameter that names another method than the request's own.
fn find_overrides(method: Method, content: &RequestContent<'_>) -> Vec<NamedMethod> {
    let mut found = of_pairs(form::pairs(content.query.unwrap_or_default()));
    if method == Method::Post && !content.body.is_empty() {
        found.extend(in_body(content));
    }
    found.retain(|named| named.method != Some(method));
    found
}

fn in_body(content: &RequestContent<'_>) -> Vec<NamedMethod> {
    let Some(form) = BodyForm::from_content_type(content.content_type) else { return Vec::new() };
    let is = |one| form == one || form == BodyForm::Any;
    if content.is_encoded {
        return vec![NamedMethod { parameter: "_method in the encoded body".to_owned(), method: None }];
    }
    let other_charset =
        content.content_type.is_some_and(|text| names_other_charset(&text.to_ascii_lowercase()));
    if is(BodyForm::Form) && other_charset {
        return vec![NamedMethod { parameter: "_method in the body's charset".to_owned(), method: None }];
    }
    let mut found = Vec::new();
    if is(BodyForm::Form) {
        found.extend(of_pairs(form::pairs(&String::from_utf8_lossy(content.body))));
    }
    if is(BodyForm::Json) {
        found.extend(json::find_overrides(content.body, form == BodyForm::Json));
    }
    if is(BodyForm::Multipart) {
        found.extend(multipart::find_overrides(content.body));
    }
    found
}

fn of_pairs<'t>(pairs: impl Iterator<Item = (Cow<'t, str>, Cow<'t, str>)>) -> Vec<NamedMethod> {
    pairs.filter_map(|(name, value)| of_parameter(name.into_owned(), Some(&value))).collect()
}

/// The method that a parameter names, if it is one of those that do.
fn of_parameter(name: String, value: Option<&str>) -> Option<NamedMethod> {
    if !mentions(name.as_bytes()) {
        return None;
    }
    let name = ParameterName::new(name);
    let known = NAMES.iter().find(|known| known.is_alike(&name))?;
    let is_certain = known.text().eq_ignore_ascii_case(name.text());
    let method = value.filter(|_| is_certain).and_then(|value| Method::parse_http(value.trim()));
    Some(NamedMethod { parameter: name.text().to_owned(), method })
}

/// True if a text has [`COMMON`], in any case.
fn mentions(text: &[u8]) -> bool {
    text.windows(COMMON.len()).any(|window| window.eq_ignore_ascii_case(COMMON))
}

#[cfg(test)]
mod tests;
