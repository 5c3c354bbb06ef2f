//! A signature over parts of the request.

use http::HeaderName;
use pyxis_core::auth::Hmac;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy;
use pyxis_core::headers;
use pyxis_core::target::Target;
use pyxis_signing::hmac_request::{self, SignedHeaders};

use super::parts::sensitive;
use super::{Attached, Behavior, Signing, Unsigned, body};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

impl Behavior for Hmac {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        let sample = Target::parse("https://example.com/").map_err(|error| Error::Internal(error.into()))?;
        let now = UnixMillis(0);
        let request = hmac_request::Request { method: "GET", target: &sample, body: b"", now, nonce: "0" };
        let signed = sign_hmac(self, &request, secret)?;
        signed.headers.iter().try_for_each(|(_, value)| sensitive(value).map(drop))
    }

    fn sets_header(&self, name: &str) -> bool {
        self.headers.iter().any(|header| headers::is_same(&header.name, name))
    }

    fn sign<'a>(&'a self, request: Unsigned<'a>, attached: &'a mut Attached) -> Signing<'a> {
        Box::pin(sign(self, request, attached))
    }
}

async fn sign(config: &Hmac, request: Unsigned<'_>, attached: &mut Attached) -> Result<()> {
    let Unsigned { state, secret, method, target, .. } = request;
    let body = body::buffer_body(&state.config, &state.held_bodies, &mut attached.body).await?;
    let nonce = entropy::token::<16>(&*state.entropy, "");
    let request = hmac_request::Request {
        method: method.as_str(),
        target,
        body: &body,
        now: state.now(),
        nonce: &nonce,
    };
    let SignedHeaders { headers, signature } = sign_hmac(config, &request, secret)?;
    attached.search_strings.add(&signature);
    for (name, value) in headers {
        let name = HeaderName::try_from(name).map_err(|error| Error::Internal(error.into()))?;
        attached.headers.insert(name, sensitive(&value)?);
    }
    Ok(())
}

fn sign_hmac(
    config: &Hmac,
    request: &hmac_request::Request<'_>,
    secret: &SecretValue,
) -> Result<SignedHeaders> {
    // One string alone is the key.
    let field = |name: &str| match (secret.text(), name) {
        (Some(text), "key") => Some(text.to_owned()),
        _ => secret.field(name).map(str::to_owned),
    };
    hmac_request::sign(config, request, &field).map_err(|error| Error::field("auth", error.to_string()))
}
