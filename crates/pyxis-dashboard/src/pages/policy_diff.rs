//! Differences between two policies, field by field, in words.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::policy::{Method, Policy};

use crate::text;
use crate::view::staged::Difference;

/// The changes that `after` makes; `before` is `None` if the credential has no policy of its own.
pub(super) fn changes(before: Option<&Policy>, after: &Policy) -> Vec<Difference> {
    let listed = FIELDS.iter().filter_map(|(field, values)| {
        difference((*field).to_owned(), before.map(*values).unwrap_or_default(), values(after))
    });
    let rooms = ChatPlatform::ALL.iter().filter_map(|platform| {
        let room = |policy: &Policy| policy.rooms.get(*platform).map(str::to_owned).into_iter().collect();
        difference(platform.room_label(), before.map(room).unwrap_or_default(), room(after))
    });
    listed.chain(rooms).collect()
}

fn difference(field: String, old: Vec<String>, new: Vec<String>) -> Option<Difference> {
    let removed: Vec<_> = old.iter().filter(|one| !new.contains(one)).cloned().collect();
    let added: Vec<_> = new.into_iter().filter(|one| !old.contains(one)).collect();
    (!removed.is_empty() || !added.is_empty()).then_some(Difference { field, removed, added })
}

type Field = (&'static str, fn(&Policy) -> Vec<String>);

const FIELDS: &[Field] = &[
    ("Methods that pass", |policy| names(&policy.auto_approve_methods)),
    ("Methods that ask", |policy| names(&policy.require_approval_methods)),
    ("Methods that are denied", |policy| names(&policy.deny_methods)),
    ("Addresses that are never sent", |policy| policy.deny_urls.clone()),
    ("Addresses that always ask", |policy| policy.require_approval_urls.clone()),
    ("Addresses that pass", |policy| policy.auto_approve_urls.clone()),
    ("People who must approve", |policy| vec![policy.min_approvals.to_string()]),
    ("Only these may approve", |policy| policy.allowed_approvers.clone()),
    ("A passkey is needed", |policy| vec![yes_or_no(policy.passkey_required)]),
    ("A reason is needed", |policy| vec![yes_or_no(policy.require_reason)]),
    ("Time to decide", |policy| vec![window(policy.approval_timeout_secs)]),
    ("Announced", |policy| vec![policy.channel.as_str().to_owned()]),
];

fn names(methods: &[Method]) -> Vec<String> {
    methods.iter().map(|method| method.as_str().to_owned()).collect()
}

fn yes_or_no(on: bool) -> String {
    if on { "yes" } else { "no" }.to_owned()
}

fn window(seconds: Option<u32>) -> String {
    seconds.map_or_else(|| "the server's".to_owned(), |seconds| text::duration(u64::from(seconds)))
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
                    field: "Addresses that are never sent".to_owned(),
                    removed: vec!["/old".to_owned()],
                    added: vec!["/new".to_owned()],
                },
                Difference {
                    field: "People who must approve".to_owned(),
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
