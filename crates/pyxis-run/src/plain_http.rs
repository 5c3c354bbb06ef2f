//! Requests to hosts without a credential that can be read here: `http://` in absolute form.

use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use pyxis_core::target::{Host, Scheme};
use pyxis_net::body::{Body, boxed};

use crate::destination::Destination;
use crate::headers::end_to_end;
use crate::placeholder::{self, WithoutPlaceholders};
use crate::refusal::ProxyRefusal;
use crate::state::{OtherHosts, ProxyState};

/// Longest time until a response begins.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Passes a request on as it is, or refuses it.
pub(crate) async fn answer(
    state: &ProxyState,
    destination: &Destination,
    request: Request<Incoming>,
) -> Result<Response<Body>, ProxyRefusal> {
    if state.others == OtherHosts::Refuse {
        return Err(no_credential(destination));
    }
    if destination.root().scheme() == Scheme::Https {
        let detail = "a request to an https host without a credential must come through CONNECT";
        return Err(ProxyRefusal::new(StatusCode::BAD_REQUEST, "connect_required", detail));
    }
    let (head, body) = request.into_parts();
    if placeholder::is_in(&head.uri, &head.headers) {
        return Err(placeholder_refusal(destination));
    }
    let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut request = Request::new(WithoutPlaceholders::new(boxed(body)));
    *request.method_mut() = head.method;
    *request.headers_mut() = end_to_end(head.headers);
    *request.uri_mut() = destination.url(path).parse().map_err(|_| {
        ProxyRefusal::new(StatusCode::BAD_REQUEST, "malformed_request", "the request line has no usable path")
    })?;
    let response =
        state.egress.send(request, TIMEOUT).await.map_err(|error| unreachable(state, destination, &error))?;
    let (mut head, body) = response.into_parts();
    head.headers = end_to_end(head.headers);
    head.version = http::Version::default();
    head.extensions.clear();
    Ok(Response::from_parts(head, boxed(body)))
}

/// No credential of the key allows the host, and other hosts are refused.
pub(crate) fn no_credential(destination: &Destination) -> ProxyRefusal {
    let detail = format!(
        "no credential of this agent allows {}, and --others refuse is set. Let the agent use a credential that allows \
         the host, or add the host to one, and start the command again; or use --others tunnel",
        destination.authority()
    );
    ProxyRefusal::new(StatusCode::FORBIDDEN, "host_without_credential", detail)
}

/// The host cannot be reached from here, or the egress guard does not let it be.
pub(crate) fn unreachable(
    state: &ProxyState,
    destination: &Destination,
    error: &pyxis_net::Error,
) -> ProxyRefusal {
    let host = destination.authority();
    if let Some(reason) = error.blocked() {
        let advice = refused_address_advice(destination.host(), state.pages.is_some());
        let detail = format!(
            "no credential of this agent allows {host}, and without one it is refused: {reason}. {advice}"
        );
        return ProxyRefusal::new(StatusCode::FORBIDDEN, "egress_refused", detail);
    }
    ProxyRefusal::new(
        StatusCode::BAD_GATEWAY,
        "host_unreachable",
        format!("{host}: {}", error.public_message()),
    )
}

/// Advice about an address that is not public. `is_sidecar` says that the proxy runs next to its clients, and not as their
/// parent.
fn refused_address_advice(host: &Host, is_sidecar: bool) -> &'static str {
    let is_loopback = match host {
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::V4(address) => address.is_loopback(),
        Host::V6(address) => address.is_loopback(),
    };
    match (is_loopback, is_sidecar) {
        (true, false) => {
            "For a server on this machine, use a tool that obeys NO_PROXY, and localhost, 127.0.0.1 or ::1 as its host. \
             For another address of this machine, add it to PX_EGRESS_ALLOW where pyxis run is started"
        }
        (true, true) => {
            "Through this proxy, the address is that of the proxy's own container or machine. For a server next to the \
             program, connect without the proxy. For another container, use its name and PX_EGRESS_ALLOW of pyxis proxy"
        }
        (false, false) => {
            "To let this command reach a private network, add it to PX_EGRESS_ALLOW where pyxis run is started"
        }
        (false, true) => {
            "To let clients reach a private network, add it to PX_EGRESS_ALLOW of pyxis proxy and start it again"
        }
    }
}

fn placeholder_refusal(destination: &Destination) -> ProxyRefusal {
    let detail = format!(
        "the request has a placeholder of pyxis run, and no credential of this agent allows {}. A secret would have \
         gone to this host; check the URL",
        destination.authority()
    );
    ProxyRefusal::new(StatusCode::FORBIDDEN, "placeholder_to_unknown_host", detail)
}

#[cfg(test)]
mod tests {
    use pyxis_core::target::Target;

    use super::*;

    #[test]
    fn the_advice_about_a_refused_address_fits_the_address_and_the_proxy() {
        let advice = |host: &str, is_sidecar| {
            let target = Target::parse(&format!("http://{host}/")).unwrap();
            refused_address_advice(target.host(), is_sidecar)
        };
        for loopback in ["localhost", "127.0.0.2", "[::1]"] {
            assert!(advice(loopback, false).contains("obeys NO_PROXY"), "{loopback}");
            assert!(advice(loopback, true).contains("proxy's own container"), "{loopback}");
        }
        for is_sidecar in [false, true] {
            let told = advice("10.0.0.1", is_sidecar);
            assert!(told.contains("PX_EGRESS_ALLOW") && !told.contains("this machine"), "{told}");
        }
    }
}
