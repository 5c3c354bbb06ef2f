//! Rules, decisions and outcomes in words.

use pyxis_core::approval_mode::{ApprovalMode, ForwardState};
use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::{Method, Policy, Rule};
use pyxis_store::approvals::ApprovalRow;

use crate::text;

/// Patterns that are named individually; the rest are counted.
const NAMED: usize = 6;

/// `Enabled` or `Disabled`, for anything that can be switched off.
pub(super) const fn enabled(disabled_at: Option<UnixMillis>) -> &'static str {
    if disabled_at.is_none() { "enabled" } else { "disabled" }
}

/// Effect of the mode on a credential without a policy, in one sentence.
pub(super) const fn mode(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Gated => "GET and HEAD are allowed, everything else needs approval.",
        ApprovalMode::Autonomous => "everything is allowed.",
    }
}

/// The same as rules.
pub(super) fn mode_rules(mode: ApprovalMode) -> Vec<String> {
    let rules: &[&str] = match mode {
        ApprovalMode::Gated => &["GET and HEAD are allowed", "everything else needs approval"],
        ApprovalMode::Autonomous => &["everything is allowed"],
    };
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

/// A policy as short sentences, one per rule. Of a long list, only the first patterns are named.
pub(super) fn policy_rules(policy: &Policy) -> Vec<String> {
    rules_naming(policy, NAMED)
}

/// A policy as short sentences, with every pattern.
pub(super) fn every_policy_rule(policy: &Policy) -> Vec<String> {
    rules_naming(policy, usize::MAX)
}

fn rules_naming(policy: &Policy, most: usize) -> Vec<String> {
    let mut rules = Vec::new();
    let mut methods = |list: &[Method], one: &str, several: &str| {
        let names: Vec<_> = list.iter().flat_map(|method| names(*method)).copied().collect();
        if let Some((last, rest)) = names.split_last() {
            let verb = if rest.is_empty() { one } else { several };
            let listed =
                if rest.is_empty() { (*last).to_owned() } else { format!("{} and {last}", rest.join(", ")) };
            rules.push(format!("{listed} {verb}"));
        }
    };
    methods(&policy.auto_approve_methods, "is allowed", "are allowed");
    methods(&policy.require_approval_methods, "needs approval", "need approval");
    methods(&policy.deny_methods, "is denied", "are denied");
    urls(&mut rules, most, &policy.deny_urls, "is denied", "are denied");
    urls(&mut rules, most, &policy.require_approval_urls, "always needs approval", "always need approval");
    urls(&mut rules, most, &policy.auto_approve_urls, "is allowed", "are allowed");
    rules.extend(policy.content_rules.iter().take(most).map(|rule| format!("content rule: {rule}")));
    if let Some(more) = policy.content_rules.len().checked_sub(most).filter(|more| *more > 0) {
        rules.push(text::count_noun(more as u64, "more content rule"));
    }
    if rules.is_empty() {
        rules.push("everything needs approval".to_owned());
    }
    if policy.min_approvals > 1 {
        rules.push(format!("{} people must approve", policy.min_approvals));
    }
    match policy.allowed_approvers.as_slice() {
        [] => {}
        [one] => rules.push(format!("only {one} may approve")),
        several => rules.push(format!("{} people may approve", several.len())),
    }
    match policy.on_call.as_slice() {
        [] => {}
        [one] => rules.push(format!("{one} is on call")),
        several => rules.push(format!("{} people are on call", several.len())),
    }
    if !policy.escalation.is_empty() {
        rules.push(format!("escalates in {}", text::count_noun(policy.escalation.len() as u64, "step")));
    }
    if policy.passkey_required {
        rules.push("approving requires a passkey".to_owned());
    }
    if policy.require_reason {
        rules.push("the agent must give a reason".to_owned());
    }
    rules
}

const fn names(method: Method) -> &'static [&'static str] {
    match method {
        Method::Get => &["GET", "HEAD"],
        Method::Head => &[],
        Method::Post => &["POST"],
        Method::Put => &["PUT"],
        Method::Patch => &["PATCH"],
        Method::Delete => &["DELETE"],
        Method::Options => &["OPTIONS"],
        Method::WebSocket => &["WEBSOCKET"],
    }
}

fn urls(rules: &mut Vec<String>, named: usize, patterns: &[String], one: &str, several: &str) {
    rules.extend(patterns.iter().take(named).map(|pattern| format!("{pattern} {one}")));
    if let Some(more) = patterns.len().checked_sub(named).filter(|more| *more > 0) {
        let verb = if more == 1 { one } else { several };
        rules.push(format!("{} {verb}", text::count_noun(more as u64, "more URL")));
    }
}

/// Reason that a request was paused or allowed, from the rule's wire name, the pattern and the method.
pub(super) fn rule(name: &str, pattern: Option<&str>, method: &str) -> String {
    let Some(rule) = Rule::ALL.iter().find(|rule| rule.as_str() == name) else {
        return refusal(name).to_owned();
    };
    match (rule, pattern) {
        (Rule::RequireUrl, Some(pattern)) => format!("matches {pattern}"),
        (Rule::RequireUrl, None) => "the path is not valid UTF-8 or has too many readings".to_owned(),
        (Rule::AutoUrl, Some(pattern)) => format!("allowed, matches {pattern}"),
        (Rule::AutoMethod, _) => format!("{method} is allowed"),
        (Rule::RequireMethod, _) => format!("{method} needs approval"),
        (Rule::Default, _) => format!("no rule allows {method}"),
        (Rule::GatedDefault, _) if matches!(Method::parse(method), Some(Method::Get | Method::Head)) => {
            format!("{method} is allowed (workspace mode)")
        }
        (Rule::GatedDefault, _) => format!("{method} needs approval (workspace mode)"),
        (Rule::AutonomousDefault, _) => "everything is allowed (workspace mode)".to_owned(),
        (Rule::Tool, Some(tool)) => format!("the tool {tool} asks for approval"),
        (Rule::ToolChanged, Some(tool)) => format!("the tool {tool} changed since it was allowed"),
        (Rule::Content, Some(rule)) => format!("content rule {rule}"),
        (Rule::Content, None) => "a GraphQL mutation needs approval".to_owned(),
        (Rule::Deny, Some(pattern)) => format!("denied, matches {pattern}"),
        (Rule::Deny, None) => format!("{method} is denied"),
        (other, _) => other.detail().to_owned(),
    }
}

/// Reason that a request was refused or failed, from its stable code.
pub(super) fn refusal(code: &str) -> &str {
    match code {
        "denied_by_policy" => "denied by policy",
        "host_not_allowed" => "the host is not in the credential's allowed hosts",
        "target_not_allowed" => "Pyxis may not connect to this URL",
        "invalid_target" => "the URL is invalid",
        "rate_limited" => "the agent's hourly limit is used up",
        "body_too_large" => "the body is too large to wait for approval",
        "upstream_timeout" => "the host did not respond in time",
        "upstream_error" => {
            "the host could not be reached, closed the connection or sent an invalid response"
        }
        "outcome_unknown" => "sent, but no response arrived: it may have taken effect; it is not sent again",
        "no_longer_allowed" => "not sent: no longer allowed at the time of approval",
        "missing_header" => "a required X-PX header is missing",
        "unknown_content_coding" => "the response could not be checked for secrets",
        "incomplete_body" => "the agent closed the connection",
        other => other,
    }
}

/// Result of an approved request, and true if it failed.
pub(super) fn result(row: &ApprovalRow) -> (String, bool) {
    match (row.forward_state, &row.error, row.upstream_status) {
        (ForwardState::None | ForwardState::Ready, _, _) => ("about to be sent".to_owned(), false),
        (ForwardState::Sending, _, _) => ("being sent".to_owned(), false),
        (ForwardState::Done, Some(code), _) => (refusal(code).to_owned(), true),
        (ForwardState::Done, None, Some(status)) => (format!("{status} from upstream"), false),
        (ForwardState::Done, None, None) => ("done".to_owned(), false),
    }
}

/// A route or URL without its scheme, unless that is plain http.
pub(super) fn short_route(route: &str) -> &str {
    route.strip_prefix("https://").unwrap_or(route)
}
