//! AWS Signature Version 4.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use pyxis_core::auth::AwsScope;
use pyxis_core::headers;
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use pyxis_signing::sigv4;

use super::parts::{required_part, sensitive};
use super::spellings::remove_spellings;
use super::{Attached, Behavior, Signing, Unsigned, body};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

/// Headers of a signature, apart from `Authorization`.
const SET: [&str; 3] = ["x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];

impl Behavior for AwsScope {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        required_part(secret, "access_key_id")?;
        required_part(secret, "secret_access_key").map(drop)
    }

    fn sets_header(&self, name: &str) -> bool {
        SET.iter().any(|set| headers::is_same(set, name))
    }

    fn sign<'a>(&'a self, request: Unsigned<'a>, attached: &'a mut Attached) -> Signing<'a> {
        Box::pin(sign(self, request, attached))
    }
}

async fn sign(scope: &AwsScope, request: Unsigned<'_>, attached: &mut Attached) -> Result<()> {
    let Unsigned { state, secret, method, target: asked, .. } = request;
    let date = sigv4::date(state.now());
    let hash =
        sigv4::payload_hash(&body::buffer_body(&state.config, &state.held_bodies, &mut attached.body).await?);
    if let Some(query) = asked.query().and_then(sigv4::without_signature) {
        let path = format!("{}{}", asked.origin(), asked.path());
        let url = if query.is_empty() { path } else { format!("{path}?{query}") };
        attached.target = Some(Target::parse(&url).map_err(|error| Error::Internal(error.into()))?);
    }
    let target = attached.target.as_ref().unwrap_or(asked);
    let name = HeaderName::from_static;
    let headers = &mut attached.headers;
    for own in ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"] {
        remove_spellings(headers, own);
    }
    headers.insert(name("x-amz-date"), sensitive(&date)?);
    headers.insert(name("x-amz-content-sha256"), sensitive(&hash)?);
    if let Some(token) = secret.field("session_token") {
        headers.insert(name("x-amz-security-token"), sensitive(token)?);
    }
    let mut signed = vec![("host", target.authority())];
    for (header, value) in &*headers {
        let text = std::str::from_utf8(value.as_bytes());
        match text {
            Ok(text) if sigv4::is_signed(header.as_str()) => signed.push((header.as_str(), text)),
            Err(_) if header.as_str().starts_with("x-amz-") => {
                return Err(Error::InvalidHeader { name: "x-amz-*", detail: "must be text to be signed" });
            }
            _ => {}
        }
    }
    // One line that is not text would leave the others of its name signed without it.
    let is_text = |value: &HeaderValue| std::str::from_utf8(value.as_bytes()).is_ok();
    signed.retain(|(header, _)| headers.get_all(*header).iter().all(is_text));
    let keys = sigv4::Keys {
        access_key_id: required_part(secret, "access_key_id")?.to_owned(),
        secret_access_key: SecretString::new(required_part(secret, "secret_access_key")?.to_owned()),
    };
    let request = sigv4::Request { method: method.as_str(), target, headers: &signed, payload_hash: &hash };
    let scope = sigv4::SigningScope { region: &scope.region, service: &scope.service };
    let text = sigv4::authorization(&keys, scope, &date, &request);
    attached.headers.insert(AUTHORIZATION, sensitive(&text)?);
    attached.search_strings.add(text.rsplit_once("Signature=").map_or("", |(_, signature)| signature));
    Ok(())
}
