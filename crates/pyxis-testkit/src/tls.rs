//! A certificate authority for tests.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{WantsServerCert, WebPkiClientVerifier};
use rustls::{ConfigBuilder, RootCertStore, ServerConfig, WantsVerifier};

/// ALPN name of HTTP/1.1.
pub const HTTP_1_1: &[u8] = b"http/1.1";
/// ALPN name of HTTP/2.
pub const HTTP_2: &[u8] = b"h2";

/// Issues certificates that no one else trusts.
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Creates an authority with a new key.
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a root certificate");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// The root certificate in PEM, as `PX_EGRESS_CA_FILE` expects it.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The root certificate, DER.
    pub fn root(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    /// Server configuration for `names` (DNS names or IP addresses), with `protocols` offered by ALPN.
    pub fn server(&self, names: &[&str], protocols: &[&[u8]]) -> Arc<ServerConfig> {
        self.serving(&parameters(names), protocols, ConfigBuilder::<ServerConfig, _>::with_no_client_auth)
    }

    /// Like [`server`](Self::server), with a certificate that expires on the first day of `year`.
    pub fn server_until(&self, names: &[&str], protocols: &[&[u8]], year: i32) -> Arc<ServerConfig> {
        let mut params = parameters(names);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        self.serving(&params, protocols, ConfigBuilder::<ServerConfig, _>::with_no_client_auth)
    }

    /// Like [`server`](Self::server), for clients with a certificate from `clients` only.
    pub fn server_for(&self, clients: &Self, names: &[&str], protocols: &[&[u8]]) -> Arc<ServerConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(clients.root()).expect("a root certificate");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .expect("a verifier of clients");
        self.serving(&parameters(names), protocols, |config| config.with_client_cert_verifier(verifier))
    }

    fn serving(
        &self,
        params: &CertificateParams,
        protocols: &[&[u8]],
        clients: impl FnOnce(
            ConfigBuilder<ServerConfig, WantsVerifier>,
        ) -> ConfigBuilder<ServerConfig, WantsServerCert>,
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("protocol versions");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let mut config = clients(builder)
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a key that fits the certificate");
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }

    /// A server certificate for `names` and its key, both in PEM.
    pub fn server_pem(&self, names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters(names).signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// A client certificate and its key, both in PEM.
    pub fn client(&self, name: &str) -> (String, String) {
        self.client_until(name, 4096)
    }

    /// The same, with a certificate that expires on the first day of `year`.
    pub fn client_until(&self, name: &str, year: i32) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

fn parameters(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    CertificateParams::new(names).expect("parameters")
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
