//! One policy, many requests (`docs/reference/policy.md#evaluation`).

use super::*;

const POLICY: &str = r#"{
    "auto_approve_methods": ["get"],
    "require_approval_methods": ["POST"],
    "deny_methods": ["PATCH"],
    "auto_approve_urls": ["/v1/status", "/open/", "/v1/*/public", "api.example.com/hooks",
        "alt.example.com", "port.example.com:8443/p", "/a%20b", "/%2A/star", "bücher.example/x"],
    "require_approval_urls": ["/admin", "/pay/*/refund/", "Bank.Example.com", "/caf%C3%A9", "/s%2Ft"],
    "deny_urls": ["/admin/keys", "evil.example.com:8443"]
}"#;

/// `(method, target, rule)`; the verdict follows from the rule.
const CASES: &[(&str, &str, &str)] = &[
    // Methods.
    ("GET", "https://api.example.com/", "auto_method"),
    ("HEAD", "https://api.example.com/", "auto_method"),
    ("POST", "https://api.example.com/", "require_method"),
    ("PUT", "https://api.example.com/", "default"),
    ("DELETE", "https://api.example.com/", "default"),
    ("OPTIONS", "https://api.example.com/", "default"),
    ("PATCH", "https://api.example.com/v1/status", "deny"),
    // A prefix ends at a segment boundary.
    ("POST", "https://api.example.com/v1/status", "auto_url"),
    ("POST", "https://api.example.com/v1/status/", "auto_url"),
    ("POST", "https://api.example.com/v1/status/deep/er", "auto_url"),
    ("POST", "https://api.example.com/v1/statusbeta", "require_method"),
    ("POST", "https://api.example.com/v1/status.json", "require_method"),
    ("POST", "https://api.example.com/v1", "require_method"),
    ("POST", "https://api.example.com/x/v1/status", "require_method"),
    // Case matters in paths.
    ("POST", "https://api.example.com/V1/status", "require_method"),
    ("GET", "https://api.example.com/Admin", "auto_method"),
    // A trailing slash matters for auto, not for require and deny.
    ("POST", "https://api.example.com/open", "require_method"),
    ("POST", "https://api.example.com/open/", "auto_url"),
    ("POST", "https://api.example.com/open/x", "auto_url"),
    ("GET", "https://api.example.com/pay/7/refund", "require_url"),
    ("GET", "https://api.example.com/pay/7/refund/", "require_url"),
    ("GET", "https://api.example.com/pay/7/refunds", "auto_method"),
    // A star is one whole, non-empty segment.
    ("POST", "https://api.example.com/v1/7/public", "auto_url"),
    ("POST", "https://api.example.com/v1/*/public", "auto_url"),
    ("POST", "https://api.example.com/v1/7/8/public", "require_method"),
    ("POST", "https://api.example.com/v1/public", "require_method"),
    ("POST", "https://api.example.com/v1//public", "require_method"),
    ("POST", "https://api.example.com/%2A/star", "auto_url"),
    ("POST", "https://api.example.com/x/star", "require_method"),
    // Query and fragment are ignored.
    ("POST", "https://api.example.com/v1/status?a=/admin", "auto_url"),
    ("GET", "https://api.example.com/?/admin", "auto_method"),
    ("GET", "https://api.example.com/admin?x#y", "require_url"),
    // Hosts.
    ("POST", "https://api.example.com/hooks/1", "auto_url"),
    ("POST", "https://API.example.COM/hooks/1", "auto_url"),
    ("POST", "https://www.api.example.com/hooks/1", "require_method"),
    ("POST", "https://api.example.com.evil.com/hooks/1", "require_method"),
    ("POST", "https://other.example.com/hooks/1", "require_method"),
    ("POST", "https://alt.example.com/anything", "auto_url"),
    ("POST", "https://alt.example.com:9000/", "auto_url"),
    ("POST", "http://alt.example.com/", "auto_url"),
    ("POST", "https://xn--bcher-kva.example/x", "auto_url"),
    ("POST", "https://bücher.example/x/y", "auto_url"),
    ("GET", "https://bank.example.com/", "require_url"),
    ("GET", "https://bank.example.com:444/any", "require_url"),
    // Ports, where the pattern names one.
    ("POST", "https://port.example.com:8443/p", "auto_url"),
    ("POST", "https://port.example.com/p", "require_method"),
    ("GET", "https://evil.example.com:8443/", "deny"),
    ("GET", "https://evil.example.com/", "auto_method"),
    // Deny before require.
    ("GET", "https://api.example.com/admin/keys", "deny"),
    ("GET", "https://api.example.com/admin/key", "require_url"),
    // Auto patterns see only the canonical path.
    ("POST", "https://api.example.com/v1/%73tatus", "auto_url"),
    ("POST", "https://api.example.com/x/../v1/status", "auto_url"),
    ("POST", "https://api.example.com/v1/%2573tatus", "require_method"),
    ("POST", "https://api.example.com/v1;x/status", "require_method"),
    ("POST", "https://api.example.com//v1/status", "require_method"),
    ("POST", "https://api.example.com/v1%2Fstatus", "require_method"),
    ("POST", "https://api.example.com/a%20b", "auto_url"),
    ("POST", "https://api.example.com/a%2520b", "require_method"),
    // Require and deny patterns see every plausible variant.
    ("GET", "https://api.example.com/%61dmin", "require_url"),
    ("GET", "https://api.example.com/%2561dmin", "require_url"),
    ("GET", "https://api.example.com/%252561dmin", "require_url"),
    ("GET", "https://api.example.com/%25252561dmin", "auto_method"),
    ("GET", "https://api.example.com/admin;jsessionid=1/x", "require_url"),
    ("GET", "https://api.example.com/admin%3Bx", "require_url"),
    ("GET", "https://api.example.com//admin", "require_url"),
    ("GET", "https://api.example.com/%2Fadmin", "require_url"),
    ("GET", "https://api.example.com/x/%252e%252e/admin", "require_url"),
    ("GET", "https://api.example.com/x/..;/admin", "require_url"),
    ("GET", "https://api.example.com/x%5C..%5Cadmin", "require_url"),
    ("GET", "https://api.example.com/admin%5Ckeys", "deny"),
    ("GET", "https://api.example.com/admin%2Fkeys", "deny"),
    ("GET", "https://api.example.com/v1/status/%252e%252e/%252e%252e/admin/keys", "deny"),
    ("GET", "https://api.example.com/café/menu", "require_url"),
    ("GET", "https://api.example.com/caf%25C3%25A9", "require_url"),
    ("GET", "https://api.example.com/s%2Ft", "require_url"),
    ("GET", "https://api.example.com/s/t", "require_url"),
    ("GET", "https://api.example.com/pay//7/refund", "require_url"),
    ("GET", "https://api.example.com/pay/%2F/refund", "require_url"),
];

#[test]
fn each_request_is_decided_by_the_rule_in_the_table() {
    let policy = policy(POLICY);
    for (method, url, expected) in CASES {
        let method = Method::parse(method).unwrap();
        let (verdict, rule, pattern) = decide(&policy, method, url);
        assert_eq!(rule.as_str(), *expected, "{method} {url} matched {pattern:?}");
        let follows = match rule {
            Rule::Deny => PolicyVerdict::Deny,
            Rule::AutoUrl | Rule::AutoMethod => PolicyVerdict::AutoApprove,
            _ => PolicyVerdict::RequireApproval,
        };
        assert_eq!(verdict, follows, "{method} {url}");
    }
}
