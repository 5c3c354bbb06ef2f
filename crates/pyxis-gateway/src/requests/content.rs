//! Content rules: the part of authorization that reads the body (`docs/reference/policy.md#content-rules`).

use axum::body::Body;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use pyxis_core::policy::{self, Decision, Finding, Method, RequestContent, Rule, Verdict};
use pyxis_core::target::Target;

use crate::error::Result;
use crate::requests::authorize::{self, Authorization, Matched};
use crate::requests::body::peek;
use crate::requests::validated_request::ValidatedRequest;
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// Content of a request with these headers and this body.
pub(crate) fn of<'a>(headers: &'a HeaderMap, target: &'a Target, body: &'a [u8]) -> RequestContent<'a> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let content_type = match (types.next(), types.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    };
    let hides = |value: &http::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    let is_encoded = headers.get_all(CONTENT_ENCODING).iter().any(hides);
    RequestContent { content_type, is_encoded, query: target.query(), body }
}

/// Makes an authorization stricter if the content calls for it. Reads the body only if a rule is about it, and puts it
/// back. `sent` are the headers that the target gets.
pub(crate) async fn authorize(
    state: &State,
    asked: &ValidatedRequest<'_>,
    by_url: Authorization,
    body: &mut Option<Body>,
    sent: impl FnOnce() -> HeaderMap,
) -> Result<Authorization> {
    let Some(decision) = decision(&by_url) else { return Ok(by_url) };
    if !concerns(asked.credential, &decision, asked.method, asked.target) {
        return Ok(by_url);
    }
    let bytes = peek(state, body).await?;
    // What is read is what is sent: `Connection` may name headers that are dropped.
    let sent = sent();
    let content = of(&sent, asked.target, &bytes);
    match finding(asked.credential, &decision, asked.method, asked.target, &content) {
        None => Ok(by_url),
        Some(Finding { verdict: Verdict::Deny, rule, .. }) => {
            Ok(Authorization::Deny { pattern: rule.map(str::to_owned) })
        }
        Some(finding) => {
            authorize::check_reason(asked)?;
            let pattern = finding.rule.map(str::to_owned);
            Ok(Authorization::RequireApproval(Matched { rule: Rule::Content, pattern }))
        }
    }
}

/// The decision by the URL; `None` if it cannot become stricter.
fn decision(by_url: &Authorization) -> Option<Decision<'static>> {
    let (verdict, matched) = match by_url {
        Authorization::Allow(matched) => (Verdict::AutoApprove, matched),
        Authorization::RequireApproval(matched) => (Verdict::RequireApproval, matched),
        Authorization::Deny { .. } => return None,
    };
    Some(Decision { verdict, rule: matched.rule, pattern: None })
}

/// Finding about the content of a whole request, beyond the decision by its URL.
pub(crate) fn finding<'c>(
    credential: &'c ResolvedCredential,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
    content: &RequestContent<'_>,
) -> Option<Finding<'c>> {
    let compiled = credential.policy.as_ref().map(|policy| &policy.compiled);
    policy::evaluate_content(compiled, decision, method, target, content)
}

/// True if the content of a request must be known to tell what happens to it.
pub(crate) fn concerns(
    credential: &ResolvedCredential,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
) -> bool {
    let compiled = credential.policy.as_ref().map(|policy| &policy.compiled);
    policy::content_concerns(compiled, decision, method, target)
}
