//! An installation of a GitHub App.

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use pyxis_core::auth::{GithubApp, JwtAlgorithm};
use serde_json::json;
use zeroize::Zeroizing;

use super::assertion::{DRIFT, LIFE, key, sign};
use super::{Behavior, Fetching};
use crate::credentials::token_endpoint::{self, GrantedToken, TokenClient, TokenError};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

impl Behavior for GithubApp {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        key(JwtAlgorithm::Rs256, secret).map(drop)
    }

    fn fetch<'a>(&'a self, state: &'a State, secret: &'a SecretValue, _refresh: &'a str) -> Fetching<'a> {
        Box::pin(installation(TokenClient::from_state(state), self, secret))
    }
}

/// An installation token.
async fn installation(
    client: TokenClient<'_>,
    app: &GithubApp,
    secret: &SecretValue,
) -> Result<GrantedToken, TokenError> {
    let now = client.clock.now().seconds();
    let claims = json!({ "iat": now - DRIFT, "exp": now + LIFE, "iss": app.app_id });
    let jwt = sign(&key(JwtAlgorithm::Rs256, secret)?, &claims, None)?;
    let bearer = Zeroizing::new(format!("Bearer {}", &*jwt));
    let mut value = HeaderValue::from_str(&bearer).map_err(|error| Error::Internal(error.into()))?;
    value.set_sensitive(true);
    let mut request = Request::new(pyxis_net::body::empty());
    request.headers_mut().insert(AUTHORIZATION, value);
    request.headers_mut().insert("user-agent", HeaderValue::from_static("pyxis"));
    let base = app.api_url.trim_end_matches('/');
    let url = format!("{base}/app/installations/{}/access_tokens", app.installation_id);
    token_endpoint::send(client, &url, request).await.map_err(TokenError::of_an_assertion)
}
