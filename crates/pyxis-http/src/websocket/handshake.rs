//! The handshake (RFC 6455, section 4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, request};
use hyper::upgrade::OnUpgrade;
use pyxis_core::entropy::{self, Entropy};
use sha1::{Digest, Sha1};

/// Text that every server appends to a key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Length of a decoded key, in bytes.
const KEY_BYTES: usize = 16;

pub fn new_key(entropy: &dyn Entropy) -> String {
    STANDARD.encode(entropy::bytes::<KEY_BYTES>(entropy))
}

/// The answer to a key.
fn accept_key(key: &str) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

/// A client's handshake, and the connection once it is answered.
#[derive(Clone)]
pub struct Handshake {
    /// Key that the answer must prove to have read.
    pub key: String,
    /// Subprotocols that the client offers, most wanted first.
    pub protocols: Vec<String>,
    /// The connection after the 101.
    pub upgrade: OnUpgrade,
}

/// Reason that a handshake is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHandshake {
    /// The client speaks another version.
    Version,
    /// There is no key, more than one, or one of another length.
    Key,
    /// The connection cannot change its protocol.
    Connection,
}

impl Handshake {
    /// Takes the handshake from a request: its headers that concern this connection alone, and the connection. `None` for
    /// every other request.
    pub fn extract(head: &mut request::Parts) -> Result<Option<Self>, InvalidHandshake> {
        if !is_handshake(&head.method, head.version, &head.headers) {
            return Ok(None);
        }
        if lone(&head.headers, &SEC_WEBSOCKET_VERSION) != Some("13") {
            return Err(InvalidHandshake::Version);
        }
        let key = lone(&head.headers, &SEC_WEBSOCKET_KEY).map(str::to_owned);
        let is_key = |key: &String| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == KEY_BYTES);
        let key = key.filter(is_key).ok_or(InvalidHandshake::Key)?;
        let protocols = names(&head.headers, &SEC_WEBSOCKET_PROTOCOL).map(str::to_owned).collect();
        let upgrade = head.extensions.remove().ok_or(InvalidHandshake::Connection)?;
        for name in [SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION] {
            head.headers.remove(name);
        }
        Ok(Some(Self { key, protocols, upgrade }))
    }
}

/// True for a GET over HTTP/1.1 that asks for a WebSocket.
pub fn is_handshake(method: &Method, version: Version, headers: &HeaderMap) -> bool {
    *method == Method::GET
        && version == Version::HTTP_11
        && is_token(headers, &CONNECTION, "upgrade")
        && is_token(headers, &UPGRADE, "websocket")
}

/// Adds the headers of a handshake of our own with this key, without extensions: nothing is then compressed.
pub fn add_headers(headers: &mut HeaderMap, key: &str) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.extend(HeaderValue::try_from(key).ok().map(|key| (SEC_WEBSOCKET_KEY, key)));
}

/// Checks the headers of a 101 to [`add_headers`]. Returns the subprotocol that the server chose among `protocols`, or what is
/// wrong.
pub fn check_answer<'h>(
    headers: &'h HeaderMap,
    key: &str,
    protocols: &[String],
) -> Result<Option<&'h str>, &'static str> {
    if !is_token(headers, &UPGRADE, "websocket") || !is_token(headers, &CONNECTION, "upgrade") {
        return Err("it changed to another protocol than WebSocket");
    }
    if lone(headers, &SEC_WEBSOCKET_ACCEPT) != Some(&accept_key(key)) {
        return Err("its Sec-WebSocket-Accept does not belong to the key");
    }
    if headers.contains_key(SEC_WEBSOCKET_EXTENSIONS) {
        return Err("it uses an extension that was not offered");
    }
    if !headers.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        return Ok(None);
    }
    let chosen = lone(headers, &SEC_WEBSOCKET_PROTOCOL);
    let chosen = chosen.filter(|chosen| protocols.iter().any(|offered| offered == chosen));
    chosen.map(Some).ok_or("it chose a subprotocol that was not offered")
}

/// Headers of the 101 to a client's handshake.
pub fn accept(headers: &mut HeaderMap, key: &str, protocol: Option<&str>) {
    for name in [SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_PROTOCOL] {
        headers.remove(name);
    }
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let values = [
        (SEC_WEBSOCKET_ACCEPT, Some(accept_key(key))),
        (SEC_WEBSOCKET_PROTOCOL, protocol.map(str::to_owned)),
    ];
    for (name, value) in values {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
}

/// True if a list of names has this one, in any case.
fn is_token(headers: &HeaderMap, list: &HeaderName, name: &str) -> bool {
    names(headers, list).any(|found| found.eq_ignore_ascii_case(name))
}

/// The members of a list, over every line that has some.
fn names<'h>(headers: &'h HeaderMap, list: &HeaderName) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(list).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|name| !name.is_empty())
}

/// The value of a header that occurs once.
fn lone<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (Some(line), None) => line.to_str().ok().map(str::trim),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn the_answer_is_that_of_the_standard() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    /// A handshake with one header changed; an empty value removes it.
    fn take(changed: &str, value: &str) -> Result<bool, InvalidHandshake> {
        let mut request = Request::get("/");
        for (name, usual) in [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ] {
            let value = if name == changed { value } else { usual };
            if !value.is_empty() {
                request = request.header(name, value);
            }
        }
        let mut request = request.body(()).unwrap();
        let upgrade = hyper::upgrade::on(&mut request);
        request.extensions_mut().insert(upgrade);
        Handshake::extract(&mut request.into_parts().0).map(|taken| taken.is_some())
    }

    #[test]
    fn a_handshake_is_recognized_and_a_bad_one_refused() {
        assert_eq!(take("", ""), Ok(true));
        assert_eq!(take("connection", "keep-alive"), Ok(false));
        assert_eq!(take("upgrade", "h2c"), Ok(false));
        assert_eq!(take("sec-websocket-version", "8"), Err(InvalidHandshake::Version));
        assert_eq!(take("sec-websocket-version", ""), Err(InvalidHandshake::Version));
        assert_eq!(take("sec-websocket-key", ""), Err(InvalidHandshake::Key));
        assert_eq!(take("sec-websocket-key", "c2hvcnQ="), Err(InvalidHandshake::Key));
    }

    #[test]
    fn an_answer_is_accepted_only_if_it_belongs_to_the_offer() {
        let (key, offered) = ("dGhlIHNhbXBsZSBub25jZQ==", ["chat".to_owned()]);
        let check = |changed: HeaderName, value: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            accept(&mut headers, key, Some("chat"));
            match value {
                Some(value) => drop(headers.insert(changed, HeaderValue::from_static(value))),
                None => drop(headers.remove(changed)),
            }
            check_answer(&headers, key, &offered).map(|protocol| protocol.map(str::to_owned))
        };
        assert_eq!(check(UPGRADE, Some("WebSocket")), Ok(Some("chat".to_owned())));
        assert_eq!(check(SEC_WEBSOCKET_PROTOCOL, None), Ok(None));
        assert!(check(SEC_WEBSOCKET_PROTOCOL, Some("other")).is_err());
        assert!(check(SEC_WEBSOCKET_ACCEPT, Some("AAAA")).is_err());
        assert!(check(SEC_WEBSOCKET_ACCEPT, None).is_err());
        assert!(check(SEC_WEBSOCKET_EXTENSIONS, Some("permessage-deflate")).is_err());
        assert!(check(UPGRADE, Some("h2c")).is_err());
        assert!(check(CONNECTION, None).is_err());
    }
}
