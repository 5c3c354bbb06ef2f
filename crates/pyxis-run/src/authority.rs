//! The certificate authority of a proxy.
//!
//! Its key signs only for the hosts of the credentials. The name constraints exclude all others, so a copy of the
//! certificate in a trust store cannot vouch for them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::target::Host;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CidrSubnet, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
    SanType, SerialNumber,
};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::PrivatePkcs8KeyDer;
use time::OffsetDateTime;

/// Life of a host's certificate.
const LEAF_LIFE: Duration = Duration::from_hours(24);
/// Age at which a host's certificate is made again.
const LEAF_RENEWAL: Duration = Duration::from_hours(12);
/// Tolerance for clocks that are slow.
const BACKDATED: Duration = Duration::from_mins(5);
/// Most certificates kept. Wildcard credentials allow any number of hosts.
const MAX_LEAVES: u64 = 256;

/// Reason that a certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The library refused.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot use it.
    #[error("cannot use the certificate that was made: {0}")]
    Tls(#[from] rustls::Error),
    /// A time outside of the calendar.
    #[error("the clock shows a time that no certificate can have")]
    Clock,
}

pub(crate) struct AuthorityParts {
    pub(crate) key: KeyPair,
    /// Its life from now on.
    pub(crate) life: Duration,
    /// Source of the time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Source of serial numbers.
    pub(crate) entropy: Arc<dyn Entropy>,
}

pub(crate) struct RunAuthority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
    /// The key of every leaf. It never leaves this process.
    leaf_key: KeyPair,
    /// End of the authority, which no leaf outlives.
    end: UnixMillis,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    leaves: Cache<Host, Leaf>,
}

/// TLS settings of a host.
#[derive(Clone)]
struct Leaf {
    config: Arc<ServerConfig>,
    made_at: UnixMillis,
}

#[derive(Clone, Copy)]
struct Validity {
    begin: OffsetDateTime,
    end: OffsetDateTime,
}

impl Validity {
    fn new(now: UnixMillis, end: UnixMillis) -> Result<Self, AuthorityError> {
        let at = |time: UnixMillis| {
            OffsetDateTime::from_unix_timestamp(time.seconds()).map_err(|_| AuthorityError::Clock)
        };
        Ok(Self { begin: at(now.minus(BACKDATED))?, end: at(end)? })
    }
}

impl RunAuthority {
    /// An authority for these hosts and the names below them.
    pub(crate) fn new(domains: &[Host], parts: AuthorityParts) -> Result<Self, AuthorityError> {
        let AuthorityParts { key, life, clock, entropy } = parts;
        let now = clock.now();
        let end = now.plus(life);
        let mut params =
            base_params("Pyxis, for the requests of one agent", Validity::new(now, end)?, &*entropy);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.name_constraints = Some(constraints(domains));
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate,
            issuer: Issuer::new(params, key),
            leaf_key: KeyPair::generate()?,
            end,
            clock,
            entropy,
            leaves: Cache::new(MAX_LEAVES),
        })
    }

    /// The certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The certificate, in DER.
    pub(crate) fn der(&self) -> &[u8] {
        self.certificate.der()
    }

    /// TLS settings of a server that is `host`.
    pub(crate) fn server_config(&self, host: &Host) -> Result<Arc<ServerConfig>, AuthorityError> {
        let now = self.clock.now();
        if let Some(leaf) = self.leaves.get(host).filter(|leaf| now.since(leaf.made_at) < LEAF_RENEWAL) {
            return Ok(leaf.config);
        }
        let config = Arc::new(self.make(host, now)?);
        self.leaves.insert(host.clone(), Leaf { config: Arc::clone(&config), made_at: now });
        Ok(config)
    }

    fn make(&self, host: &Host, now: UnixMillis) -> Result<ServerConfig, AuthorityError> {
        let leaf = self.leaf(host, now)?;
        let key = PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der());
        let mut config = server_builder()?
            .with_single_cert(vec![leaf.der().clone(), self.certificate.der().clone()], key.into())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn leaf(&self, host: &Host, now: UnixMillis) -> Result<Certificate, AuthorityError> {
        let end = self.end.min(now.plus(LEAF_LIFE));
        let mut params = base_params("Pyxis", Validity::new(now, end)?, &*self.entropy);
        params.subject_alt_names = vec![match host {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Host::V4(address) => SanType::IpAddress(IpAddr::V4(*address)),
            Host::V6(address) => SanType::IpAddress(IpAddr::V6(*address)),
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Required by strict verifiers, such as Python's from 3.13 on.
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(&self.leaf_key, &self.issuer)?)
    }
}

/// TLS settings that end every handshake with an alert.
pub(crate) fn refusing_config() -> Result<Arc<ServerConfig>, AuthorityError> {
    Ok(Arc::new(server_builder()?.with_cert_resolver(Arc::new(NoCertificate))))
}

/// A resolver without a certificate for anyone.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesServerCert for NoCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

fn server_builder()
-> Result<rustls::ConfigBuilder<ServerConfig, rustls::server::WantsServerCert>, rustls::Error> {
    let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_no_client_auth())
}

/// Parameters with a name that is no host: without a DNS name, some verifiers hold a common name
/// against the constraints.
fn base_params(name: &str, validity: Validity, entropy: &dyn Entropy) -> CertificateParams {
    let mut serial = entropy::bytes::<16>(entropy);
    // Positive and never zero (RFC 5280, section 4.1.2.2).
    serial[0] = serial[0] & 0x7f | 0x40;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, name);
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.not_before = validity.begin;
    params.not_after = validity.end;
    params
}

/// Permits these hosts only. A list of one kind of name says nothing about another, so that each kind needs an entry.
/// For a kind without hosts, it is one that no server has: to exclude the whole kind, verifiers differ too much.
fn constraints(domains: &[Host]) -> NameConstraints {
    let has = |is_kind: fn(&Host) -> bool| domains.iter().any(is_kind);
    let nowhere = [
        (has(|host| matches!(host, Host::Name(_))), Host::Name("invalid".to_owned())),
        (has(|host| matches!(host, Host::V4(_))), Host::V4(Ipv4Addr::UNSPECIFIED)),
        (has(|host| matches!(host, Host::V6(_))), Host::V6(Ipv6Addr::UNSPECIFIED)),
    ];
    let missing = nowhere.iter().filter(|(has_hosts, _)| !has_hosts).map(|(_, host)| host);
    NameConstraints {
        permitted_subtrees: domains.iter().chain(missing).map(subtree).collect(),
        excluded_subtrees: Vec::new(),
    }
}

fn subtree(host: &Host) -> GeneralSubtree {
    match host {
        Host::Name(name) => GeneralSubtree::DnsName(name.clone()),
        Host::V4(address) => {
            GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(IpAddr::V4(*address), 32))
        }
        Host::V6(address) => {
            GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(IpAddr::V6(*address), 128))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyxis_core::clock::FixedClock;
    use pyxis_core::entropy::OsEntropy;
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

    const DAY: Duration = Duration::from_hours(24);

    fn authority(domains: &[&str], life: Duration) -> (RunAuthority, Arc<FixedClock>) {
        let domains: Vec<Host> = domains.iter().map(|domain| parsed(domain)).collect();
        let now = UnixMillis::parse_rfc3339("2027-01-15T08:00:00Z").unwrap();
        let clock = Arc::new(FixedClock::new(now));
        let parts = AuthorityParts {
            key: KeyPair::generate().unwrap(),
            life,
            clock: Arc::<FixedClock>::clone(&clock),
            entropy: Arc::new(OsEntropy),
        };
        (RunAuthority::new(&domains, parts).unwrap(), clock)
    }

    /// Verdict of a client on the certificate that `authority` has for `host` now.
    fn verify(authority: &RunAuthority, host: &str, at: UnixMillis) -> Result<(), rustls::Error> {
        let leaf = authority.leaf(&parsed(host), authority.clock.now()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.der().to_vec())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.seconds()).unwrap()));
        ServerCertVerifier::verify_server_cert(&*verifier, leaf.der(), &[], &name, &[], at).map(drop)
    }

    fn parsed(host: &str) -> Host {
        pyxis_core::target::Target::parse(&format!("https://{host}/")).unwrap().host().clone()
    }

    #[test]
    fn clients_accept_the_hosts_of_the_run_and_no_other() {
        let verify = |domains: &[&str], host: &str| {
            let (authority, clock) = authority(domains, DAY);
            verify(&authority, host, clock.now())
        };
        assert_eq!(verify(&["api.example.com"], "api.example.com"), Ok(()));
        assert_eq!(verify(&["example.com"], "below.example.com"), Ok(()));
        assert_eq!(verify(&["api.example.com", "192.0.2.7"], "192.0.2.7"), Ok(()));
        for (domains, host) in [
            (&["api.example.com"][..], "evil.example"),
            (&["api.example.com"], "192.0.2.7"),
            (&["192.0.2.7"], "192.0.2.8"),
            (&["192.0.2.7"], "api.example.com"),
            (&[], "api.example.com"),
        ] {
            assert!(verify(domains, host).is_err(), "{domains:?} {host}");
        }
    }

    #[test]
    fn no_certificate_outlives_its_authority() {
        let (authority, clock) = authority(&["api.example.com"], DAY);
        clock.advance(Duration::from_hours(23));
        let verify = |after| verify(&authority, "api.example.com", clock.now().plus(after));
        assert_eq!(verify(Duration::from_mins(59)), Ok(()));
        assert!(verify(Duration::from_mins(61)).is_err());
    }

    #[test]
    fn the_certificate_of_a_host_is_made_once_and_again_before_it_expires() {
        let (authority, clock) = authority(&["api.example.com"], Duration::from_hours(24 * 365));
        let config = || authority.server_config(&parsed("api.example.com")).unwrap();
        let first = config();
        clock.advance(Duration::from_hours(11));
        assert!(Arc::ptr_eq(&first, &config()));
        clock.advance(Duration::from_hours(2));
        assert!(!Arc::ptr_eq(&first, &config()));
        clock.advance(Duration::from_hours(24 * 30));
        assert_eq!(verify(&authority, "api.example.com", clock.now()), Ok(()));
    }
}
