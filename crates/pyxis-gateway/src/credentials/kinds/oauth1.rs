//! OAuth 1.0a.

use http::HeaderValue;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use pyxis_core::auth::Oauth1;
use pyxis_core::secret::SecretString;
use pyxis_signing::oauth1::{self, AmbiguousBody, NonceAndTimestamp, Tokens};

use super::parts::{required_part, sensitive};
use super::{Attached, Behavior, Signing, Unsigned, body};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

impl Behavior for Oauth1 {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        tokens(*self, secret).map(drop)
    }

    fn sign<'a>(&'a self, request: Unsigned<'a>, attached: &'a mut Attached) -> Signing<'a> {
        Box::pin(sign(self, request, attached))
    }
}

async fn sign(config: &Oauth1, request: Unsigned<'_>, attached: &mut Attached) -> Result<()> {
    let Unsigned { state, secret, method, target, .. } = request;
    let values = |name| attached.headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let is_form = oauth1::is_form(values(CONTENT_TYPE), values(CONTENT_ENCODING)).map_err(unclear)?;
    let form = if is_form {
        Some(body::buffer_body(&state.config, &state.held_bodies, &mut attached.body).await?)
    } else {
        None
    };
    let stamp = NonceAndTimestamp::new(state.now(), &*state.entropy);
    let method = method.as_str();
    let text = oauth1::authorization(&tokens(*config, secret)?, method, target, form.as_deref(), &stamp)
        .map_err(|error| Error::OauthParameter(error.to_string()))?;
    attached.headers.insert(AUTHORIZATION, sensitive(&text)?);
    // Anyone with the signature could send the request again.
    let signature = text.split_once("oauth_signature=\"").and_then(|(_, rest)| rest.split('"').next());
    attached.search_strings.add_percent_encoded(signature.unwrap_or_default());
    Ok(())
}

fn unclear(why: AmbiguousBody) -> Error {
    match why {
        AmbiguousBody::TwoTypes => Error::DuplicateHeader("Content-Type"),
        AmbiguousBody::NoText => Error::InvalidHeader { name: "Content-Type", detail: "must be text" },
        AmbiguousBody::EncodedForm => Error::EncodedForm,
    }
}

/// The four parts of an OAuth 1.0a secret; `access_token` and `access_token_secret` are other names of
/// the last two.
fn tokens(config: Oauth1, secret: &SecretValue) -> Result<Tokens> {
    let part = |name: &'static str, other: &'static str| secret.field(name).or_else(|| secret.field(other));
    let needed = |name: &'static str| required_part(secret, name).map(str::to_owned);
    Ok(Tokens {
        consumer_key: needed("consumer_key")?,
        consumer_secret: SecretString::new(needed("consumer_secret")?),
        without_token: config.without_token,
        token: SecretString::new(part("token", "access_token").unwrap_or_default().to_owned()),
        token_secret: SecretString::new(
            part("token_secret", "access_token_secret").unwrap_or_default().to_owned(),
        ),
    })
}
