//! The egress rule, without sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;
use pyxis_net::guard::Special;
use pyxis_net::{AddressVerdict, Blocked, Guard, HostPort};

use crate::support::at;

fn check_literal(ip: IpAddr) -> AddressVerdict {
    let host = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
    Guard::default().check_literal_or_form(&at(&host, 443))
}

fn is_public(ip: &str) -> bool {
    let ip: IpAddr = ip.parse().unwrap();
    let literal = check_literal(ip);
    // A literal and a name that resolves to it must always be judged alike.
    let named = Guard::default().admit(&at("api.example.com", 443), &[ip]);
    match (literal, named) {
        (AddressVerdict::Literal(addr), Ok(addrs)) => {
            assert_eq!(addrs, [addr]);
            true
        }
        (AddressVerdict::Refused(a), Err(b)) => {
            assert_eq!(a, b);
            false
        }
        other => panic!("{ip}: {other:?}"),
    }
}

/// First and last address of each special block, with the neighbors outside if these are public.
const BLOCKS: &[(&str, &str, Option<&str>, Option<&str>)] = &[
    ("0.0.0.0", "0.255.255.255", None, Some("1.0.0.0")),
    ("10.0.0.0", "10.255.255.255", Some("9.255.255.255"), Some("11.0.0.0")),
    ("100.64.0.0", "100.127.255.255", Some("100.63.255.255"), Some("100.128.0.0")),
    ("127.0.0.0", "127.255.255.255", Some("126.255.255.255"), Some("128.0.0.0")),
    ("169.254.0.0", "169.254.255.255", Some("169.253.255.255"), Some("169.255.0.0")),
    ("172.16.0.0", "172.31.255.255", Some("172.15.255.255"), Some("172.32.0.0")),
    ("192.0.0.0", "192.0.0.255", Some("191.255.255.255"), Some("192.0.1.0")),
    ("192.0.2.0", "192.0.2.255", Some("192.0.1.255"), Some("192.0.3.0")),
    ("192.31.196.0", "192.31.196.255", Some("192.31.195.255"), Some("192.31.197.0")),
    ("192.52.193.0", "192.52.193.255", Some("192.52.192.255"), Some("192.52.194.0")),
    ("192.88.99.0", "192.88.99.255", Some("192.88.98.255"), Some("192.88.100.0")),
    ("192.168.0.0", "192.168.255.255", Some("192.167.255.255"), Some("192.169.0.0")),
    ("192.175.48.0", "192.175.48.255", Some("192.175.47.255"), Some("192.175.49.0")),
    ("198.18.0.0", "198.19.255.255", Some("198.17.255.255"), Some("198.20.0.0")),
    ("198.51.100.0", "198.51.100.255", Some("198.51.99.255"), Some("198.51.101.0")),
    ("203.0.113.0", "203.0.113.255", Some("203.0.112.255"), Some("203.0.114.0")),
    ("224.0.0.0", "239.255.255.255", Some("223.255.255.255"), None),
    ("240.0.0.0", "255.255.255.255", None, None),
    ("168.63.129.16", "168.63.129.16", Some("168.63.129.15"), Some("168.63.129.17")),
    ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, Some("2000::")),
    ("::1", "::1", None, None),
    ("::127.0.0.1", "::ffff:ffff", None, None),
    ("::ffff:0.0.0.0", "::ffff:255.255.255.255", None, None),
    ("::ffff:127.0.0.1", "::ffff:8.8.8.8", None, None),
    ("64:ff9b::", "64:ff9b::ffff:ffff", None, None),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", None, None),
    ("100::", "100::ffff:ffff:ffff:ffff", None, None),
    ("2001::", "2001::ffff:ffff:ffff:ffff:ffff:ffff", Some("2000:ffff::"), None),
    ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", None, Some("2001:200::")),
    ("2001:20::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Some("2001:db7:ffff::"), Some("2001:db9::")),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("2001:ffff::"), Some("2003::")),
    ("2002:7f00:1::", "2002:7f00:1::1", None, None),
    ("2620:4f:8000::", "2620:4f:8000:ffff::", Some("2620:4f:7fff:ffff::"), Some("2620:4f:8001::")),
    ("3ffe::", "3ffe:ffff::", Some("3ffd:ffff::"), None),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", None, Some("3fff:1000::")),
    ("4000::", "5eff:ffff::", Some("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), None),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
    ("fd00:ec2::254", "fd00:ec2::254", None, None),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, None),
];

#[test]
fn every_special_block_is_refused_to_its_edges_and_not_beyond() {
    for (first, last, before, after) in BLOCKS {
        assert!(!is_public(first), "{first}");
        assert!(!is_public(last), "{last}");
        for outside in [before, after].into_iter().flatten() {
            assert!(is_public(outside), "{outside}");
        }
    }
}

/// Embeds `ip` in `prefix`, `below` bits from the end.
fn embedded(prefix: &str, ip: Ipv4Addr, below: u32) -> Ipv6Addr {
    let prefix: Ipv6Addr = prefix.parse().unwrap();
    Ipv6Addr::from(u128::from(prefix) | u128::from(u32::from(ip)) << below)
}

#[test]
fn an_ipv4_address_inside_an_ipv6_address_is_never_reached() {
    for ip in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.100.100.200", "8.8.8.8"] {
        let ip: Ipv4Addr = ip.parse().unwrap();
        for (form, prefix, below) in [
            ("mapped", "::ffff:0:0", 0),
            ("compatible", "::", 0),
            ("translated", "::ffff:0:0:0", 0),
            ("NAT64", "64:ff9b::", 0),
            ("local NAT64, 96 bits", "64:ff9b:1::", 0),
            ("local NAT64, 48 bits", "64:ff9b:1::", 48),
            ("6to4", "2002::", 80),
            ("Teredo, server", "2001::", 64),
            ("Teredo, client", "2001::", 0),
            ("ISATAP", "2606:4700:1:2:0:5efe::", 0),
            ("ISATAP, unique worldwide", "2606:4700:1:2:200:5efe::", 0),
            ("ISATAP, group", "2606:4700:1:2:100:5efe::", 0),
            ("ISATAP, both", "2606:4700:1:2:300:5efe::", 0),
            ("ISATAP, link-local", "fe80::5efe:0:0", 0),
            ("ISATAP, unique local", "fd12:3456:789a:1:0:5efe::", 0),
        ] {
            let address = embedded(prefix, ip, below);
            assert!(!is_public(&address.to_string()), "{form}: {address}");
            // Not even if the operator's private networks are allowed.
            let target = at(&format!("[{address}]"), 443);
            let verdict = Guard::default().with_private().check_literal_or_form(&target);
            assert!(matches!(verdict, AddressVerdict::Refused(_)), "{form}: {address}");
        }
        let teredo = embedded("2001::", Ipv4Addr::from(!u32::from(ip)), 0);
        assert!(!is_public(&teredo.to_string()), "Teredo hides the client's address: {teredo}");
    }
    // The same numbers elsewhere embed nothing.
    for ip in ["2606:4700:0:5efe::7f00:1", "2606:4700:1:2:400:5efe:7f00:1", "2606:4700:1:2::5eff:7f00:1"] {
        assert!(is_public(ip), "{ip}");
    }
}

#[test]
fn well_known_public_addresses_pass() {
    for ip in
        ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::200e", "2400:cb00::1"]
    {
        assert!(is_public(ip), "{ip}");
    }
}

proptest! {
    #[test]
    fn no_ipv6_address_outside_global_unicast_passes(bits in any::<u128>()) {
        let ip = Ipv6Addr::from(bits);
        let passes = matches!(check_literal(ip.into()), AddressVerdict::Literal(_));
        prop_assert!(!passes || ip.segments()[0] >> 13 == 1);
    }

    #[test]
    fn an_ipv4_address_never_passes_when_the_standard_library_calls_it_local(bits in any::<u32>()) {
        let ip = Ipv4Addr::from(bits);
        let local = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast()
            || ip.is_broadcast() || ip.is_documentation() || ip.is_unspecified();
        prop_assert!(!(local && matches!(check_literal(ip.into()), AddressVerdict::Literal(_))));
    }

    #[test]
    fn no_text_makes_the_guard_panic_and_only_canonical_ipv4_is_a_literal(host in "[0-9a-fx.:%\\[\\]-]{0,20}") {
        if let AddressVerdict::Literal(SocketAddr::V4(addr)) = Guard::default().check_literal_or_form(&at(&host, 443)) {
            prop_assert_eq!(addr.ip().to_string(), host);
        }
    }
}

#[test]
fn an_odd_spelling_of_an_address_is_never_resolved_even_when_everything_is_allowed() {
    let open = Guard::new(vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()], vec![]);
    let numeric = [
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0X7F000001",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "127.0.0.01",
        "127.0x0.0.1",
        "0",
        "1.2.3.4.5",
        "256.256.256.256",
        "1.2.3.256",
        "foo.1",
        "foo.0x7f",
        "0x",
        "192.168.257",
        "00.0.0.0",
        "4294967296",
    ];
    for host in numeric {
        assert_eq!(
            open.check_literal_or_form(&at(host, 443)),
            AddressVerdict::Refused(Blocked::NumericHost),
            "{host}"
        );
    }
    for host in ["127.0.0.1.", "example.com.", "localhost.", "."] {
        assert_eq!(
            open.check_literal_or_form(&at(host, 443)),
            AddressVerdict::Refused(Blocked::TrailingDot),
            "{host}"
        );
    }
    let malformed = [
        "",
        "[::1",
        "::1",
        "[::1%25lo]",
        "[fe80::1%eth0]",
        "[::1%lo]",
        "[127.0.0.1]",
        "[]",
        "[::1]x",
        "[[::1]]",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "exämple.com",
        "127%2e0%2e0%2e1",
        "%6c%6fcalhost",
        "a..b.com",
        ".com",
        "a b.com",
        "user@example.com",
        "example.com:80",
        "exa\0mple.com",
        "-a.com",
        "a-.com",
        "*.example.com",
        "example.com/",
        "example.com\\",
        "ex\tample.com",
    ];
    for host in malformed {
        assert_eq!(
            open.check_literal_or_form(&at(host, 443)),
            AddressVerdict::Refused(Blocked::MalformedHost),
            "{host}"
        );
    }
    for host in [format!("{}.com", "a".repeat(64)), format!("{}com", "a.".repeat(126))] {
        assert_eq!(
            open.check_literal_or_form(&at(&host, 443)),
            AddressVerdict::Refused(Blocked::MalformedHost),
            "{host}"
        );
    }
}

#[test]
fn ordinary_names_wait_for_their_addresses() {
    for host in [
        "example.com",
        "EXAMPLE.Com",
        "xn--exmple-cua.com",
        "a_b.example.com",
        "a--b.co",
        "3com.com",
        "local.example.com",
        "notlocalhost.com",
        "0x7g.com",
    ] {
        assert_eq!(Guard::default().check_literal_or_form(&at(host, 443)), AddressVerdict::Name, "{host}");
    }
}

#[test]
fn local_names_are_refused_by_form_and_reachable_only_inside_the_allow_list() {
    let guard = Guard::new(vec!["10.1.0.0/16".parse().unwrap()], vec![]);
    let inside: IpAddr = "10.1.2.3".parse().unwrap();
    let outside: IpAddr = "10.2.2.3".parse().unwrap();
    let public: IpAddr = "93.184.216.34".parse().unwrap();
    let cases = [
        ("localhost", Blocked::LocalName),
        ("LOCALHOST", Blocked::LocalName),
        ("a.localhost", Blocked::LocalName),
        ("printer.local", Blocked::LocalName),
        ("metadata.google.internal", Blocked::LocalName),
        ("nas.home.arpa", Blocked::LocalName),
        ("signer", Blocked::SingleLabel),
        ("com", Blocked::SingleLabel),
    ];
    for (host, reason) in cases {
        let target = at(host, 8080);
        assert_eq!(
            Guard::default().check_literal_or_form(&target),
            AddressVerdict::Refused(reason),
            "{host}"
        );
        assert_eq!(
            guard.check_literal_or_form(&target),
            AddressVerdict::NameInsideAllowOnly(reason),
            "{host}"
        );
        assert_eq!(guard.admit(&target, &[inside]), Ok(vec![SocketAddr::new(inside, 8080)]), "{host}");
        for answer in [&[outside][..], &[inside, outside], &[public], &[inside, public], &[]] {
            assert_eq!(guard.admit(&target, answer), Err(reason), "{host} {answer:?}");
        }
    }
}

#[test]
fn one_special_answer_refuses_the_whole_name() {
    let target = at("api.example.com", 443);
    let answers: Vec<IpAddr> =
        ["93.184.216.34", "2606:4700::1111", "169.254.169.254"].map(|ip| ip.parse().unwrap()).to_vec();
    assert_eq!(Guard::default().admit(&target, &answers), Err(Blocked::Address(Special::LinkLocal)));
    let public = answers[..2].iter().map(|ip| SocketAddr::new(*ip, 443)).collect::<Vec<_>>();
    assert_eq!(Guard::default().admit(&target, &answers[..2]), Ok(public));
    assert_eq!(Guard::default().admit(&target, &[]), Ok(vec![]));
}

#[test]
fn a_literal_is_judged_alone_whatever_is_said_about_it() {
    let public: IpAddr = "93.184.216.34".parse().unwrap();
    let refused = Guard::default().admit(&at("127.0.0.1", 443), &[public]);
    assert_eq!(refused, Err(Blocked::Address(Special::Loopback)));
}

#[test]
fn ports_of_other_protocols_are_refused_except_inside_the_allow_list() {
    let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()], vec![]);
    let inside: IpAddr = "127.0.0.1".parse().unwrap();
    for port in [0, 1, 22, 25, 53, 143, 445, 587, 993, 2049, 3306, 5432, 6000, 6379, 6667, 11211, 27017] {
        let name = at("api.example.com", port);
        assert_eq!(
            Guard::default().check_literal_or_form(&name),
            AddressVerdict::Refused(Blocked::Port(port))
        );
        let literal = at("93.184.216.34", port);
        assert_eq!(guard.check_literal_or_form(&literal), AddressVerdict::Refused(Blocked::Port(port)));
        assert_eq!(guard.admit(&name, &["93.184.216.34".parse().unwrap()]), Err(Blocked::Port(port)));
        assert_eq!(guard.admit(&name, &[inside]).is_ok(), port != 0, "{port}");
    }
    for port in [80, 443, 3000, 5000, 8000, 8080, 8443, 8700, 9000, 9200, 65535] {
        assert_eq!(
            Guard::default().check_literal_or_form(&at("api.example.com", port)),
            AddressVerdict::Name,
            "{port}"
        );
    }
}

#[test]
fn an_exact_address_is_opened_without_its_neighbors() {
    let guard = Guard::new(vec![], vec!["127.0.0.1:4010".parse().unwrap()]);
    let passes =
        |host: &str, port| matches!(guard.check_literal_or_form(&at(host, port)), AddressVerdict::Literal(_));
    assert!(passes("127.0.0.1", 4010));
    assert!(!passes("127.0.0.1", 4011));
    assert!(!passes("127.0.0.2", 4010));
    assert!(guard.admit(&at("localhost", 4010), &["127.0.0.1".parse().unwrap()]).is_ok());
    assert!(guard.admit(&at("localhost", 4011), &["127.0.0.1".parse().unwrap()]).is_err());
}

#[test]
fn an_allowed_ipv4_network_does_not_open_its_ipv6_disguises() {
    let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()], vec![]);
    for host in ["[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[::1]"] {
        assert!(
            matches!(
                guard.check_literal_or_form(&at(host, 443)),
                AddressVerdict::Refused(Blocked::Address(_))
            ),
            "{host}"
        );
    }
}

#[test]
fn the_private_guard_opens_loopback_and_private_networks_but_never_metadata() {
    let guard = Guard::default().with_private();
    for host in
        ["127.0.0.1", "[::1]", "10.0.0.7", "172.20.0.2", "192.168.1.4", "[fd12:3456::1]", "93.184.216.34"]
    {
        assert!(matches!(guard.check_literal_or_form(&at(host, 8080)), AddressVerdict::Literal(_)), "{host}");
    }
    for host in [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "192.0.0.192",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
        "168.63.129.16",
    ] {
        assert!(matches!(guard.check_literal_or_form(&at(host, 80)), AddressVerdict::Refused(_)), "{host}");
    }
    assert!(guard.admit(&at("signer", 8080), &["172.20.0.2".parse().unwrap()]).is_ok());
}

#[test]
fn host_and_port_come_from_the_uri_as_written() {
    let read = |uri: &str| HostPort::from_uri(&uri.parse().unwrap()).ok().map(|target| target.to_string());
    assert_eq!(read("https://Example.com/a?b").as_deref(), Some("Example.com:443"));
    assert_eq!(read("http://example.com").as_deref(), Some("example.com:80"));
    assert_eq!(read("http://[::1]:8080/").as_deref(), Some("[::1]:8080"));
    assert_eq!(read("https://[2606:4700::1111]/").as_deref(), Some("[2606:4700::1111]:443"));
    for uri in [
        "/path",
        "ftp://example.com/",
        "example.com:80",
        "https://example.com:/",
        "https://example.com:99999/",
    ] {
        assert_eq!(uri.parse().ok().and_then(|uri| HostPort::from_uri(&uri).ok()), None, "{uri}");
    }
}

#[test]
fn the_ports_of_mail_are_open_to_the_operators_mail_server_alone() {
    let public: IpAddr = "93.184.216.34".parse().unwrap();
    let mail = Guard::default().with_private().with_mail_ports();
    for port in [25, 465, 587, 2525] {
        assert_eq!(
            mail.admit(&at("mail.example.com", port), &[public]).unwrap(),
            [SocketAddr::new(public, port)]
        );
    }
    for port in [22, 143, 993, 5432, 6379] {
        assert_eq!(mail.admit(&at("mail.example.com", port), &[public]), Err(Blocked::Port(port)));
    }
    let metadata: IpAddr = "169.254.169.254".parse().unwrap();
    assert!(mail.admit(&at("mail.example.com", 587), &[metadata]).is_err());
    assert!(mail.admit(&at("mail.example.com", 587), &[public, metadata]).is_err());
    let others = Guard::default().with_private();
    assert_eq!(others.admit(&at("mail.example.com", 587), &[public]), Err(Blocked::Port(587)));
}
