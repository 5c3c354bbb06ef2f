//! `allowed_hosts` (`docs/reference/behavior/proxy.md#allowed-hosts`).

use super::*;

fn hosts(entries: &[&str]) -> Result<AllowedHosts, HostError> {
    AllowedHosts::parse(&entries.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn admits(entry: &str, url: &str) -> bool {
    let target = Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    hosts(&[entry]).unwrap_or_else(|error| panic!("{error}")).admits(&target)
}

#[test]
fn an_entry_admits_exactly_its_host_on_its_port() {
    for (entry, url) in [
        ("api.example.com", "https://api.example.com/x"),
        ("API.Example.com", "https://api.example.com:8443/x"),
        ("api.example.com", "http://api.example.com/x"),
        ("api.example.com:443", "https://api.example.com/x"),
        ("api.example.com:80", "http://api.example.com/x"),
        ("api.example.com:8443", "https://api.example.com:8443/x"),
        ("b\u{fc}cher.example", "https://xn--bcher-kva.example/"),
        ("xn--bcher-kva.example", "https://b\u{fc}cher.example/"),
        ("192.0.2.1", "https://192.0.2.1/"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/"),
        ("[2001:db8:0::1]", "https://[2001:DB8::1]:8443/"),
        ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443/"),
        ("localhost", "https://localhost/"),
        ("*.example.com", "https://api.example.com/"),
        ("*.example.com", "https://a.b.example.com:8443/"),
        ("*.EXAMPLE.com:8443", "https://api.example.com:8443/"),
        ("*.b\u{fc}cher.example", "https://api.xn--bcher-kva.example/"),
    ] {
        assert!(admits(entry, url), "{entry} should admit {url}");
    }
}

#[test]
fn an_entry_admits_nothing_else() {
    for (entry, url) in [
        ("example.com", "https://api.example.com/"),
        ("example.com", "https://example.com.other.example/"),
        ("example.com", "https://notexample.com/"),
        ("example.com", "https://example.co/"),
        ("example.com", "https://other.example/?example.com"),
        ("example.com", "https://other.example/#example.com"),
        ("api.example.com:443", "https://api.example.com:8443/"),
        ("api.example.com:443", "http://api.example.com/"),
        ("*.example.com", "https://example.com/"),
        ("*.example.com", "https://notexample.com/"),
        ("*.example.com", "https://api.example.com.other.example/"),
        ("*.example.com:443", "https://api.example.com:8443/"),
        ("192.0.2.1", "https://192.0.2.10/"),
        ("[::ffff:192.0.2.1]", "https://192.0.2.1/"),
    ] {
        assert!(!admits(entry, url), "{entry} should not admit {url}");
    }
}

#[test]
fn no_entry_admits_nothing() {
    let none = AllowedHosts::parse(&[]).expect("no entries");
    assert!(none.is_empty());
    assert!(!none.admits(&Target::parse("https://example.com/").expect("a target")));
    assert!(!hosts(&["example.com"]).expect("an entry").is_empty());
}

#[test]
fn any_entry_of_several_may_admit() {
    let several = hosts(&["a.example", "*.b.example"]).expect("entries");
    let admitted = |url| several.admits(&Target::parse(url).expect("a target"));
    assert!(admitted("https://a.example/") && admitted("https://x.b.example/"));
    assert!(!admitted("https://b.example/"));
}

#[test]
fn what_is_not_a_host_is_refused_and_named() {
    for entry in [
        "",
        " ",
        "example.com ",
        "https://example.com",
        "https://example.com:443",
        "example.com:443/v1",
        "example.com/v1",
        "user@example.com",
        "example.com?x",
        "example.com.",
        ".example.com",
        "a..example",
        "exam%70le.com",
        "\u{ff45}xample.com",
        "2130706433",
        "0x7f.1",
        "127.1",
        "::1",
        "2001:db8::1",
        "[::1",
        "[::1%eth0]",
        "[example.com]",
        "a,b.example",
    ] {
        let error = hosts(&["ok.example", entry]).expect_err(entry);
        assert_eq!(error, HostError::Malformed(entry.to_owned()));
        assert!(error.to_string().contains(&format!("{entry:?}")), "{entry}");
    }
}

#[test]
fn a_star_stands_only_before_a_name_of_two_labels() {
    for entry in [
        "*",
        "*.",
        "*.com",
        "*.localhost",
        "*example.com",
        "a.*.example.com",
        "*.*.example.com",
        "api.*",
        "*.0.0.1",
        "*.192.0.2.1",
        "*.[::1]",
        "*:443",
        "**.example.com",
    ] {
        assert_eq!(hosts(&[entry]), Err(HostError::Wildcard(entry.to_owned())), "{entry}");
    }
}

#[test]
fn a_new_wildcard_never_covers_a_public_suffix() {
    for (entry, suffix) in [
        ("*.co.uk", "co.uk"),
        ("*.CO.UK", "co.uk"),
        ("*.co.uk:443", "co.uk"),
        ("*.com.au", "com.au"),
        // Suffixes of companies whose customers choose names.
        ("*.github.io", "github.io"),
        ("*.herokuapp.com", "herokuapp.com"),
        ("*.s3.amazonaws.com", "s3.amazonaws.com"),
        ("*.s3.eu-central-1.amazonaws.com:8443", "s3.eu-central-1.amazonaws.com"),
        // Internationalized, in both spellings.
        ("*.\u{516c}\u{53f8}.cn", "xn--55qx5d.cn"),
        ("*.xn--55qx5d.cn", "xn--55qx5d.cn"),
        // Rules with a star: the name below it, and a child of it.
        ("*.kawasaki.jp", "kawasaki.jp"),
        ("*.anything.kawasaki.jp", "anything.kawasaki.jp"),
        ("*.compute.amazonaws.com", "compute.amazonaws.com"),
        ("*.anything.ck", "anything.ck"),
    ] {
        let refused = AllowedHosts::parse_new(&["ok.example".to_owned(), entry.to_owned()]);
        assert_eq!(refused, Err(HostError::PublicSuffix(entry.to_owned(), suffix.to_owned())));
        assert!(refused.unwrap_err().to_string().contains(entry), "{entry}");
        // A stored one is still accepted; the doctor reports it.
        let stored = [entry.to_owned()];
        assert!(AllowedHosts::parse(&stored).is_ok(), "{entry}");
        assert_eq!(over_public_suffix(&stored).collect::<Vec<_>>(), [(entry, suffix.to_owned())]);
    }
    for entry in ["*.co.uk.", "*.com", "*.uk", "*.com."] {
        assert!(AllowedHosts::parse_new(&[entry.to_owned()]).is_err(), "{entry}");
    }
}

#[test]
fn other_entries_may_name_whatever_is_below_or_is_a_public_suffix() {
    for entry in [
        "co.uk",
        "github.io",
        "s3.amazonaws.com",
        "*.example.co.uk",
        "*.a.example.co.uk",
        "*.example.com",
        "*.somebody.github.io",
        "*.bucket.s3.amazonaws.com",
        "*.b\u{fc}cher.de",
        // An exception to a rule with a star.
        "*.www.ck",
        "*.city.kawasaki.jp",
        // Unknown top-level domains, as inside a company.
        "*.corp.lan",
        "*.api.example",
    ] {
        assert_eq!(AllowedHosts::parse_new(&[entry.to_owned()]).err(), None, "{entry}");
        assert_eq!(over_public_suffix(&[entry.to_owned()]).count(), 0, "{entry}");
    }
}

#[test]
fn a_port_is_a_number_from_1_to_65535() {
    for entry in [
        "example.com:",
        "example.com:0",
        "example.com:65536",
        "example.com:+443",
        "example.com:-1",
        "example.com:https",
        "[::1]:",
        "[::1]:0",
        "*.example.com:x",
        "example.com:4 43",
    ] {
        assert_eq!(hosts(&[entry]), Err(HostError::Port(entry.to_owned())), "{entry}");
    }
}
