//! AWS Signature Version 4, in the `Authorization` header.

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::percent;

/// Access key pair.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Access key id; not secret.
    pub access_key_id: String,
    /// Secret from which signing keys are derived.
    pub secret_access_key: SecretString,
}

/// Region and service of a signature.
#[derive(Clone, Copy, Debug)]
pub struct SigningScope<'a> {
    /// For example `eu-central-1`.
    pub region: &'a str,
    /// For example `s3`.
    pub service: &'a str,
}

/// Inputs of a signature.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// HTTP method, upper case.
    pub method: &'a str,
    /// Canonical target URL.
    pub target: &'a Target,
    /// Headers to sign, including `host` and `x-amz-date`. Any order and case; repeated ones are joined.
    pub headers: &'a [(&'a str, &'a str)],
    /// SHA-256 of the body as hex, or a value that the service accepts instead.
    pub payload_hash: &'a str,
}

/// The value of `x-amz-date`: `20150830T123600Z`.
pub fn date(at: UnixMillis) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// SHA-256 as hex.
pub fn payload_hash(body: &[u8]) -> String {
    hex::encode(&Sha256::digest(body))
}

/// The `Authorization` value. `date` comes from [`date`].
pub fn authorization(keys: &Keys, scope: SigningScope<'_>, date: &str, request: &Request<'_>) -> String {
    let (canonical, signed) = canonical_request(scope, request);
    let day = &date[..date.len().min(8)];
    let SigningScope { region, service } = scope;
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", payload_hash(canonical.as_bytes()));
    let secret = Zeroizing::new(format!("AWS4{}", keys.secret_access_key.expose()));
    let mut key = Zeroizing::new(secret.as_bytes().to_vec());
    for part in [day, region, service, "aws4_request"] {
        key = Zeroizing::new(hmac(&key, part.as_bytes()).to_vec());
    }
    let signature = hex::encode(&hmac(&key, to_sign.as_bytes()));
    format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
        keys.access_key_id
    )
}

fn hmac(key: &[u8], data: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(data);
    mac.finalize().into_bytes().into()
}

/// True for headers that a signature covers. Excluded are connection headers and headers that proxies add or change,
/// the same as in Amazon's own libraries. `name` is lower case.
pub fn is_signed(name: &str) -> bool {
    let on_the_way = matches!(
        name,
        "accept-encoding"
            | "authorization"
            | "baggage"
            | "cdn-loop"
            | "connection"
            | "content-length"
            | "cookie"
            | "expect"
            | "forwarded"
            | "keep-alive"
            | "max-forwards"
            | "priority"
            | "te"
            | "traceparent"
            | "tracestate"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "upgrade-insecure-requests"
            | "user-agent"
            | "via"
            | "x-amzn-trace-id"
            | "x-cloud-trace-context"
            | "x-real-ip"
            | "x-request-id"
    );
    !on_the_way
        && !["proxy-", "x-forwarded-", "x-b3-", "x-envoy-"].iter().any(|start| name.starts_with(start))
}

/// The query without presigned URL parameters. If the agent's own signature were sent along with the header, it would
/// be unclear which one counts. `None` if there are no such parameters.
pub fn without_signature(query: &str) -> Option<String> {
    let is_signature = |piece: &&str| {
        let name = piece.split('=').next().unwrap_or_default();
        let name = percent_encoding::percent_decode(name.as_bytes()).collect::<Vec<_>>().to_ascii_lowercase();
        // `awsaccesskeyid` is the parameter of Signature Version 2.
        name.starts_with(b"x-amz-") || name == b"awsaccesskeyid"
    };
    let pieces: Vec<&str> = query.split('&').collect();
    if !pieces.iter().any(is_signature) {
        return None;
    }
    Some(pieces.into_iter().filter(|piece| !is_signature(piece)).collect::<Vec<_>>().join("&"))
}

/// The canonical request and the names of the signed headers.
fn canonical_request(scope: SigningScope<'_>, request: &Request<'_>) -> (String, String) {
    let mut headers: Vec<(String, String)> = Vec::with_capacity(request.headers.len());
    for (name, value) in request.headers {
        let (name, value) = (name.to_ascii_lowercase(), squeezed(value));
        match headers.iter_mut().find(|(other, _)| *other == name) {
            Some((_, joined)) => *joined = format!("{joined},{value}"),
            None => headers.push((name, value)),
        }
    }
    headers.sort();
    let signed = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let lines = lines.concat();
    let path = canonical_path(request.target.path(), scope.service == "s3");
    let query = canonical_query(request.target.query().unwrap_or_default());
    let canonical =
        format!("{}\n{path}\n{query}\n{lines}\n{signed}\n{}", request.method, request.payload_hash);
    (canonical, signed)
}

/// Trims white space and collapses inner runs to one space.
fn squeezed(value: &str) -> String {
    value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// S3 signs every path segment, even empty ones, decoded and then encoded once. So characters a URL may leave
/// unencoded (`$`) are encoded as well. Every other service removes empty segments and encodes the encoded path
/// again.
fn canonical_path(path: &str, as_it_is: bool) -> String {
    if as_it_is {
        return encoded_segments(path.split('/'), |segment| {
            percent::encode(&percent_encoding::percent_decode(segment.as_bytes()).collect::<Vec<_>>())
        });
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let mut canonical = encoded_segments(std::iter::once("").chain(segments.iter().copied()), |segment| {
        percent::encode(segment.as_bytes())
    });
    if canonical.is_empty() || path.ends_with('/') {
        canonical.push('/');
    }
    canonical
}

fn encoded_segments<'a>(segments: impl Iterator<Item = &'a str>, encode: impl Fn(&str) -> String) -> String {
    segments.map(encode).collect::<Vec<_>>().join("/")
}

fn canonical_query(query: &str) -> String {
    // A plus sign is literal here, not a space.
    let recode =
        |text: &str| percent::encode(&percent_encoding::percent_decode(text.as_bytes()).collect::<Vec<_>>());
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.split_once('=').unwrap_or((piece, "")))
        .map(|(name, value)| (recode(name), recode(value)))
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The published test suite, `data/sigv4.json`: inputs and signatures. Two requests with paths that no URL can
    /// contain are left out.
    #[test]
    fn the_published_test_suite_passes() {
        let cases: Vec<Value> = serde_json::from_str(include_str!("../data/sigv4.json")).unwrap();
        assert_eq!(cases.len(), 29);
        for case in cases {
            let text = |member: &str| case[member].as_str().unwrap_or_default();
            let keys = Keys {
                access_key_id: "AKIDEXAMPLE".to_owned(),
                secret_access_key: SecretString::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
            };
            let target = Target::parse(text("url")).unwrap();
            let date = date(UnixMillis(1_440_938_160_000));
            let hash = payload_hash(text("body").as_bytes());
            let mut headers: Vec<(&str, &str)> = case["headers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
                .collect();
            headers.dedup_by(|a, b| a == b && a.0 == "Host");
            headers.push(("x-amz-date", &date));
            if case["token"].is_string() && case["unsigned_token"].is_null() {
                headers.push(("x-amz-security-token", text("token")));
            }
            if case["sign_body"] == true {
                headers.push(("x-amz-content-sha256", &hash));
            }
            let request =
                Request { method: text("method"), target: &target, headers: &headers, payload_hash: &hash };
            let scope = SigningScope { region: "us-east-1", service: "service" };
            let signed = authorization(&keys, scope, &date, &request);
            let (_, signature) = signed.split_once("Signature=").unwrap();
            assert_eq!(
                signature,
                text("signature"),
                "{}\n{}",
                text("name"),
                canonical_request(scope, &request).0
            );
        }
    }

    /// The examples in Amazon's S3 documentation (authenticating requests by the `Authorization` header).
    #[test]
    fn the_published_examples_of_s3_pass() {
        let keys = Keys {
            access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_access_key: SecretString::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned()),
        };
        let moment = "20130524T000000Z";
        for (method, path, more, body, expected) in [
            (
                "GET",
                "/test.txt",
                &[("range", "bytes=0-9")][..],
                "",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "PUT",
                "/test$file.text",
                &[("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "Welcome to Amazon S3.",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            ),
            (
                "GET",
                "/?lifecycle",
                &[],
                "",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "GET",
                "/?max-keys=2&prefix=J",
                &[],
                "",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let host = "examplebucket.s3.amazonaws.com";
            let target = Target::parse(&format!("https://{host}{path}")).unwrap();
            let hash = payload_hash(body.as_bytes());
            let mut headers = vec![("host", host), ("x-amz-content-sha256", &hash), ("x-amz-date", moment)];
            headers.extend_from_slice(more);
            let request = Request { method, target: &target, headers: &headers, payload_hash: &hash };
            let scope = SigningScope { region: "us-east-1", service: "s3" };
            let signed = authorization(&keys, scope, moment, &request);
            let (_, signature) = signed.split_once("Signature=").unwrap();
            assert_eq!(signature, expected, "{path}\n{}", canonical_request(scope, &request).0);
        }
    }

    /// Signed the same way as by botocore, Amazon's Python library.
    #[test]
    fn an_upload_with_conditions_is_signed_as_botocore_signs_it() {
        let keys = Keys {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: SecretString::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
        };
        let url = "https://examplebucket.s3.amazonaws.com/dir/a%20b.txt?versionId=1&tagging";
        let hash = payload_hash(b"hello");
        let headers = [
            ("content-md5", "rL0Y20zC+Fzt72VPzMSk2A=="),
            ("content-type", "text/plain; charset=utf-8"),
            ("cache-control", "max-age=60,   public"),
            ("if-none-match", "*"),
            ("range", "bytes=0-9"),
            ("content-disposition", "attachment; filename=\"a  b.txt\""),
            ("x-amz-meta-note", "a   b"),
            ("x-amz-acl", "private"),
            ("host", "examplebucket.s3.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
            ("x-amz-content-sha256", &hash),
        ];
        assert!(headers.iter().all(|(name, _)| is_signed(name)));
        let target = Target::parse(url).unwrap();
        let request = Request { method: "PUT", target: &target, headers: &headers, payload_hash: &hash };
        let scope = SigningScope { region: "us-east-1", service: "s3" };
        let signed = authorization(&keys, scope, "20150830T123600Z", &request);
        let expected = "f5ef2463dd5245e3c84b67e20e857d389de18676cad9cda2a572fda305e6fd83";
        assert!(signed.ends_with(expected), "{signed}\n{}", canonical_request(scope, &request).0);
    }

    #[test]
    fn s3_takes_the_path_as_it_is_and_others_encode_it_twice() {
        assert_eq!(canonical_path("/a%20b//c/", true), "/a%20b//c/");
        assert_eq!(canonical_path("/a%20b//c/", false), "/a%2520b/c/");
        assert_eq!(canonical_path("/", false), "/");
    }

    #[test]
    fn every_header_is_signed_but_those_that_change_on_the_way() {
        for name in [
            "content-md5",
            "content-type",
            "content-encoding",
            "content-disposition",
            "content-language",
            "range",
            "if-match",
            "if-none-match",
            "if-modified-since",
            "if-unmodified-since",
            "cache-control",
            "expires",
            "date",
            "accept",
            "x-amz-acl",
            "x-amz-meta-note",
            "x-amz-copy-source-if-match",
            "x-custom",
        ] {
            assert!(is_signed(name), "{name}");
        }
        for name in [
            "authorization",
            "user-agent",
            "accept-encoding",
            "content-length",
            "connection",
            "te",
            "traceparent",
            "x-forwarded-for",
            "proxy-authorization",
            "x-amzn-trace-id",
        ] {
            assert!(!is_signed(name), "{name}");
        }
    }

    #[test]
    fn a_signature_in_the_query_is_taken_out_whatever_its_spelling() {
        let presigned = "list-type=2&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F1&x-amz-date=1&\
                         %58-Amz-Signature=ab&X-Amz-SignedHeaders=host&X-Amz-Security-Token=t&prefix=x%20y&empty";
        assert_eq!(without_signature(presigned).as_deref(), Some("list-type=2&prefix=x%20y&empty"));
        assert_eq!(without_signature("X-Amz-Signature").as_deref(), Some(""));
        assert_eq!(without_signature("AWSAccessKeyId=a&versions").as_deref(), Some("versions"));
        for kept in ["", "versions", "prefix=X-Amz-Signature", "a=1&&b=%2f", "x-am=1"] {
            assert_eq!(without_signature(kept), None, "{kept}");
        }
    }

    #[test]
    fn a_query_is_sorted_by_its_encoding_and_keeps_its_plus_signs() {
        assert_eq!(canonical_query("b=1&a=+&a=%20&c"), "a=%20&a=%2B&b=1&c=");
    }
}
