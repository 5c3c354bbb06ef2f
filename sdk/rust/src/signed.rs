//! Requests for signed scores.

use serde::Serialize;

use crate::client::Client;
use crate::endpoint;
use crate::error::{Error, Result};
use crate::model::signed::{Eip712Score, JwtScore, ScoreKeys, SignedRecord, TokenKeys};

/// The challenge that a signed score answers. The server signs at the time of the request.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct ChallengeBody<'a> {
    challenge: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'a str>,
}

/// Verifier of a token. Without a challenge the token is for anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JwtRequest<'a> {
    challenge: Option<&'a str>,
    audience: Option<&'a str>,
}

impl<'a> JwtRequest<'a> {
    /// Bind the token to a text that the verifier made up: 1 to 256 printable ASCII characters.
    #[must_use]
    pub fn challenge(mut self, challenge: &'a str) -> Self {
        self.challenge = Some(challenge);
        self
    }

    /// Name the recipient (`aud`). The server takes it with a challenge only.
    #[must_use]
    pub fn audience(mut self, audience: &'a str) -> Self {
        self.audience = Some(audience);
        self
    }
}

/// Verifier of typed data. A contract accepts only its own chain and address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Eip712Request<'a> {
    chain_id: Option<u64>,
    verifying_contract: Option<&'a str>,
    challenge: Option<&'a str>,
}

impl<'a> Eip712Request<'a> {
    /// Bind the signature to a contract.
    #[must_use]
    pub fn contract(mut self, chain_id: u64, address: &'a str) -> Self {
        (self.chain_id, self.verifying_contract) = (Some(chain_id), Some(address));
        self
    }

    /// Bind the signature to a text that the verifier made up: 1 to 256 printable ASCII characters.
    #[must_use]
    pub fn challenge(mut self, challenge: &'a str) -> Self {
        self.challenge = Some(challenge);
        self
    }
}

impl Client {
    /// Read the latest score of an address as a token that others verify.
    pub async fn signed_score_jwt(
        &self,
        scorer_id: u64,
        address: &str,
        request: JwtRequest<'_>,
    ) -> Result<JwtScore> {
        let JwtRequest { challenge, audience } = request;
        if audience.is_some() && challenge.is_none() {
            let rest = "only a score that answers one names its recipient";
            return Err(Error::InvalidArgument(format!("audience needs a challenge: {rest}")));
        }
        let body = challenge.map(|challenge| ChallengeBody { challenge, audience });
        self.signed(scorer_id, address, &[("signed", Some("jwt"))], body).await?.into_jwt()
    }

    /// Read the latest score of an address as typed data with its signature, for EVM contracts.
    pub async fn signed_score_eip712(
        &self,
        scorer_id: u64,
        address: &str,
        request: Eip712Request<'_>,
    ) -> Result<Eip712Score> {
        let chain_id = request.chain_id.map(|id| id.to_string());
        let query = [
            ("signed", Some("eip712")),
            ("chain_id", chain_id.as_deref()),
            ("verifying_contract", request.verifying_contract),
        ];
        let body = request.challenge.map(|challenge| ChallengeBody { challenge, audience: None });
        self.signed(scorer_id, address, &query, body).await?.into_typed()
    }

    /// Read the public keys that sign scores. They may be kept for five minutes.
    pub async fn score_keys(&self) -> Result<ScoreKeys> {
        self.exchange.call(&endpoint::SCORE_KEYS.request(&[], &[])?).await
    }

    /// Read the public keys of tokens, as a JSON Web Key Set. They may be kept for five minutes.
    pub async fn token_keys(&self) -> Result<TokenKeys> {
        self.exchange.call(&endpoint::TOKEN_KEYS.request(&[], &[])?).await
    }

    async fn signed(
        &self,
        scorer_id: u64,
        address: &str,
        query: &[(&str, Option<&str>)],
        body: Option<ChallengeBody<'_>>,
    ) -> Result<SignedRecord> {
        let path = [("scorer_id", &*scorer_id.to_string()), ("address", address)];
        let request = match body {
            None => endpoint::SIGNED_SCORE.request(&path, query)?,
            Some(body) => endpoint::SIGN_SCORE.request(&path, query)?.json(&body)?,
        };
        self.exchange.call(&request).await
    }
}
