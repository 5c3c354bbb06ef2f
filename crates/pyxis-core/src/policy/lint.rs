//! Rules of a policy that can never decide about a request.

use super::{Method, Policy};
use crate::hosts::AllowedHosts;
use crate::pattern::Pattern;

/// A rule without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleRule {
    /// Field of the policy document.
    pub field: &'static str,
    /// Reason and remedy.
    pub detail: String,
}

/// Rules that never decide: patterns of hosts that the credential is not sent to, and rules behind a stricter one that
/// covers them. Without hosts, only the latter.
pub fn idle_rules(policy: &Policy, hosts: &AllowedHosts) -> Vec<IdleRule> {
    let deny = UrlList::new("deny_urls", &policy.deny_urls);
    let require = UrlList::new("require_approval_urls", &policy.require_approval_urls);
    let auto = UrlList::new("auto_approve_urls", &policy.auto_approve_urls);
    let mut found: Vec<IdleRule> =
        [&deny, &require, &auto].into_iter().flat_map(|list| list.foreign(hosts)).collect();
    found.extend(require.behind(&deny));
    found.extend(auto.behind(&deny));
    found.extend(auto.behind(&require));
    found.extend(idle_methods(policy));
    found.extend(idle_steps(policy));
    found
}

/// Escalation steps after the end of the policy's approval window.
fn idle_steps(policy: &Policy) -> Vec<IdleRule> {
    let Some(window) = policy.approval_timeout_secs else { return Vec::new() };
    let late = policy.escalation.iter().filter(|step| step.after_minutes * 60 >= window);
    late.map(|step| IdleRule {
        field: "escalation",
        detail: format!(
            "the step after {} minutes never happens: requests expire after {window} seconds; shorten the wait or \
             lengthen approval_timeout_secs",
            step.after_minutes
        ),
    })
    .collect()
}

/// A field with URL patterns.
struct UrlList<'p> {
    field: &'static str,
    patterns: Vec<(&'p str, Pattern)>,
}

impl<'p> UrlList<'p> {
    /// Patterns that cannot be read are left to [`Policy::from_json`].
    fn new(field: &'static str, texts: &'p [String]) -> Self {
        let read = |text: &'p String| Some((text.as_str(), Pattern::parse(text).ok()?));
        Self { field, patterns: texts.iter().filter_map(read).collect() }
    }

    /// Patterns of hosts that are not allowed.
    fn foreign(&self, hosts: &AllowedHosts) -> Vec<IdleRule> {
        let is_foreign = |pattern: &Pattern| {
            let host = pattern.host.as_ref();
            !hosts.is_empty() && host.is_some_and(|host| !hosts.names(host, pattern.port))
        };
        let foreign = self.patterns.iter().filter(|(_, pattern)| is_foreign(pattern));
        foreign.map(|(text, _)| IdleRule {
            field: self.field,
            detail: format!("{text} never matches: the credential is not sent to this host; correct the host or remove it"),
        }).collect()
    }

    /// Patterns that a pattern of a stricter list covers.
    fn behind(&self, stricter: &Self) -> Vec<IdleRule> {
        let covered = |(text, pattern): &(&'p str, Pattern)| {
            let (by, _) = stricter.patterns.iter().find(|(_, other)| other.covers(pattern))?;
            Some(IdleRule {
                field: self.field,
                detail: format!(
                    "{text} has no effect: {} has {by}, which comes first; remove one of them",
                    stricter.field
                ),
            })
        };
        self.patterns.iter().filter_map(covered).collect()
    }
}

/// Methods that an earlier list decides.
fn idle_methods(policy: &Policy) -> Vec<IdleRule> {
    let (deny, auto, require) = (
        ("deny_methods", &policy.deny_methods),
        ("auto_approve_methods", &policy.auto_approve_methods),
        ("require_approval_methods", &policy.require_approval_methods),
    );
    let both = |(field, methods): (&'static str, &Vec<Method>),
                (first, earlier): (&'static str, &Vec<Method>)| {
        let idle = methods.iter().filter(|method| earlier.contains(method));
        idle.map(|method| IdleRule {
            field,
            detail: format!(
                "{} has no effect: it is also in {first}, which comes first; remove one of them",
                method.as_str()
            ),
        })
        .collect::<Vec<_>>()
    };
    [both(auto, deny), both(require, deny), both(require, auto)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(policy: &str, hosts: &[&str]) -> Vec<String> {
        let policy = Policy::from_json(policy.as_bytes()).unwrap();
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let idle = idle_rules(&policy, &AllowedHosts::parse(&hosts).unwrap());
        idle.into_iter().map(|rule| format!("{}: {}", rule.field, rule.detail)).collect()
    }

    #[test]
    fn a_pattern_of_a_host_that_the_credential_is_not_sent_to_is_named() {
        let policy = r#"{"auto_approve_urls": ["api.example.com/a", "api.examp1e.com/b", "/c"],
            "deny_urls": ["x.wild.example/", "wild.example/", "api.example.com:8443/d"]}"#;
        let told = found(policy, &["api.example.com:443", "*.wild.example"]);
        assert_eq!(told.len(), 3, "{told:?}");
        for (told, start) in told.iter().zip([
            "deny_urls: wild.example/ never matches",
            "deny_urls: api.example.com:8443/d never matches",
            "auto_approve_urls: api.examp1e.com/b never matches",
        ]) {
            assert!(told.starts_with(start), "{told}");
        }
        assert_eq!(found(policy, &[]), Vec::<String>::new(), "a credential without hosts may get some");
    }

    #[test]
    fn a_rule_behind_a_stricter_one_that_covers_it_is_named() {
        let policy = r#"{"auto_approve_urls": ["api.example.com/a/b", "/a/*/c", "/free"],
            "require_approval_urls": ["/a", "/secret/keys/x"], "deny_urls": ["/secret/*"],
            "auto_approve_methods": ["GET"], "deny_methods": ["DELETE"], "require_approval_methods": ["GET", "DELETE"]}"#;
        let told = found(policy, &["api.example.com"]);
        let expected = [
            "require_approval_urls: /secret/keys/x has no effect: deny_urls has /secret/*, which comes first",
            "auto_approve_urls: api.example.com/a/b has no effect: require_approval_urls has /a, which",
            "auto_approve_urls: /a/*/c has no effect: require_approval_urls has /a, which comes first",
            "require_approval_methods: DELETE has no effect: it is also in deny_methods, which comes first",
            "require_approval_methods: GET has no effect: it is also in auto_approve_methods, which comes first",
        ];
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, start) in told.iter().zip(expected) {
            assert!(told.starts_with(start), "{told}");
        }
    }

    #[test]
    fn a_step_after_the_end_of_the_window_is_named() {
        let policy = r#"{"approval_timeout_secs": 600, "escalation": [{"after_minutes": 9, "people": "eligible"},
            {"after_minutes": 10, "slack_channel": "C0"}]}"#;
        let told = found(policy, &[]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("escalation: the step after 10 minutes never happens"), "{told:?}");
    }

    #[test]
    fn patterns_that_only_overlap_are_left_alone() {
        let policy = r#"{"auto_approve_urls": ["/a", "/a/*/c", "api.example.com/x"],
            "require_approval_urls": ["/a/b", "other.example.com/x", "/a/b/c"]}"#;
        assert_eq!(found(policy, &["*.example.com"]), Vec::<String>::new());
    }
}
