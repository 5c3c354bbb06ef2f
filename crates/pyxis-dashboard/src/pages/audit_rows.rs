//! Audit records as readable lines.

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::{AuditEvent, EventGroup};
use pyxis_core::clock::UnixMillis;
use pyxis_store::StoredName;
use pyxis_store::audit::AuditEntry;
use serde_json::Value;

use super::labels;
use crate::text;
use crate::view::audit::AuditRow;
use crate::view::{DecisionBadge, Timestamp};

/// Outcomes to filter by: the value, the words, the record's decision.
pub(super) const OUTCOMES: &[(&str, &str, Option<AuditDecision>)] = &[
    ("passed", "Allowed by policy", Some(AuditDecision::Auto)),
    ("grant", "Allowed by a grant", Some(AuditDecision::Grant)),
    ("task", "Allowed by a task", Some(AuditDecision::Task)),
    ("asked", "Sent for approval", Some(AuditDecision::Pending)),
    ("approved", "Approved and sent", Some(AuditDecision::Approved)),
    ("denied-by-person", "Denied by a person", None),
    ("expired", "Expired or withdrawn", None),
    ("denied", "Denied by policy", Some(AuditDecision::Denied)),
    ("refused", "Refused", Some(AuditDecision::Refused)),
    ("failed", "Failed: no response", None),
];

/// Groups to filter by: the value, and the group.
pub(super) const GROUPS: &[(&str, EventGroup)] = &[
    ("requests", EventGroup::Requests),
    ("decisions", EventGroup::Decisions),
    ("access", EventGroup::Access),
    ("people", EventGroup::People),
    ("settings", EventGroup::Settings),
    ("scoring", EventGroup::Scoring),
    ("verification", EventGroup::Verification),
];

/// Every event that a row can show, by label.
pub(super) fn all_events() -> Vec<AuditEvent> {
    let shown = AuditEvent::ALL.iter().copied().filter(|event| *event != AuditEvent::RequestCompleted);
    let mut events: Vec<AuditEvent> = shown.collect();
    events.sort_by_key(|event| event.label().to_lowercase());
    events
}

/// The events that both filters admit. A person's decision is an event, not a decision of a request.
pub(super) fn wanted_events(event: &str, outcome: &str) -> Vec<AuditEvent> {
    match outcome {
        "denied-by-person" => vec![AuditEvent::ApprovalDenied],
        "expired" => vec![AuditEvent::ApprovalExpired, AuditEvent::ApprovalWithdrawn],
        _ => chosen_events(event),
    }
}

/// The events of a choice: a group, a choice of earlier versions, or a name of one event, present or earlier.
fn chosen_events(choice: &str) -> Vec<AuditEvent> {
    if let Some((_, group)) = GROUPS.iter().find(|(name, _)| *name == choice) {
        return group.events().to_vec();
    }
    match choice {
        "changes" => [EventGroup::Access, EventGroup::People, EventGroup::Settings]
            .iter()
            .flat_map(|group| group.events().to_vec())
            .collect(),
        "sign-ins" => {
            vec![AuditEvent::UserSignedIn, AuditEvent::UserSignInFailed, AuditEvent::UserSignedOut]
        }
        name => AuditEvent::from_name(name).into_iter().collect(),
    }
}

/// The line of a record.
pub(super) fn row(entry: &AuditEntry, now: UnixMillis) -> AuditRow {
    let record = &entry.record.record;
    let event = record.event.as_known();
    let decision = record.decision.as_ref().and_then(StoredName::known);
    let detail: Value = serde_json::from_str(&record.detail).unwrap_or_default();
    let after: Value = entry
        .outcome
        .as_ref()
        .and_then(|outcome| serde_json::from_str(&outcome.record.detail).ok())
        .unwrap_or_default();
    let status = entry.outcome.as_ref().and_then(|outcome| outcome.record.status);
    let method = record.method.as_ref().map_or("", StoredName::as_str);
    let request = match (&record.method, &record.host) {
        (Some(method), Some(host)) => {
            let route = detail["target"].as_str().map_or(host.as_str(), labels::short_route);
            format!("{method} {route}")
        }
        _ => String::new(),
    };
    AuditRow {
        at: Timestamp::new(record.at, now),
        event: event.map_or_else(|| record.event.name().to_owned(), |event| event.label().to_owned()),
        outcome: event.and_then(|event| outcome(event, decision, &after)),
        actor: record.actor_name.clone(),
        subject: record.credential.clone().unwrap_or_else(|| subject(&detail)),
        request,
        why: event.map(|event| explain(event, &detail, method)).unwrap_or_default(),
        result: result(status, &after),
        txn_id: record.txn_id.map(|txn| txn.to_string()),
    }
}

fn outcome(event: AuditEvent, decision: Option<AuditDecision>, after: &Value) -> Option<DecisionBadge> {
    let failed = after["error"].is_string();
    Some(match (event, decision) {
        (AuditEvent::RequestReceived | AuditEvent::RequestExecuted, Some(decision))
            if failed && (decision.passes() || decision == AuditDecision::Approved) =>
        {
            DecisionBadge::Failed
        }
        (AuditEvent::RequestReceived, Some(decision)) if decision.passes() => DecisionBadge::Passed,
        (AuditEvent::RequestReceived, Some(AuditDecision::Pending)) => DecisionBadge::Pending,
        (AuditEvent::RequestReceived, Some(AuditDecision::Denied)) | (AuditEvent::ApprovalDenied, _) => {
            DecisionBadge::Denied
        }
        // The decision has its own line with its own badge.
        (AuditEvent::RequestExecuted, Some(AuditDecision::Approved)) => return None,
        (AuditEvent::RequestReceived | AuditEvent::RequestExecuted | AuditEvent::ApprovalOutcomeLost, _) => {
            DecisionBadge::Failed
        }
        (AuditEvent::ApprovalApproved | AuditEvent::TaskApproved, _) => DecisionBadge::Approved,
        (AuditEvent::TaskDenied, _) => DecisionBadge::Denied,
        (AuditEvent::ApprovalExpired | AuditEvent::ApprovalWithdrawn | AuditEvent::TaskWithdrawn, _) => {
            DecisionBadge::Expired
        }
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

fn explain(event: AuditEvent, detail: &Value, method: &str) -> String {
    let said = |key: &str| detail[key].as_str().filter(|text| !text.is_empty());
    let reason = said("reason").map(|reason| format!("“{reason}”"));
    match event {
        AuditEvent::RequestReceived => {
            let rule = said("rule").map(|rule| labels::rule(rule, said("pattern"), method));
            [rule, reason].into_iter().flatten().collect::<Vec<_>>().join(" · ")
        }
        AuditEvent::RequestExecuted => {
            said("error").map(|code| labels::refusal(code).to_owned()).unwrap_or_default()
        }
        AuditEvent::ApprovalDenied => reason.unwrap_or_default(),
        AuditEvent::ApprovalEscalated => {
            let channels = detail["channels"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let channels: Vec<&str> = channels.collect();
            format!("step {} · {}", detail["step"], channels.join(", ")).trim_end_matches(" · ").to_owned()
        }
        AuditEvent::ApprovalVoted => format!("{} of {}", detail["approvals"], detail["min_approvals"]),
        AuditEvent::ApprovalApproved => {
            let platform = detail["chat"]["platform"].as_str().zip(detail["chat"]["label"].as_str());
            match platform {
                Some((platform, account)) => format!("on {platform} as {account}"),
                None => said("surface").map(|surface| format!("on the {surface} page")).unwrap_or_default(),
            }
        }
        AuditEvent::CredentialSecretReplaced | AuditEvent::PolicyChanged => {
            format!("version {}", detail["version"])
        }
        AuditEvent::UserRoleChanged | AuditEvent::UserAdded => said("role").unwrap_or_default().to_owned(),
        AuditEvent::SettingsChanged => said("default_approval_mode").unwrap_or_default().to_owned(),
        AuditEvent::GrantCreated => said("expires_at")
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
    fn an_event_is_found_by_its_group_its_name_and_its_earlier_names() {
        for event in all_events() {
            for name in [event.as_str()].iter().chain(event.earlier_names()) {
                assert_eq!(wanted_events(name, ""), [event], "{name}");
            }
            assert!(GROUPS.iter().any(|(name, _)| wanted_events(name, "").contains(&event)), "{event}");
        }
        assert_eq!(GROUPS.len(), EventGroup::ALL.len());
        assert_eq!(wanted_events("unheard", ""), []);
    }

    #[test]
    fn a_result_names_status_and_time_or_why_there_is_none() {
        let after = serde_json::json!({ "total_micros": 84_100 });
        assert_eq!(result(Some(200), &after), "200 · 85 ms");
        let failed = serde_json::json!({ "error": "upstream_timeout", "total_micros": 1 });
        assert_eq!(result(None, &failed), "the host did not respond in time");
    }
}
