//! Database URLs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use pyxis_core::secret::SecretString;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;

/// `sqlite:PATH`, `sqlite://PATH`, `postgres://…` or `postgresql://…`.
#[derive(Clone)]
pub struct DatabaseUrl(Address);

#[derive(Clone)]
enum Address {
    Sqlite(PathBuf),
    /// Contains a password.
    Postgres(SecretString),
}

impl DatabaseUrl {
    /// URL of a SQLite file.
    pub fn sqlite(path: impl Into<PathBuf>) -> Self {
        Self(Address::Sqlite(path.into()))
    }

    /// The file path, if this is a SQLite database.
    pub fn sqlite_path(&self) -> Option<&std::path::Path> {
        match &self.0 {
            Address::Sqlite(path) => Some(path),
            Address::Postgres(_) => None,
        }
    }

    pub(crate) fn postgres(&self) -> Result<Option<Config>, StoreError> {
        match &self.0 {
            Address::Sqlite(_) => Ok(None),
            Address::Postgres(url) => postgres_config(url.expose()).map(Some),
        }
    }
}

impl FromStr for DatabaseUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(rest) = text.strip_prefix("sqlite:") {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            if path.is_empty() {
                return Err(StoreError::Address("sqlite: needs the path of a file"));
            }
            if path.starts_with(":memory:") || path.contains(['?', '\0']) {
                return Err(StoreError::Address("sqlite: takes the path of a file and no options"));
            }
            return Ok(Self::sqlite(path));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            postgres_config(text)?;
            return Ok(Self(Address::Postgres(SecretString::new(text.to_owned()))));
        }
        Err(StoreError::Address("use sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE"))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Address::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Address::Postgres(_) => f.write_str("postgres://…"),
        }
    }
}

/// The driver, unlike libpq, has no default host.
const NO_HOST: &str = "the address names no host; write postgres://USER@HOST/DATABASE, or for a Unix socket \
     postgres://USER@/DATABASE?host=/run/postgresql";

/// The driver supports `disable`, `prefer` and `require`. With TLS, the certificate and the host name are always
/// checked, so `verify-ca` and `verify-full` require nothing beyond `require`.
fn postgres_config(url: &str) -> Result<Config, StoreError> {
    let (base, options) = url.split_once('?').unwrap_or((url, ""));
    let mut mode = SslMode::Prefer;
    let mut kept = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.strip_prefix("sslmode=") {
            Some("disable") => mode = SslMode::Disable,
            Some("prefer") => mode = SslMode::Prefer,
            Some("require" | "verify-ca" | "verify-full") => mode = SslMode::Require,
            Some(_) => {
                return Err(StoreError::Address("sslmode must be disable, prefer, require or verify-full"));
            }
            None => kept.push(option),
        }
    }
    let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
    // The driver's error message could contain the password.
    let mut config: Config =
        rest.parse().map_err(|_| StoreError::Address("not a valid postgres:// address"))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(StoreError::Address(NO_HOST));
    }
    config.ssl_mode(mode).application_name("pyxis");
    Ok(config)
}

/// TLS with the public roots and the operator's own. Certificates are always checked.
pub(crate) fn tls(extra_roots_pem: Option<&[u8]>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in CertificateDer::pem_slice_iter(extra_roots_pem.unwrap_or_default()) {
        certificate
            .ok()
            .and_then(|certificate| roots.add(certificate).ok())
            .ok_or(StoreError::Address("the extra root certificates are not valid PEM"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(StoreError::unavailable)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scheme_is_refused() {
        for text in ["mysql://x", "data.db", "SQLITE:x", "sqlite:", "sqlite::memory:", "sqlite:x?mode=ro", ""]
        {
            assert!(matches!(text.parse::<DatabaseUrl>(), Err(StoreError::Address(_))), "{text}");
        }
    }

    #[test]
    fn both_sqlite_spellings_give_the_path() {
        for text in ["sqlite:/data/x.db", "sqlite:///data/x.db"] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(url.sqlite_path(), Some(std::path::Path::new("/data/x.db")));
        }
    }

    #[test]
    fn an_address_without_a_host_is_refused_with_the_two_forms_that_have_one() {
        for text in
            ["postgres://", "postgres:///px", "postgres://u@/px", "postgresql:///px?connect_timeout=3"]
        {
            let error = text.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(
                error.contains("names no host") && error.contains("?host=/run/postgresql"),
                "{text}: {error}"
            );
        }
        for text in
            ["postgres://u@/px?host=/run/postgresql", "postgres://%2Frun%2Fpostgresql/px", "postgres://db/px"]
        {
            assert!(text.parse::<DatabaseUrl>().is_ok(), "{text}");
        }
    }

    #[test]
    fn sslmode_is_understood_and_a_password_never_shown() {
        let url = "postgres://u:hunter2@db.example/px?sslmode=verify-full&connect_timeout=3";
        assert_eq!(postgres_config(url).unwrap().get_ssl_mode(), SslMode::Require);
        assert_eq!(postgres_config("postgres://db.example/px").unwrap().get_ssl_mode(), SslMode::Prefer);
        assert!(postgres_config("postgres://db.example/px?sslmode=no").is_err());
        let parsed: DatabaseUrl = url.parse().unwrap();
        assert!(!format!("{parsed:?}").contains("hunter2"));
        let error = "postgres://u:hunter2@db.example:notaport/px".parse::<DatabaseUrl>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
