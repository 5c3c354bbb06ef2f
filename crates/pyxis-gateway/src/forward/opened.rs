//! A credential's secret while requests use it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use pyxis_scrub::Needles;

use super::inject;
use crate::error::{Error, Result};
use crate::resolve::Credential;
use crate::secret_value::SecretValue;
use crate::state::State;

/// Where requests that run at the same time find the secret that the first of them opened. Keeps nothing
/// itself: with the last of them the secret is wiped.
#[derive(Default)]
pub(crate) struct Sharing(Mutex<Weak<Opened>>);

impl std::fmt::Debug for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sharing(..)")
    }
}

/// An opened secret, and what to look for in answers.
pub(crate) struct Opened {
    secret: SecretValue,
    needles: OnceLock<Arc<Needles>>,
}

impl Opened {
    /// The secret.
    pub(crate) fn secret(&self) -> &SecretValue {
        &self.secret
    }

    /// Everything that [`inject::attach`] puts into a request, in all its forms.
    pub(super) fn needles(&self, credential: &Credential) -> Arc<Needles> {
        let needles = self.needles.get_or_init(|| {
            let secrets = inject::secrets(credential.auth.as_ref(), &self.secret);
            Arc::new(needles(credential, secrets.iter().map(|secret| secret.as_bytes())))
        });
        Arc::clone(needles)
    }
}

/// Looks for `secrets` of `credential`.
pub(super) fn needles<'s>(credential: &Credential, secrets: impl Iterator<Item = &'s [u8]>) -> Needles {
    Needles::new(&credential.row.name, &secrets.collect::<Vec<_>>())
}

/// The secret of a credential; `None` for a sidecar that needs none.
pub(crate) fn open(state: &State, credential: &Credential) -> Result<Option<Arc<Opened>>> {
    let Some(sealed) = &credential.row.sealed_secret else {
        return if credential.auth.is_none() { Ok(None) } else { Err(missing()) };
    };
    let mut shared = credential.opened.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(opened) = shared.upgrade() {
        return Ok(Some(opened));
    }
    let aad = pyxis_store::credentials::secret_aad(credential.row.workspace_id, credential.row.id);
    let bytes = state.keyring.open(&aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    let opened = Arc::new(Opened { secret: SecretValue::from_bytes(&bytes)?, needles: OnceLock::new() });
    *shared = Arc::downgrade(&opened);
    Ok(Some(opened))
}

/// The secret of a credential that is nothing without one.
pub(crate) fn open_needed(state: &State, credential: &Credential) -> Result<Arc<Opened>> {
    open(state, credential)?.ok_or_else(missing)
}

fn missing() -> Error {
    Error::NoLongerAllowed("the credential has no secret")
}
