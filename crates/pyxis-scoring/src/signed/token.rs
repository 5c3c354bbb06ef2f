//! A score as a JSON Web Token (RFC 7519).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pyxis_core::address::EvmAddress;
use serde::Serialize;

use super::statement::{ScoreStatement, decimal};

/// Type of a score's token (RFC 8725, section 3.11): no other token of an issuer passes for one.
pub const SCORE_TOKEN: &str = "pyxis-score+jwt";

/// Request for a token: to whom it is addressed and what it answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenRequest<'a> {
    pub audience: Option<&'a str>,
    pub challenge: Option<&'a str>,
}

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    kid: &'a str,
    typ: &'static str,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: EvmAddress,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    iat: i64,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    scorer_id: u64,
    score: String,
    threshold: String,
    passing_score: bool,
    computed_at: i64,
}

/// Header and claims as they are signed.
pub(super) fn signing_input(
    issuer: &str,
    key_id: &str,
    of: &ScoreStatement,
    asked: TokenRequest<'_>,
) -> serde_json::Result<String> {
    let header = Header { alg: "ES256", kid: key_id, typ: SCORE_TOKEN };
    let claims = Claims {
        iss: issuer,
        sub: of.address,
        aud: asked.audience,
        iat: of.issued_at,
        exp: of.expires_at,
        nonce: asked.challenge,
        scorer_id: of.scorer.get().unsigned_abs(),
        score: decimal(of.score),
        threshold: decimal(of.threshold),
        passing_score: of.passing,
        computed_at: of.computed_at,
    };
    let mut text = String::with_capacity(600);
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(&header)?, &mut text);
    text.push('.');
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(&claims)?, &mut text);
    Ok(text)
}

/// The compact token.
pub(super) fn compact(mut signing_input: String, signature: &[u8]) -> String {
    signing_input.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut signing_input);
    signing_input
}
