//! A client certificate.

use pyxis_core::auth::ClientCertificate;

use super::{Attached, Behavior, Signing, Unsigned};
use crate::error::Result;
use crate::runtime::mtls_clients;
use crate::runtime::secret_value::SecretValue;

impl Behavior for ClientCertificate {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        mtls_clients::read(secret).map(drop)
    }

    fn sign<'a>(&'a self, request: Unsigned<'a>, attached: &'a mut Attached) -> Signing<'a> {
        Box::pin(async move {
            let Unsigned { state, credential, secret, .. } = request;
            attached.client = state.mtls_clients.client(&state.net, credential, secret)?;
            Ok(())
        })
    }
}
