//! An upstream that verifies OAuth 1.0a signatures from the bytes on the wire. It is written from RFC 5849 and shares
//! no code with the signer.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::json;
use sha1::Sha1;

use crate::support::{Setup, Site};

pub(crate) const CONSUMER_KEY: &str = "consumer&key";
pub(crate) const CONSUMER_SECRET: &str = "consumer secret+%&=";
pub(crate) const TOKEN: &str = "t0ken";
pub(crate) const TOKEN_SECRET: &str = "token/secret~é";

/// 200 for a request that is signed with the credential above and was not sent before, 401 with a reason for any other.
pub(crate) async fn upstream() -> Upstream {
    let upstream = Upstream::http().await;
    let nonces = Mutex::new(HashSet::new());
    upstream.reply_with(move |request| match verify(request, &mut nonces.lock().unwrap()) {
        Ok(()) => Reply::ok("verified"),
        Err(reason) => Reply::new(401).body(reason),
    });
    upstream
}

/// A proxy with this upstream and the credential above as `x`, of the kind that signs in the proxy.
pub(crate) async fn site() -> Site {
    let mut site = Site::bare(Setup::new()).await;
    site.upstream = upstream().await;
    let secret = json!({
        "consumer_key": CONSUMER_KEY, "consumer_secret": CONSUMER_SECRET,
        "token": TOKEN, "token_secret": TOKEN_SECRET,
    });
    site.credential("x", &json!({"auth": {"kind": "oauth1"}, "secret": secret})).await;
    site
}

fn verify(request: &Received, nonces: &mut HashSet<String>) -> Result<(), String> {
    let header = request.header("authorization").ok_or("no Authorization")?;
    let fields = header.strip_prefix("OAuth ").ok_or("not OAuth")?;
    let mut protocol = BTreeMap::new();
    for field in fields.split(", ") {
        let (name, value) = field.split_once('=').ok_or("a field without =")?;
        let value = String::from_utf8(decode(value.trim_matches('"'), false)).map_err(|_| "not text")?;
        if protocol.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name} twice"));
        }
    }
    let signature = protocol.remove("oauth_signature").ok_or("no signature")?;
    for (name, value) in [
        ("oauth_consumer_key", CONSUMER_KEY),
        ("oauth_token", TOKEN),
        ("oauth_signature_method", "HMAC-SHA1"),
    ] {
        if protocol.get(name).map(String::as_str) != Some(value) {
            return Err(format!("{name} is {:?}", protocol.get(name)));
        }
    }
    if protocol.contains_key("oauth_body_hash") {
        return Err("a body hash".to_owned());
    }
    if !nonces.insert(protocol["oauth_nonce"].clone()) {
        return Err("a nonce was used twice".to_owned());
    }
    let expected = sign(&base(request, &protocol));
    if expected == signature { Ok(()) } else { Err(format!("bad signature for {}", request.target)) }
}

fn base(request: &Received, protocol: &BTreeMap<String, String>) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut pairs: Vec<(String, String)> =
        protocol.iter().map(|(name, value)| (encode(name.as_bytes()), encode(value.as_bytes()))).collect();
    let mut collect = |text: &str| {
        for piece in text.split('&').filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            pairs.push((encode(&decode(name, true)), encode(&decode(value, true))));
        }
    };
    collect(query);
    if request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
    {
        // A form is ASCII; anything else would be a bug of the test.
        collect(request.text());
    }
    pairs.sort();
    let joined: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    let uri = format!("http://{}{path}", request.host);
    format!("{}&{}&{}", request.method, encode(uri.as_bytes()), encode(joined.join("&").as_bytes()))
}

fn sign(base: &str) -> String {
    let key = format!("{}&{}", encode(CONSUMER_SECRET.as_bytes()), encode(TOKEN_SECRET.as_bytes()));
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(base.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

pub(crate) fn encode(raw: &[u8]) -> String {
    raw.iter().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
        out
    })
}

pub(crate) fn decode(text: &str, plus: bool) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            b'+' if plus => out.push(b' '),
            other => out.push(other),
        }
    }
    out
}
