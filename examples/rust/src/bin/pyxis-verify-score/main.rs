//! Verifies signed scores: tokens (JWT) for programs, and typed data (EIP-712) as contracts do.
//!
//! ```text
//! pyxis-verify-score 0x… [--challenge TEXT] [--audience TEXT] [--contract CHAIN_ID:0x…] [--signed FILE]
//! ```
//!
//! A file has a response to `?signed=jwt` or `eip712`, as somebody else hands it on. Without one, the program asks for
//! both forms itself. Copy what you need.

mod token;
mod typed;

use std::env;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use pyxis_client::model::signed::{Eip712Score, ScoreMessage};
use pyxis_client::{Client, Eip712Request, JwtRequest};
use serde::Deserialize;

/// Expectations of a verifier. Take all of it from your own settings, nothing from what is verified.
pub struct Expected {
    pub scorer: u64,
    pub address: String,
    /// Text that this verifier made up for one request.
    pub challenge: Option<String>,
    /// Recipient of a token.
    pub audience: Option<String>,
    /// Chain and contract that typed data is for.
    pub contract: Option<(u64, String)>,
}

/// The part of a response that is signed.
#[derive(Deserialize)]
struct Signed {
    jwt: Option<String>,
    signature: Option<String>,
    typed_data: Option<TypedData>,
}

#[derive(Deserialize)]
struct TypedData {
    message: ScoreMessage,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (expected, file) = arguments(env::args().skip(1))?;
    let base = env::var("PYXIS_URL").context("PYXIS_URL")?;
    // The keys are public; only a question about a score needs a key.
    let client = Client::new(&base, env::var("PYXIS_API_KEY").ok().as_deref())?;
    let signed = match file {
        Some(file) => serde_json::from_str(&fs::read_to_string(&file).context(file)?)?,
        None => request_score(&client, &expected).await?,
    };
    let published = client.score_keys().await?;
    let typed = signed.signature.as_ref().zip(signed.typed_data.as_ref());
    ensure!(signed.jwt.is_some() || typed.is_some(), "nothing is signed");
    if let Some((signature, TypedData { message })) = typed {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        typed::verify(signature, message, &published, &expected, now)?;
        let word = if message.passing { "passes" } else { "does not pass" };
        println!("signed for contracts: {word}, until {}", message.expires_at);
    }
    if let Some(jwt) = &signed.jwt {
        let keys = serde_json::from_value(serde_json::to_value(client.token_keys().await?)?)?;
        let claims = token::verify(jwt, &keys, &published.issuer, &expected)?;
        println!("signed as a token: {} of {}", claims.score, claims.threshold);
    }
    Ok(())
}

async fn request_score(client: &Client, expected: &Expected) -> Result<Signed> {
    let Expected { scorer, address, challenge, audience, contract } = expected;
    let (mut token, mut typed) = (JwtRequest::default(), Eip712Request::default());
    if let Some(challenge) = challenge {
        (token, typed) = (token.challenge(challenge), typed.challenge(challenge));
    }
    if let Some(audience) = audience {
        token = token.audience(audience);
    }
    if let Some((chain_id, contract)) = contract {
        typed = typed.contract(*chain_id, contract);
    }
    let jwt = client.signed_score_jwt(*scorer, address, token).await?.jwt;
    let Eip712Score { signature, message, .. } = client.signed_score_eip712(*scorer, address, typed).await?;
    Ok(Signed { jwt: Some(jwt), signature: Some(signature), typed_data: Some(TypedData { message }) })
}

/// The expectations, and a file with what is to be verified.
fn arguments(mut from: impl Iterator<Item = String>) -> Result<(Expected, Option<String>)> {
    let scorer = env::var("PYXIS_SCORER_ID").unwrap_or_else(|_| "1".to_owned()).parse()?;
    let address = from.next().context("name an address")?;
    let mut expected = Expected { scorer, address, challenge: None, audience: None, contract: None };
    let mut file = None;
    while let Some(name) = from.next() {
        let value = from.next().with_context(|| format!("{name} needs a value"))?;
        match &*name {
            "--challenge" => expected.challenge = Some(value),
            "--audience" => expected.audience = Some(value),
            "--signed" => file = Some(value),
            "--contract" => {
                let (chain, contract) = value.split_once(':').context("write --contract CHAIN_ID:0x…")?;
                expected.contract = Some((chain.parse()?, contract.to_owned()));
            }
            _ => bail!("unknown option {name}"),
        }
    }
    Ok((expected, file))
}
