//! A certificate authority for tests.

use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// ALPN name of HTTP/1.1.
pub const HTTP_1_1: &[u8] = b"http/1.1";
/// ALPN name of HTTP/2.
pub const HTTP_2: &[u8] = b"h2";

/// Issues server certificates that nobody else trusts.
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority with a key of its own.
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a root certificate");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// The root certificate, PEM, as `PX_EGRESS_CA_FILE` takes it.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The root certificate, DER.
    pub fn root(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    /// A server for `names` (DNS names or IP addresses) that offers `protocols` by ALPN.
    pub fn server(&self, names: &[&str], protocols: &[&[u8]]) -> Arc<ServerConfig> {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let certificate = CertificateParams::new(names)
            .and_then(|params| params.signed_by(&key, &self.issuer))
            .expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .expect("a key that fits the certificate");
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
