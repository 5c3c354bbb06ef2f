//! The files that tell tools which certificates to trust. None holds a key.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use tempfile::TempDir;

use crate::listener::Proxy;

/// Password of the Java trust store. It protects nothing; Java wants one to check the file.
pub(crate) const JAVA_PASSWORD: &str = "changeit";
/// Characters of a line of PEM.
const PEM_LINE: usize = 64;

/// Reason that the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TrustFilesError {
    /// The file system refused.
    #[error("cannot write a file with certificates: {0}")]
    Io(#[from] io::Error),
}

/// Certificate bundles that the command trusts, and the wget settings that name one.
pub struct TrustFiles {
    directory: TrustDirectory,
}

/// Place of the files.
enum TrustDirectory {
    /// Removed with this value.
    OfThisRun(TempDir),
    /// Kept for clients.
    Kept(PathBuf),
}

impl TrustFiles {
    /// Writes the files into a new directory that only this user can read. It is removed with this value.
    pub fn write(proxy: &Proxy) -> Result<Self, TrustFilesError> {
        let directory = tempfile::Builder::new()
            .prefix("pyxis-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let files = Self { directory: TrustDirectory::OfThisRun(directory) };
        files.fill(proxy)?;
        Ok(files)
    }

    /// Writes the files into a directory that stays, for clients of any user. Each file is replaced as a whole.
    pub fn write_into(directory: &Path, proxy: &Proxy) -> Result<Self, TrustFilesError> {
        let files = Self { directory: TrustDirectory::Kept(directory.to_owned()) };
        files.fill(proxy)?;
        Ok(files)
    }

    /// The certificate of the proxy's authority. One file has it alone, for tools that add it to their roots. The
    /// other has the machine's roots too, for tools that trust only the given file. The roots are those of
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR`, or else the system's.
    fn fill(&self, proxy: &Proxy) -> Result<(), TrustFilesError> {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some of this machine's root certificates are unreadable");
        }
        let roots: Vec<&[u8]> = found.certs.iter().map(AsRef::as_ref).collect();
        let own = proxy.authority_pem();
        let mut bundle = own.clone();
        for root in &roots {
            push_pem(&mut bundle, root);
        }
        self.replace(&self.authority(), own.as_bytes())?;
        self.replace(&self.bundle(), bundle.as_bytes())?;
        let certificates = [proxy.authority_der()].into_iter().chain(roots);
        self.replace(&self.java(), &java_trust_store(certificates))?;
        // wget on Debian reads no variable but this one.
        self.replace(&self.wget(), format!("ca_certificate = {}\n", self.bundle().display()).as_bytes())
    }

    /// Writes a file for clients, whole or not at all.
    pub(crate) fn replace(&self, path: &Path, content: &[u8]) -> Result<(), TrustFilesError> {
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(self.directory())?;
        file.write_all(content)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// The authority's certificate alone.
    pub fn authority(&self) -> PathBuf {
        self.directory().join("ca.pem")
    }

    /// The machine's roots and the authority's certificate.
    pub fn bundle(&self) -> PathBuf {
        self.directory().join("bundle.pem")
    }

    /// The same as a trust store of Java.
    pub fn java(&self) -> PathBuf {
        self.directory().join("trust.jks")
    }

    /// Settings of wget that name the bundle.
    pub fn wget(&self) -> PathBuf {
        self.directory().join("wgetrc")
    }

    /// Directory that contains them all.
    pub fn directory(&self) -> &Path {
        match &self.directory {
            TrustDirectory::OfThisRun(directory) => directory.path(),
            TrustDirectory::Kept(directory) => directory,
        }
    }
}

fn push_pem(text: &mut String, der: &[u8]) {
    let encoded = STANDARD.encode(der);
    text.push_str("-----BEGIN CERTIFICATE-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(PEM_LINE.min(rest.len()));
        let _ = writeln!(text, "{line}");
        rest = more;
    }
    text.push_str("-----END CERTIFICATE-----\n");
}

/// A trust store in Java's own format (JKS, version 2), which every Java reads. It has the certificates and a
/// digest of them, and its only secret is a well-known salt.
fn java_trust_store<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    const MAGIC: u32 = 0xFEED_FEED;
    const TRUSTED_CERTIFICATE: u32 = 2;
    let certificates: Vec<&[u8]> = certificates.collect();
    let mut store = Vec::new();
    for word in [MAGIC, 2, length(certificates.len())] {
        store.extend_from_slice(&word.to_be_bytes());
    }
    for (number, der) in certificates.iter().enumerate() {
        store.extend_from_slice(&TRUSTED_CERTIFICATE.to_be_bytes());
        push_text(&mut store, &format!("pyxis-run-{number}"));
        // The time of the entry, which no one reads.
        store.extend_from_slice(&0_u64.to_be_bytes());
        push_text(&mut store, "X.509");
        store.extend_from_slice(&length(der.len()).to_be_bytes());
        store.extend_from_slice(der);
    }
    let mut digest = Sha1::new();
    digest.update(JAVA_PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    digest.update(b"Mighty Aphrodite");
    digest.update(&store);
    store.extend_from_slice(&digest.finalize());
    store
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// A short text as Java writes it: length and bytes.
fn push_text(store: &mut Vec<u8>, text: &str) {
    store.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    store.extend_from_slice(text.as_bytes());
}
