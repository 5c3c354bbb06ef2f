//! The token and the authority's key of a proxy, by which its clients know it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyxis_core::entropy::{self, Entropy};
use pyxis_core::secret::SecretString;
use rcgen::KeyPair;
use serde::Deserialize;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::authority::AuthorityError;

/// Life of the authority of one run.
const RUN: Duration = Duration::from_hours(24);
/// Life of the authority of a proxy that stays. Each start begins it again.
const STAYING: Duration = Duration::from_hours(24 * 365);

/// Reason that an identity cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file system refused.
    #[error("cannot keep the proxy's key in {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Others may read the file.
    #[error("{} holds the proxy's key, and others may read it: run chmod 600 on it", .0.display())]
    Exposed(PathBuf),
    /// Not what was written.
    #[error("{} is damaged; remove it, and start the proxy and its clients again", .0.display())]
    Damaged(PathBuf),
    /// No key can be made.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

/// Token and key of a proxy.
pub struct ProxyIdentity {
    pub(crate) token: SecretString,
    pub(crate) key: KeyPair,
    pub(crate) life: Duration,
}

/// The file's content.
#[derive(Deserialize)]
struct IdentityFile {
    token: SecretString,
    authority_key: SecretString,
}

impl ProxyIdentity {
    /// An identity that ends with this process.
    pub fn for_one_run(entropy: &dyn Entropy) -> Result<Self, AuthorityError> {
        Self::new(entropy, RUN)
    }

    /// The identity in a file that only this user can read, so that clients stay connected over restarts. It is made by
    /// the first start.
    pub fn kept_in(path: &Path, entropy: &dyn Entropy) -> Result<Self, IdentityError> {
        let failed = |source| IdentityError::Io { path: path.to_owned(), source };
        if !path.try_exists().map_err(failed)? {
            Self::new(entropy, STAYING)?.write(path).map_err(failed)?;
        }
        // Another process may just have made it: the file is right.
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(IdentityError::Exposed(path.to_owned()));
        }
        let text = SecretString::new(fs::read_to_string(path).map_err(failed)?);
        // The cause would quote the file.
        let damaged = || IdentityError::Damaged(path.to_owned());
        let kept: IdentityFile = serde_json::from_str(text.expose()).map_err(|_| damaged())?;
        let key = KeyPair::from_pem(kept.authority_key.expose()).map_err(|_| damaged())?;
        Ok(Self { token: kept.token, key, life: STAYING })
    }

    fn new(entropy: &dyn Entropy, life: Duration) -> Result<Self, AuthorityError> {
        let token = SecretString::new(entropy::token::<32>(entropy, ""));
        Ok(Self { token, key: KeyPair::generate()?, life })
    }

    /// Writes the file, whole or not at all, unless another process has.
    fn write(&self, path: &Path) -> io::Result<()> {
        let key = SecretString::new(self.key.serialize_pem());
        let content = json!({ "token": self.token.expose(), "authority_key": key.expose() });
        let text = SecretString::new(content.to_string());
        // Such a file has mode 0600.
        let mut file = NamedTempFile::new_in(path.parent().unwrap_or_else(|| Path::new(".")))?;
        file.write_all(text.expose().as_bytes())?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyxis_core::entropy::OsEntropy;

    #[test]
    fn a_kept_identity_is_the_same_after_a_restart_and_no_one_else_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("proxy.json");
        let first = ProxyIdentity::kept_in(&path, &OsEntropy).unwrap();
        let again = ProxyIdentity::kept_in(&path, &OsEntropy).unwrap();
        assert_eq!(first.token.expose(), again.token.expose());
        assert_eq!(first.key.public_key_raw(), again.key.public_key_raw());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        fs::write(&path, "{}").unwrap();
        assert!(matches!(ProxyIdentity::kept_in(&path, &OsEntropy), Err(IdentityError::Damaged(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(ProxyIdentity::kept_in(&path, &OsEntropy), Err(IdentityError::Exposed(_))));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left behind");
    }
}
