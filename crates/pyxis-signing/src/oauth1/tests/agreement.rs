//! Agreement with oauthlib, an independent Python implementation.
//!
//! `data/oauth1.py` wrote `data/oauth1.jsonl`: thousands of generated requests, each with oauthlib's header.

use serde_json::Value;

use super::*;

const CASES: &str = include_str!("../../../data/oauth1.jsonl");

fn text<'a>(case: &'a Value, member: &str) -> &'a str {
    case[member].as_str().unwrap()
}

#[test]
fn thousands_of_requests_are_signed_as_oauthlib_signs_them() {
    let (mut count, mut bare) = (0, 0);
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let tokens = Tokens {
            consumer_key: text(&case, "ck").to_owned(),
            consumer_secret: secret(text(&case, "cs")),
            token: secret(text(&case, "t")),
            without_token: WithoutToken::Omit,
            token_secret: secret(text(&case, "ts")),
        };
        let stamp = NonceAndTimestamp {
            timestamp: text(&case, "at").parse().unwrap(),
            nonce: text(&case, "nonce").to_owned(),
        };
        let form = case["form"].as_str().map(str::as_bytes);
        let url = target(text(&case, "url"));
        let header = authorization(&tokens, text(&case, "m"), &url, form, &stamp).unwrap();
        let (_, signature) = header.split_once("oauth_signature=\"").unwrap();
        assert_eq!(signature.trim_end_matches('"'), text(&case, "sig"), "{line}");
        count += 1;
        let query = url.query().unwrap_or_default();
        let pieces = query.split('&').chain(case["form"].as_str().unwrap_or_default().split('&'));
        bare += usize::from(pieces.into_iter().any(|piece| !piece.is_empty() && !piece.contains('=')));
    }
    assert!(count >= 3600 && bare >= 300, "{count}, of which {bare} have a parameter without =");
}
