//! Asks for a score as a token, and verifies it with the published keys as any other program would that is handed one.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::Agent;

/// The part of `/.well-known/pyxis-score-keys` that is needed here.
#[derive(Deserialize)]
struct Published {
    issuer: String,
}

/// The part of a signed score that is verified.
#[derive(Deserialize)]
struct Signed {
    jwt: String,
}

/// Claims of a token, except those that the library checks.
#[derive(Debug, Deserialize)]
pub struct ScoreClaims {
    pub sub: String,
    pub exp: u64,
    pub scorer_id: u64,
    pub score: String,
    pub threshold: String,
    pub passing_score: bool,
    pub nonce: Option<String>,
}

/// Expectations of a verifier. Take all of it from your own settings, nothing from the token.
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub scorer: u64,
    pub address: &'a str,
    pub audience: Option<&'a str>,
    pub challenge: Option<&'a str>,
}

/// The claims of a token, if one of `keys` signed it for this verifier and it is still good.
pub fn verify(token: &str, keys: &JwkSet, expected: &Expected<'_>) -> Result<ScoreClaims> {
    let header = decode_header(token)?;
    // Otherwise any other token of the issuer would pass for a score.
    ensure!(header.typ.as_deref() == Some("pyxis-score+jwt"), "not a score's token");
    let key = header.kid.as_deref().and_then(|kid| keys.find(kid)).context("signed by an unknown key")?;
    let mut validation = Validation::new(Algorithm::ES256);
    validation.leeway = 0;
    validation.set_issuer(&[expected.issuer]);
    validation.set_required_spec_claims(&["exp", "iss", "sub"]);
    if let Some(audience) = expected.audience {
        validation.set_audience(&[audience]);
        // Without this, a token for anyone would pass.
        validation.set_required_spec_claims(&["exp", "iss", "sub", "aud"]);
    } else {
        validation.validate_aud = false;
    }
    let claims = decode::<ScoreClaims>(token, &DecodingKey::from_jwk(key)?, &validation)?.claims;
    ensure!(claims.scorer_id == expected.scorer, "of scorer {}", claims.scorer_id);
    ensure!(claims.sub.eq_ignore_ascii_case(expected.address), "of {}", claims.sub);
    ensure!(claims.nonce.as_deref() == expected.challenge, "answers another challenge");
    Ok(claims)
}

fn main() -> Result<()> {
    let base = env::var("PYXIS_URL").context("PYXIS_URL")?;
    let base = base.trim_end_matches('/');
    let key = env::var("PYXIS_API_KEY").context("PYXIS_API_KEY")?;
    let scorer: u64 = env::var("PYXIS_SCORER_ID").unwrap_or_else(|_| "1".to_owned()).parse()?;
    let address = env::args().nth(1).context("name an address")?;
    let config = Agent::config_builder().timeout_global(Some(Duration::from_secs(60))).build();
    let agent = Agent::new_with_config(config);
    let published: Published = read(&agent, &format!("{base}/.well-known/pyxis-score-keys"), &key)?;
    let keys: JwkSet = read(&agent, &format!("{base}/.well-known/jwks.json"), &key)?;
    let path = format!("{base}/v2/stamps/{scorer}/score/{address}?signed=jwt");
    let Signed { jwt } = read(&agent, &path, &key)?;
    let expected =
        Expected { issuer: &published.issuer, scorer, address: &address, audience: None, challenge: None };
    let claims = verify(&jwt, &keys, &expected)?;
    let word = if claims.passing_score { "passes" } else { "does not pass" };
    println!("{} of {}: {word}, until {}", claims.score, claims.threshold, claims.exp);
    Ok(())
}

fn read<T: DeserializeOwned>(agent: &Agent, url: &str, key: &str) -> Result<T> {
    Ok(agent.get(url).header("X-API-KEY", key).call()?.body_mut().read_json()?)
}
