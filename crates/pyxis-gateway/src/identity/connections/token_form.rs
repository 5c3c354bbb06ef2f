//! Forms that clients post to the token and revocation endpoints.

use axum::extract::Request;
use http::header::CONTENT_TYPE;
use pyxis_core::secret::SecretString;

use super::protocol_error::{OauthError, OauthErrorCode};
use super::request_body;

/// Fields of a form. Any of them may be a secret.
pub(super) struct TokenForm(Vec<(String, SecretString)>);

impl TokenForm {
    /// Reads a form. A parameter may come once.
    pub(super) async fn read(request: Request) -> Result<Self, OauthError> {
        let refuse = |detail| OauthError::new(OauthErrorCode::InvalidRequest, detail);
        let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(refuse("the body must be application/x-www-form-urlencoded"));
        }
        let body = request_body::read(request).await?;
        let mut fields: Vec<(String, SecretString)> = Vec::new();
        for (name, value) in url::form_urlencoded::parse(&body) {
            if fields.iter().any(|(field, _)| *field == name) {
                return Err(refuse("a parameter was sent twice"));
            }
            fields.push((name.into_owned(), SecretString::new(value.into_owned())));
        }
        Ok(Self(fields))
    }

    /// The value of a field that is there and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(field, _)| field == name)?;
        Some(value.expose().as_str()).filter(|value| !value.is_empty())
    }

    /// The value of a field that the request must have.
    pub(super) fn required(&self, name: &'static str) -> Result<&str, OauthError> {
        self.get(name)
            .ok_or_else(|| OauthError::new(OauthErrorCode::InvalidRequest, format!("{name} is missing")))
    }
}
