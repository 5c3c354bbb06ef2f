//! Audit records as readable lines.

use std::borrow::Cow;

use pyxis_core::clock::UnixMillis;
use pyxis_store::audit::AuditEntry;
use serde_json::Value;

use super::labels;
use crate::text;
use crate::view::audit::AuditRow;
use crate::view::{DecisionBadge, Timestamp};

/// Outcomes to filter by: the value, the words, the record's decision.
pub(super) const OUTCOMES: &[(&str, &str, Option<&str>)] = &[
    ("passed", "Allowed by policy", Some("auto")),
    ("grant", "Allowed by a grant", Some("grant")),
    ("asked", "Sent for approval", Some("pending")),
    ("approved", "Approved and sent", Some("approved")),
    ("denied-by-person", "Denied by a person", None),
    ("expired", "Expired or withdrawn", None),
    ("denied", "Denied by policy", Some("denied")),
    ("refused", "Refused", Some("refused")),
];

/// Events to filter by: the value, the words, the kinds of record.
pub(super) const EVENTS: &[(&str, &str, &[&str])] = &[
    ("requests", "Requests", &["forward", "execute"]),
    (
        "decisions",
        "Decisions",
        &[
            "approval.vote",
            "approval.approved",
            "approval.denied",
            "approval.expired",
            "approval.withdrawn",
            "approval.outcome_unknown",
            "grant.created",
        ],
    ),
    (
        "changes",
        "Changes",
        &[
            "agent.created",
            "agent.updated",
            "agent.disabled",
            "agent.enabled",
            "agent.removed",
            "agent.rotated",
            "credential.created",
            "credential.updated",
            "credential.removed",
            "credential.secret_replaced",
            "credential.verify",
            "policy.changed",
            "policy.removed",
            "grant.revoked",
            "settings.changed",
            "workspace.created",
            "user.added",
            "user.enabled",
            "user.disabled",
            "user.role_changed",
            "user.link_created",
            "user.password_set",
            "user.password_refused",
        ],
    ),
    (
        "scoring",
        "Changes of scoring",
        &[
            "scorer.create",
            "scorer.terms",
            "scorer.rename",
            "scorer.remove",
            "scorer.rescore",
            "api_key.create",
            "api_key.update",
            "api_key.revoke",
            "history_request.create",
            "history_request.approve",
            "history_request.refuse",
            "stamp.revoke",
            "catalogue.replace",
            "catalogue.reset",
            "issuer.add",
            "issuer.remove",
        ],
    ),
    ("sign-ins", "Sign-ins", &["sign_in", "sign_in.failed", "sign_out"]),
];

/// The kinds of record that both filters admit. A person's decision is a kind, not a decision of a request.
pub(super) fn kinds(event: &str, outcome: &str) -> Vec<String> {
    let kinds: &[&str] = match outcome {
        "denied-by-person" => &["approval.denied"],
        "expired" => &["approval.expired", "approval.withdrawn"],
        _ => EVENTS.iter().find(|(name, ..)| *name == event).map_or(&[], |(_, _, kinds)| *kinds),
    };
    kinds.iter().map(|kind| (*kind).to_owned()).collect()
}

/// The line of a record.
pub(super) fn row(entry: &AuditEntry, now: UnixMillis) -> AuditRow {
    let record = &entry.record.record;
    let detail: Value = serde_json::from_str(&record.detail).unwrap_or_default();
    let after: Value = entry
        .outcome
        .as_ref()
        .and_then(|outcome| serde_json::from_str(&outcome.record.detail).ok())
        .unwrap_or_default();
    let status = entry.outcome.as_ref().and_then(|outcome| outcome.record.status);
    let method = record.method.as_deref().unwrap_or("");
    let request = match (&record.method, &record.host) {
        (Some(method), Some(host)) => {
            let route = detail["target"].as_str().map_or(host.as_str(), labels::short_route);
            format!("{method} {route}")
        }
        _ => String::new(),
    };
    AuditRow {
        at: Timestamp::new(record.at, now),
        event: event(&record.kind).into_owned(),
        outcome: outcome(&record.kind, record.decision.as_deref(), &after),
        actor: record.actor_name.clone(),
        subject: record.credential.clone().unwrap_or_else(|| subject(&detail)),
        request,
        why: why(&record.kind, &detail, method),
        result: result(status, &after),
        txn_id: record.txn_id.map(|txn| txn.to_string()),
    }
}

fn outcome(kind: &str, decision: Option<&str>, after: &Value) -> Option<DecisionBadge> {
    let failed = after["error"].is_string();
    Some(match (kind, decision) {
        ("forward" | "execute", Some("auto" | "grant" | "approved")) if failed => DecisionBadge::Failed,
        ("forward", Some("auto" | "grant")) => DecisionBadge::Passed,
        ("forward", Some("pending")) => DecisionBadge::Pending,
        ("forward", Some("denied")) | ("approval.denied", _) => DecisionBadge::Denied,
        // The decision has its own line with its own badge.
        ("execute", Some("approved")) => return None,
        ("forward" | "execute" | "approval.outcome_unknown", _) => DecisionBadge::Failed,
        ("approval.approved", _) => DecisionBadge::Approved,
        ("approval.expired" | "approval.withdrawn", _) => DecisionBadge::Expired,
        _ => return None,
    })
}

fn event(kind: &str) -> Cow<'static, str> {
    Cow::Borrowed(match kind {
        "forward" => "Request",
        "execute" => "Approved request sent",
        "approval.vote" => "Approval given",
        "approval.approved" => "Approved",
        "approval.denied" => "Denied",
        "approval.expired" => "Expired",
        "approval.withdrawn" => "Withdrawn",
        "approval.outcome_unknown" => "Outcome unknown",
        "grant.created" => "Grant opened",
        "grant.revoked" => "Grant revoked",
        "agent.created" => "Agent added",
        "agent.updated" => "Agent changed",
        "agent.disabled" => "Agent disabled",
        "agent.enabled" => "Agent enabled",
        "agent.removed" => "Agent removed",
        "agent.rotated" => "Agent key replaced",
        "credential.created" => "Credential added",
        "credential.updated" => "Credential changed",
        "credential.removed" => "Credential removed",
        "credential.secret_replaced" => "Secret replaced",
        "credential.verify" => "Credential verified",
        "policy.changed" => "Policy changed",
        "policy.removed" => "Policy removed",
        "settings.changed" => "Settings changed",
        "workspace.created" => "Workspace made",
        "user.added" => "Person added",
        "user.enabled" => "Person enabled",
        "user.disabled" => "Person disabled",
        "user.role_changed" => "Role changed",
        "user.link_created" => "Sign-in link made",
        "user.password_set" => "Password set",
        "user.password_refused" => "Password not changed",
        "sign_in" => "Signed in",
        "sign_in.failed" => "Sign-in failed",
        "sign_out" => "Signed out",
        other => return scoring_event(other).map_or_else(|| Cow::Owned(other.to_owned()), Cow::Borrowed),
    })
}

fn scoring_event(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "scorer.create" => "Scorer added",
        "scorer.terms" => "Weights changed",
        "scorer.rename" => "Scorer renamed",
        "scorer.remove" => "Scorer removed",
        "scorer.rescore" => "Scores computed anew",
        "api_key.create" => "API key added",
        "api_key.update" => "API key changed",
        "api_key.revoke" => "API key revoked",
        "history_request.create" => "History asked for",
        "history_request.approve" => "History approved",
        "history_request.refuse" => "History refused",
        "stamp.revoke" => "Credential revoked",
        "catalogue.replace" => "Catalogue changed",
        "catalogue.reset" => "Catalogue reset",
        "issuer.add" => "Issuer added",
        "issuer.remove" => "Issuer removed",
        _ => return None,
    })
}

/// Subject of a change, if it is not a credential.
fn subject(detail: &Value) -> String {
    let named = ["agent", "email", "name", "route", "did", "digest", "api_key"]
        .iter()
        .find_map(|key| detail[*key].as_str());
    if let (None, Some(scorer)) = (named, detail["scorer"].as_i64()) {
        return format!("scorer {scorer}");
    }
    labels::short_route(named.unwrap_or("")).to_owned()
}

fn why(kind: &str, detail: &Value, method: &str) -> String {
    let said = |key: &str| detail[key].as_str().filter(|text| !text.is_empty());
    let reason = said("reason").map(|reason| format!("“{reason}”"));
    match kind {
        "forward" => {
            let rule = said("rule").map(|rule| labels::rule(rule, said("pattern"), method));
            [rule, reason].into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
        "execute" => said("error").map(|code| labels::refusal(code).to_owned()).unwrap_or_default(),
        "approval.denied" => reason.unwrap_or_default(),
        "approval.vote" => format!("{} of {}", detail["approvals"], detail["min_approvals"]),
        "approval.approved" => {
            let platform = detail["chat"]["platform"].as_str().zip(detail["chat"]["label"].as_str());
            match platform {
                Some((platform, account)) => format!("on {platform} as {account}"),
                None => said("surface").map(|surface| format!("on the {surface} page")).unwrap_or_default(),
            }
        }
        "credential.secret_replaced" | "policy.changed" => format!("version {}", detail["version"]),
        "user.role_changed" | "user.added" => said("role").unwrap_or_default().to_owned(),
        "settings.changed" => said("default_approval_mode").unwrap_or_default().to_owned(),
        "grant.created" => said("expires_at")
            .and_then(UnixMillis::parse_rfc3339)
            .map(|at| format!("until {}", text::absolute(at)))
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// `200 · 84 ms`, `no answer`; empty if nothing was sent.
fn result(status: Option<i64>, after: &Value) -> String {
    let time = after["total_micros"].as_u64().map(|micros| format!("{} ms", micros.div_ceil(1000)));
    match (status, after["error"].as_str()) {
        (Some(status), _) => {
            [Some(status.to_string()), time].into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
        (None, Some(code)) => labels::refusal(code).to_owned(),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_can_be_filtered_has_words() {
        for (_, _, kinds) in EVENTS {
            for kind in *kinds {
                assert_ne!(event(kind), *kind, "{kind}");
            }
        }
    }

    #[test]
    fn a_result_names_status_and_time_or_why_there_is_none() {
        let after = serde_json::json!({ "total_micros": 84_100 });
        assert_eq!(result(Some(200), &after), "200 · 85 ms");
        let failed = serde_json::json!({ "error": "upstream_timeout", "total_micros": 1 });
        assert_eq!(result(None, &failed), "the host did not respond in time");
    }
}
