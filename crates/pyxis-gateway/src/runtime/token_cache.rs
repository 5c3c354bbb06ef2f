//! Access tokens cached by this process. [`crate::credentials::tokens`] fetches and stores them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::CredentialId;
use pyxis_core::secret::SecretString;
use pyxis_store::credentials::CredentialRow;

/// Time before its expiry at which a token is renewed, so that it does not expire in transit.
const MARGIN: Duration = Duration::from_secs(30);

/// Tokens of this process, by credential.
#[derive(Default)]
pub(crate) struct TokenCache(Mutex<HashMap<CredentialId, Slot>>);

/// Token of one credential. The request that holds the lock fetches the token.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Option<Fresh>>>;

/// A token that may be used until its expiry.
#[derive(Clone)]
pub(crate) struct Fresh {
    pub(crate) version: i64,
    /// Configuration that it was fetched under. Another scope or endpoint requires another token.
    pub(crate) auth: Option<String>,
    pub(crate) expires_at: UnixMillis,
    pub(crate) token: SecretString,
}

impl Fresh {
    /// True if a request that is sent now may use it.
    pub(crate) fn is_good(&self, row: &CredentialRow, now: UnixMillis) -> bool {
        self.version == row.version && self.auth == row.auth && now.plus(MARGIN) < self.expires_at
    }
}

impl TokenCache {
    /// Cache slot of one credential's token.
    pub(crate) fn slot(&self, id: CredentialId) -> Slot {
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default())
    }
}
