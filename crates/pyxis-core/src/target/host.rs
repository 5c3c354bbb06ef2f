//! Hosts in one spelling each.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A canonical host. `Display` writes it as in a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A DNS name: lower case, IDNA labels in their `xn--` form, no final dot. It may have one label.
    Name(String),
    /// An IPv4 address, written with four decimal parts.
    V4(Ipv4Addr),
    /// An IPv6 address, written in brackets and compressed, in hexadecimal throughout.
    V6(Ipv6Addr),
}

impl Host {
    /// Parses a host on its own, as an operator writes it: an address counts only in its dotted or bracketed decimal
    /// form. `None` if it is not a host.
    pub(crate) fn parse(written: &str) -> Option<Self> {
        let host = Self::accept(written, url::Host::parse(written).ok()?)?;
        match host {
            Self::V4(ip) if ip.to_string() != written => None,
            host => Some(host),
        }
    }

    /// The canonical host `parsed` that WHATWG read from `written`, if the two are plainly the same.
    ///
    /// WHATWG decodes percent escapes and maps look-alikes (full-width letters and digits, the ideographic full stop,
    /// soft hyphens). Such a spelling serves only to hide a host and is refused.
    pub(super) fn accept<S: AsRef<str>>(written: &str, parsed: url::Host<S>) -> Option<Self> {
        match parsed {
            url::Host::Domain(name) => {
                let name = name.as_ref();
                (is_dns_name(name) && spells_out(written, name)).then(|| Self::Name(name.to_owned()))
            }
            url::Host::Ipv4(ip) => is_plain(written).then_some(Self::V4(ip)),
            url::Host::Ipv6(ip) => is_plain(written).then_some(Self::V6(ip)),
        }
    }

    /// `written` in lower case if this is an address whose canonical spelling differs.
    pub(super) fn other_spelling(&self, written: &str) -> Option<Box<str>> {
        match self {
            Self::Name(_) => return None,
            // Only the dotted decimal form without leading zeros is an address here.
            Self::V4(ip) if written.parse() == Ok(*ip) => return None,
            Self::V4(_) | Self::V6(_) => {}
        }
        let written = written.to_ascii_lowercase();
        (written != self.to_string()).then(|| written.into())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(ip) => ip.fmt(f),
            // As the URL parser writes it: the standard library differs for `::ffff:0:0/96`.
            Self::V6(ip) => url::Host::Ipv6::<&str>(*ip).fmt(f),
        }
    }
}

/// RFC 1035 lengths; letters, digits, `-`, and `_`, which many service names have.
fn is_dns_name(name: &str) -> bool {
    name.len() <= 253
        && name.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
        })
}

/// True if `written` is `name` except for case and for Unicode labels, each of which must have become an `xn--` label.
fn spells_out(written: &str, name: &str) -> bool {
    written.split('.').count() == name.split('.').count()
        && written.split('.').zip(name.split('.')).all(|(written, label)| {
            if written.is_ascii() { written.eq_ignore_ascii_case(label) } else { label.starts_with("xn--") }
        })
}

/// Not empty, without an escape, non-ASCII characters or a final dot.
fn is_plain(written: &str) -> bool {
    !written.is_empty() && written.is_ascii() && !written.contains('%') && !written.ends_with('.')
}
