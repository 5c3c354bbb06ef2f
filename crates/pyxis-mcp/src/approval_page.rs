//! The approval page in the client: elicitation by URL, sent on the stream of the call that waits.

use pyxis_gateway::Config;
use rmcp::model::ServerRequest;
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleServer};

use crate::answer::PendingApproval;
use crate::pending;

/// Asks the client to open the page. Its answer decides nothing, so the call does not wait for it.
pub(crate) async fn open(config: &Config, client: &Peer<RoleServer>, waiting: &PendingApproval) {
    let request = ServerRequest::ElicitRequest(pending::page_request(config, waiting));
    let sent = client.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    if let Err(error) = sent {
        // The text names the page, too.
        tracing::debug!(%error, "cannot ask an MCP client to open the approval page");
    }
}
