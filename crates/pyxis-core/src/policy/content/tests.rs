mod approved;
mod large;
mod strictness;

use super::*;
use crate::approval_mode::ApprovalMode;
use crate::policy::{CompiledPolicy, Policy, Rule, content_concerns, evaluate, evaluate_content};
use crate::target::Target;

const JSON: Option<&str> = Some("application/json");
const FORM: Option<&str> = Some("application/x-www-form-urlencoded");

/// A policy that passes everything but what `rules` say.
fn open_policy(rules: &[&str]) -> CompiledPolicy {
    let document = serde_json::json!({ "auto_approve_urls": ["/"], "content_rules": rules });
    Policy::from_json(document.to_string().as_bytes()).unwrap().compile()
}

fn request<'a>(url: &'a Target, content_type: Option<&'a str>, body: &'a str) -> RequestContent<'a> {
    RequestContent { content_type, is_encoded: false, query: url.query(), body: body.as_bytes() }
}

/// The verdict and the fact for a request under a policy.
fn found(
    policy: &CompiledPolicy,
    method: Method,
    url: &str,
    content_type: Option<&str>,
    body: &str,
) -> (PolicyVerdict, Option<String>) {
    let target = Target::parse(url).unwrap();
    let decision = evaluate(Some(policy), ApprovalMode::Gated, method, &target);
    if !content_concerns(Some(policy), &decision, method, &target) {
        return (decision.verdict, None);
    }
    let content = request(&target, content_type, body);
    match evaluate_content(Some(policy), &decision, method, &target, &content) {
        Some(finding) => (finding.verdict, Some(finding.fact)),
        None => (decision.verdict, None),
    }
}

fn verdict(policy: &CompiledPolicy, url: &str, content_type: Option<&str>, body: &str) -> PolicyVerdict {
    found(policy, Method::Post, url, content_type, body).0
}

const PAY: &str = "https://api.example.com/v1/pay";
const GRAPH: &str = "https://api.example.com/graphql";

fn graphql(document: &str) -> String {
    serde_json::json!({ "query": document }).to_string()
}

#[test]
fn a_json_field_passes_up_to_its_limit_and_asks_above_it() {
    let policy = open_policy(&["/v1/pay json /amount <= 5000"]);
    for (body, expected) in [
        (r#"{"amount":5000}"#, PolicyVerdict::AutoApprove),
        (r#"{"amount":-1}"#, PolicyVerdict::AutoApprove),
        (r#"{"amount":5000.0}"#, PolicyVerdict::AutoApprove),
        (r#"{"amount":5000.01}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":5001}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":1e9}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":1e999}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":"5000"}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":[1]}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":null}"#, PolicyVerdict::RequireApproval),
        (r#"{"total":1}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":1,"amount":9999}"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":1,"Amount":9999}"#, PolicyVerdict::RequireApproval),
        (r#"{"AMOUNT":1}"#, PolicyVerdict::RequireApproval),
        (r#"{"\u0061mount":1,"amount":9999}"#, PolicyVerdict::RequireApproval),
        (r#"[{"amount":1}]"#, PolicyVerdict::RequireApproval),
        (r#"{"amount":1} {"amount":9999}"#, PolicyVerdict::RequireApproval),
        ("\u{feff}{\"amount\":1}", PolicyVerdict::RequireApproval),
        ("", PolicyVerdict::RequireApproval),
        ("amount=1", PolicyVerdict::RequireApproval),
    ] {
        assert_eq!(verdict(&policy, PAY, JSON, body), expected, "{body}");
    }
}

#[test]
fn a_body_whose_type_is_not_certain_asks() {
    let policy = open_policy(&["/v1/pay json /amount <= 5000"]);
    let body = r#"{"amount":1}"#;
    assert_eq!(
        verdict(&policy, PAY, Some("application/vnd.pay+json; charset=\"UTF-8\""), body),
        PolicyVerdict::AutoApprove
    );
    for kind in [
        None,
        Some("text/plain"),
        FORM,
        Some("application/json; charset=utf-16"),
        Some("multipart/form-data"),
    ] {
        assert_eq!(verdict(&policy, PAY, kind, body), PolicyVerdict::RequireApproval, "{kind:?}");
    }
    let target = Target::parse(PAY).unwrap();
    let decision = evaluate(Some(&policy), ApprovalMode::Gated, Method::Post, &target);
    let hidden = RequestContent { is_encoded: true, ..request(&target, JSON, body) };
    let finding = evaluate_content(Some(&policy), &decision, Method::Post, &target, &hidden).unwrap();
    assert_eq!(finding.fact, "/amount cannot be compared with <= 5000: the body has a Content-Encoding");
    let long = format!("{}{body}", " ".repeat(MAX_READABLE_BYTES));
    assert_eq!(verdict(&policy, PAY, JSON, &long), PolicyVerdict::RequireApproval);
}

#[test]
fn a_query_parameter_of_the_same_name_makes_a_json_field_uncertain() {
    let policy = open_policy(&["/v1/pay json /amount <= 5000"]);
    let url = format!("{PAY}?Amount=9999");
    assert_eq!(verdict(&policy, &url, JSON, r#"{"amount":1}"#), PolicyVerdict::RequireApproval);
    assert_eq!(
        verdict(&policy, &format!("{PAY}?page=1"), JSON, r#"{"amount":1}"#),
        PolicyVerdict::AutoApprove
    );
}

#[test]
fn every_entry_that_a_star_reaches_must_pass() {
    let policy = open_policy(&["/v1/mail json /to/*/email ends_with \"@example.com\" else deny"]);
    let url = "https://api.example.com/v1/mail";
    for (body, expected) in [
        (r#"{"to":[{"email":"a@example.com"},{"email":"b@example.com"}]}"#, PolicyVerdict::AutoApprove),
        (r#"{"to":[{"email":"a@example.com"},{"email":"b@evil.example"}]}"#, PolicyVerdict::Deny),
        (r#"{"to":[{"email":"a@example.com"},{"email":7}]}"#, PolicyVerdict::RequireApproval),
        (r#"{"to":[]}"#, PolicyVerdict::RequireApproval),
        (r#"{"to":{"email":"a@example.com"}}"#, PolicyVerdict::RequireApproval),
        (r#"{"to":[{"name":"a"}]}"#, PolicyVerdict::RequireApproval),
    ] {
        assert_eq!(verdict(&policy, url, JSON, body), expected, "{body}");
    }
}

#[test]
fn a_pointer_reads_escapes_and_positions() {
    for (rule, body) in [
        ("/ json /a~1b = 1", r#"{"a/b":1}"#),
        ("/ json /a~0b = true", r#"{"a~b":true}"#),
        ("/ json /a/0/b = null", r#"{"a":[{"b":null}]}"#),
        (r#"/ json /a in "x", "y""#, r#"{"a":"y"}"#),
        ("/ json /a >= 2", r#"{"a":2}"#),
        (r#"/ json /a starts_with "re: ""#, r#"{"a":"re: you"}"#),
    ] {
        let policy = open_policy(&[rule]);
        assert_eq!(verdict(&policy, PAY, JSON, body), PolicyVerdict::AutoApprove, "{rule}");
        assert_eq!(
            verdict(&policy, PAY, JSON, r#"{"a":["other"]}"#),
            PolicyVerdict::RequireApproval,
            "{rule}"
        );
    }
}

#[test]
fn a_form_field_passes_only_where_every_reader_sees_the_same_value() {
    let policy = open_policy(&["POST api.example.com/v1/pay form amount <= 5000"]);
    for (query, body, expected) in [
        ("", "amount=5000&currency=eur", PolicyVerdict::AutoApprove),
        ("", "amount=49.99", PolicyVerdict::AutoApprove),
        ("", "amount=5001", PolicyVerdict::RequireApproval),
        ("", "amount=1e9", PolicyVerdict::RequireApproval),
        ("", "amount=0x10", PolicyVerdict::RequireApproval),
        ("", "amount=010", PolicyVerdict::RequireApproval),
        ("", "amount=+5", PolicyVerdict::RequireApproval),
        ("", "amount=5,000", PolicyVerdict::RequireApproval),
        ("", "amount=", PolicyVerdict::RequireApproval),
        ("", "currency=eur", PolicyVerdict::RequireApproval),
        ("", "amount=1&amount=9999", PolicyVerdict::RequireApproval),
        ("", "amount=1&amount[]=9999", PolicyVerdict::RequireApproval),
        ("", "amount=1&%61mount=9999", PolicyVerdict::RequireApproval),
        ("", "amount=1&Amount=9999", PolicyVerdict::RequireApproval),
        ("", "amount=1&+amount=9999", PolicyVerdict::RequireApproval),
        ("", "amount=1&amount%00x=9999", PolicyVerdict::RequireApproval),
        ("", "amount=1&a=b;amount=9999", PolicyVerdict::RequireApproval),
        ("?amount=9999", "amount=1", PolicyVerdict::RequireApproval),
        ("?amount=1", "", PolicyVerdict::AutoApprove),
        ("?amount=9999", "", PolicyVerdict::RequireApproval),
    ] {
        let url = format!("{PAY}{query}");
        assert_eq!(verdict(&policy, &url, FORM, body), expected, "{query} {body}");
    }
    assert_eq!(verdict(&policy, PAY, JSON, "amount=1"), PolicyVerdict::RequireApproval);
}

#[test]
fn a_rule_without_a_method_leaves_reading_alone_and_one_with_get_does_not() {
    let policy = open_policy(&["/v1/pay json /amount <= 5", "GET /api/chat.post form channel = \"C1\""]);
    assert_eq!(found(&policy, Method::Get, PAY, None, "").0, PolicyVerdict::AutoApprove);
    assert_eq!(found(&policy, Method::Delete, PAY, None, "").0, PolicyVerdict::RequireApproval);
    for (method, query, expected) in [
        (Method::Get, "?channel=C1", PolicyVerdict::AutoApprove),
        (Method::Head, "?channel=C2", PolicyVerdict::RequireApproval),
        (Method::Get, "?channel=C2", PolicyVerdict::RequireApproval),
        (Method::Get, "", PolicyVerdict::RequireApproval),
        (Method::Post, "", PolicyVerdict::AutoApprove),
    ] {
        let url = format!("https://slack.example/api/chat.post{query}");
        assert_eq!(found(&policy, method, &url, None, "").0, expected, "{method} {query}");
    }
}

#[test]
fn the_fact_names_the_field_its_value_and_the_rule() {
    let policy = open_policy(&["/v1/pay json /amount <= 5000"]);
    let (_, fact) = found(&policy, Method::Post, PAY, JSON, r#"{"amount":12000}"#);
    assert_eq!(fact.as_deref(), Some("/amount is 12000; the rule allows <= 5000"));
    let (_, fact) = found(&policy, Method::Post, PAY, JSON, r#"{"amount":"1"}"#);
    assert_eq!(fact.as_deref(), Some("/amount cannot be compared with <= 5000: it is not a number"));
    let (_, fact) = found(&open_policy(&[]), Method::Post, GRAPH, JSON, &graphql("mutation { a b }"));
    assert_eq!(fact.as_deref(), Some("mutation a"));
    let rule = ContentRule::parse("/v1/pay form amount <= 5").unwrap();
    let target = Target::parse(PAY).unwrap();
    assert_eq!(rule.fact(&request(&target, FORM, "amount=7")), "amount is \"7\"; the rule allows <= 5");
}

#[test]
fn a_mutation_asks_by_default_where_the_path_looks_like_graphql() {
    let policy = open_policy(&[]);
    for (document, expected) in [
        ("{ viewer { login } }", PolicyVerdict::AutoApprove),
        ("query A($id: ID!) { node(id: $id) { id } }", PolicyVerdict::AutoApprove),
        ("subscription { issues { id } }", PolicyVerdict::AutoApprove),
        ("mutation { createIssue(title: \"x\") { id } }", PolicyVerdict::RequireApproval),
        ("# query\nmutation M { a }", PolicyVerdict::RequireApproval),
        ("mutation M { ...F } fragment F on Mutation { a }", PolicyVerdict::RequireApproval),
        ("mutation M { a @skip(if: true) }", PolicyVerdict::RequireApproval),
        ("query A { a } mutation B { b }", PolicyVerdict::RequireApproval),
        ("query A { ...Missing }", PolicyVerdict::RequireApproval),
        ("query A { ", PolicyVerdict::RequireApproval),
        ("type A { b: Int }", PolicyVerdict::RequireApproval),
        ("", PolicyVerdict::RequireApproval),
    ] {
        assert_eq!(verdict(&policy, GRAPH, JSON, &graphql(document)), expected, "{document}");
    }
    assert_eq!(
        verdict(&policy, "https://api.example.com/v1/items", JSON, &graphql("mutation { a }")),
        PolicyVerdict::AutoApprove
    );
}

#[test]
fn the_named_operation_counts_and_an_uncertain_name_asks() {
    let policy = open_policy(&[]);
    let both = "query A { a } mutation B { b }";
    for (name, expected) in [
        (r#""A""#, PolicyVerdict::AutoApprove),
        (r#""B""#, PolicyVerdict::RequireApproval),
        (r#""C""#, PolicyVerdict::RequireApproval),
        (r#""""#, PolicyVerdict::RequireApproval),
        ("null", PolicyVerdict::RequireApproval),
        ("7", PolicyVerdict::RequireApproval),
    ] {
        let body = format!(r#"{{"query":"{both}","operationName":{name}}}"#);
        assert_eq!(verdict(&policy, GRAPH, JSON, &body), expected, "{name}");
    }
}

#[test]
fn the_named_operation_counts_in_a_get_too() {
    let policy = open_policy(&["/graphql graphql query b ask"]);
    let both = "query%20A%7Ba%7D%20query%20B%7Bb%7D";
    for (name, expected) in [
        ("&operationName=A", PolicyVerdict::AutoApprove),
        ("&operationName=B", PolicyVerdict::RequireApproval),
        ("&operationName=A&operationName=B", PolicyVerdict::RequireApproval),
        ("", PolicyVerdict::RequireApproval),
    ] {
        let url = format!("{GRAPH}?query={both}{name}");
        assert_eq!(found(&policy, Method::Get, &url, None, "").0, expected, "{name}");
    }
}

#[test]
fn every_operation_of_a_batch_counts_and_what_cannot_be_read_asks() {
    let policy = open_policy(&[]);
    for (body, expected) in [
        (r#"[{"query":"{a}"},{"query":"{b}"}]"#, PolicyVerdict::AutoApprove),
        (r#"[{"query":"{a}"},{"query":"mutation {b}"}]"#, PolicyVerdict::RequireApproval),
        ("[]", PolicyVerdict::RequireApproval),
        (r#"{"query":"{a}","query":"mutation {b}"}"#, PolicyVerdict::RequireApproval),
        (r#"{"query":"{a}","Query":"mutation {b}"}"#, PolicyVerdict::RequireApproval),
        (r#"{"query":"{a}","id":"x"}"#, PolicyVerdict::RequireApproval),
        (r#"{"extensions":{"persistedQuery":{"sha256Hash":"x"}}}"#, PolicyVerdict::RequireApproval),
        (r#"{"query":["{a}"]}"#, PolicyVerdict::RequireApproval),
        ("not JSON", PolicyVerdict::RequireApproval),
    ] {
        assert_eq!(verdict(&policy, GRAPH, JSON, body), expected, "{body}");
    }
    assert_eq!(verdict(&policy, GRAPH, Some("application/graphql"), "{a}"), PolicyVerdict::AutoApprove);
    assert_eq!(
        verdict(&policy, GRAPH, Some("application/graphql"), "mutation {a}"),
        PolicyVerdict::RequireApproval
    );
    assert_eq!(verdict(&policy, GRAPH, FORM, "query=mutation+%7Ba%7D"), PolicyVerdict::RequireApproval);
    let both = format!("{GRAPH}?query=%7Ba%7D");
    assert_eq!(verdict(&policy, &both, JSON, &graphql("{a}")), PolicyVerdict::RequireApproval);
}

#[test]
fn a_mutation_by_get_asks_also_without_a_policy_in_a_gated_workspace() {
    let mutation = Target::parse(&format!("{GRAPH}?query=mutation+%7Ba%7D")).unwrap();
    let query = Target::parse(&format!("{GRAPH}?query=%7Ba%7D")).unwrap();
    for (mode, target, expected) in [
        (ApprovalMode::Gated, &mutation, Some(PolicyVerdict::RequireApproval)),
        (ApprovalMode::Gated, &query, None),
        (ApprovalMode::Autonomous, &mutation, None),
    ] {
        let decision = evaluate(None, mode, Method::Get, target);
        let content = request(target, None, "");
        let concerns = content_concerns(None, &decision, Method::Get, target);
        let finding = evaluate_content(None, &decision, Method::Get, target, &content);
        assert_eq!(finding.map(|finding| finding.verdict), expected, "{mode:?} {target}");
        assert!(concerns || expected.is_none());
    }
}

#[test]
fn a_path_that_only_may_be_graphql_asks_for_mutations_alone() {
    let policy = open_policy(&[]);
    let url = "https://metrics.example/api/v1/query";
    assert_eq!(verdict(&policy, url, FORM, "query=up"), PolicyVerdict::AutoApprove);
    assert_eq!(
        found(&policy, Method::Get, &format!("{url}?query=up"), None, "").0,
        PolicyVerdict::AutoApprove
    );
    assert_eq!(verdict(&policy, url, JSON, &graphql("mutation { a }")), PolicyVerdict::RequireApproval);
}

#[test]
fn the_strictest_rule_about_any_field_counts_and_a_pass_rule_lifts_only_the_default() {
    let policy = open_policy(&[
        "/graphql graphql mutation addComment, addReaction pass",
        "/graphql graphql mutation deleteRepository deny",
        "/graphql graphql query secrets ask",
    ]);
    for (document, expected) in [
        ("mutation { addComment { id } }", PolicyVerdict::AutoApprove),
        ("mutation { c: addComment { id } addReaction { id } }", PolicyVerdict::AutoApprove),
        ("mutation { addComment { id } createIssue { id } }", PolicyVerdict::RequireApproval),
        ("mutation { addComment: deleteRepository { id } }", PolicyVerdict::Deny),
        (
            "mutation { addComment { id } ...F } fragment F on M { deleteRepository { id } }",
            PolicyVerdict::Deny,
        ),
        ("mutation { ... on M { ... { deleteRepository { id } } } }", PolicyVerdict::Deny),
        ("{ secrets { value } }", PolicyVerdict::RequireApproval),
        ("{ addComment }", PolicyVerdict::AutoApprove),
        ("query { deleteRepository }", PolicyVerdict::AutoApprove),
    ] {
        assert_eq!(verdict(&policy, GRAPH, JSON, &graphql(document)), expected, "{document}");
    }
}

#[test]
fn a_rule_that_passes_everything_switches_the_reading_off_and_never_a_rule_beside_it() {
    let off = open_policy(&["/graphql graphql any pass"]);
    assert_eq!(verdict(&off, GRAPH, JSON, &graphql("mutation { a }")), PolicyVerdict::AutoApprove);
    assert_eq!(verdict(&off, GRAPH, JSON, r#"{"id":"stored"}"#), PolicyVerdict::AutoApprove);
    let beside = open_policy(&["/graphql graphql any pass", "/graphql graphql mutation drop deny"]);
    assert_eq!(verdict(&beside, GRAPH, JSON, &graphql("mutation { a }")), PolicyVerdict::AutoApprove);
    assert_eq!(verdict(&beside, GRAPH, JSON, &graphql("mutation { drop }")), PolicyVerdict::Deny);
    assert_eq!(verdict(&beside, GRAPH, JSON, r#"{"id":"stored"}"#), PolicyVerdict::RequireApproval);
}

#[test]
fn a_strict_rule_holds_on_every_reading_of_a_path_and_a_pass_rule_on_the_plain_one() {
    let strict = open_policy(&["/v1/pay json /amount <= 5 else deny"]);
    for url in ["https://a.example/v1//pay", "https://a.example/v1/%70ay", "https://a.example/v1/x/..;/pay"] {
        assert_ne!(verdict(&strict, url, JSON, r#"{"amount":9}"#), PolicyVerdict::AutoApprove, "{url}");
    }
    let pass = open_policy(&["/graphql graphql mutation a pass"]);
    for url in ["https://a.example//graphql", "https://a.example/x/..;/graphql"] {
        assert_eq!(
            verdict(&pass, url, JSON, &graphql("mutation { a }")),
            PolicyVerdict::RequireApproval,
            "{url}"
        );
    }
}

#[test]
fn a_deny_rule_also_denies_what_would_have_asked_and_no_grant_covers_what_a_rule_asks() {
    let document = r#"{"content_rules":["/v1/pay json /amount <= 5 else deny","/v1/pay json /to = \"me\""]}"#;
    let policy = Policy::from_json(document.as_bytes()).unwrap();
    let compiled = policy.compile();
    assert_eq!(verdict(&compiled, PAY, JSON, r#"{"amount":6,"to":"me"}"#), PolicyVerdict::Deny);
    let target = Target::parse(PAY).unwrap();
    let decision = evaluate(Some(&compiled), ApprovalMode::Gated, Method::Post, &target);
    let content = request(&target, JSON, r#"{"amount":5,"to":"you"}"#);
    let finding = evaluate_content(Some(&compiled), &decision, Method::Post, &target, &content).unwrap();
    assert_eq!(finding.rule, Some("/v1/pay json /to = \"me\""));
    let asked =
        crate::policy::Decision { verdict: finding.verdict, rule: Rule::Content, pattern: finding.rule };
    assert!(!crate::grant::grant_may_apply(&asked, Some(&policy)));
}

#[test]
fn fragments_that_nest_deeply_in_a_chain_are_followed_without_recursion() {
    let nested = |inner: &str| format!("{}{inner}{}", "{...".repeat(25), "}".repeat(25));
    let fragment = |number: u8| {
        let next = if number == 149 { "{a}".to_owned() } else { format!("{{...F{}}}", number + 1) };
        format!(" fragment F{number} on Q {}", nested(&next))
    };
    let fragments: String = (0..150).map(fragment).collect();
    let document = format!("query Q {}{fragments}", nested("{...F0}"));
    let policy = open_policy(&[]);
    assert_eq!(verdict(&policy, GRAPH, JSON, &graphql(&document)), PolicyVerdict::AutoApprove);
    let writes = document.replacen("query Q", "mutation Q", 1);
    assert_eq!(verdict(&policy, GRAPH, JSON, &graphql(&writes)), PolicyVerdict::RequireApproval);
}

#[test]
fn what_another_reader_takes_for_the_same_parameter_asks() {
    let policy = open_policy(&["/v1/pay form transfer[amount] <= 5", "/v1/pay form amount <= 5"]);
    let plain = "amount=5&transfer[amount]=5";
    assert_eq!(verdict(&policy, PAY, FORM, plain), PolicyVerdict::AutoApprove);
    for more in [
        "[amount]=9000",
        "amount]=9000",
        "amount[]=9000",
        "transfer[[amount]=9000",
        "transfer[amount]x=9000",
        "transfer.amount=9000",
        "transfer=9000",
        "%20amount=9000",
    ] {
        assert_eq!(
            verdict(&policy, PAY, FORM, &format!("{plain}&{more}")),
            PolicyVerdict::RequireApproval,
            "{more}"
        );
    }
    let many = format!("{plain}{}", "&a".repeat(1000));
    assert_eq!(verdict(&policy, PAY, FORM, &many), PolicyVerdict::RequireApproval);
    let json = open_policy(&["/v1/pay json /amount <= 5", "/v1/pay json /dest = \"me\""]);
    let body = r#"{"amount":5,"dest":"me"}"#;
    assert_eq!(verdict(&json, PAY, JSON, body), PolicyVerdict::AutoApprove);
    for query in ["?[amount]=9000", "?x=1;amount=9000", "?amount%00=1"] {
        assert_eq!(
            verdict(&json, &format!("{PAY}{query}"), JSON, body),
            PolicyVerdict::RequireApproval,
            "{query}"
        );
    }
    for body in [
        "{\"amount\":5,\"dest\":\"me\",\"de\u{17f}t\":\"evil\"}",
        r#"{"amount":5,"dest":"me","amount\u0000":9000}"#,
    ] {
        assert_eq!(verdict(&json, PAY, JSON, body), PolicyVerdict::RequireApproval, "{body}");
    }
}

#[test]
fn a_type_with_a_parameter_that_changes_the_reader_asks() {
    let form = open_policy(&["/v1/pay form amount <= 5"]);
    for kind in [
        "application/x-www-form-urlencoded; charset*=utf-8''utf-16le",
        "application/x-www-form-urlencoded; a=/json",
        "application/x-www-form-urlencoded; charset=utf-8; charset=utf-16",
    ] {
        assert_eq!(verdict(&form, PAY, Some(kind), "amount=5"), PolicyVerdict::RequireApproval, "{kind}");
    }
    let utf8 = Some("application/x-www-form-urlencoded; Charset=UTF-8");
    assert_eq!(verdict(&form, PAY, utf8, "amount=5"), PolicyVerdict::AutoApprove);
}

#[test]
fn a_graphql_request_with_a_second_reading_asks() {
    let policy = open_policy(&["/graphql graphql mutation drop deny"]);
    let read = graphql("{viewer}");
    for query in ["?x=1;query=mutation%7Bdrop%7D", "?[query]=mutation%7Bdrop%7D", "?docId=7"] {
        assert_eq!(
            verdict(&policy, &format!("{GRAPH}{query}"), JSON, &read),
            PolicyVerdict::RequireApproval,
            "{query}"
        );
    }
    for form in ["query={a}&%20query=mutation{drop}", "query={a}&[query]=mutation{drop}", "query={a}&id=7"] {
        assert_eq!(verdict(&policy, GRAPH, FORM, form), PolicyVerdict::RequireApproval, "{form}");
    }
    assert_eq!(verdict(&policy, &format!("{GRAPH}?trace=1"), JSON, &read), PolicyVerdict::AutoApprove);
    assert_eq!(verdict(&policy, GRAPH, FORM, "query={a}&trace=1"), PolicyVerdict::AutoApprove);
}

#[test]
fn a_mutation_asks_on_every_spelling_of_a_graphql_path_and_by_every_method() {
    let policy = open_policy(&[]);
    let write = graphql("mutation { a }");
    for path in [
        "/graphql%20",
        "/graphql%2f",
        "/x/..%2fgraphql",
        "/graphql%00",
        "/graphql.x",
        "/api/graphql.xml",
        "/%67ql",
    ] {
        let url = format!("https://a.example{path}");
        assert_eq!(verdict(&policy, &url, JSON, &write), PolicyVerdict::RequireApproval, "{path}");
    }
    let url = "https://a.example/gql";
    assert_eq!(found(&policy, Method::Get, url, JSON, &write).0, PolicyVerdict::RequireApproval);
    let escaped = format!("{url}?%71uery=mutation%7Ba%7D");
    assert_eq!(found(&policy, Method::Get, &escaped, None, "").0, PolicyVerdict::RequireApproval);
    assert_eq!(found(&policy, Method::Get, url, None, "").0, PolicyVerdict::AutoApprove);
}

#[test]
fn whole_numbers_are_compared_exactly_and_an_address_must_be_one() {
    let id =
        open_policy(&["/v1/pay json /account = 9007199254740992", "/v1/pay json /n <= 9007199254740992"]);
    let body = |account: &str, n: &str| format!(r#"{{"account":{account},"n":{n}}}"#);
    assert_eq!(
        verdict(&id, PAY, JSON, &body("9007199254740992", "9007199254740992")),
        PolicyVerdict::AutoApprove
    );
    assert_eq!(verdict(&id, PAY, JSON, &body("9007199254740993", "1")), PolicyVerdict::RequireApproval);
    assert_eq!(
        verdict(&id, PAY, JSON, &body("9007199254740992", "9007199254740993")),
        PolicyVerdict::RequireApproval
    );
    let mail = open_policy(&["/v1/pay json /to ends_with \"@example.com\""]);
    let to = |to: &str| serde_json::json!({ "to": to }).to_string();
    assert_eq!(verdict(&mail, PAY, JSON, &to("a@example.com")), PolicyVerdict::AutoApprove);
    for several in [
        "e@evil.example, a@example.com",
        "<e@evil.example> a@example.com",
        "e@evil.example\r\nBcc: a@example.com",
    ] {
        assert_eq!(verdict(&mail, PAY, JSON, &to(several)), PolicyVerdict::RequireApproval, "{several}");
    }
}

#[test]
fn a_document_that_nests_or_repeats_without_end_asks() {
    let policy = open_policy(&[]);
    let deep = format!("{}{}", "{a".repeat(500), "}".repeat(500));
    let wide = format!("{{{}}}", "a ".repeat(30_000));
    let circle = "query { ...A } fragment A on Q { ...B } fragment B on Q { ...A }";
    for document in [&*deep, &*wide, circle] {
        assert_eq!(verdict(&policy, GRAPH, JSON, &graphql(document)), PolicyVerdict::RequireApproval);
    }
    let nested = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
    let rule = open_policy(&["/v1/pay json /amount <= 5"]);
    assert_eq!(verdict(&rule, PAY, JSON, &nested), PolicyVerdict::RequireApproval);
}

#[test]
fn a_stored_rule_that_cannot_be_read_asks_about_everything() {
    let mut policy = Policy::from_json(br#"{"auto_approve_urls":["/"]}"#).unwrap();
    policy.content_rules = vec!["nonsense".to_owned()];
    let compiled = policy.compile();
    for (url, body) in [(PAY, "x"), (GRAPH, r#"{"query":"{a}"}"#)] {
        assert_eq!(verdict(&compiled, url, JSON, body), PolicyVerdict::RequireApproval, "{url}");
    }
}

#[test]
fn a_wrong_rule_is_refused_with_what_to_write() {
    for (rule, says) in [
        ("/v1/pay", "`json`, `form` or `graphql`"),
        ("/v1/pay xml /a = 1", "`json`, `form` or `graphql`"),
        ("https://a.example/v1 json /a = 1", "no scheme"),
        ("/v1 json amount = 1", "JSON pointer"),
        ("/v1 json /a/ = 1", "JSON pointer"),
        ("/v1 json /a~2 = 1", "JSON pointer"),
        ("/v1 json /a", "comparison"),
        ("/v1 json /a < 5", "comparison"),
        ("/v1 json /a <= \"5\"", "number"),
        ("/v1 json /a <= 5 6", "else ask"),
        ("/v1 json /a <= 5 else pass", "else ask"),
        ("/v1 json /a <= 5, 6", "only `in`"),
        ("/v1 json /a = [1]", "a value"),
        ("/v1 json /a ends_with \"\"", "double quotes"),
        ("/v1 form", "parameter"),
        ("/v1 graphql", "`query`"),
        ("/v1 graphql mutation a-b deny", "names"),
        ("/v1 graphql mutation", "`pass`"),
        ("/v1 graphql mutation a b", "`pass`"),
    ] {
        let error = ContentRule::parse(rule).unwrap_err().to_string();
        assert!(error.contains(says), "{rule}: {error}");
    }
    let document = r#"{"content_rules":["/v1 json /a < 5"]}"#;
    let error = Policy::from_json(document.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("content_rules: `/v1 json /a < 5`: write a comparison"), "{error}");
}
