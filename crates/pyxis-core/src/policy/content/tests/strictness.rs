//! Random requests and rules: what a body says never weakens what the URL rules decided.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn content_never_makes_a_decision_weaker(
        rules in proptest::collection::vec(prop_oneof![
            Just("/graphql graphql any pass"), Just("/graphql graphql mutation a deny"), Just("/ json /a <= 1"),
            Just("/ form a = 1 else deny"), Just("GET / form a = 1"), Just("/v1 graphql query pass"),
        ], 0..4),
        lists in 0_u8..8, path in "/(graphql|v1|v1/pay)", query in "(\\?(a=1|query=%7Ba%7D|query=mutation%7Ba%7D))?",
        body in "(\\{\"a\":[0-3]\\}|\\{\"query\":\"(mutation)?\\{a\\}\"\\}|a=[0-2]|)", kind in 0_u8..3, method in 0_usize..8,
    ) {
        let on = |bit: u8| if lists & bit == 0 { vec![] } else { vec!["/"] };
        let document = serde_json::json!({
            "auto_approve_urls": on(1), "require_approval_urls": on(2), "deny_urls": on(4), "content_rules": rules,
        });
        let policy = Policy::from_json(document.to_string().as_bytes()).unwrap().compile();
        let target = Target::parse(&format!("https://a.example{path}{query}")).unwrap();
        let method = Method::ALL[method];
        let decision = evaluate(Some(&policy), ApprovalMode::Gated, method, &target);
        let content = request(&target, [None, JSON, FORM][usize::from(kind)], &body);
        let finding = evaluate_content(Some(&policy), &decision, method, &target, &content);
        let strict = |verdict| match verdict {
            PolicyVerdict::AutoApprove => 0,
            PolicyVerdict::RequireApproval => 1,
            PolicyVerdict::Deny => 2,
        };
        if let Some(finding) = finding {
            prop_assert!(decision.verdict == PolicyVerdict::Deny || strict(finding.verdict) >= strict(decision.verdict));
            prop_assert!(decision.verdict == PolicyVerdict::Deny || content_concerns(Some(&policy), &decision, method, &target));
        }
    }
}
