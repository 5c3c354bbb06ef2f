//! The egress guard: decides which hosts, ports and addresses may be dialed
//! (`docs/reference/behavior/proxy.md#egress-guard`).
//!
//! The rule is positive: only plainly public addresses pass. Operators open individual networks of their own with the
//! allow list; nothing else widens the rule.

mod host;
mod ports;
mod ranges;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;

pub(crate) use host::origin;
pub use host::{HostPort, NotAnOrigin};
pub use ranges::Special;

use host::HostKind;

/// Reason that a target is refused. Safe to show: it names the rule, never the resolved address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// Neither a canonical IPv4 address, a bracketed IPv6 address nor a DNS name.
    #[error("host is not a DNS name, a dotted IPv4 address or a bracketed IPv6 address")]
    MalformedHost,
    /// A numeric, octal, hex or short spelling of an address.
    #[error("host is a number: write an IPv4 address as four decimal parts")]
    NumericHost,
    /// A name with a trailing dot.
    #[error("host ends in a dot")]
    TrailingDot,
    /// A name without a dot.
    #[error("host is a single label")]
    SingleLabel,
    /// `localhost`, or a name under a suffix with only local meaning.
    #[error("host is a local name")]
    LocalName,
    /// A port of a well-known protocol that is not HTTP.
    #[error("port belongs to another protocol than http: {0}")]
    Port(u16),
    /// The address, or one of the name's addresses, is not plainly public.
    #[error("address is not public: {0}")]
    Address(Special),
}

/// Verdict on a host and port before DNS resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressVerdict {
    /// An IP literal that may be dialed.
    Literal(SocketAddr),
    /// A name whose addresses decide.
    Name,
    /// A name refused for this reason unless all of its addresses are in the allow list.
    NameInsideAllowOnly(Blocked),
    /// Refused, whatever the name resolves to.
    Refused(Blocked),
}

/// The egress guard. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allow: Arc<[IpNet]>,
    allow_addrs: Arc<[SocketAddr]>,
    private: bool,
    mail: bool,
}

impl Guard {
    /// A guard that also admits the networks in `allow`, on any port, and exactly the addresses and ports in
    /// `allow_addrs`. Both empty is the safe default.
    pub fn new(allow: Vec<IpNet>, allow_addrs: Vec<SocketAddr>) -> Self {
        Self { allow: allow.into(), allow_addrs: allow_addrs.into(), private: false, mail: false }
    }

    /// A guard for operator-configured addresses, such as a sidecar's. It also admits loopback and private networks, on
    /// any port, but not link-local, metadata or multicast addresses.
    #[must_use]
    pub fn with_private(&self) -> Self {
        Self { private: true, ..self.clone() }
    }

    /// A guard for the operator's mail server. It also admits the ports of mail, to which no request of an agent may go.
    #[must_use]
    pub fn with_mail_ports(&self) -> Self {
        Self { mail: true, ..self.clone() }
    }

    /// Checks everything that needs no DNS: the host's spelling, the port, and IP literals.
    pub fn check_literal_or_form(&self, target: &HostPort) -> AddressVerdict {
        match HostKind::parse(target.host()) {
            Err(refused) => AddressVerdict::Refused(refused),
            Ok(HostKind::Ip(ip)) => {
                let addr = SocketAddr::new(ip, target.port());
                self.check_address(addr)
                    .map_or_else(AddressVerdict::Refused, |()| AddressVerdict::Literal(addr))
            }
            Ok(HostKind::Name(objection)) => {
                match objection
                    .or_else(|| self.refuses_port(target.port()).then_some(Blocked::Port(target.port())))
                {
                    None => AddressVerdict::Name,
                    Some(reason) if self.allows_something() => AddressVerdict::NameInsideAllowOnly(reason),
                    Some(reason) => AddressVerdict::Refused(reason),
                }
            }
        }
    }

    /// Checks a host together with all its resolved addresses. Returns the addresses that may be dialed, in the same
    /// order. One special address refuses the whole name: an answer that mixes public and internal addresses is an
    /// attack. `resolved` is ignored for IP literals.
    pub fn admit(&self, target: &HostPort, resolved: &[IpAddr]) -> Result<Vec<SocketAddr>, Blocked> {
        let addrs = || resolved.iter().map(|ip| SocketAddr::new(*ip, target.port()));
        match self.check_literal_or_form(target) {
            AddressVerdict::Refused(reason) => Err(reason),
            AddressVerdict::Literal(addr) => Ok(vec![addr]),
            AddressVerdict::Name => {
                addrs().try_for_each(|addr| self.check_address(addr))?;
                Ok(addrs().collect())
            }
            // An empty answer must not count as "every address is allowed".
            AddressVerdict::NameInsideAllowOnly(reason) if resolved.is_empty() => Err(reason),
            AddressVerdict::NameInsideAllowOnly(reason) => {
                if addrs().all(|addr| self.is_allowed(addr)) {
                    Ok(addrs().collect())
                } else {
                    Err(reason)
                }
            }
        }
    }

    fn check_address(&self, addr: SocketAddr) -> Result<(), Blocked> {
        if self.is_allowed(addr) {
            return Ok(());
        }
        if let Some(special) = ranges::special(addr.ip()) {
            return Err(Blocked::Address(special));
        }
        if self.refuses_port(addr.port()) {
            return Err(Blocked::Port(addr.port()));
        }
        Ok(())
    }

    fn refuses_port(&self, port: u16) -> bool {
        ports::is_refused(port) && !(self.mail && ports::is_mail(port))
    }

    fn is_allowed(&self, addr: SocketAddr) -> bool {
        // Port 0 cannot be dialed.
        addr.port() != 0
            && (self.allow.iter().any(|net| net.contains(&addr.ip()))
                || self.allow_addrs.contains(&addr)
                || (self.private && ranges::is_private(addr.ip())))
    }

    fn allows_something(&self) -> bool {
        self.private || !self.allow.is_empty() || !self.allow_addrs.is_empty()
    }
}
