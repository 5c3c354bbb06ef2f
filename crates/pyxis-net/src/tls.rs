//! TLS trust: root certificates and their verification.

use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Reason that the file of additional roots cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// The file is not PEM.
    #[error("not a PEM file")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// The PEM file contains no certificate.
    #[error("no certificate in the PEM file")]
    Empty,
    /// A certificate that cannot serve as a root.
    #[error("certificate cannot be used as a root")]
    Certificate(#[source] rustls::Error),
}

/// Parses the certificates of a PEM file (`PX_EGRESS_CA_FILE`).
pub fn roots_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, RootsError> {
    let roots =
        CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().map_err(RootsError::Pem)?;
    if roots.is_empty() { Err(RootsError::Empty) } else { Ok(roots) }
}

/// Earliest expiry of the certificates in a PEM text, as time since 1970. `None` if none of them can be read.
pub fn first_expiry(pem: &[u8]) -> Option<Duration> {
    let expiry = |certificate: CertificateDer<'_>| {
        let certificate = Certificate::from_der(&certificate).ok()?;
        Some(certificate.tbs_certificate.validity.not_after.to_unix_duration())
    };
    CertificateDer::pem_slice_iter(pem).filter_map(|certificate| expiry(certificate.ok()?)).min()
}

/// TLS 1.2 and 1.3 with the Mozilla roots and `extra`; prefers HTTP/2. Certificates are always verified; this cannot be
/// turned off.
pub(crate) fn client_config(extra: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, RootsError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for root in extra {
        roots.add(root.clone()).map_err(RootsError::Certificate)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(RootsError::Certificate)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The same configuration for protocols other than HTTP. Mail servers refuse clients that offer only names of HTTP.
pub(crate) fn without_alpn(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = Vec::new();
    Arc::new(config)
}

/// The same configuration for HTTP/1.1 alone, the only version whose connections can change their protocol.
pub(crate) fn without_http2(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}
