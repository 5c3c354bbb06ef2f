//! A client certificate with its key.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate or key cannot be used. Repeats nothing of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// No certificate in the text.
    #[error("the certificate is not PEM: it starts with -----BEGIN CERTIFICATE-----")]
    Certificate,
    /// No key in the text.
    #[error("the private key is not PEM: it starts with -----BEGIN PRIVATE KEY-----")]
    Key,
    /// A kind of key that is not supported, or the key of another certificate.
    #[error("the private key does not belong to the certificate, or is of an unknown kind")]
    Mismatch,
}

/// What a client shows of itself in a TLS handshake.
#[derive(Clone)]
pub struct Identity(Arc<CertifiedKey>);

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(..)")
    }
}

impl Identity {
    /// Reads a chain of certificates, the client's own first, and its key.
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

    /// `config` with this certificate.
    pub(crate) fn shown_by(&self, config: &ClientConfig) -> Arc<ClientConfig> {
        let mut config = config.clone();
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(Arc::clone(&self.0)));
        // What was negotiated without the certificate must not be taken up again with it.
        config.resumption = rustls::client::Resumption::default();
        Arc::new(config)
    }
}
