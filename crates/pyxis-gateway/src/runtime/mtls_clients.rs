//! Client certificates: one HTTP client with separate connections for each version of a credential.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_net::{Client, Identity, tls};
use pyxis_store::cipher::Keyring;
use pyxis_store::credentials::CredentialRow;
use pyxis_store::{Store, credentials, home, installation_state};

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

/// Earliest expiry of the client certificates in all stored credentials.
pub async fn first_client_certificate_expiry(store: &Store, keyring: &Keyring) -> Result<Option<UnixMillis>> {
    let rows = installation_state::client_certificates(store).await?;
    Ok(rows.iter().filter_map(|row| certificate_expiry(keyring, row)).min())
}

/// Names of a workspace's credentials with a client certificate that expires before a time, and those times. Looks at
/// `limit` of the certificates.
pub async fn expiring_client_certificates(
    store: &Store,
    keyring: &Keyring,
    workspace: WorkspaceId,
    before: UnixMillis,
    limit: u32,
) -> Result<Vec<(String, UnixMillis)>> {
    let rows = home::client_certificates(store, workspace, limit).await?;
    let expiring = rows.into_iter().filter_map(|row| {
        let expiry = certificate_expiry(keyring, &row)?;
        (expiry < before).then_some((row.name, expiry))
    });
    Ok(expiring.collect())
}

fn certificate_expiry(keyring: &Keyring, row: &CredentialRow) -> Option<UnixMillis> {
    let aad = credentials::secret_aad(row.workspace_id, row.id);
    let secret = keyring.open(&aad, row.sealed_secret.as_ref()?).ok()?;
    let secret = SecretValue::from_bytes(&secret).ok()?;
    let since = tls::first_expiry(secret.field("certificate")?.as_bytes())?;
    Some(UnixMillis(0).plus(since))
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
