//! The access tokens that this process holds in memory. [`crate::credentials::tokens`] fetches and stores them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::CredentialId;
use pyxis_core::secret::SecretString;
use pyxis_store::credentials::CredentialRow;

/// A token is renewed this long before its end, so that it does not end on the way.
const MARGIN: Duration = Duration::from_secs(30);

/// Tokens of this process, by credential.
#[derive(Default)]
pub(crate) struct TokenCache(Mutex<HashMap<CredentialId, Slot>>);

/// One credential's token. Whoever holds the lock is the one request that fetches.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Option<Fresh>>>;

/// A token that may be used until then.
#[derive(Clone)]
pub(crate) struct Fresh {
    pub(crate) version: i64,
    /// The configuration that it was fetched under: another scope or endpoint gives another token.
    pub(crate) auth: Option<String>,
    pub(crate) expires_at: UnixMillis,
    pub(crate) token: SecretString,
}

impl Fresh {
    /// True if it can go with a request that is sent now.
    pub(crate) fn is_good(&self, row: &CredentialRow, now: UnixMillis) -> bool {
        self.version == row.version && self.auth == row.auth && now.plus(MARGIN) < self.expires_at
    }
}

impl TokenCache {
    /// The place of one credential's token.
    pub(crate) fn slot(&self, id: CredentialId) -> Slot {
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default())
    }
}
