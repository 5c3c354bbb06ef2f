//! A request of the command, as it goes to the server.

use http::{HeaderMap, HeaderName, StatusCode, Uri};

use crate::destination::Destination;
use crate::headers::end_to_end;
use crate::placeholder;
use crate::refusal::ProxyRefusal;

/// URL and headers of a request as it goes to the server.
pub(crate) fn outgoing(
    destination: &Destination,
    uri: &Uri,
    headers: HeaderMap,
) -> Result<(String, HeaderMap), ProxyRefusal> {
    let path = uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    let path = path.filter(|path| path.starts_with('/')).ok_or_else(|| {
        let detail = "the request line has no path; write one that begins with /";
        ProxyRefusal::new(StatusCode::BAD_REQUEST, "malformed_request", detail)
    })?;
    let mut headers = end_to_end(headers);
    if let Some(name) = headers.keys().find(|name| is_control(name)) {
        let detail = format!("the header {name} belongs to Pyxis; only X-PX-Reason may be set");
        return Err(ProxyRefusal::new(StatusCode::BAD_REQUEST, "unknown_header", detail));
    }
    placeholder::remove(&mut headers);
    Ok((destination.url(path), headers))
}

/// True for headers by which Pyxis is told what to do. The command may only give a reason.
fn is_control(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-px-") && name != "x-px-reason"
}
