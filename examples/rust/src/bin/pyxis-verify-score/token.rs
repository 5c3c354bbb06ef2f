//! Tokens, verified with the published keys.

use anyhow::{Context, Result, ensure};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

use crate::Expected;

/// Claims of a token, except those that the library checks.
#[derive(Debug, Deserialize)]
pub struct ScoreClaims {
    pub sub: String,
    pub scorer_id: u64,
    pub score: String,
    pub threshold: String,
    pub nonce: Option<String>,
    pub aud: Option<String>,
}

/// The claims of a token, if one of `keys` signed it for this verifier and it is still good.
pub fn verify(token: &str, keys: &JwkSet, issuer: &str, expected: &Expected) -> Result<ScoreClaims> {
    let header = decode_header(token)?;
    // Otherwise any other token of the issuer would pass for a score.
    ensure!(header.typ.as_deref() == Some("pyxis-score+jwt"), "not a score's token");
    let key = header.kid.as_deref().and_then(|kid| keys.find(kid)).context("signed by an unknown key")?;
    let mut validation = Validation::new(Algorithm::ES256);
    validation.leeway = 0;
    validation.set_issuer(&[issuer]);
    validation.set_required_spec_claims(&["exp", "iss", "sub"]);
    // Compared below: the library takes a token for anyone if it is told of no audience.
    validation.validate_aud = false;
    let claims = decode::<ScoreClaims>(token, &DecodingKey::from_jwk(key)?, &validation)?.claims;
    ensure!(claims.scorer_id == expected.scorer, "of scorer {}", claims.scorer_id);
    ensure!(claims.sub.eq_ignore_ascii_case(&expected.address), "of {}", claims.sub);
    ensure!(claims.aud == expected.audience, "for another audience");
    ensure!(claims.nonce == expected.challenge, "answers another challenge");
    Ok(claims)
}
