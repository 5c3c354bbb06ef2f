//! No other spelling of a path evades its protection (`docs/reference/forwarding.md#careless-hosts`).

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn segments() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("([a-z0-9_-]|%20|%C3%A9|%2F|%26){1,6}", 1..4)
}

/// Another spelling of a path: every character but the first slash is kept, escaped, or escaped twice.
///
/// Slashes stay if the path has dot segments. After an escaped slash, an unescaped `..` would resolve while the target
/// is parsed, and lead elsewhere.
fn respelled(path: &str, escapes: &[usize]) -> String {
    let keep_slashes = path.contains("/.");
    let mut out = String::from("/");
    let mut escapes = escapes.iter().cycle();
    let mut bytes = path.bytes().skip(1);
    while let (Some(byte), Some(times)) = (bytes.next(), escapes.next()) {
        match times {
            // An escape stays whole; otherwise it would not be one.
            0 if byte == b'%' => out.extend([byte].into_iter().chain(bytes.by_ref().take(2)).map(char::from)),
            0 => out.push(char::from(byte)),
            _ if byte == b'/' && keep_slashes => out.push('/'),
            1 => write!(out, "%{byte:02X}").unwrap(),
            _ => write!(out, "%25{byte:02x}").unwrap(),
        }
    }
    out
}

/// A path with text between its segments that upstreams drop.
fn decorated(segments: &[String], noise: &[&str]) -> String {
    segments.iter().zip(noise.iter().cycle()).flat_map(|(segment, noise)| ["/", segment, noise]).collect()
}

fn guarded(pattern: String) -> Policy {
    Policy {
        require_approval_urls: vec![pattern],
        auto_approve_urls: vec!["/".to_owned()],
        ..Policy::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_require_pattern_also_matches_every_other_spelling_of_a_path_that_it_matches(
        segments in segments(),
        stars in prop::collection::vec(any::<bool>(), 3),
        below in "(/[a-z]{1,3}){0,2}",
        noise in prop::collection::vec(prop::sample::select(vec!["", "", ";v=1", "/", "/.", "/zz/..", "/yy/..;"]), 3),
        escapes in prop::collection::vec(0_usize..3, 1..20),
    ) {
        let pattern: String = segments
            .iter()
            .zip(&stars)
            // A segment with an escaped slash is two for an upstream that decodes first.
            .flat_map(|(segment, star)| ["/", if *star && !segment.contains("%2F") { "*" } else { segment }])
            .collect();
        let policy = guarded(pattern);
        let plain = format!("https://api.example.com/{}{below}", segments.join("/"));
        prop_assert_eq!(rule(&policy, Method::Get, &plain), Rule::RequireUrl);
        for path in [decorated(&segments, &[""]), decorated(&segments, &noise)] {
            let url = format!("https://api.example.com{}{below}", respelled(&path, &escapes));
            prop_assert_eq!(rule(&policy, Method::Get, &url), Rule::RequireUrl, "{}", url);
        }
    }

    #[test]
    fn an_auto_pattern_never_crosses_a_segment_boundary(
        pattern in "(/[a-z]{1,3}){1,3}/?",
        more in "[a-z0-9._~!$&'()+,=:@-]{1,4}",
    ) {
        let policy = Policy { auto_approve_urls: vec![pattern.clone()], ..Policy::default() };
        let bare = pattern.trim_end_matches('/');
        let beside = format!("https://api.example.com{bare}{more}");
        prop_assert_eq!(rule(&policy, Method::Get, &beside), Rule::Default);
        let below = format!("https://api.example.com{bare}/x{more}");
        prop_assert_eq!(rule(&policy, Method::Get, &below), Rule::AutoUrl);
    }
}

#[test]
fn a_path_with_too_many_readings_is_treated_as_if_a_protecting_pattern_matched() {
    let hostile: String = (0..40)
        .map(|i| ["/a;b", "/%252e%252e", "//", "/%255C..%253B", "/%25252e;", "/%2F%252F..;"][i % 6])
        .collect();
    let url = format!("https://api.example.com{hostile}");
    assert_eq!(
        crate::pattern::variants(target(&url).path().as_bytes()),
        Err(crate::pattern::TooManyVariants),
        "the example must be hostile enough"
    );
    let require = guarded("/never".to_owned());
    assert_eq!(decide(&require, Method::Get, &url), (PolicyVerdict::RequireApproval, Rule::RequireUrl, None));
    let deny = Policy { deny_urls: vec!["/never".to_owned()], ..require.clone() };
    assert_eq!(decide(&deny, Method::Get, &url), (PolicyVerdict::Deny, Rule::Deny, None));
    let elsewhere = guarded("other.example.com/never".to_owned());
    assert_eq!(rule(&elsewhere, Method::Get, &url), Rule::Default);
}

#[test]
fn an_auto_pattern_lets_nothing_pass_that_the_host_may_find_elsewhere() {
    let policy = Policy {
        auto_approve_urls: vec!["/v1/public".to_owned(), "/v1/*/read".to_owned()],
        ..Policy::default()
    };
    let rule_of = |path: &str| rule(&policy, Method::Post, &format!("https://api.example.com{path}"));
    for path in [
        "/v1/public/..;/admin/users",
        "/v1/public/..%2Fadmin",
        "/v1/public/..%2F..%2Fadmin",
        "/v1/public/%252e%252e/admin",
        "/v1/public/..%5Cadmin",
        "/v1/a%2F..%2Fadmin/read",
    ] {
        assert_eq!(rule_of(path), Rule::Default, "{path}");
    }
    for path in [
        "/v1/public",
        "/v1/public/a%20b",
        "/v1/public/a%2Fb",
        "/v1/public/a;v=1",
        "/v1/public//x",
        "/v1/a%20b/read",
    ] {
        assert_eq!(rule_of(path), Rule::AutoUrl, "{path}");
    }
}

/// Spellings below `/public/` that careless hosts read as `/private`.
const CARELESS: &[&str] = &[
    // Overlong UTF-8: dots, slashes and backslashes in two to six bytes.
    "/public/..%c0%afprivate",
    "/public/%c0%ae%c0%ae/private",
    "/public/%c0%ae%c0%ae%c0%afprivate",
    "/public/..%c0%2fprivate",
    "/public/..%c1%9cprivate",
    "/public/..%c1%1cprivate",
    "/public/..%e0%80%afprivate",
    "/public/%e0%80%ae%e0%80%ae/private",
    "/public/..%f0%80%80%afprivate",
    "/public/%f0%80%80%ae./private",
    "/public/..%f8%80%80%80%afprivate",
    "/public/..%fc%80%80%80%80%afprivate",
    // The same, escaped twice and three times, and an escape sign in two bytes.
    "/public/..%25c0%25afprivate",
    "/public/%25c0%25ae%25c0%25ae/private",
    "/public/..%2525c0%2525afprivate",
    "/public/%c0%a52e%c0%a52e/private",
    // Escapes of IIS, which are not escapes at the first level.
    "/public/%25u002e%25u002e/private",
    "/public/..%25u002fprivate",
    "/public/..%25u2215private",
    "/public/%25uff0e%25uff0e/private",
    // Look-alikes.
    "/public/．．/private",
    "/public/%ef%bc%8e%ef%bc%8e/private",
    "/public/..%ef%bc%8fprivate",
    "/public/..%ef%bc%bcprivate",
    "/public/..%e2%88%95private",
    "/public/%e2%80%a5/private",
    "/public/%f0%8f%bc%8e%f0%8f%bc%8e/private",
    // Backslashes, and characters that are dropped or end the path.
    "/public/..%5cprivate",
    "/public/..%255cprivate",
    "/public/.%00./private",
    "/public/.%ff./private",
    "/public/.%09./private",
    "/public/..%00/private",
    // Ends of names that Windows drops.
    "/public/..%20/private",
    "/public/..%20./private",
    "/public/.%20./private",
    "/public/%20../private",
    "/public/.../private",
    "/public/..%2520%252e/private",
    "/public/..%c2%a0/private",
    "/public/..%20/private%20.",
    "/public/..%20%5cprivate::$DATA",
    "/public/..%20;v=1/private.;v=1",
];

/// Ends of a segment that a Windows host drops.
fn dropped_end() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![".", "%20", "%2E", "%2520", "::$DATA", "::%24data", "%09"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_name_is_protected_with_every_end_that_windows_drops(
        segments in prop::collection::vec("[a-z0-9][a-z0-9_-]{0,4}", 1..4),
        ends in prop::collection::vec(dropped_end(), 3),
    ) {
        let plain = format!("/{}", segments.join("/"));
        let ended: String =
            segments.iter().zip(&ends).flat_map(|(segment, end)| ["/", segment, end]).collect();
        let url = format!("https://api.example.com{ended}");
        prop_assert_eq!(rule(&guarded(plain.clone()), Method::Get, &url), Rule::RequireUrl, "{}", ended);
        // A pattern written this way holds for itself and for the plain name.
        let written = guarded(ended.clone());
        prop_assert_eq!(rule(&written, Method::Get, &url), Rule::RequireUrl, "{}", ended);
        let bare = format!("https://api.example.com{plain}");
        if !ended.contains("%09") {
            prop_assert_eq!(rule(&written, Method::Get, &bare), Rule::RequireUrl, "{}", ended);
        }
        // A name with another end does not pass by a pattern for the plain name, only by a pattern with that end.
        let auto = |pattern: &str| Policy { auto_approve_urls: vec![pattern.to_owned()], ..Policy::default() };
        prop_assert_eq!(rule(&auto(&plain), Method::Get, &url), Rule::Default, "{}", ended);
        if !ended.contains("%09") {
            prop_assert_eq!(rule(&auto(&ended), Method::Get, &url), Rule::AutoUrl, "{}", ended);
        }
    }

    #[test]
    fn a_way_up_that_ends_in_blanks_or_dots_never_passes(
        end in "(\\.|%20|%2E){1,3}",
        start in prop::sample::select(vec!["..", "%2E.", ".%20.", "%20.."]),
    ) {
        let policy = Policy { auto_approve_urls: vec!["/public".to_owned()], ..Policy::default() };
        for path in [format!("/public/{start}{end}/private"), format!("/public/x/{start}{end}/{start}{end}/private")] {
            let url = format!("https://api.example.com{path}");
            prop_assert_eq!(rule(&policy, Method::Get, &url), Rule::Default, "{}", path);
        }
    }
}

#[test]
fn an_honest_name_with_a_dot_at_its_end_passes_below_an_auto_pattern() {
    let policy = Policy { auto_approve_urls: vec!["/wiki".to_owned()], ..Policy::default() };
    for path in ["/wiki/Washington,_D.C.", "/wiki/D.C./History", "/wiki/search%20", "/wiki/a:b"] {
        assert_eq!(
            rule(&policy, Method::Get, &format!("https://api.example.com{path}")),
            Rule::AutoUrl,
            "{path}"
        );
    }
}

#[test]
fn a_careless_spelling_is_never_under_an_auto_pattern_and_is_found_by_protecting_ones() {
    let auto = Policy { auto_approve_urls: vec!["/public".to_owned()], ..Policy::default() };
    let gets = || vec![Method::Get];
    let require = Policy {
        require_approval_urls: vec!["/private".to_owned()],
        auto_approve_methods: gets(),
        ..Policy::default()
    };
    let deny =
        Policy { deny_urls: vec!["/private".to_owned()], auto_approve_methods: gets(), ..Policy::default() };
    for path in CARELESS {
        let url = format!("https://api.example.com{path}");
        assert_eq!(rule(&auto, Method::Get, &url), Rule::Default, "{path}");
        assert_eq!(rule(&require, Method::Get, &url), Rule::RequireUrl, "{path}");
        assert_eq!(rule(&deny, Method::Get, &url), Rule::Deny, "{path}");
    }
    // An invalid escape is refused before any policy.
    for path in ["/public/%u002e%u002e/private", "/public/..%c0%zz", "/public/..%c"] {
        assert!(Target::parse(&format!("https://api.example.com{path}")).is_err(), "{path}");
    }
}

#[test]
fn a_garbled_path_needs_approval_wherever_the_host_has_something_to_protect() {
    let policy = |list: &str| Policy {
        auto_approve_urls: vec!["/".to_owned()],
        auto_approve_methods: vec![Method::Get],
        require_approval_urls: vec![list.to_owned()],
        ..Policy::default()
    };
    for path in ["/caf%E9", "/%c0%af", "/a%00", "/%25ff", "/%ed%a0%80", "/%f5%80%80%80", "/x%e2%82"] {
        let url = format!("https://api.example.com{path}");
        let held = (PolicyVerdict::RequireApproval, Rule::RequireUrl, None);
        assert_eq!(decide(&policy("/never"), Method::Get, &url), held, "{path}");
        // Nothing to protect on this host: the method decides, and no URL pattern.
        assert_eq!(rule(&policy("other.example.com/x"), Method::Get, &url), Rule::AutoMethod, "{path}");
        assert_eq!(rule(&policy("other.example.com/x"), Method::Post, &url), Rule::Default, "{path}");
    }
    // Plain text in another script is not garbled.
    for path in ["/café/日本", "/caf%C3%A9", "/%F0%9F%98%80", "/a%20b"] {
        let url = format!("https://api.example.com{path}");
        assert_eq!(rule(&policy("/never"), Method::Post, &url), Rule::AutoUrl, "{path}");
    }
}

#[test]
fn a_pattern_that_cannot_be_read_protects_everything_and_permits_nothing() {
    let broken = || vec!["https://api.example.com/".to_owned()];
    let url = "https://api.example.com/";
    let auto = Policy { auto_approve_urls: broken(), ..Policy::default() };
    assert_eq!(rule(&auto, Method::Get, url), Rule::Default);
    let require = Policy { require_approval_urls: broken(), ..Policy::default() };
    assert_eq!(rule(&require, Method::Get, url), Rule::RequireUrl);
    let deny = Policy { deny_urls: broken(), ..Policy::default() };
    assert_eq!(rule(&deny, Method::Get, url), Rule::Deny);
}
