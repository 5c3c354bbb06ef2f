//! A credential's secret, shared while requests use it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use pyxis_scrub::Needles;

use crate::error::Result;
use crate::runtime::secret_value::SecretValue;

/// Lets concurrent requests share the secret that the first of them opened. Keeps nothing itself: the secret is wiped
/// after the last request.
#[derive(Default)]
pub(crate) struct SharedSecret(Mutex<Weak<DecryptedSecret>>);

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sharing(..)")
    }
}

impl SharedSecret {
    /// The secret that another request has open now, or the result of `open`.
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

/// An opened secret and its search forms for responses.
pub(crate) struct DecryptedSecret {
    secret: SecretValue,
    needles: OnceLock<Arc<Needles>>,
}

impl DecryptedSecret {
    pub(crate) fn secret(&self) -> &SecretValue {
        &self.secret
    }

    /// Search forms of the secret, computed once.
    pub(crate) fn needles(&self, make: impl FnOnce(&SecretValue) -> Needles) -> Arc<Needles> {
        Arc::clone(self.needles.get_or_init(|| Arc::new(make(&self.secret))))
    }
}
