//! A credential's secret while requests use it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use pyxis_scrub::Needles;

use crate::error::Result;
use crate::runtime::secret_value::SecretValue;

/// Where requests that run at the same time find the secret that the first of them opened. Keeps nothing
/// itself: with the last of them the secret is wiped.
#[derive(Default)]
pub(crate) struct SharedSecret(Mutex<Weak<DecryptedSecret>>);

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sharing(..)")
    }
}

impl SharedSecret {
    /// What another request has open now, or what `open` gives.
    pub(crate) fn or_open(&self, open: impl FnOnce() -> Result<SecretValue>) -> Result<Arc<DecryptedSecret>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = shared.upgrade() {
            return Ok(opened);
        }
        let opened = Arc::new(DecryptedSecret { secret: open()?, needles: OnceLock::new() });
        *shared = Arc::downgrade(&opened);
        Ok(opened)
    }
}

/// An opened secret, and what to look for in answers.
pub(crate) struct DecryptedSecret {
    secret: SecretValue,
    needles: OnceLock<Arc<Needles>>,
}

impl DecryptedSecret {
    /// The secret.
    pub(crate) fn secret(&self) -> &SecretValue {
        &self.secret
    }

    /// What to look for, made of the secret once.
    pub(crate) fn needles(&self, make: impl FnOnce(&SecretValue) -> Needles) -> Arc<Needles> {
        Arc::clone(self.needles.get_or_init(|| Arc::new(make(&self.secret))))
    }
}
