//! The handshake of a WebSocket, which a request has in its extensions.

use std::borrow::Cow;

use axum::body::Body;
use http::request;
use http_body::Body as _;
use pyxis_core::policy::Method;
use pyxis_http::websocket::{Handshake, InvalidHandshake};

use crate::credentials::requests::control::Control;
use crate::error::{Error, Result};

/// Moves a handshake from the headers of a request to its extensions.
pub(crate) fn extract(head: &mut request::Parts) -> Result<()> {
    let taken = Handshake::extract(head).map_err(|invalid| match invalid {
        InvalidHandshake::Version => Error::WebSocketVersion,
        InvalidHandshake::Key => Error::InvalidHandshake("Sec-WebSocket-Key must be 16 bytes in base64"),
        InvalidHandshake::Connection => {
            Error::InvalidHandshake("the connection cannot change its protocol; connect over HTTP/1.1")
        }
    })?;
    if let Some(handshake) = taken {
        head.extensions.insert(handshake);
    }
    Ok(())
}

/// The handshake of a request, if it is one.
pub(crate) fn from_request(head: &request::Parts) -> Option<&Handshake> {
    head.extensions.get()
}

/// Method by which a request is judged: that of its control headers, or that of a WebSocket.
pub(crate) fn method(head: &request::Parts, control: &Control<'_>) -> Result<Method> {
    let named = control.method.map(|text| Method::parse_http(text).ok_or(Error::InvalidMethod));
    let named = named.unwrap_or(Ok(Method::Get))?;
    if from_request(head).is_none() {
        return Ok(named);
    }
    if named != Method::Get {
        return Err(Error::InvalidHandshake("X-PX-Method must be GET or absent"));
    }
    if control.idempotency_key.is_some() {
        return Err(Error::InvalidHandshake("a WebSocket has no Idempotency-Key; remove the header"));
    }
    Ok(Method::WebSocket)
}

/// Refuses a handshake with a body, whose end two servers could read differently.
pub(crate) fn check_body(head: &request::Parts, body: &Body) -> Result<()> {
    let has_body = from_request(head).is_some() && !body.is_end_stream();
    if has_body { Err(Error::InvalidHandshake("it must not have a body")) } else { Ok(()) }
}

/// The URL of a target, with the scheme of the handshake's own request.
pub(crate) fn http_url<'u>(head: &request::Parts, url: &'u str) -> Cow<'u, str> {
    let schemes = [("wss://", "https://"), ("ws://", "http://")];
    let found = schemes.iter().filter(|_| from_request(head).is_some()).find_map(|(socket, http)| {
        let (scheme, rest) = url.split_at_checked(socket.len())?;
        scheme.eq_ignore_ascii_case(socket).then(|| format!("{http}{rest}"))
    });
    found.map_or(Cow::Borrowed(url), Cow::Owned)
}

/// Subprotocols of a request, which belong to what is approved.
pub(crate) fn protocols(head: &request::Parts) -> Option<String> {
    from_request(head).map(|handshake| handshake.protocols.join(", "))
}
