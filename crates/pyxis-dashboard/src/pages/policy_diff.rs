//! Differences between two policies, field by field, in words.

use pyxis_core::policy::{Method, Policy};

use crate::text;
use crate::view::staged::Difference;

/// The changes that `after` makes; `before` is `None` if the credential has no policy of its own.
pub(super) fn changes(before: Option<&Policy>, after: &Policy) -> Vec<Difference> {
    let was = |values: fn(&Policy) -> Vec<String>| before.map(values).unwrap_or_default();
    FIELDS
        .iter()
        .filter_map(|(field, values)| {
            let (old, new) = (was(*values), values(after));
            let removed: Vec<_> = old.iter().filter(|one| !new.contains(one)).cloned().collect();
            let added: Vec<_> = new.into_iter().filter(|one| !old.contains(one)).collect();
            (!removed.is_empty() || !added.is_empty()).then_some(Difference { field, removed, added })
        })
        .collect()
}

type Field = (&'static str, fn(&Policy) -> Vec<String>);

const FIELDS: &[Field] = &[
    ("Allowed methods", |policy| names(&policy.auto_approve_methods)),
    ("Methods that need approval", |policy| names(&policy.require_approval_methods)),
    ("Denied methods", |policy| names(&policy.deny_methods)),
    ("Denied URLs", |policy| policy.deny_urls.clone()),
    ("URLs that always need approval", |policy| policy.require_approval_urls.clone()),
    ("Allowed URLs", |policy| policy.auto_approve_urls.clone()),
    ("Approvals needed", |policy| vec![policy.min_approvals.to_string()]),
    ("Allowed approvers", |policy| policy.allowed_approvers.clone()),
    ("Passkey required", |policy| vec![yes_or_no(policy.passkey_required)]),
    ("Reason required", |policy| vec![yes_or_no(policy.require_reason)]),
    ("Time to decide", |policy| vec![window(policy.approval_timeout_secs)]),
    ("Channel", |policy| vec![policy.channel.as_str().to_owned()]),
    ("Telegram chat", |policy| policy.telegram_chat.clone().into_iter().collect()),
    ("Matrix room", |policy| policy.matrix_room.clone().into_iter().collect()),
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
                    field: "Denied URLs",
                    removed: vec!["/old".to_owned()],
                    added: vec!["/new".to_owned()],
                },
                Difference {
                    field: "Approvals needed",
                    removed: vec!["1".to_owned()],
                    added: vec!["2".to_owned()],
                },
            ]
        );
        assert!(changes(Some(&after), &after).is_empty());
    }

    #[test]
    fn every_field_of_a_policy_is_compared() {
        let full = policy(
            r#"{"auto_approve_methods":["GET"],"require_approval_methods":["POST"],"deny_methods":["PUT"],
                "auto_approve_urls":["/a"],"require_approval_urls":["/b"],"deny_urls":["/c"],
                "allowed_approvers":["a@b.example"],"channel":"dashboard","telegram_chat":"1",
                "matrix_room":"!r:x.example","min_approvals":2,"passkey_required":true,"require_reason":true,
                "approval_timeout_secs":60}"#,
        );
        let fields = serde_json::to_value(&full).unwrap().as_object().unwrap().len();
        assert_eq!(changes(Some(&Policy::default()), &full).len(), fields);
    }
}
