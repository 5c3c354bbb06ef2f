//! Client certificates: one HTTP client with separate connections for each version of a credential.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyxis_core::id::CredentialId;
use pyxis_net::{Client, Identity};

use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::secret_value::SecretValue;

/// Maximum number of cached clients. Beyond it, the cache is cleared.
const MAX_CLIENTS: usize = 1000;

/// Clients of this process.
#[derive(Default)]
pub(crate) struct MtlsClients(Mutex<HashMap<CredentialId, (i64, Client)>>);

/// Parses the certificate chain and key of a secret.
pub(crate) fn read(secret: &SecretValue) -> Result<Identity> {
    let part = |name: &'static str| {
        secret.field(name).ok_or_else(|| Error::field(format!("secret.{name}"), "this auth kind needs it"))
    };
    Identity::from_pem(part("certificate")?, part("private_key")?)
        .map_err(|error| Error::field("secret", error.to_string()))
}

impl MtlsClients {
    /// The client that presents the credential's certificate, and otherwise connects like `net`.
    pub(crate) fn client(
        &self,
        net: &Client,
        credential: &ResolvedCredential,
        secret: &SecretValue,
    ) -> Result<Client> {
        let (id, version) = (credential.row.id, credential.row.version);
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.get(&id).filter(|(known, _)| *known == version) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let client =
            net.with_identity(&read(secret)?).map_err(|error| Error::field("secret", error.to_string()))?;
        clients.insert(id, (version, client.clone()));
        Ok(client)
    }
}
