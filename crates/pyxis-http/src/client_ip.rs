//! The client's address, as far as it can be trusted.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
pub use ipnet::IpNet;

/// Placeholder that proxies send for an unknown client.
const UNKNOWN: &str = "unknown";

/// Remote address of the TCP connection. Available as a request extension on routes that need it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl Peer {
    /// Peer of an accepted connection. A dual-stack listener reports an IPv4 peer as `::ffff:a.b.c.d`; it is converted
    /// to that IPv4 address.
    pub fn accepted(peer: SocketAddr) -> Self {
        Self(SocketAddr::new(peer.ip().to_canonical(), peer.port()))
    }
}

/// The client behind `peer`: the right-most entry of `X-Forwarded-For` that is not a trusted proxy, or `peer` itself if
/// that is not trusted. `Forwarded` (RFC 7239) counts only without `X-Forwarded-For`. IPv4-mapped IPv6 addresses are
/// treated as IPv4.
pub fn client_ip(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer.ip().to_canonical();
    if !is_trusted(client, trusted) {
        return client;
    }
    let forwarded = entries(headers, "x-forwarded-for");
    let (entries, address): (_, fn(&str) -> Option<IpAddr>) =
        if forwarded.is_empty() { (elements(headers), of_forwarded) } else { (forwarded, address) };
    for entry in entries.into_iter().rev() {
        let Some(ip) = address(entry) else { break };
        client = ip;
        if !is_trusted(ip, trusted) {
            break;
        }
    }
    client
}

/// Key under which rate limits count a client. IPv6 clients count per /64 network, because a client can use any address
/// within it.
pub fn limit_key(client: IpAddr) -> String {
    match client.to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("{}/64", Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
    }
}

/// True if a network contains the address, even if only one of them is written as IPv4-mapped IPv6.
fn is_trusted(ip: IpAddr, trusted: &[IpNet]) -> bool {
    let mapped = match ip {
        IpAddr::V4(ip) => Some(IpAddr::V6(ip.to_ipv6_mapped())),
        IpAddr::V6(_) => None,
    };
    trusted.iter().any(|net| net.contains(&ip) || mapped.is_some_and(|mapped| net.contains(&mapped)))
}

/// Comma-separated entries of all lines of a header, in order. A line that is not text becomes one entry without an
/// address.
fn entries<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    let lines = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or(UNKNOWN));
    lines.flat_map(|line| line.split(',')).collect()
}

/// Elements of all `Forwarded` lines, in order. A line with an unclosed quotation mark becomes one element without an
/// address. Otherwise a client could quote the elements that proxies append to its line.
fn elements(headers: &HeaderMap) -> Vec<&str> {
    let lines = headers.get_all("forwarded").iter();
    let lines = lines.map(|value| value.to_str().ok().filter(|line| is_balanced(line)).unwrap_or(UNKNOWN));
    lines.flat_map(|line| split(line, ',')).collect()
}

fn is_balanced(line: &str) -> bool {
    line.bytes().filter(|byte| *byte == b'"').count().is_multiple_of(2)
}

/// Splits at `separator`, except within quotation marks.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

/// The `for` parameter of one `Forwarded` element. `None` if the element has more than one.
fn of_forwarded(element: &str) -> Option<IpAddr> {
    let mut found = split(element, ';').filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.trim_end().eq_ignore_ascii_case("for").then_some(value)
    });
    let (value, None) = (found.next()?, found.next()) else { return None };
    address(value)
}

/// Parses an address as proxies write it: with or without brackets, port and quotation marks.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let ip = match text.strip_prefix('[') {
        Some(rest) => {
            let (ip, port) = rest.split_once(']')?;
            let port = port.strip_prefix(':').or_else(|| port.is_empty().then_some("0"))?;
            ip.parse::<std::net::Ipv6Addr>().ok().filter(|_| is_port(port)).map(IpAddr::V6)
        }
        // Only IPv4 may have a port without brackets: `2001:db8::1:443` is an address as a whole.
        None => match text.split_once(':') {
            Some((ip, port)) if is_port(port) => ip.parse::<std::net::Ipv4Addr>().ok().map(IpAddr::V4),
            _ => None,
        }
        .or_else(|| text.parse().ok()),
    };
    ip.map(|ip| ip.to_canonical())
}

/// True for a port as RFC 7239 allows it: a number, or an obfuscated port that starts with `_`.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        }
        None => {
            (1..=5).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && text.parse::<u16>().is_ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, name: &'static str, lines: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, line.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        let peer: IpAddr = peer.parse().unwrap();
        client_ip(SocketAddr::new(peer, 1), &headers, &trusted).to_string()
    }

    fn client_of(peer: &str, forwarded: &str) -> String {
        client(peer, "x-forwarded-for", &[forwarded], &["10.0.0.0/8"])
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_up_to_the_first_stranger() {
        assert_eq!(client_of("203.0.113.9", "1.1.1.1"), "203.0.113.9");
        assert_eq!(client_of("10.0.0.1", "6.6.6.6, 8.8.8.8, 10.0.0.2"), "8.8.8.8");
        assert_eq!(client_of("10.0.0.1", "8.8.8.8, nonsense"), "10.0.0.1");
        assert_eq!(client_of("10.0.0.1", "10.0.0.3, 10.0.0.2"), "10.0.0.3");
        assert_eq!(client_of("10.0.0.1", ""), "10.0.0.1");
    }

    #[test]
    fn an_ipv4_peer_of_a_dual_stack_listener_is_that_ipv4_peer() {
        assert_eq!(client_of("::ffff:203.0.113.9", "1.1.1.1"), "203.0.113.9");
        assert_eq!(client_of("::ffff:10.0.0.1", "1.1.1.1"), "1.1.1.1");
        assert_eq!(client_of("10.0.0.1", "8.8.8.8, ::ffff:10.0.0.2"), "8.8.8.8");
        assert_eq!(client_of("10.0.0.1", "::ffff:8.8.8.8"), "8.8.8.8");
        assert_eq!(client_of("10.0.0.1", "::FFFF:808:808"), "8.8.8.8");
        let accepted = Peer::accepted("[::ffff:192.0.2.7]:443".parse().unwrap());
        assert_eq!(accepted.0.to_string(), "192.0.2.7:443");
        let accepted = Peer::accepted("[2001:db8::7]:443".parse().unwrap());
        assert_eq!(accepted.0.to_string(), "[2001:db8::7]:443");
    }

    #[test]
    fn limits_count_an_ipv6_client_by_its_network() {
        let key = |ip: &str| limit_key(ip.parse().unwrap());
        assert_eq!(key("203.0.113.9"), "203.0.113.9");
        assert_eq!(key("::ffff:203.0.113.9"), "203.0.113.9");
        for ip in ["2001:db8:1:2::", "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"] {
            assert_eq!(key(ip), "2001:db8:1:2::/64");
        }
        let ip: Ipv6Addr = "2001:db8:1:2:3:4:5:6".parse().unwrap();
        for bit in 0..128 {
            let other = Ipv6Addr::from_bits(ip.to_bits() ^ (1 << bit));
            assert_eq!(limit_key(other.into()) == limit_key(ip.into()), bit < 64, "{other}");
        }
    }

    #[test]
    fn a_trusted_network_may_be_written_in_either_family() {
        for net in ["::ffff:10.0.0.0/104", "::ffff:10.0.0.1/128", "10.0.0.1/32", "::ffff:0:0/96", "::/0"] {
            for peer in ["10.0.0.1", "::ffff:10.0.0.1"] {
                assert_eq!(client(peer, "x-forwarded-for", &["1.1.1.1"], &[net]), "1.1.1.1", "{net} {peer}");
            }
        }
        for net in ["::ffff:10.1.0.0/112", "0.0.0.0/0", "2001:db8::/32"] {
            assert_eq!(client("fe80::1", "x-forwarded-for", &["1.1.1.1"], &[net]), "fe80::1", "{net}");
        }
        assert_eq!(client("10.0.0.1", "x-forwarded-for", &["1.1.1.1"], &["::ffff:10.1.0.0/112"]), "10.0.0.1");
    }

    #[test]
    fn an_entry_may_have_a_port_brackets_and_quotation_marks() {
        for (entry, wanted) in [
            ("1.2.3.4:5678", "1.2.3.4"),
            ("\"1.2.3.4:5678\"", "1.2.3.4"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("\"[2001:db8::1]:443\"", "2001:db8::1"),
            ("2001:db8::1:443", "2001:db8::1:443"),
            ("[::ffff:1.2.3.4]:443", "1.2.3.4"),
            ("1.2.3.4:_hidden", "1.2.3.4"),
            ("9.9.9.9, 1.2.3.4:5678 ,10.0.0.2:80", "1.2.3.4"),
        ] {
            assert_eq!(client_of("10.0.0.1", entry), wanted, "{entry}");
        }
        for entry in [
            "1.2.3.4:",
            "1.2.3.4:70000",
            "1.2.3.4:-1",
            "1.2.3.4:5:6",
            "[1.2.3.4]",
            "[2001:db8::1",
            "[2001:db8::1]443",
            "[2001:db8::1]:x",
            "unknown",
            "_hidden",
            "\"1.2.3.4",
            "for=1.2.3.4",
            "9.9.9.9, \", 8.8.8.8\"",
        ] {
            assert_eq!(client_of("10.0.0.1", entry), "10.0.0.1", "{entry}");
        }
    }

    #[test]
    fn forwarded_is_read_where_there_is_no_x_forwarded_for() {
        let forwarded = |lines: &[&str]| client("::ffff:10.0.0.1", "forwarded", lines, &["10.0.0.0/8"]);
        for (line, wanted) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ("for=192.0.2.43, for=\"[::ffff:10.0.0.9]:80\"", "192.0.2.43"),
            ("for=6.6.6.6;host=\"a,b;c\", proto=https; for=\"192.0.2.1:80\"", "192.0.2.1"),
            ("for=\"[::1]:80\"", "::1"),
            ("for=unknown", "10.0.0.1"),
            ("for=1.1.1.1, for=_secret", "10.0.0.1"),
            ("proto=https", "10.0.0.1"),
            ("for=1.1.1.1;for=2.2.2.2", "10.0.0.1"),
        ] {
            assert_eq!(forwarded(&[line]), wanted, "{line}");
        }
        // An unclosed quotation mark from the client would swallow the part that its proxy appends.
        for line in ["for=6.6.6.6;x=\", for=1.1.1.1", "for=6.6.6.6;x=\", for=\"[2001:db8::5]:443\""] {
            assert_eq!(forwarded(&[line]), "10.0.0.1", "{line}");
        }
        assert_eq!(forwarded(&["for=1.1.1.1", "for=2.2.2.2, for=10.0.0.2"]), "2.2.2.2");
        let mut headers = HeaderMap::new();
        headers.insert("forwarded", "for=6.6.6.6".parse().unwrap());
        headers.insert("x-forwarded-for", "7.7.7.7".parse().unwrap());
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let peer = "10.0.0.1:1".parse().unwrap();
        assert_eq!(client_ip(peer, &headers, &trusted).to_string(), "7.7.7.7");
        headers.insert("x-forwarded-for", http::HeaderValue::from_bytes(b"\xff").unwrap());
        assert_eq!(client_ip(peer, &headers, &trusted).to_string(), "10.0.0.1");
    }
}
