//! The target (`docs/reference/forwarding.md#the-target`).

use proptest::prelude::*;

use super::*;

fn target(raw: &str) -> Target {
    Target::parse(raw).unwrap_or_else(|error| panic!("{raw}: {error}"))
}

#[test]
fn every_spelling_of_a_url_has_one_canonical_form() {
    for (raw, canonical) in [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com:443/", "https://example.com/"),
        ("https://example.com:/x", "https://example.com/x"),
        ("https://example.com:08443/x", "https://example.com:8443/x"),
        ("http://example.com:80", "http://example.com/"),
        ("http://example.com:443", "http://example.com:443/"),
        ("https://example.com?q", "https://example.com/?q"),
        ("https://example.com/?", "https://example.com/?"),
        ("https://example.com/a#b?c", "https://example.com/a"),
        ("https://example.com#@other.example", "https://example.com/"),
        // Names.
        ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example/"),
        ("https://B\u{dc}CHER.example/", "https://xn--bcher-kva.example/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://_service.example.com/", "https://_service.example.com/"),
        // Addresses.
        ("https://[2001:DB8:0:0::1]:443/", "https://[2001:db8::1]/"),
        ("https://[::ffff:192.0.2.1]/", "https://[::ffff:c000:201]/"),
        ("https://192.0.2.1:8443/", "https://192.0.2.1:8443/"),
        // Dot segments, including hidden ones.
        ("https://h.example/a/./b/../c", "https://h.example/a/c"),
        ("https://h.example/a/%2e/b/%2E%2e/c", "https://h.example/a/c"),
        ("https://h.example/a/b/.%2e/%2e./c", "https://h.example/c"),
        ("https://h.example/../../a", "https://h.example/a"),
        ("https://h.example/%2e%2e", "https://h.example/"),
        ("https://h.example/a/..", "https://h.example/"),
        ("https://h.example/a/...", "https://h.example/a/..."),
        // Escapes.
        ("https://h.example/%61%2D%7e%5F%2Ejson", "https://h.example/a-~_.json"),
        ("https://h.example/a%2fb%c3%A9", "https://h.example/a%2Fb%C3%A9"),
        ("https://h.example/\u{e9}\u{202e}", "https://h.example/%C3%A9%E2%80%AE"),
        ("https://h.example/%252e%252e/%2561", "https://h.example/%252e%252e/%2561"),
        ("https://h.example/%00%0a%5c%20", "https://h.example/%00%0A%5C%20"),
        ("https://h.example/\"<>`{}", "https://h.example/%22%3C%3E%60%7B%7D"),
        // Odd-looking but plain data.
        ("https://h.example//a//b/", "https://h.example//a//b/"),
        ("https://h.example/a;x=1/@b:c/*", "https://h.example/a;x=1/@b:c/*"),
        ("https://h.example/https://other.example/", "https://h.example/https://other.example/"),
        // Queries.
        ("https://h.example/?a=%2e%2f%zz&b=../c?d=e@f", "https://h.example/?a=%2e%2f%zz&b=../c?d=e@f"),
        ("https://h.example/?q='\"<\u{e9}>", "https://h.example/?q=%27%22%3C%C3%A9%3E"),
    ] {
        assert_eq!(target(raw).to_string(), canonical, "{raw}");
    }
}

#[test]
fn a_text_that_could_be_read_in_two_ways_is_refused() {
    use TargetError::{Escape, ForbiddenCharacter, Host, NotAbsolute, Port, Userinfo};
    for (raw, error) in [
        ("", NotAbsolute),
        ("example.com/", NotAbsolute),
        ("/path", NotAbsolute),
        ("//example.com/", NotAbsolute),
        ("https:example.com", NotAbsolute),
        ("https:/example.com", NotAbsolute),
        ("ftp://example.com/", NotAbsolute),
        ("wss://example.com/", NotAbsolute),
        ("file:///etc/hosts", NotAbsolute),
        ("javascript://example.com/", NotAbsolute),
        ("https#://example.com/", NotAbsolute),
        (" https://example.com/", ForbiddenCharacter),
        ("https://example.com/ ", ForbiddenCharacter),
        ("https://example.com/a b", ForbiddenCharacter),
        ("https://example.com/a\tb", ForbiddenCharacter),
        ("https://exam\nple.com/", ForbiddenCharacter),
        ("https://example.com/\r\nHost: other.example", ForbiddenCharacter),
        ("https://example.com/a\0", ForbiddenCharacter),
        ("https://example.com/a\u{7f}", ForbiddenCharacter),
        ("https://example.com/a\u{85}", ForbiddenCharacter),
        ("https://example.com/a\u{a0}", ForbiddenCharacter),
        ("https://example.com/a\u{2028}", ForbiddenCharacter),
        ("https://example.com/?a b", ForbiddenCharacter),
        ("https://example.com/#a b", ForbiddenCharacter),
        ("https:\\\\example.com\\", ForbiddenCharacter),
        ("https://example.com\\@other.example/", ForbiddenCharacter),
        ("https://example.com/a\\..\\b", ForbiddenCharacter),
        ("https://user:password@example.com/", Userinfo),
        ("https://user@example.com/", Userinfo),
        ("https://@example.com/", Userinfo),
        ("https://:@example.com/", Userinfo),
        ("https://a@b@example.com/", Userinfo),
        ("https://example.com@other.example?x", Userinfo),
        ("https://", Host),
        ("https:///", Host),
        ("https:///example.com/", Host),
        ("https:///127.0.0.1/", Host),
        ("https:////user:@192.0.2.1/", Host),
        ("https:///[::1]/", Host),
        ("https://?example.com", Host),
        ("https://:443/", Host),
        ("https://example.com./", Host),
        ("https://127.0.0.1./", Host),
        ("https://.example.com/", Host),
        ("https://example..com/", Host),
        ("https://exa%6dple.com/", Host),
        ("https://%31%32%37.0.0.1/", Host),
        ("https://example.com%2f.other.example/", Host),
        ("https://example.com%00.other.example/", Host),
        ("https://exam*ple.com/", Host),
        ("https://example.com,other.example/", Host),
        ("https://a!b.example/", Host),
        ("https://a'b.example/", Host),
        ("https://(a).example/", Host),
        ("https://xn--.example/", Host),
        // Full-width letters and digits, the ideographic full stop, a soft hyphen, a joiner.
        ("https://\u{ff45}xample.com/", Host),
        ("https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/", Host),
        ("https://\u{2460}27.0.0.1/", Host),
        ("https://127\u{3002}0\u{3002}0\u{3002}1/", Host),
        ("https://example\u{3002}com/", Host),
        ("https://exam\u{ad}ple.com/", Host),
        ("https://exam\u{200d}ple.com/", Host),
        ("https://[::1/", Host),
        ("https://::1/", Host),
        ("https://[::1%25eth0]/", Host),
        ("https://[fe80::1%eth0]/", Host),
        ("https://[example.com]/", Host),
        ("https://[::1]x/", Host),
        ("https://1.2.3.4.5/", Host),
        ("https://256.0.0.1/", Host),
        ("https://0x100000000/", Host),
        ("https://example.com:0/", Port),
        ("https://example.com:00/", Port),
        ("https://example.com:65536/", Port),
        ("https://example.com:-1/", Port),
        ("https://example.com:http/", Port),
        ("https://example.com/%", Escape),
        ("https://example.com/%4", Escape),
        ("https://example.com/%zz", Escape),
        ("https://example.com/%+1", Escape),
        ("https://example.com/%u002e", Escape),
        ("https://example.com/%\u{e9}", Escape),
        ("https://example.com/a%?b", Escape),
    ] {
        assert_eq!(Target::parse(raw), Err(error), "{raw}");
    }
}

#[test]
fn a_host_label_is_at_most_63_bytes_and_a_name_253() {
    let label = "a".repeat(63);
    target(&format!("https://{label}.example/"));
    assert_eq!(Target::parse(&format!("https://{label}a.example/")), Err(TargetError::Host));
    let name = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    target(&format!("https://{name}/"));
    assert_eq!(Target::parse(&format!("https://{name}a/")), Err(TargetError::Host));
}

#[test]
fn the_length_limit_holds_for_the_written_and_the_canonical_form() {
    let origin = "https://h.example/";
    let fits = format!("{origin}{}", "a".repeat(MAX_BYTES - origin.len()));
    assert_eq!(target(&fits).to_string().len(), MAX_BYTES);
    assert_eq!(Target::parse(&format!("{fits}a")), Err(TargetError::TooLong));
    assert_eq!(Target::parse(&format!("{fits}#")), Err(TargetError::TooLong));
    let grows = format!("{origin}{}", "\u{e9}".repeat(MAX_BYTES / 4));
    assert_eq!(Target::parse(&grows), Err(TargetError::TooLong));
}

#[test]
fn the_guard_sees_an_address_as_it_was_spelled() {
    for (raw, host, written) in [
        ("https://0X7F.1/", "127.0.0.1", "0x7f.1"),
        ("https://2130706433/", "127.0.0.1", "2130706433"),
        ("https://0177.0.0.1:8443/", "127.0.0.1", "0177.0.0.1"),
        ("https://127.1/", "127.0.0.1", "127.1"),
        ("https://192.0.2.1/", "192.0.2.1", "192.0.2.1"),
        ("https://[::FFFF:127.0.0.1]:8443/", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]"),
        ("https://[0::0:1]/", "[::1]", "[0::0:1]"),
        ("https://[::1]:8443/", "[::1]", "[::1]"),
        ("https://LOCALHOST/", "localhost", "localhost"),
        ("https://b\u{fc}cher.example/", "xn--bcher-kva.example", "xn--bcher-kva.example"),
    ] {
        let target = target(raw);
        assert_eq!((target.host().to_string().as_str(), target.written_host()), (host, written), "{raw}");
        assert!(target.authority().starts_with(host), "{raw}");
    }
}

#[test]
fn the_parts_are_slices_of_the_canonical_url() {
    let full = target("https://API.example.com:8443/v1/%7Eme?q=1&r#frag");
    assert_eq!(full.scheme(), Scheme::Https);
    assert_eq!(full.host(), &Host::Name("api.example.com".into()));
    assert_eq!(full.port(), 8443);
    assert_eq!(full.authority(), "api.example.com:8443");
    assert_eq!(full.origin(), "https://api.example.com:8443");
    assert_eq!(full.path(), "/v1/~me");
    assert_eq!(full.query(), Some("q=1&r"));
    assert_eq!(full.wire(), "/v1/~me?q=1&r");
    assert_eq!(full.route(), "https://api.example.com:8443/v1/~me");

    let plain = target("http://[2001:db8::1]");
    assert_eq!((plain.scheme(), plain.port()), (Scheme::Http, 80));
    assert_eq!(plain.authority(), "[2001:db8::1]");
    assert_eq!((plain.path(), plain.query(), plain.wire()), ("/", None, "/"));
    assert_eq!(plain.route(), "http://[2001:db8::1]:80/");
    assert_eq!(target("https://h.example/?").query(), Some(""));
}

#[test]
fn equality_is_that_of_the_wire() {
    assert_eq!(target("https://127.1/a"), target("https://127.0.0.1:443/a#b"));
    assert_ne!(target("https://h.example/a"), target("http://h.example/a"));
    assert_ne!(target("https://h.example/a"), target("https://h.example/a?"));
    assert_ne!(target("https://h.example/a"), target("https://h.example/A"));
}

#[test]
fn ordinary_targets_need_no_url_parser() {
    for raw in
        ["https://api.example.com/v1/items?status=open&page=2", "http://127.0.0.1:8080/a", "https://a/"]
    {
        let (scheme, rest) = raw.split_once("://").unwrap();
        let authority = rest.split('/').next().unwrap();
        assert!(fast_path::read(raw, Scheme::parse(scheme).unwrap(), authority).is_some(), "{raw}");
    }
}

#[test]
fn debug_output_leaves_the_query_out() {
    assert_eq!(format!("{:?}", target("https://h.example/a?key=abc")), "Target(https://h.example/a?…)");
    assert_eq!(format!("{:?}", target("https://h.example/a")), "Target(https://h.example/a)");
}

/// Pieces that URL parsers are known to disagree about.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        ".",
        "..",
        "/",
        "//",
        "%2e",
        "%2E",
        "%252e",
        "%25",
        "%2f",
        "%5c",
        "%41",
        "%7e",
        "%c3%a9",
        "%00",
        "%",
        "%zz",
        "a",
        "B",
        "1",
        "0x7f",
        "-",
        "_",
        "~",
        ";",
        "?",
        "#",
        "*",
        "|",
        "\"",
        "'",
        "`",
        "{",
        "}",
        "[",
        "]",
        "^",
        "<",
        ">",
        "@",
        ":",
        "&",
        "=",
        "+",
        "!",
        "$",
        ",",
        "(",
        ")",
        "\u{e9}",
        "\u{ff0e}",
        "\u{ff0f}",
        "\u{202e}",
        "\u{1f980}",
        "example.com",
        "xn--",
    ]);
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => pieces().prop_map(|rest| format!("https://h.example/{rest}")),
        2 => pieces().prop_map(|rest| format!("http://{rest}")),
        1 => pieces().prop_map(|rest| format!("https:///{rest}192.0.2.1/{rest}")),
        1 => any::<String>().prop_map(|rest| format!("https://h.example/{rest}")),
        1 => any::<String>().prop_map(|host| format!("https://{host}/")),
        1 => any::<String>(),
    ]
}

/// Texts that are mostly canonical already.
fn nearly_plain() -> impl Strategy<Value = String> {
    let label = "[a-z0-9]{1,3}|x|xn|xn-|-?[a-z]{1,2}|0x7f|127|1|255|[A-Z]|_|";
    let host = prop::collection::vec(label, 1..5).prop_map(|labels| labels.join("."));
    let port = "|:|:[0-9]{1,5}|:80|:443|:0|:\\+1";
    let wire = "(/[a-zA-Z0-9._~!$&()*+,;=:@'%-]{0,4}){0,3}(\\?[a-zA-Z0-9._~!$&()*+,;=:@'%/?|-]{0,6})?";
    (prop::sample::select(vec!["http", "https", "HTTP"]), host, port, wire)
        .prop_map(|(scheme, host, port, wire)| format!("{scheme}://{host}{port}{wire}"))
}

/// Decodes the escapes of unreserved characters once, by another method than the code under test.
fn decode_unreserved(path: &str) -> String {
    let unreserved = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("-._~".chars());
    unreserved.fold(path.to_owned(), |path, c| {
        let code = u32::from(c);
        path.replace(&format!("%{code:02X}"), &c.to_string()).replace(&format!("%{code:02x}"), &c.to_string())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_without_a_url_parser_is_what_one_reads(raw in prop_oneof![hostile(), nearly_plain()]) {
        let Some((scheme, rest)) = raw.split_once("://") else { return Ok(()) };
        let Some(scheme) = Scheme::parse(scheme) else { return Ok(()) };
        let authority = rest.split(['/', '?']).next().unwrap_or(rest);
        if let Some(plain) = fast_path::read(&raw, scheme, authority) {
            let read = Target::repaired(&raw, scheme, authority);
            let parts = |target: &Target| {
                let Target { url, scheme, host, written_host, port, path } = target.clone();
                (url, scheme, host, written_host, port, path)
            };
            prop_assert_eq!(read.as_ref().map(parts), Ok(parts(&plain)));
        }
    }

    #[test]
    fn parsing_the_canonical_form_changes_nothing(raw in hostile()) {
        if let Ok(target) = Target::parse(&raw) {
            let again = Target::parse(&target.to_string());
            prop_assert_eq!(again.as_ref().map(ToString::to_string), Ok(target.to_string()));
            prop_assert_eq!(again, Ok(target));
        }
    }

    #[test]
    fn no_dot_segment_remains_however_often_unreserved_escapes_are_decoded(raw in hostile()) {
        if let Ok(target) = Target::parse(&raw) {
            let mut path = target.path().to_owned();
            for _ in 0..=3 {
                prop_assert!(path.split('/').all(|segment| segment != "." && segment != ".."), "{}", path);
                path = decode_unreserved(&path);
            }
            prop_assert_eq!(path, target.path());
        }
    }

    #[test]
    fn what_policy_matches_is_what_an_http_client_sends(raw in hostile()) {
        if let Ok(target) = Target::parse(&raw) {
            let uri: http::Uri = target.to_string().parse().expect("a URI");
            prop_assert_eq!(uri.path_and_query().map(http::uri::PathAndQuery::as_str), Some(target.wire()));
            prop_assert_eq!(uri.path(), target.path());
            prop_assert_eq!(uri.query(), target.query());
            prop_assert_eq!(uri.authority().map(http::uri::Authority::as_str), Some(target.authority()));
            prop_assert!(target.path().starts_with('/'));
            prop_assert!(target.wire().bytes().all(|b| b.is_ascii_graphic() && b != b'#' && b != b'\\'));
        }
    }

    #[test]
    fn an_escaped_slash_stays_escaped_and_a_plain_one_plain(path in pieces()) {
        if let Some(normal) = escape::normalize(&path) {
            prop_assert_eq!(escape::normalize(&normal), Some(normal.clone()));
            let count = |text: &str, byte: &str| text.matches(byte).count();
            prop_assert_eq!(count(&normal, "/"), count(&path, "/"));
            prop_assert_eq!(count(&normal, "%2F"), count(&path.to_ascii_uppercase(), "%2F"));
        }
    }
}
