//! The program that sends a message, and its abilities.

use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

use crate::pending::Abilities;
use crate::response_stream::ResponseStream;

/// The newest protocol version.
pub(crate) const NEWEST: &str = "2026-07-28";
/// Protocol versions, oldest first.
pub(crate) const VERSIONS: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// The program that sends a message.
#[derive(Default)]
pub(crate) struct ClientInfo {
    /// Name and version. Versions before the newest say them once, in a session.
    pub(crate) name: Option<String>,
    pub(crate) abilities: Abilities,
    /// The client, if it opens pages during a call: elicitation by URL, in a session.
    pub(crate) page_opener: Option<Peer<RoleServer>>,
}

impl ClientInfo {
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        let (client, capabilities) = (context.client_info(), context.client_capabilities());
        let version = context.protocol_version();
        let is_since = |since: ProtocolVersion| version.as_ref().is_some_and(|version| *version >= since);
        if is_since(ProtocolVersion::V_2026_07_28) {
            return Self {
                name: client.map(|client| display_name(&client)),
                abilities: abilities(capabilities),
                page_opener: None,
            };
        }
        if ResponseStream::from_context(context).is_none() {
            return Self::default();
        }
        // Versions before 2025-11-25 have only forms, which a model could fill in.
        let opens_pages = is_since(ProtocolVersion::V_2025_11_25) && opens_pages(capabilities.as_ref());
        Self {
            name: client.map(|client| display_name(&client)),
            abilities: Abilities::default(),
            page_opener: opens_pages.then(|| context.peer.clone()),
        }
    }

    /// The sender of a message of the newest version.
    pub(crate) fn newest(client: &Implementation, capabilities: Option<ClientCapabilities>) -> Self {
        Self { name: Some(display_name(client)), abilities: abilities(capabilities), page_opener: None }
    }
}

/// Abilities of a client of the newest version.
fn abilities(capabilities: Option<ClientCapabilities>) -> Abilities {
    capabilities.map_or_else(Abilities::default, |client| Abilities {
        tasks: client.supports_tasks(),
        pages: opens_pages(Some(&client)),
    })
}

fn opens_pages(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|client| client.elicitation.as_ref());
    elicitation.is_some_and(|elicitation| elicitation.url.is_some())
}

fn display_name(client: &Implementation) -> String {
    format!("{} {}", client.name, client.version)
}
