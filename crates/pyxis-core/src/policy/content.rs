//! Content rules: what a policy says about the bodies of requests (`docs/reference/policy.md#content-rules`).
//!
//! They come after the URL rules and only ever make a decision stricter. Content that cannot be read with certainty
//! needs approval: two readers of one body may otherwise see two different requests.

mod condition;
mod field;
mod form;
mod graphql;
mod json;
mod language;
mod method_override;
mod parsed;
mod rules;
mod value;

pub use condition::{ContentCondition, all_hold};
pub use field::Comparison;
pub use graphql::OperationKind;
pub use language::ContentRuleError;
pub(super) use method_override::REPLACING;
pub use method_override::{may_have_parameters, query_may_name_method};
pub use rules::CompiledContentRules;

use self::parsed::ParsedContent;
use super::{Method, PolicyVerdict};
use crate::pattern::Pattern;

/// Longest body that rules read, in bytes. A longer one needs approval.
pub const MAX_READABLE_BYTES: usize = 1024 * 1024;

/// Content of a request: the input of rules besides method and URL.
#[derive(Clone, Copy, Debug)]
pub struct RequestContent<'a> {
    /// `Content-Type`. `None` if there is none, or more than one.
    pub content_type: Option<&'a str>,
    /// True if the body has a `Content-Encoding`, which hides it.
    pub is_encoded: bool,
    /// The query of the URL, without `?`.
    pub query: Option<&'a str>,
    /// The whole body.
    pub body: &'a [u8],
}

impl<'a> RequestContent<'a> {
    /// The body, if it can be read at all.
    fn readable(&self) -> Result<&'a [u8], Unreadable> {
        if self.is_encoded {
            return Err(Unreadable("the body has a Content-Encoding"));
        }
        if self.body.len() > MAX_READABLE_BYTES {
            return Err(Unreadable("the body is larger than 1 MiB"));
        }
        Ok(self.body)
    }

    /// The media type in lower case. The only parameter that every reader ignores is `charset=utf-8`.
    fn media_type(&self) -> Result<String, Unreadable> {
        let text = self.content_type.ok_or(Unreadable("the request has no Content-Type, or several"))?;
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default().to_ascii_lowercase();
        let known = ["charset=utf-8", "charset=\"utf-8\""];
        if parts.any(|parameter| !known.iter().any(|one| parameter.eq_ignore_ascii_case(one))) {
            return Err(Unreadable("the Content-Type has a parameter other than charset=utf-8"));
        }
        Ok(media)
    }
}

/// A reason why content has no certain meaning, as the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unreadable(&'static str);

/// The result of content rules for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding<'a> {
    /// Verdict that the content calls for.
    pub verdict: PolicyVerdict,
    /// The rule that decided, as written. `None` for the default of GraphQL endpoints.
    pub rule: Option<&'a str>,
    /// Fact that decided, for example `/amount is 12000; the rule allows <= 5000`.
    pub fact: String,
}

/// A rule about the content of requests.
#[derive(Clone, Debug)]
pub struct ContentRule {
    /// As written in the policy.
    text: Box<str>,
    /// `None`: every method but GET, HEAD and OPTIONS; for GraphQL, every method.
    method: Option<Method>,
    pattern: Pattern,
    check: ContentCheck,
}

/// The part of a request that a rule looks at, and its condition.
#[derive(Clone, Debug)]
enum ContentCheck {
    /// The request passes only if a field has a value that the rule names.
    Field(field::FieldCheck),
    /// Operations of a GraphQL request.
    GraphQl(graphql::OperationCheck),
}

impl ContentRule {
    /// Parses a rule (`docs/reference/policy.md#content-rules`).
    pub fn parse(text: &str) -> Result<Self, ContentRuleError> {
        language::parse(text)
    }

    /// The fact about a request that this rule decides by, for the person who approves it. The rule's URL is not looked
    /// at.
    pub fn fact(&self, content: &RequestContent<'_>) -> String {
        let parsed = ParsedContent::new(content);
        match &self.check {
            ContentCheck::Field(check) => check.fact(&parsed),
            ContentCheck::GraphQl(_) => graphql::summary(parsed.graphql()),
        }
    }

    /// The messages of a WebSocket can do what any method does.
    fn concerns_method(&self, method: Method) -> bool {
        match (self.method, &self.check) {
            _ if method == Method::WebSocket => true,
            (Some(only), _) => only.listed_as() == method.listed_as(),
            (None, ContentCheck::GraphQl(_)) => true,
            (None, ContentCheck::Field(_)) => !method.is_safe(),
        }
    }

    /// The verdict on messages that nobody reads.
    fn unread_verdict(&self) -> PolicyVerdict {
        match &self.check {
            ContentCheck::Field(check) => check.otherwise,
            ContentCheck::GraphQl(check) if check.passes_everything() => PolicyVerdict::AutoApprove,
            ContentCheck::GraphQl(check) if check.verdict == PolicyVerdict::Deny => PolicyVerdict::Deny,
            ContentCheck::GraphQl(_) => PolicyVerdict::RequireApproval,
        }
    }
}

/// The fact about a request that asks although no content rule is about it: the method that it names, or its GraphQL
/// operations.
pub fn fact_without_rule(method: Method, content: &RequestContent<'_>) -> String {
    let named = method_override::fact(method, content);
    named.unwrap_or_else(|| graphql::summary(ParsedContent::new(content).graphql()))
}

/// The finding that a request names another method, if that method does not simply pass.
pub(super) fn method_finding(
    verdict: impl Fn(Method) -> PolicyVerdict,
    method: Method,
    content: &RequestContent<'_>,
) -> Option<Finding<'static>> {
    method_override::finding(verdict, method, content)
}

/// The order of verdicts, strictest first: of several findings the first strictest counts.
pub(super) const fn leniency(verdict: PolicyVerdict) -> u8 {
    match verdict {
        PolicyVerdict::Deny => 0,
        PolicyVerdict::RequireApproval => 1,
        PolicyVerdict::AutoApprove => 2,
    }
}

#[cfg(test)]
mod tests;
