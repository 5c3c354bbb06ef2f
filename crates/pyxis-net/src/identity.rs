//! A client certificate with its key.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Reason that a certificate or key cannot be used. Contains nothing of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The text contains no certificate.
    #[error("the certificate is not PEM: it starts with -----BEGIN CERTIFICATE-----")]
    Certificate,
    /// The text contains no key.
    #[error("the private key is not PEM: it starts with -----BEGIN PRIVATE KEY-----")]
    Key,
    /// The kind of key is not supported, or the key belongs to another certificate.
    #[error("the private key does not belong to the certificate, or is of an unknown kind")]
    Mismatch,
}

/// Client certificate chain and key for TLS handshakes.
#[derive(Clone)]
pub struct Identity(Arc<CertifiedKey>);

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(..)")
    }
}

impl Identity {
    /// Parses a certificate chain, client certificate first, and its key.
    pub fn from_pem(chain: &str, key: &str) -> Result<Self, IdentityError> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(chain.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| IdentityError::Certificate)?;
        if chain.is_empty() {
            return Err(IdentityError::Certificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| IdentityError::Key)?;
        let provider = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::from_der(chain, key, &provider).map_err(|_| IdentityError::Mismatch)?;
        Ok(Self(Arc::new(certified)))
    }

    /// Returns `config` with this certificate.
    pub(crate) fn shown_by(&self, config: &ClientConfig) -> Arc<ClientConfig> {
        let mut config = config.clone();
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(Arc::clone(&self.0)));
        // A session negotiated without the certificate must not be resumed with it.
        config.resumption = rustls::client::Resumption::default();
        Arc::new(config)
    }
}
