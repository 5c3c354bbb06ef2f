//! A signed assertion, exchanged for an access token (RFC 7523).

use pyxis_core::auth::Assertion;
use pyxis_core::entropy;
use serde_json::json;

use super::assertion::{DRIFT, LIFE, key, sign};
use super::{Behavior, Fetching};
use crate::credentials::token_endpoint::{self, GrantedToken, TokenClient, TokenError, TokenRequestBody};
use crate::error::Result;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

impl Behavior for Assertion {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        key(self.algorithm, secret).map(drop)
    }

    fn fetch<'a>(&'a self, state: &'a State, secret: &'a SecretValue, _refresh: &'a str) -> Fetching<'a> {
        Box::pin(exchange(state, self, secret))
    }
}

/// RFC 7523, section 2.1.
async fn exchange(
    state: &State,
    config: &Assertion,
    secret: &SecretValue,
) -> Result<GrantedToken, TokenError> {
    let now = state.now().seconds();
    let mut claims = json!({
        "iss": config.issuer,
        "sub": config.subject.as_deref().unwrap_or(&config.issuer),
        "aud": config.audience.as_deref().unwrap_or(&config.token_url),
        "iat": now - DRIFT,
        "exp": now - DRIFT + LIFE,
        "jti": entropy::token::<16>(&*state.entropy, ""),
    });
    if let Some(scope) = &config.scope {
        claims["scope"] = scope.as_str().into();
    }
    let assertion = sign(&key(config.algorithm, secret)?, &claims, config.key_id.as_deref())?;
    let mut form = TokenRequestBody::new("urn:ietf:params:oauth:grant-type:jwt-bearer");
    form.add("assertion", &assertion);
    form.add_some("scope", config.scope.as_deref());
    token_endpoint::request_token(TokenClient::from_state(state), &config.token_url, form, None)
        .await
        .map_err(TokenError::of_an_assertion)
}
