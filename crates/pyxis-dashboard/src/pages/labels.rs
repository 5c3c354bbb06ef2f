//! Rules, decisions and outcomes in words.

use pyxis_core::approval_mode::{ApprovalMode, ForwardState};
use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::{Method, Policy, Rule};
use pyxis_store::approvals::ApprovalRow;

/// Patterns that are named individually; the rest are counted.
const NAMED: usize = 6;

/// `Enabled` or `Disabled`, for anything that can be switched off.
pub(super) const fn enabled(disabled_at: Option<UnixMillis>) -> &'static str {
    if disabled_at.is_none() { "enabled" } else { "disabled" }
}

/// Effect of the mode on a credential without a policy, in one sentence.
pub(super) const fn mode(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Gated => "GET and HEAD pass, everything else asks.",
        ApprovalMode::Autonomous => "everything passes without asking.",
    }
}

/// The same as rules.
pub(super) fn mode_rules(mode: ApprovalMode) -> Vec<String> {
    let rules: &[&str] = match mode {
        ApprovalMode::Gated => &["GET and HEAD pass", "everything else asks"],
        ApprovalMode::Autonomous => &["everything passes"],
    };
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

/// A policy as short sentences, one per rule.
pub(super) fn policy_rules(policy: &Policy) -> Vec<String> {
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
    methods(&policy.auto_approve_methods, "passes", "pass");
    methods(&policy.require_approval_methods, "asks", "ask");
    methods(&policy.deny_methods, "is denied", "are denied");
    urls(&mut rules, &policy.deny_urls, "is never sent");
    urls(&mut rules, &policy.require_approval_urls, "always asks");
    urls(&mut rules, &policy.auto_approve_urls, "passes");
    if rules.is_empty() {
        rules.push("everything asks".to_owned());
    }
    if policy.min_approvals > 1 {
        rules.push(format!("{} people must approve", policy.min_approvals));
    }
    match policy.allowed_approvers.as_slice() {
        [] => {}
        [one] => rules.push(format!("only {one} may approve")),
        several => rules.push(format!("{} people may approve", several.len())),
    }
    if policy.passkey_required {
        rules.push("a passkey is needed".to_owned());
    }
    if policy.require_reason {
        rules.push("a reason must be given".to_owned());
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
    }
}

fn urls(rules: &mut Vec<String>, patterns: &[String], verb: &str) {
    rules.extend(patterns.iter().take(NAMED).map(|pattern| format!("{pattern} {verb}")));
    if let Some(more) = patterns.len().checked_sub(NAMED).filter(|more| *more > 0) {
        rules.push(format!("{more} more addresses: {verb}"));
    }
}

/// Reason that a request was paused or allowed, from the rule's wire name, the pattern and the method.
pub(super) fn rule(name: &str, pattern: Option<&str>, method: &str) -> String {
    let Some(rule) = Rule::ALL.iter().find(|rule| rule.as_str() == name) else {
        return refusal(name).to_owned();
    };
    match (rule, pattern) {
        (Rule::RequireUrl, Some(pattern)) => format!("matches {pattern}"),
        (Rule::RequireUrl, None) => "the path is not valid UTF-8 or can be read in too many ways".to_owned(),
        (Rule::AutoUrl, Some(pattern)) => format!("passes, matches {pattern}"),
        (Rule::AutoMethod, _) => format!("{method} passes"),
        (Rule::RequireMethod, _) => format!("{method} needs approval"),
        (Rule::Default, _) => format!("no rule lets {method} pass"),
        (Rule::GatedDefault, _) if matches!(method, "GET" | "HEAD") => {
            format!("{method} passes (workspace mode)")
        }
        (Rule::GatedDefault, _) => format!("{method} needs approval (workspace mode)"),
        (Rule::AutonomousDefault, _) => "everything passes (workspace mode)".to_owned(),
        (Rule::Deny, Some(pattern)) => format!("never sent, matches {pattern}"),
        (Rule::Deny, None) => format!("{method} is denied"),
        (other, _) => other.detail().to_owned(),
    }
}

/// Reason that a request was refused or failed, from its stable code.
pub(super) fn refusal(code: &str) -> &str {
    match code {
        "denied_by_policy" => "denied by policy",
        "host_not_allowed" => "the host is not in the credential's allowed hosts",
        "target_not_allowed" => "the address is not one that Pyxis may reach",
        "invalid_target" => "the address cannot be used",
        "rate_limited" => "the agent's hourly limit is used up",
        "body_too_large" => "the body is too large to wait for approval",
        "upstream_timeout" => "the host did not answer in time",
        "upstream_error" => "the host could not be reached, broke off or gave an unreadable answer",
        "outcome_unknown" => "sent, but no answer came: it may have happened; it is not sent again",
        "no_longer_allowed" => "not sent: no longer allowed when it was approved",
        "missing_header" => "a control header is missing",
        "unknown_content_coding" => "the answer could not be checked for secrets",
        "incomplete_body" => "the agent broke off",
        other => other,
    }
}

const READY: &str = "about to be sent";
const SENDING: &str = "being sent";

/// True if a [`result`] is not final.
pub(super) fn is_on_its_way(result: &str) -> bool {
    [READY, SENDING].contains(&result)
}

/// Result of an approved request, and true if it failed.
pub(super) fn result(row: &ApprovalRow) -> (String, bool) {
    match (row.forward_state, &row.error, row.upstream_status) {
        (ForwardState::None | ForwardState::Ready, _, _) => (READY.to_owned(), false),
        (ForwardState::Sending, _, _) => (SENDING.to_owned(), false),
        (ForwardState::Done, Some(code), _) => (refusal(code).to_owned(), true),
        (ForwardState::Done, None, Some(status)) => (format!("{status} from upstream"), false),
        (ForwardState::Done, None, None) => ("done".to_owned(), false),
    }
}

/// A route or URL without its scheme, unless that is plain http.
pub(super) fn short_route(route: &str) -> &str {
    route.strip_prefix("https://").unwrap_or(route)
}
