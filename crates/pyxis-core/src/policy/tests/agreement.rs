//! The compiled policy decides like a direct implementation of the rules (`docs/reference/policy.md#evaluation`).

use proptest::prelude::*;

use super::*;
use crate::pattern::{is_garbled, variants};

/// The rules, one by one and without any index. Its patterns have no escapes.
fn plainly(policy: &Policy, method: Method, url: &str) -> (PolicyVerdict, Rule, Option<String>) {
    let target = target(url);
    let asked = if method == Method::Head { Method::Get } else { method };
    let protects = |list: &[String]| {
        let paths = variants(target.path().as_bytes()).expect("few readings");
        let hit = |pattern: &&String| {
            paths.iter().any(|path| matches(pattern, true, &target, &String::from_utf8_lossy(path)))
        };
        list.iter().find(hit).cloned()
    };
    let lists = |list: &[Method], method| list.contains(&method);
    let is_considered = lists(&policy.auto_approve_methods, Method::WebSocket)
        || lists(&policy.require_approval_methods, Method::WebSocket);
    let may_do_what_is_denied = asked == Method::WebSocket
        && (lists(&policy.deny_methods, Method::Get) || !policy.deny_methods.is_empty() && !is_considered);
    if policy.deny_methods.contains(&asked) || may_do_what_is_denied {
        return (PolicyVerdict::Deny, Rule::Deny, None);
    }
    if let Some(pattern) = protects(&policy.deny_urls) {
        return (PolicyVerdict::Deny, Rule::Deny, Some(pattern));
    }
    if let Some(pattern) = protects(&policy.require_approval_urls) {
        return (PolicyVerdict::RequireApproval, Rule::RequireUrl, Some(pattern));
    }
    let garbled = is_garbled(&variants(target.path().as_bytes()).expect("few readings"));
    let mut protecting = policy.deny_urls.iter().chain(&policy.require_approval_urls);
    if garbled && protecting.any(|pattern| is_on_host(pattern, &target)) {
        return (PolicyVerdict::RequireApproval, Rule::RequireUrl, None);
    }
    let auto =
        policy.auto_approve_urls.iter().find(|pattern| matches(pattern, false, &target, target.path()));
    if let Some(pattern) = auto.filter(|_| stays(policy, &target)) {
        return (PolicyVerdict::AutoApprove, Rule::AutoUrl, Some(pattern.clone()));
    }
    if policy.auto_approve_methods.contains(&asked) {
        return (PolicyVerdict::AutoApprove, Rule::AutoMethod, None);
    }
    let rule =
        if policy.require_approval_methods.contains(&asked) { Rule::RequireMethod } else { Rule::Default };
    (PolicyVerdict::RequireApproval, rule, None)
}

/// True if the host stays within what may pass, however it reads the path.
fn stays(policy: &Policy, target: &Target) -> bool {
    let paths = variants(target.path().as_bytes()).expect("few readings");
    !is_garbled(&paths)
        && paths.iter().all(|path| {
            let path = String::from_utf8_lossy(path);
            policy.auto_approve_urls.iter().any(|pattern| matches(pattern, true, target, &path))
        })
}

fn is_on_host(pattern: &str, target: &Target) -> bool {
    let authority = &pattern[..pattern.find('/').unwrap_or(pattern.len())];
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let host_fits = host.is_empty() || host.eq_ignore_ascii_case(&target.host().to_string());
    host_fits && (port.is_empty() || port == target.port().to_string())
}

fn matches(pattern: &str, protecting: bool, target: &Target, path: &str) -> bool {
    let pattern_path = &pattern[pattern.find('/').unwrap_or(pattern.len())..];
    let mut wanted: Vec<&str> = pattern_path.split('/').skip(1).collect();
    let given: Vec<&str> = path.split('/').skip(1).collect();
    let mut least = wanted.len();
    if protecting {
        wanted.retain(|segment| !segment.is_empty());
        least = wanted.len();
    } else if wanted.last() == Some(&"") {
        wanted.pop();
    }
    let segment_fits = |(wanted, given): (&&str, &&str)| match *wanted {
        "*" => !given.is_empty(),
        literal => literal == *given,
    };
    is_on_host(pattern, target) && given.len() >= least && wanted.iter().zip(&given).all(segment_fits)
}

fn authority() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        "a.example",
        "A.example",
        "b.example",
        "a.example:8443",
        "b.example:443",
    ])
}

fn pattern() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec!["a", "a", "b", "b", "c", "*", ""]);
    (authority(), prop::collection::vec(segment, 0..4)).prop_map(|(authority, segments)| {
        let path: String = segments.iter().flat_map(|segment| ["/", *segment]).collect();
        if authority.is_empty() && path.is_empty() { "/".to_owned() } else { format!("{authority}{path}") }
    })
}

fn url() -> impl Strategy<Value = String> {
    let host = prop::sample::select(vec!["a.example", "b.example", "a.example:8443", "c.example"]);
    let segment = prop::sample::select(vec![
        "a",
        "a",
        "a",
        "b",
        "b",
        "c",
        "",
        "a;b",
        "%2561",
        "b%2Fc",
        "*",
        "a%5C",
        ".",
        "%252e%252e",
        "%C0%AE.",
        "b%FF",
        "a%00b",
        "ab",
    ]);
    (host, prop::collection::vec(segment, 0..5))
        .prop_map(|(host, segments)| format!("https://{host}/{}", segments.join("/")))
}

fn methods() -> impl Strategy<Value = Vec<Method>> {
    let listed: Vec<_> = Method::ALL.iter().copied().filter(|method| *method != Method::Head).collect();
    prop::sample::subsequence(listed, 0..3)
}

fn policies() -> impl Strategy<Value = Policy> {
    let patterns = || prop::collection::vec(pattern(), 0..4);
    (patterns(), patterns(), patterns(), methods(), methods(), methods()).prop_map(
        |(deny_urls, require_approval_urls, auto_approve_urls, deny_methods, auto, require)| Policy {
            deny_urls,
            require_approval_urls,
            auto_approve_urls,
            deny_methods,
            auto_approve_methods: auto,
            require_approval_methods: require,
            ..Policy::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_compiled_policy_decides_as_the_rules_read(
        policy in policies(),
        method in prop::sample::select(Method::ALL),
        url in url(),
    ) {
        prop_assume!(variants(target(&url).path().as_bytes()).is_ok());
        prop_assert_eq!(decide(&policy, method, &url), plainly(&policy, method, &url));
    }
}
