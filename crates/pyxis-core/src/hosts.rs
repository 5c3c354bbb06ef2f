//! `allowed_hosts`: the hosts that a credential may be sent to (`docs/reference/behavior/proxy.md#allowed-hosts`).

use crate::target::{Host, Target};

/// Reasons for refusing an entry of `allowed_hosts`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// More than a host and a port, or not a host at all.
    #[error(
        "allowed_hosts entry is not a host: {0:?}: write example.com, example.com:8443, *.example.com, 192.0.2.1 or [2001:db8::1], without scheme, path or final dot"
    )]
    Malformed(String),
    /// A `*` that is not a leading `*.`, or one before an address or a top-level domain.
    #[error(
        "allowed_hosts entry has a misplaced star: {0:?}: write *. before a name of two or more labels, as in *.example.com"
    )]
    Wildcard(String),
    /// A `*.` before a name under which anyone can register a name.
    #[error(
        "allowed_hosts entry covers a public suffix: {0:?}: anyone can register a name under {1}; write the names you mean, as in api.example.{1} or *.example.{1}"
    )]
    PublicSuffix(String, String),
    /// Not a number from 1 to 65535.
    #[error(
        "allowed_hosts entry has a bad port: {0:?}: write a number from 1 to 65535, or no port to admit every port"
    )]
    Port(String),
}

/// The hosts that a credential is bound to. Empty admits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<AllowedHost>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowedHost {
    host: HostPattern,
    /// `None` admits every port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Exact(Host),
    /// Every name that ends in this text, which starts with a dot.
    Under(String),
}

impl AllowedHosts {
    /// Parses newly written entries: like [`Self::parse`], but refuses a wildcard over a public suffix.
    pub fn parse_new(entries: &[String]) -> Result<Self, HostError> {
        let hosts = Self::parse(entries)?;
        match over_public_suffix(entries).next() {
            Some((entry, suffix)) => Err(HostError::PublicSuffix(entry.to_owned(), suffix)),
            None => Ok(hosts),
        }
    }

    /// Parses entries: a host or `host:port`. The host is exact, or `*.` and a name, which admits subdomains at any
    /// depth but not the name itself. Stored entries are read with this: the list of public suffixes grows, and an
    /// update must not break a working credential.
    pub fn parse(entries: &[String]) -> Result<Self, HostError> {
        entries.iter().map(|entry| AllowedHost::parse(entry)).collect::<Result<_, _>>().map(Self)
    }

    /// True if the credential may be sent to `target`.
    pub fn admits(&self, target: &Target) -> bool {
        self.0.iter().any(|entry| entry.admits(target))
    }

    /// True if the credential may be sent to a host, on this port or on any if there is none.
    pub fn names(&self, host: &Host, port: Option<u16>) -> bool {
        let on_port = |entry: &AllowedHost| entry.port.is_none_or(|own| port.is_none_or(|port| port == own));
        self.0.iter().any(|entry| entry.has_host(host) && on_port(entry))
    }

    /// The hosts without their ports. A wildcard is the name whose subdomains it admits.
    pub fn domains(&self) -> impl Iterator<Item = Host> {
        self.0.iter().map(|entry| match &entry.host {
            HostPattern::Exact(host) => host.clone(),
            HostPattern::Under(suffix) => Host::Name(suffix[1..].to_owned()),
        })
    }

    /// True if some target is admitted by both. Two wildcards may share hosts that neither names.
    pub fn shares_a_target_with(&self, other: &Self) -> bool {
        self.0.iter().any(|own| other.0.iter().any(|entry| own.overlaps(entry)))
    }

    /// True if there is no entry, so that nothing is admitted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Entries that admit names which anyone can register, each with the public suffix it covers. Malformed entries are
/// skipped.
pub fn over_public_suffix(entries: &[String]) -> impl Iterator<Item = (&str, String)> {
    entries.iter().filter_map(|entry| match AllowedHost::parse(entry).ok()?.host {
        HostPattern::Under(suffix) if is_public_suffix(&suffix[1..]) => {
            Some((entry.as_str(), suffix[1..].to_owned()))
        }
        _ => None,
    })
}

/// True for a name in the Public Suffix List, of registries and of companies. Also true for a name whose children are
/// all public suffixes (a rule such as `*.ck`). `name` is in the canonical spelling of [`Host`].
fn is_public_suffix(name: &str) -> bool {
    // No rule names this label, so only a wildcard rule makes it a suffix.
    let child = format!("no-rule-names-this.{name}");
    [name, &child].into_iter().any(|name| {
        psl::suffix(name.as_bytes())
            .is_some_and(|suffix| suffix.is_known() && suffix.as_bytes() == name.as_bytes())
    })
}

impl AllowedHost {
    fn parse(entry: &str) -> Result<Self, HostError> {
        let (host, port) = split_port(entry).ok_or_else(|| HostError::Port(entry.to_owned()))?;
        let host = match host.strip_prefix("*.") {
            Some(parent) => match Host::parse(parent) {
                Some(Host::Name(name)) if name.contains('.') => HostPattern::Under(format!(".{name}")),
                _ => return Err(HostError::Wildcard(entry.to_owned())),
            },
            None if host.contains('*') => return Err(HostError::Wildcard(entry.to_owned())),
            None => Host::parse(host)
                .map(HostPattern::Exact)
                .ok_or_else(|| HostError::Malformed(entry.to_owned()))?,
        };
        Ok(Self { host, port })
    }

    fn admits(&self, target: &Target) -> bool {
        self.port.is_none_or(|port| port == target.port()) && self.has_host(target.host())
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_same_port = self.port.is_none() || other.port.is_none() || self.port == other.port;
        is_same_port
            && match (&self.host, &other.host) {
                (HostPattern::Exact(host), _) => other.has_host(host),
                (_, HostPattern::Exact(host)) => self.has_host(host),
                (HostPattern::Under(one), HostPattern::Under(two)) => {
                    one.ends_with(&**two) || two.ends_with(&**one)
                }
            }
    }

    fn has_host(&self, host: &Host) -> bool {
        match (&self.host, host) {
            (HostPattern::Exact(admitted), host) => admitted == host,
            (HostPattern::Under(suffix), Host::Name(name)) => {
                name.len() > suffix.len() && name.ends_with(suffix.as_str())
            }
            (HostPattern::Under(_), Host::V4(_) | Host::V6(_)) => false,
        }
    }
}

/// Host and port of an entry; `None` if the port is not one.
fn split_port(entry: &str) -> Option<(&str, Option<u16>)> {
    match entry.rsplit_once(':') {
        Some((host, digits)) if has_port(entry, host) => {
            let port = digits.parse().ok().filter(|port| *port != 0 && !digits.starts_with('+'))?;
            Some((host, Some(port)))
        }
        _ => Some((entry, None)),
    }
}

/// True if the last colon, after `host`, starts a port. The colon of a URL or an IPv6 address does not. Such an entry
/// is a malformed host, and the error should say so.
fn has_port(entry: &str, host: &str) -> bool {
    !entry.contains('/') && !entry.ends_with(']') && (host.ends_with(']') || !host.contains(':'))
}

#[cfg(test)]
mod tests;
