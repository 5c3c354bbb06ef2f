//! Connections that are passed on unread.

use http::Request;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use crate::destination::Destination;
use crate::plain_http;
use crate::refusal::ProxyRefusal;
use crate::state::ProxyState;

/// Connects to a host without a credential, and copies in both directions once the client has been told.
pub(crate) async fn open(
    state: &ProxyState,
    destination: &Destination,
    request: &mut Request<Incoming>,
) -> Result<(), ProxyRefusal> {
    let dialed = state.egress.tunnel(&destination.host_port()).await;
    let mut host = dialed.map_err(|error| plain_http::unreachable(state, destination, &error))?;
    let upgraded: OnUpgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let Ok(client) = upgraded.await else { return };
        // Ends when both sides have ended, or one has failed; there is no one left to tell.
        drop(copy_bidirectional(&mut TokioIo::new(client), &mut host).await);
    });
    Ok(())
}
