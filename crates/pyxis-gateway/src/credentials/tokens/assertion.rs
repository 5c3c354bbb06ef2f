//! Tokens for signed assertions: RFC 7523, and installations of GitHub Apps.

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use pyxis_core::auth::derived::{Assertion, GithubApp, JwtAlgorithm};
use pyxis_core::entropy;
use pyxis_signing::jwt::JwtKey;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::endpoint::{self, Form, GrantedToken, TokenError};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// Seconds for which an assertion is good.
const LIFE: i64 = 300;
/// Seconds by which `iat` lies in the past: an endpoint whose clock is behind takes an assertion of now for one of the
/// future.
const DRIFT: i64 = 60;

/// The key of a secret: the PEM text itself, or its field `private_key`.
pub(crate) fn key(algorithm: JwtAlgorithm, secret: &SecretValue) -> Result<JwtKey> {
    let pem = secret.text().or_else(|| secret.field("private_key"));
    let pem =
        pem.ok_or_else(|| Error::field("secret", "a private key as PEM, or an object with private_key"))?;
    JwtKey::from_pem(algorithm, pem).map_err(|error| Error::field("secret", error.to_string()))
}

fn sign(key: &JwtKey, claims: &Value, key_id: Option<&str>) -> Result<Zeroizing<String>> {
    let token = key.sign(claims, key_id).ok_or(Error::NoLongerAllowed("the key cannot sign"))?;
    Ok(Zeroizing::new(token))
}

/// RFC 7523, section 2.1.
pub(super) async fn exchange(
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
    let mut form = Form::new("urn:ietf:params:oauth:grant-type:jwt-bearer");
    form.add("assertion", &assertion);
    form.add_some("scope", config.scope.as_deref());
    endpoint::ask(state, &config.token_url, form, None).await.map_err(TokenError::of_an_assertion)
}

/// An installation token of a GitHub App.
pub(super) async fn github(
    state: &State,
    app: &GithubApp,
    secret: &SecretValue,
) -> Result<GrantedToken, TokenError> {
    let now = state.now().seconds();
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
    endpoint::send(state, &url, request).await.map_err(TokenError::of_an_assertion)
}
