//! HMAC over parts of a request, as many APIs require. Templates define the signed text and the headers that carry the
//! signature.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use pyxis_core::auth::{self, HmacHash, KeyEncoding, SignatureEncoding};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::target::Target;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

/// Placeholder names that templates may use.
pub const NAMES: &[&str] = &[
    "method",
    "host",
    "path",
    "query",
    "target",
    "body",
    "body_sha256",
    "timestamp",
    "timestamp_ms",
    "timestamp_iso",
    "nonce",
];

/// Reason that a request cannot be signed as configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Unknown name in braces.
    #[error("unknown name in braces: {0}")]
    Name(String),
    /// The secret has no such field.
    #[error("the secret has no field {0}")]
    Field(String),
    /// The key does not match its encoding.
    #[error("the key is not written as key_encoding says")]
    Key,
    /// The template uses the body as text, but the body is not UTF-8.
    #[error("the body is not UTF-8 text, which {{body}} in a header needs")]
    Body,
}

/// Inputs of a signature.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// HTTP method, upper case.
    pub method: &'a str,
    /// Canonical target URL.
    pub target: &'a Target,
    /// Body bytes.
    pub body: &'a [u8],
    /// Time of the signature.
    pub now: UnixMillis,
    /// Must be unique per request.
    pub nonce: &'a str,
}

/// A signature and the headers that carry it.
pub struct SignedHeaders {
    /// Names and values of the headers to set.
    pub headers: Vec<(String, Zeroizing<String>)>,
    /// The encoded signature.
    pub signature: String,
}

impl std::fmt::Debug for SignedHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signed(..)")
    }
}

/// Signs a request. `secret` returns fields of the secret by name; `key` is the signing key.
pub fn sign(
    config: &auth::Hmac,
    request: &Request<'_>,
    secret: &dyn Fn(&str) -> Option<String>,
) -> Result<SignedHeaders, Invalid> {
    let key = Zeroizing::new(secret("key").ok_or_else(|| Invalid::Field("key".to_owned()))?);
    let key = decode_key(config.key_encoding, &key).ok_or(Invalid::Key)?;
    let content = Zeroizing::new(expand(&config.content, request, secret, None)?);
    let signature = mac(config.hash, &key, &content);
    let signature = match config.signature_encoding {
        SignatureEncoding::Hex => hex::encode(&signature),
        SignatureEncoding::Base64 => STANDARD.encode(&signature),
        SignatureEncoding::Base64url => URL_SAFE_NO_PAD.encode(&signature),
    };
    let headers = config
        .headers
        .iter()
        .map(|header| {
            let value = expand(&header.format, request, secret, Some(&signature))?;
            let value = String::from_utf8(value).map_err(|_| Invalid::Body)?;
            Ok((header.name.clone(), Zeroizing::new(value)))
        })
        .collect::<Result<_, Invalid>>()?;
    Ok(SignedHeaders { headers, signature })
}

fn decode_key(encoding: KeyEncoding, key: &str) -> Option<Zeroizing<Vec<u8>>> {
    match encoding {
        KeyEncoding::Text => Some(key.as_bytes().to_vec()),
        KeyEncoding::Hex => hex::decode_either(key.trim()),
        KeyEncoding::Base64 => STANDARD.decode(key.trim()).ok(),
    }
    .map(Zeroizing::new)
}

/// Computes an HMAC with one of several hashes, whose types have no common trait bound that is short to write.
macro_rules! mac {
    ($hash:ty, $key:expr, $data:expr) => {{
        let mut mac = Hmac::<$hash>::new_from_slice($key).expect("HMAC takes a key of any length");
        mac.update($data);
        mac.finalize().into_bytes().to_vec()
    }};
}

fn mac(hash: HmacHash, key: &[u8], data: &[u8]) -> Vec<u8> {
    match hash {
        HmacHash::Sha1 => mac!(Sha1, key, data),
        HmacHash::Sha256 => mac!(Sha256, key, data),
        HmacHash::Sha512 => mac!(Sha512, key, data),
    }
}

/// Replaces the names in braces. `\n` is a line feed. A brace that does not start a name stays unchanged.
fn expand(
    template: &str,
    request: &Request<'_>,
    secret: &dyn Fn(&str) -> Option<String>,
    signature: Option<&str>,
) -> Result<Vec<u8>, Invalid> {
    let template = template.replace("\\n", "\n");
    let mut out = Vec::with_capacity(template.len() + request.body.len());
    let mut rest = template.as_str();
    while let Some(start) = rest.find('{') {
        let (before, opened) = rest.split_at(start);
        out.extend_from_slice(before.as_bytes());
        let Some(end) = opened.find('}') else {
            rest = opened;
            break;
        };
        fill(&mut out, &opened[1..end], request, secret, signature)?;
        rest = &opened[end + 1..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

fn fill(
    out: &mut Vec<u8>,
    name: &str,
    request: &Request<'_>,
    secret: &dyn Fn(&str) -> Option<String>,
    signature: Option<&str>,
) -> Result<(), Invalid> {
    if let Some(field) = name.strip_prefix("secret.") {
        let value = Zeroizing::new(secret(field).ok_or_else(|| Invalid::Field(field.to_owned()))?);
        out.extend_from_slice(value.as_bytes());
        return Ok(());
    }
    let target = request.target;
    let text = match (name, signature) {
        ("signature", Some(signature)) => signature.to_owned(),
        ("method", _) => request.method.to_owned(),
        ("host", _) => target.authority().to_owned(),
        ("path", _) => target.path().to_owned(),
        ("query", _) => target.query().unwrap_or_default().to_owned(),
        ("target", _) => target.wire().to_owned(),
        ("body", _) => {
            out.extend_from_slice(request.body);
            return Ok(());
        }
        ("body_sha256", _) => hex::encode(&Sha256::digest(request.body)),
        ("timestamp", _) => request.now.seconds().to_string(),
        ("timestamp_ms", _) => request.now.0.to_string(),
        ("timestamp_iso", _) => request.now.to_rfc3339(),
        ("nonce", _) => request.nonce.to_owned(),
        _ => return Err(Invalid::Name(name.to_owned())),
    };
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyxis_core::auth::HeaderFormat;

    fn config(content: &str, format: &str) -> auth::Hmac {
        auth::Hmac {
            hash: HmacHash::Sha256,
            content: content.to_owned(),
            key_encoding: KeyEncoding::Text,
            signature_encoding: SignatureEncoding::Hex,
            headers: vec![HeaderFormat { name: "X-Sig".to_owned(), format: format.to_owned() }],
        }
    }

    fn signed(config: &auth::Hmac) -> Result<String, Invalid> {
        let target = Target::parse("https://api.example.com/v1/x?a=1").unwrap();
        let now = UnixMillis(1_700_000_000_123);
        let request = Request { method: "POST", target: &target, body: b"{}", now, nonce: "n0" };
        let secret = |name: &str| match name {
            "key" => Some("Jefe".to_owned()),
            "id" => Some("me".to_owned()),
            _ => None,
        };
        sign(config, &request, &secret).map(|mut signed| signed.headers.remove(0).1.to_string())
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_signature_of_the_rfc_comes_out() {
        let config = config("what do ya want for nothing?", "{signature}");
        assert_eq!(
            signed(&config).unwrap(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn templates_name_parts_of_the_request_and_of_the_secret() {
        let config = config(
            "",
            "{method} {host} {path} {query} {target} {body} {timestamp} {timestamp_ms} {nonce} {secret.id}",
        );
        assert_eq!(
            signed(&config).unwrap(),
            "POST api.example.com /v1/x a=1 /v1/x?a=1 {} 1700000000 1700000000123 n0 me"
        );
    }

    #[test]
    fn an_unknown_name_or_field_is_refused() {
        assert_eq!(signed(&config("{bdy}", "{signature}")), Err(Invalid::Name("bdy".to_owned())));
        assert_eq!(signed(&config("{signature}", "x")), Err(Invalid::Name("signature".to_owned())));
        assert_eq!(signed(&config("{secret.x}", "x")), Err(Invalid::Field("x".to_owned())));
        let hex = auth::Hmac { key_encoding: KeyEncoding::Hex, ..config("", "x") };
        assert_eq!(signed(&hex), Err(Invalid::Key));
    }
}
