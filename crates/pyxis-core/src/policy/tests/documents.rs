//! Valid and invalid policy documents (`docs/reference/policy.md#fields`).

use super::super::PolicyError;
use super::*;
use crate::approval_mode::Channel;

fn refusal(json: &str) -> (String, String) {
    match Policy::from_json(json.as_bytes()) {
        Err(PolicyError::Field { field, detail }) => (field, detail),
        other => panic!("{json} gave {other:?}"),
    }
}

#[test]
fn missing_fields_have_their_defaults() {
    let empty = policy("{}");
    assert_eq!(empty, Policy::default());
    assert_eq!(empty.channel, Channel::AgentReflected);
    assert_eq!(empty.min_approvals, 1);
    assert!(!empty.passkey_required && !empty.require_reason);
    assert_eq!(empty.approval_timeout_secs, None);
}

#[test]
fn a_policy_reads_back_as_it_was_written() {
    let full = policy(
        r#"{"auto_approve_methods":["get","GET","Options"],"require_approval_methods":["POST","get"],
            "deny_methods":["delete"],"auto_approve_urls":["/v1/*","API.example.com:8443/x"],
            "require_approval_urls":["/admin/"],"deny_urls":["bad.example.com"],
            "allowed_approvers":["Ann@Example.com","owner@localhost"],"on_call":["ann@example.com"],
            "escalation":[{"after_minutes":5,"slack_channel":"C0OPS"},{"people":"eligible","after_minutes":10},
                {"after_minutes":1440,"people":["owner@localhost"]}],"channel":"chat_primary",
            "telegram_chat":"-100123","matrix_room":"!r:example.com","min_approvals":2,
            "passkey_required":true,"require_reason":true,"approval_timeout_secs":600}"#,
    );
    assert_eq!(full.auto_approve_methods, [Method::Get, Method::Options]);
    assert_eq!(full.require_approval_methods, [Method::Post, Method::Get]);
    assert_eq!(full.auto_approve_urls, ["/v1/*", "API.example.com:8443/x"]);
    let written = serde_json::to_vec(&full).unwrap();
    assert_eq!(Policy::from_json(&written), Ok(full));
    assert_eq!(Policy::from_json(&serde_json::to_vec(&Policy::default()).unwrap()), Ok(Policy::default()));
}

#[test]
fn a_bad_value_is_refused_by_the_name_of_its_field() {
    for (json, field, says) in [
        (r#"{"auto_approve_method":["GET"]}"#, "auto_approve_method", "did you mean auto_approve_methods?"),
        (r#"{"auto_approve_methods":"GET"}"#, "auto_approve_methods", "list"),
        (r#"{"auto_approve_methods":null}"#, "auto_approve_methods", "list"),
        (r#"{"auto_approve_methods":[1]}"#, "auto_approve_methods", "string"),
        (r#"{"auto_approve_methods":["head"]}"#, "auto_approve_methods", "HEAD follows GET"),
        (r#"{"require_approval_methods":["HEAD"]}"#, "require_approval_methods", "HEAD follows GET"),
        (r#"{"deny_methods":["HEAD"]}"#, "deny_methods", "HEAD follows GET"),
        (r#"{"deny_methods":["CONNECT"]}"#, "deny_methods", "`CONNECT` is not a method"),
        (r#"{"deny_methods":[" GET"]}"#, "deny_methods", "` GET` is not a method"),
        (r#"{"auto_approve_urls":["/ok","/v1*"]}"#, "auto_approve_urls", "`/v1*`: `*` stands for"),
        (r#"{"require_approval_urls":[""]}"#, "require_approval_urls", "empty"),
        (
            r#"{"deny_urls":["https://a.example/x"]}"#,
            "deny_urls",
            "`https://a.example/x`: a pattern has no scheme",
        ),
        (r#"{"allowed_approvers":["ann"]}"#, "allowed_approvers", "`ann`: is not an e-mail address"),
        (r#"{"allowed_approvers":["a@b@c"]}"#, "allowed_approvers", "e-mail"),
        (r#"{"allowed_approvers":["Ann <a@b.c>"]}"#, "allowed_approvers", "e-mail"),
        (r#"{"allowed_approvers":["a@b..c"]}"#, "allowed_approvers", "e-mail"),
        (r#"{"channel":"telegram"}"#, "channel", "agent_reflected, dashboard, chat_primary, chat_secondary"),
        (r#"{"telegram_chat":""}"#, "telegram_chat", "1 to 255"),
        (r#"{"matrix_room":7}"#, "matrix_room", "text"),
        (r#"{"min_approvals":0}"#, "min_approvals", "from 1 to 20"),
        (r#"{"min_approvals":21}"#, "min_approvals", "from 1 to 20"),
        (r#"{"min_approvals":1.5}"#, "min_approvals", "whole number"),
        (r#"{"min_approvals":"2"}"#, "min_approvals", "whole number"),
        (r#"{"passkey_required":1}"#, "passkey_required", "true or false"),
        (r#"{"require_reason":null}"#, "require_reason", "true or false"),
        (r#"{"approval_timeout_secs":0}"#, "approval_timeout_secs", "from 1 to 604800"),
        (r#"{"approval_timeout_secs":604801}"#, "approval_timeout_secs", "from 1 to 604800"),
        (r#"{"on_call":["ann"]}"#, "on_call", "e-mail"),
        (
            r#"{"allowed_approvers":["a@b.c"],"on_call":["d@e.f"]}"#,
            "on_call",
            "`d@e.f` is not in allowed_approvers, so they may not decide; add the address there",
        ),
        (r#"{"escalation":{}}"#, "escalation", "list of steps"),
        (r#"{"escalation":[5]}"#, "escalation", "step 1: must be an object, such as"),
        (r#"{"escalation":[{"people":"eligible"}]}"#, "escalation", "step 1: after_minutes is missing"),
        (r#"{"escalation":[{"after_minutes":0,"people":"eligible"}]}"#, "escalation", "from 1 to 1440"),
        (r#"{"escalation":[{"after_minutes":1441,"people":"eligible"}]}"#, "escalation", "from 1 to 1440"),
        (
            r#"{"escalation":[{"after_minutes":5}]}"#,
            "escalation",
            "step 1: names no one; add people or a room",
        ),
        (
            r#"{"escalation":[{"after_minutes":5,"people":"eligible","slack_channel":"C0"}]}"#,
            "escalation",
            "step 1: names several rooms or people; make it one step each",
        ),
        (
            r#"{"escalation":[{"after_minutes":5,"people":"all"}]}"#,
            "escalation",
            "people: must be \"eligible\"",
        ),
        (r#"{"escalation":[{"after_minutes":5,"people":[]}]}"#, "escalation", "people: is empty"),
        (r#"{"escalation":[{"after_minutes":5,"people":["ann"]}]}"#, "escalation", "not an e-mail address"),
        (
            r#"{"escalation":[{"after_minutes":5,"slack_channel":""}]}"#,
            "escalation",
            "slack_channel: must be",
        ),
        (
            r#"{"escalation":[{"after_minutes":5,"slack_chanel":"C0"}]}"#,
            "escalation",
            "did you mean slack_channel?",
        ),
        (
            r#"{"escalation":[{"after_minutes":5,"people":"eligible"},{"after_minutes":5,"slack_channel":"C0"}]}"#,
            "escalation",
            "step 2: after_minutes must be greater than that of the step before",
        ),
        (
            r#"{"allowed_approvers":["a@b.c"],"escalation":[{"after_minutes":5,"people":["d@e.f"]}]}"#,
            "escalation",
            "`d@e.f` is not in allowed_approvers",
        ),
        (r#"{"deny_urls":["/a"],"deny_urls":[]}"#, "deny_urls", "twice"),
        ("[]", "policy", "object"),
        ("null", "policy", "object"),
    ] {
        let (named, detail) = refusal(json);
        assert_eq!(named, field, "{json}");
        assert!(detail.contains(says), "{json}: {detail}");
    }
}

#[test]
fn text_that_is_not_json_is_told_apart() {
    for text in ["", "{", "{'a':1}", "{} {}", "\u{feff}{}"] {
        let result = Policy::from_json(text.as_bytes());
        assert!(matches!(result, Err(PolicyError::Json(_))), "{text:?} gave {result:?}");
    }
    assert!(matches!(Policy::from_json(b"{\"channel\":\"\xff\"}"), Err(PolicyError::Json(_))));
}

#[test]
fn the_limits_are_exact() {
    let with = |list: &str, entries: &[String]| serde_json::json!({ list: entries }).to_string();
    let patterns = |count: usize| (0..count).map(|i| format!("/p{i}")).collect::<Vec<_>>();
    assert_eq!(policy(&with("deny_urls", &patterns(2000))).deny_urls.len(), 2000);
    assert!(refusal(&with("deny_urls", &patterns(2001))).1.contains("at most 2000"));
    let long = |bytes: usize| vec![format!("/{}", "a".repeat(bytes - 1))];
    assert_eq!(policy(&with("deny_urls", &long(2048))).deny_urls.len(), 1);
    let (_, detail) = refusal(&with("deny_urls", &long(2049)));
    assert!(detail.contains("2048 bytes") && detail.len() < 300, "{detail}");
}

#[test]
fn at_most_five_steps_are_taken_and_each_is_told_in_a_line() {
    let step = |minutes: usize| serde_json::json!({ "after_minutes": minutes, "people": "eligible" });
    let with = |count: usize| {
        serde_json::json!({ "escalation": (1..=count).map(step).collect::<Vec<_>>() }).to_string()
    };
    assert_eq!(policy(&with(5)).escalation.len(), 5);
    assert!(refusal(&with(6)).1.contains("at most 5"));
    let told = policy(
        r#"{"escalation":[{"after_minutes":1,"email_to":"a@b.c, d@e.f"},{"after_minutes":2,"people":"eligible"},
            {"after_minutes":3,"people":["a@b.c","d@e.f"]}]}"#,
    );
    let lines: Vec<_> = told.escalation.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["1 email_to a@b.c, d@e.f", "2 eligible", "3 a@b.c d@e.f"]);
}
