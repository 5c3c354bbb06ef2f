//! An upstream that verifies AWS signatures from the bytes on the wire. It is written from Amazon's description and
//! shares no code with the signer.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use sha2::{Digest, Sha256};

use crate::signer::verifier::{decode, encode};

pub(crate) const ACCESS_KEY_ID: &str = "AKIDEXAMPLE";
pub(crate) const SECRET_ACCESS_KEY: &str = "wJalr+XUtn/canary";
pub(crate) const REGION: &str = "eu-central-1";

/// 200 for a request that is signed with the keys above for this service, 403 with a reason for any other.
pub(crate) async fn upstream(service: &'static str) -> Upstream {
    let upstream = Upstream::http().await;
    upstream.reply_with(move |request| match verify(request, service) {
        Ok(()) => Reply::ok("verified"),
        Err(reason) => Reply::new(403).body(format!("SignatureDoesNotMatch: {reason}")),
    });
    upstream
}

/// Verifies the signature of a request to this service. An error says what is wrong.
pub(crate) fn verify(request: &Received, service: &str) -> Result<(), String> {
    let header = request.header("authorization").ok_or("no Authorization")?;
    let fields = header.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another algorithm")?;
    let field = |name: &str| {
        let mut values = fields.split(", ").filter_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        values.next().ok_or_else(|| format!("no {name}"))
    };
    let date = request.header("x-amz-date").ok_or("no x-amz-date")?;
    let day = date.split('T').next().unwrap_or_default();
    let scope = format!("{day}/{REGION}/{service}/aws4_request");
    if field("Credential")? != format!("{ACCESS_KEY_ID}/{scope}") {
        return Err(format!("other keys or another scope than {scope}"));
    }
    let names: Vec<&str> = field("SignedHeaders")?.split(';').collect();
    let counts = |name: &str| name == "content-type" || name.starts_with("x-amz-");
    let mut needed = request.headers.keys().map(http::HeaderName::as_str).filter(|name| counts(name));
    if !names.is_sorted() || !names.contains(&"host") || !needed.all(|name| names.contains(&name)) {
        return Err(format!("signed are {names:?} only"));
    }
    let hash = hex(&Sha256::digest(&request.body));
    if request.header("x-amz-content-sha256") != Some(&hash) {
        return Err("another body".to_owned());
    }
    let canonical = format!(
        "{}\n{}\n{}\n{}\n{hash}",
        request.method,
        path(request, service),
        query(request),
        headers(request, &names)
    );
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(&canonical)));
    let first = format!("AWS4{SECRET_ACCESS_KEY}").into_bytes();
    let key = scope.split('/').fold(first, |key, part| hmac(&key, part));
    if field("Signature")? == hex(&hmac(&key, &to_sign)) { Ok(()) } else { Err(canonical) }
}

/// S3 encodes the decoded segments. The other services drop empty segments and encode the bytes on the wire.
fn path(request: &Received, service: &str) -> String {
    let path = request.target.split('?').next().unwrap_or_default();
    if service == "s3" {
        return path.split('/').map(|segment| encode(&decode(segment, false))).collect::<Vec<_>>().join("/");
    }
    let mut canonical = String::from("/");
    for segment in path.split_inclusive('/').filter(|segment| *segment != "/") {
        let (name, slash) = segment.strip_suffix('/').map_or((segment, ""), |name| (name, "/"));
        canonical += &encode(name.as_bytes());
        canonical += slash;
    }
    canonical
}

fn query(request: &Received) -> String {
    let (_, query) = request.target.split_once('?').unwrap_or_default();
    let mut pairs = Vec::new();
    for piece in query.split('&').filter(|piece| !piece.is_empty()) {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        pairs.push((encode(&decode(name, false)), encode(&decode(value, false))));
    }
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// One line per header, an empty line, and the names.
fn headers(request: &Received, names: &[&str]) -> String {
    let mut text = String::new();
    for name in names {
        let mut values: Vec<String> = Vec::new();
        for value in request.headers.get_all(*name) {
            let words = value.to_str().unwrap().split(' ').filter(|word| !word.is_empty());
            values.push(words.collect::<Vec<_>>().join(" "));
        }
        let value = if *name == "host" { request.host.clone() } else { values.join(",") };
        writeln!(text, "{name}:{value}").unwrap();
    }
    format!("{text}\n{}", names.join(";"))
}

fn hmac(key: &[u8], data: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(data.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
