//! WebSockets: a method of their own (`docs/reference/policy.md#websocket`).

use super::*;

const URL: &str = "https://api.example.com/v1/users";

#[test]
fn a_websocket_does_not_pass_because_get_passes() {
    let reads = policy(r#"{"auto_approve_methods":["GET"]}"#);
    assert_eq!(decide(&reads, Method::WebSocket, URL), (PolicyVerdict::RequireApproval, Rule::Default, None));
    let sockets = policy(r#"{"auto_approve_methods":["websocket"]}"#);
    assert_eq!(
        decide(&sockets, Method::WebSocket, URL),
        (PolicyVerdict::AutoApprove, Rule::AutoMethod, None)
    );
    assert_eq!(rule(&sockets, Method::Get, URL), Rule::Default);
}

#[test]
fn a_denied_method_denies_a_websocket_unless_the_policy_lists_it() {
    let verdict = |document: &str| decide(&policy(document), Method::WebSocket, URL).0;
    assert_eq!(verdict(r#"{"deny_methods":["DELETE"],"auto_approve_urls":["/"]}"#), PolicyVerdict::Deny);
    assert_eq!(
        verdict(r#"{"deny_methods":["DELETE"],"auto_approve_methods":["WEBSOCKET"]}"#),
        PolicyVerdict::AutoApprove
    );
    assert_eq!(
        verdict(r#"{"deny_methods":["DELETE"],"require_approval_methods":["WEBSOCKET"]}"#),
        PolicyVerdict::RequireApproval
    );
    assert_eq!(
        verdict(r#"{"deny_methods":["GET"],"auto_approve_methods":["WEBSOCKET"]}"#),
        PolicyVerdict::Deny
    );
    assert_eq!(verdict(r#"{"deny_methods":["WEBSOCKET"],"auto_approve_urls":["/"]}"#), PolicyVerdict::Deny);
}

#[test]
fn a_websocket_is_judged_as_strictly_as_any_message_could_be() {
    let verdict = |rules: &[&str], url: &str| {
        let document = serde_json::json!({"auto_approve_urls": ["/"], "content_rules": rules});
        let policy = Policy::from_json(document.to_string().as_bytes()).unwrap().compile();
        let target = Target::parse(url).unwrap();
        let decision = evaluate(Some(&policy), ApprovalMode::Gated, Method::WebSocket, &target);
        let content =
            RequestContent { content_type: None, is_encoded: false, query: target.query(), body: b"" };
        let found = evaluate_content(Some(&policy), &decision, Method::WebSocket, &target, &content);
        found.map(|found| found.verdict)
    };
    let (plain, graphql) = ("https://a.example/v1", "https://a.example/graphql");
    assert_eq!(verdict(&[], plain), None);
    assert_eq!(verdict(&[], graphql), Some(PolicyVerdict::RequireApproval));
    assert_eq!(verdict(&["/graphql graphql any pass"], graphql), None);
    assert_eq!(verdict(&["/graphql graphql query pass"], graphql), Some(PolicyVerdict::RequireApproval));
    assert_eq!(verdict(&["/graphql graphql mutation a deny"], graphql), Some(PolicyVerdict::Deny));
    assert_eq!(verdict(&["GET /v1 json /a <= 1"], plain), Some(PolicyVerdict::RequireApproval));
    assert_eq!(verdict(&["/v1 form a = 1 else deny"], plain), Some(PolicyVerdict::Deny));
    assert_eq!(verdict(&["/v2 json /a <= 1"], plain), None);
}
