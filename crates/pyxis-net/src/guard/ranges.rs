//! Plainly public addresses.
//!
//! Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and later), and the multicast
//! registry (RFC 5771). Also the IPv6 global unicast assignment `2000::/3` (RFC 4291). Registry entries are
//! refused even if the registry calls them globally reachable (AS112 sinks, AMT and 6to4 relays, protocol
//! assignments). They are anycast or infrastructure addresses that a network may answer locally, and no API is
//! served from them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Kind of a special address block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Unspecified address and "this network".
    ThisNetwork,
    /// The machine itself.
    Loopback,
    /// Private and unique local networks.
    Private,
    /// Carrier-grade NAT address space.
    Shared,
    /// Link-local, where cloud metadata services answer.
    LinkLocal,
    /// Reserved for examples in documents, such as `192.0.2.0/24`.
    Documentation,
    /// Reserved for tests of network devices: `198.18.0.0/15`.
    Benchmarking,
    /// Multicast and broadcast.
    Multicast,
    /// Protocol assignments, relays and sinks.
    Infrastructure,
    /// An IPv6 address that embeds an IPv4 address: mapped, translated or tunneled.
    Embedded,
    /// Reserved, or outside the global unicast space.
    Reserved,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ThisNetwork => "this network",
            Self::Loopback => "loopback",
            Self::Private => "private network",
            Self::Shared => "shared address space",
            Self::LinkLocal => "link-local",
            Self::Documentation => "documentation",
            Self::Benchmarking => "benchmarking",
            Self::Multicast => "multicast",
            Self::Infrastructure => "network infrastructure",
            Self::Embedded => "embedded IPv4 address",
            Self::Reserved => "reserved",
        })
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

const V4: [(Ipv4Net, Special); 19] = [
    (v4(0, 0, 0, 0, 8), Special::ThisNetwork),
    (v4(10, 0, 0, 0, 8), Special::Private),
    (v4(100, 64, 0, 0, 10), Special::Shared),
    (v4(127, 0, 0, 0, 8), Special::Loopback),
    (v4(169, 254, 0, 0, 16), Special::LinkLocal),
    (v4(172, 16, 0, 0, 12), Special::Private),
    // Includes the globally reachable .9 and .10 (anycast control protocols) and one cloud's metadata service at
    // 192.0.0.192.
    (v4(192, 0, 0, 0, 24), Special::Infrastructure),
    (v4(192, 0, 2, 0, 24), Special::Documentation),
    (v4(192, 31, 196, 0, 24), Special::Infrastructure), // AS112
    (v4(192, 52, 193, 0, 24), Special::Infrastructure), // AMT
    (v4(192, 88, 99, 0, 24), Special::Infrastructure),  // 6to4 relay, deprecated
    (v4(192, 168, 0, 0, 16), Special::Private),
    (v4(192, 175, 48, 0, 24), Special::Infrastructure), // AS112
    (v4(198, 18, 0, 0, 15), Special::Benchmarking),
    (v4(198, 51, 100, 0, 24), Special::Documentation),
    (v4(203, 0, 113, 0, 24), Special::Documentation),
    (v4(224, 0, 0, 0, 4), Special::Multicast),
    (v4(240, 0, 0, 0, 4), Special::Reserved), // with the limited broadcast address
    // A public address in no registry. Inside one large cloud it is the host's own agent.
    (v4(168, 63, 129, 16, 32), Special::Infrastructure),
];

/// Special blocks inside `2000::/3`.
const V6: [(Ipv6Net, Special); 7] = [
    // Teredo carries an IPv4 address of the attacker's choice.
    (v6(0x2001, 0, 0, 32), Special::Embedded),
    // All other protocol assignments: benchmarking, AMT, AS112, ORCHID, DRIP.
    (v6(0x2001, 0, 0, 23), Special::Infrastructure),
    (v6(0x2001, 0xdb8, 0, 32), Special::Documentation),
    (v6(0x2002, 0, 0, 16), Special::Embedded),               // 6to4
    (v6(0x2620, 0x4f, 0x8000, 48), Special::Infrastructure), // AS112
    (v6(0x3fff, 0, 0, 20), Special::Documentation),
    (v6(0x3ffe, 0, 0, 16), Special::Reserved), // the dissolved 6bone (RFC 3701)
];

const GLOBAL_UNICAST: Ipv6Net = v6(0x2000, 0, 0, 3);

/// Known blocks outside `2000::/3`. Anything not listed there is reserved.
const V6_OUTSIDE: [(Ipv6Net, Special); 9] = [
    (Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128), Special::ThisNetwork),
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), Special::Loopback),
    (v6(0, 0, 0, 80), Special::Embedded), // IPv4-mapped and IPv4-compatible
    (v6(0x64, 0xff9b, 0, 96), Special::Embedded), // NAT64
    (v6(0x64, 0xff9b, 1, 48), Special::Embedded), // local NAT64
    (v6(0x5f00, 0, 0, 16), Special::Infrastructure), // segment routing
    (v6(0xfc00, 0, 0, 7), Special::Private),
    (v6(0xfe80, 0, 0, 10), Special::LinkLocal),
    (v6(0xff00, 0, 0, 8), Special::Multicast),
];

/// True for an ISATAP interface identifier (RFC 5214, section 6.1). Whatever the prefix, an ISATAP router forwards
/// packets to the IPv4 address in the last 32 bits.
const fn is_isatap(ip: Ipv6Addr) -> bool {
    /// Bits of an interface identifier for "universal" and "group".
    const FLAGS: u16 = 0x0300;
    let [_, _, _, _, high, low, _, _] = ip.segments();
    high & !FLAGS == 0 && low == 0x5efe
}

/// The kind of special address, or `None` for a plainly public one.
pub(super) fn special(ip: IpAddr) -> Option<Special> {
    match ip {
        IpAddr::V4(ip) => first(&V4, |net| net.contains(&ip)),
        IpAddr::V6(ip) if is_isatap(ip) => Some(Special::Embedded),
        IpAddr::V6(ip) if GLOBAL_UNICAST.contains(&ip) => first(&V6, |net| net.contains(&ip)),
        IpAddr::V6(ip) => Some(first(&V6_OUTSIDE, |net| net.contains(&ip)).unwrap_or(Special::Reserved)),
    }
}

fn first<N>(table: &[(N, Special)], contains: impl Fn(&N) -> bool) -> Option<Special> {
    table.iter().find(|(net, _)| contains(net)).map(|(_, special)| *special)
}

/// True for loopback, private and unique local addresses, where an operator's own services live. Excludes the block in
/// which one cloud serves instance metadata over IPv6 (`fd00:ec2::/32`).
pub(super) fn is_private(ip: IpAddr) -> bool {
    const METADATA: Ipv6Net = v6(0xfd00, 0xec2, 0, 32);
    match special(ip) {
        Some(Special::Loopback) => true,
        Some(Special::Private) => !matches!(ip, IpAddr::V6(ip) if METADATA.contains(&ip)),
        _ => false,
    }
}
