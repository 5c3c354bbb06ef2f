//! Differences between two policies, field by field, in words.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::policy::{Method, Policy};

use crate::text;
use crate::view::staged::Difference;

/// The changes that `after` makes; `before` is `None` if the credential has no policy of its own.
pub(super) fn changes(before: Option<&Policy>, after: &Policy) -> Vec<Difference> {
    let listed = FIELDS.iter().filter_map(|(field, values)| {
        difference((*field).to_owned(), &before.map(*values).unwrap_or_default(), values(after))
    });
    let rooms = ChatPlatform::ALL.iter().filter_map(|platform| {
        let room = |policy: &Policy| -> Vec<String> {
            policy.rooms.get(*platform).map(str::to_owned).into_iter().collect()
        };
        difference(platform.room_label(), &before.map(room).unwrap_or_default(), room(after))
    });
    listed.chain(rooms).collect()
}

fn difference(field: String, old: &[String], new: Vec<String>) -> Option<Difference> {
    let removed: Vec<_> = old.iter().filter(|one| !new.contains(one)).cloned().collect();
    let added: Vec<_> = new.into_iter().filter(|one| !old.contains(one)).collect();
    (!removed.is_empty() || !added.is_empty()).then_some(Difference { field, removed, added })
}

type Field = (&'static str, fn(&Policy) -> Vec<String>);

const FIELDS: &[Field] = &[
    ("Allowed methods", |policy| names(&policy.auto_approve_methods)),
    ("Methods that need approval", |policy| names(&policy.require_approval_methods)),
    ("Denied methods", |policy| names(&policy.deny_methods)),
    ("Denied URLs", |policy| policy.deny_urls.clone()),
    ("URLs that always need approval", |policy| policy.require_approval_urls.clone()),
    ("Allowed URLs", |policy| policy.auto_approve_urls.clone()),
    ("Content rules", |policy| policy.content_rules.clone()),
    ("Approvals needed", |policy| vec![policy.min_approvals.to_string()]),
    ("Allowed approvers", |policy| policy.allowed_approvers.clone()),
    ("On call", |policy| policy.on_call.clone()),
    ("Escalation", |policy| policy.escalation.iter().map(ToString::to_string).collect()),
    ("Passkey required", |policy| vec![yes_or_no(policy.passkey_required)]),
    ("Reason required", |policy| vec![yes_or_no(policy.require_reason)]),
    ("Time to decide", |policy| vec![window(policy.approval_timeout_secs)]),
    ("Channel", |policy| vec![policy.channel.as_str().to_owned()]),
];

fn names(methods: &[Method]) -> Vec<String> {
    methods.iter().map(|method| method.as_str().to_owned()).collect()
}

fn yes_or_no(on: bool) -> String {
    if on { "yes" } else { "no" }.to_owned()
}

fn window(seconds: Option<u32>) -> String {
    seconds.map_or_else(|| "server default".to_owned(), |seconds| text::duration(u64::from(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(json: &str) -> Policy {
        Policy::from_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn only_what_differs_is_told() {
        let before = policy(r#"{"auto_approve_methods":["GET"],"deny_urls":["/admin","/old"]}"#);
        let after =
            policy(r#"{"auto_approve_methods":["GET"],"deny_urls":["/admin","/new"],"min_approvals":2}"#);
        let told = changes(Some(&before), &after);
        assert_eq!(
            told,
            [
                Difference {
                    field: "Denied URLs".to_owned(),
                    removed: vec!["/old".to_owned()],
                    added: vec!["/new".to_owned()],
                },
                Difference {
                    field: "Approvals needed".to_owned(),
                    removed: vec!["1".to_owned()],
                    added: vec!["2".to_owned()],
                },
            ]
        );
        assert!(changes(Some(&after), &after).is_empty());
    }

    #[test]
    fn every_field_of_a_policy_is_compared() {
        let mut full = policy(
            r#"{"auto_approve_methods":["GET"],"require_approval_methods":["POST"],"deny_methods":["PUT"],
                "auto_approve_urls":["/a"],"require_approval_urls":["/b"],"deny_urls":["/c"],"content_rules":["/d json /e = 1"],
                "allowed_approvers":["a@b.example"],"on_call":["a@b.example"],"escalation":[{"after_minutes":5,"people":"eligible"}],"channel":"dashboard","min_approvals":2,"passkey_required":true,"require_reason":true,
                "approval_timeout_secs":60}"#,
        );
        for platform in ChatPlatform::ALL {
            full.rooms.set(*platform, Some("a-room".to_owned()));
        }
        let fields = serde_json::to_value(&full).unwrap().as_object().unwrap().len();
        assert_eq!(changes(Some(&Policy::default()), &full).len(), fields);
    }
}
