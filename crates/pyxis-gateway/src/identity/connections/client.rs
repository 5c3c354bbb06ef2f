//! The OAuth client of a request: registered here, or described by a document.

use pyxis_core::clock::UnixMillis;
use pyxis_core::redirect_uri::RedirectUri;
use pyxis_store::StoreError;
use pyxis_store::connections::clients::{self, RegisteredClientRow};

use super::client_document;
use super::client_refusal::ClientRefusal;
use crate::error::{Error, Result};
use crate::runtime::client_documents::ClientDocuments;
use crate::runtime::state::State;

/// A known client.
#[derive(Clone, Debug)]
pub struct OauthClient {
    /// Its id: issued at registration, or the URL of its document.
    pub id: String,
    /// Name that the program gives itself.
    pub name: String,
    /// Host of its document; `None` for a client that registered itself, about which nothing is verified.
    pub verified_host: Option<String>,
    pub(super) redirect_uris: Vec<RedirectUri>,
}

/// Result of looking a client up.
pub(super) enum ClientLookup {
    Known(OauthClient),
    /// It is not accepted.
    Refused(ClientRefusal),
}

/// Looks a client up by its id. May fetch its document.
pub(super) async fn look_up(state: &State, client_id: &str) -> Result<ClientLookup> {
    if client_document::is_url(client_id) {
        return Ok(match fetch_client(&state.net, &state.client_documents, state.now(), client_id).await {
            Ok(client) => ClientLookup::Known(client),
            Err(refusal) => ClientLookup::Refused(refusal),
        });
    }
    Ok(match clients::find(&state.store, client_id, state.now()).await? {
        Some(row) => ClientLookup::Known(registered(row)?),
        None => ClientLookup::Refused(ClientRefusal::new(
            "it is not registered here, or its registration has expired; remove the connector and add it again",
        )),
    })
}

async fn fetch_client(
    net: &pyxis_net::Client,
    client_documents: &ClientDocuments,
    now: UnixMillis,
    client_id: &str,
) -> Result<OauthClient, ClientRefusal> {
    let document = client_document::find(net, client_documents, now, client_id).await?;
    Ok(OauthClient {
        id: client_id.to_owned(),
        name: document.name,
        verified_host: Some(client_document::host(client_id)?),
        redirect_uris: document.redirect_uris,
    })
}

fn registered(row: RegisteredClientRow) -> Result<OauthClient> {
    let corrupt = || {
        let (table, column) = ("connection_clients", "redirect_uris");
        Error::Internal(Box::new(StoreError::Corrupt { table, column, row: row.id.clone() }))
    };
    let uris: Vec<String> = serde_json::from_str(&row.redirect_uris).map_err(|_| corrupt())?;
    Ok(OauthClient {
        redirect_uris: uris.iter().filter_map(|uri| RedirectUri::parse(uri).ok()).collect(),
        id: row.id,
        name: row.name,
        verified_host: None,
    })
}
