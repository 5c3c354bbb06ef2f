//! Conditions on the content of requests: content rules without method, URL and consequence. Tasks have them.

use std::mem::discriminant;

use super::field::FieldCheck;
use super::graphql::RootField;
use super::parsed::ParsedContent;
use super::{Comparison, ContentCheck, ContentRuleError, RequestContent, language};

/// A condition such as `json /amount <= 500`, `form amount <= 500` or `graphql mutation closeIssue`.
#[derive(Clone, Debug)]
pub struct ContentCondition {
    /// As written.
    text: Box<str>,
    check: ContentCheck,
}

impl ContentCondition {
    /// Parses a condition.
    pub fn parse(text: &str) -> Result<Self, ContentRuleError> {
        let text = text.trim();
        Ok(Self { text: text.into(), check: language::parse_condition(text)? })
    }

    /// The condition as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if it holds for certain. Content that cannot be read meets no condition.
    pub(super) fn holds(&self, content: &ParsedContent<'_>) -> bool {
        match &self.check {
            ContentCheck::Field(check) => check.passes(content),
            ContentCheck::GraphQl(check) => content
                .graphql()
                .is_ok_and(|fields| fields.iter().all(|field| check.covers(field.kind, &field.name))),
        }
    }

    /// True if the condition bounds the same field as a rule: with the same comparison, or with exact values.
    pub(super) fn answers(&self, rule: &FieldCheck) -> bool {
        let ContentCheck::Field(own) = &self.check else { return false };
        let is_exact = matches!(own.comparison, Comparison::OneOf(_));
        own.place == rule.place
            && (is_exact || discriminant(&own.comparison) == discriminant(&rule.comparison))
    }

    /// True if the condition names this field of an operation.
    pub(super) fn names(&self, field: &RootField) -> bool {
        let ContentCheck::GraphQl(check) = &self.check else { return false };
        !check.fields.is_empty() && check.covers(field.kind, &field.name)
    }
}

/// True if every condition holds for the content of a request.
pub fn all_hold(conditions: &[ContentCondition], content: &RequestContent<'_>) -> bool {
    let parsed = ParsedContent::new(content);
    conditions.iter().all(|condition| condition.holds(&parsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(texts: &[&str]) -> Vec<ContentCondition> {
        texts.iter().map(|text| ContentCondition::parse(text).unwrap()).collect()
    }

    fn hold(texts: &[&str], content_type: &str, body: &str) -> bool {
        let content = RequestContent {
            content_type: Some(content_type),
            is_encoded: false,
            query: None,
            body: body.as_bytes(),
        };
        all_hold(&conditions(texts), &content)
    }

    #[test]
    fn every_condition_must_hold_for_certain() {
        let both = ["json /amount <= 100", "json /currency in \"eur\", \"usd\""];
        let json = "application/json";
        assert!(hold(&both, json, r#"{"amount":100,"currency":"eur"}"#));
        for body in [
            r#"{"amount":101,"currency":"eur"}"#,
            r#"{"amount":1,"currency":"gbp"}"#,
            r#"{"amount":1}"#,
            r#"{"amount":"1","currency":"eur"}"#,
            r#"{"amount":1,"amount":1,"currency":"eur"}"#,
            r#"{"amount":1,"Amount":900,"currency":"eur"}"#,
            "amount=1&currency=eur",
            "",
        ] {
            assert!(!hold(&both, json, body), "{body}");
        }
        assert!(!hold(&both, "text/plain", r#"{"amount":100,"currency":"eur"}"#));
        assert!(hold(&[], json, "anything"));
        let form = "application/x-www-form-urlencoded";
        assert!(hold(&["form amount <= 100"], form, "amount=100"));
        assert!(!hold(&["form amount <= 100"], form, "amount=100&amount=100"));
    }

    #[test]
    fn a_graphql_condition_holds_if_every_operation_is_one_that_it_names() {
        let only = ["graphql mutation closeIssue, addComment"];
        let of = |document: &str| serde_json::json!({ "query": document }).to_string();
        assert!(hold(&only, "application/json", &of("mutation { closeIssue { id } c: addComment { id } }")));
        for document in
            ["mutation { closeIssue { id } drop { id } }", "{ closeIssue }", "mutation {", "{ a }"]
        {
            assert!(!hold(&only, "application/json", &of(document)), "{document}");
        }
        assert!(hold(&["graphql query"], "application/json", &of("{ a b }")));
    }

    #[test]
    fn a_condition_has_no_url_and_no_consequence() {
        assert_eq!(ContentCondition::parse(" json /a <= 5 ").unwrap().as_str(), "json /a <= 5");
        for (text, says) in [
            ("", "`json`, `form` or `graphql`"),
            ("/v1/pay json /a <= 5", "`json`, `form` or `graphql`"),
            ("POST /v1/pay json /a <= 5", "`json`, `form` or `graphql`"),
            ("json a <= 5", "JSON pointer"),
            ("json /a", "comparison"),
            ("json /a <= \"5\"", "number"),
            ("json /a <= 5 else ask", "ends after its values"),
            ("json /a <= 5 else deny", "ends after its values"),
            ("json /a <= 5 6", "ends after its values"),
            ("form", "parameter"),
            ("graphql", "`query`"),
            ("graphql mutation closeIssue pass", "ends after its values"),
            ("graphql any deny", "ends after its values"),
            ("graphql mutation a-b", "names"),
        ] {
            let error = ContentCondition::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
