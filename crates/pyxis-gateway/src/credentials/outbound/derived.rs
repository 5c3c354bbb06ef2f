//! Kinds that make what they attach for each request, or fetch it: signatures, access tokens, client
//! certificates.

mod body;

use std::pin::Pin;
use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use pyxis_core::auth::derived::{Hmac, Oauth1};
use pyxis_core::auth::{Auth, AwsScope};
use pyxis_core::entropy;
use pyxis_core::policy::Method;
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use pyxis_net::{Body, Client};
use pyxis_signing::hmac_request::SignedHeaders;
use pyxis_signing::oauth1::{self, AmbiguousBody, NonceAndTimestamp, Tokens};
use pyxis_signing::{hmac_request, sigv4};
use zeroize::Zeroizing;

use super::sought::Sought;
use super::spellings::remove_spellings;
use super::{Outbound, UpstreamResponse, wire_request, wrap};
use crate::credentials::tokens;
use crate::error::lost_answer::LostAnswer;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// What a request needs besides what was judged.
struct Attached {
    headers: HeaderMap,
    body: Body,
    /// What must not come back.
    sought: Sought,
    client: Client,
    /// The access token, where one was fetched.
    token: Option<SecretString>,
    /// The target without parameters that only a signature may have, where it had any.
    target: Option<Target>,
}

/// A dispatch under way. Named, so that the future of requests that do without stays small.
type Dispatching<'a> = Pin<Box<dyn Future<Output = Result<UpstreamResponse>> + Send + 'a>>;

/// As [`super::dispatch`], for these kinds.
pub(super) fn dispatch<'a>(state: &'a State, outbound: Outbound<'a>, body: Body) -> Dispatching<'a> {
    Box::pin(run(state, outbound, body))
}

async fn run(state: &State, mut outbound: Outbound<'_>, body: Body) -> Result<UpstreamResponse> {
    let credential = outbound.credential;
    let opened = credential.open_needed(&state.keyring)?;
    let secret = opened.secret();
    let headers = std::mem::take(&mut outbound.headers);
    let mut attached = Attached {
        headers,
        body,
        sought: Sought::of(credential.auth.as_ref(), secret),
        client: state.net.clone(),
        token: None,
        target: None,
    };
    attach(state, &outbound, secret, &mut attached).await?;
    let Attached { headers, body, sought, client, token, target } = attached;
    let url = Zeroizing::new(target.as_ref().unwrap_or(outbound.target).to_string());
    let request = wire_request(outbound.method, &url, headers, body)?;
    let client = if outbound.is_fresh { client.fresh() } else { client };
    let sent = client.send(request, state.config.forward_timeout).await;
    let response = sent.map_err(|error| told(credential, outbound.method, error))?;
    if let Some(token) = token.filter(|_| response.status() == StatusCode::UNAUTHORIZED) {
        tokens::rejected(state, credential, &token).await;
    }
    wrap(state, credential, response, Arc::new(sought.needles(&credential.row.name)))
}

/// A host that does not like a client certificate may hang up before its reason has arrived.
fn told(credential: &ResolvedCredential, method: Method, error: pyxis_net::Error) -> Error {
    let is_closed = matches!(error, pyxis_net::Error::Closed { .. });
    let error = Error::unanswered(error, method);
    if !is_closed || !matches!(credential.auth, Some(Auth::Mtls {})) {
        return error;
    }
    match error {
        Error::OutcomeUnknown(_) => Error::OutcomeUnknown(LostAnswer::ClosedAfterCertificate),
        _ => Error::Upstream(
            "the host closed the connection early; it may not accept the client certificate".into(),
        ),
    }
}

async fn attach(
    state: &State,
    outbound: &Outbound<'_>,
    secret: &SecretValue,
    attached: &mut Attached,
) -> Result<()> {
    let credential = outbound.credential;
    match &credential.auth {
        Some(Auth::Oauth1(config)) => oauth1(state, outbound, config, secret, attached).await,
        Some(Auth::AwsSigv4(scope)) => aws(state, outbound, scope, secret, attached).await,
        Some(Auth::Hmac(config)) => hmac(state, outbound, config, secret, attached).await,
        Some(Auth::Mtls {}) => {
            attached.client = state.mtls_clients.client(&state.net, credential, secret)?;
            Ok(())
        }
        Some(
            Auth::Oauth2ClientCredentials(_)
            | Auth::Oauth2Refresh(_)
            | Auth::JwtBearer(_)
            | Auth::GithubApp(_),
        ) => bearer(state, credential, secret, attached).await,
        _ => Err(Error::NoLongerAllowed("the credential is attached in another way")),
    }
}

async fn bearer(
    state: &State,
    credential: &ResolvedCredential,
    secret: &SecretValue,
    attached: &mut Attached,
) -> Result<()> {
    let token = tokens::token(state, credential, secret).await?;
    let text = Zeroizing::new(format!("Bearer {}", token.expose()));
    attached.headers.insert(AUTHORIZATION, sensitive(&text)?);
    attached.sought.add_sent(token.expose(), || text.to_string());
    attached.token = Some(token);
    Ok(())
}

async fn oauth1(
    state: &State,
    outbound: &Outbound<'_>,
    config: &Oauth1,
    secret: &SecretValue,
    attached: &mut Attached,
) -> Result<()> {
    let values = |name| attached.headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let is_form = oauth1::is_form(values(CONTENT_TYPE), values(CONTENT_ENCODING)).map_err(unclear)?;
    let form = if is_form { Some(body::take(state, &mut attached.body).await?) } else { None };
    let stamp = NonceAndTimestamp::new(state.now(), &*state.entropy);
    let (method, target) = (outbound.method.as_str(), outbound.target);
    let text =
        oauth1::authorization(&oauth1_tokens(*config, secret)?, method, target, form.as_deref(), &stamp)
            .map_err(|error| Error::OauthParameter(error.to_string()))?;
    attached.headers.insert(AUTHORIZATION, sensitive(&text)?);
    // Anyone with the signature could send the request again.
    let signature = text.split_once("oauth_signature=\"").and_then(|(_, rest)| rest.split('"').next());
    attached.sought.add_percent_encoded(signature.unwrap_or_default());
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
fn oauth1_tokens(config: Oauth1, secret: &SecretValue) -> Result<Tokens> {
    let part = |name: &'static str, other: &'static str| secret.field(name).or_else(|| secret.field(other));
    let needed = |name: &'static str| needed(secret, name).map(str::to_owned);
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

async fn aws(
    state: &State,
    outbound: &Outbound<'_>,
    scope: &AwsScope,
    secret: &SecretValue,
    attached: &mut Attached,
) -> Result<()> {
    let date = sigv4::date(state.now());
    let hash = sigv4::payload_hash(&body::take(state, &mut attached.body).await?);
    if let Some(query) = outbound.target.query().and_then(sigv4::without_signature) {
        let path = format!("{}{}", outbound.target.origin(), outbound.target.path());
        let url = if query.is_empty() { path } else { format!("{path}?{query}") };
        attached.target = Some(Target::parse(&url).map_err(|error| Error::Internal(error.into()))?);
    }
    let target = attached.target.as_ref().unwrap_or(outbound.target);
    let host = target.authority();
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
    let mut signed = vec![("host", host.as_str())];
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
        access_key_id: needed(secret, "access_key_id")?.to_owned(),
        secret_access_key: SecretString::new(needed(secret, "secret_access_key")?.to_owned()),
    };
    let request =
        sigv4::Request { method: outbound.method.as_str(), target, headers: &signed, payload_hash: &hash };
    let scope = sigv4::SigningScope { region: &scope.region, service: &scope.service };
    let text = sigv4::authorization(&keys, scope, &date, &request);
    attached.headers.insert(AUTHORIZATION, sensitive(&text)?);
    attached.sought.add(text.rsplit_once("Signature=").map_or("", |(_, signature)| signature));
    Ok(())
}

async fn hmac(
    state: &State,
    outbound: &Outbound<'_>,
    config: &Hmac,
    secret: &SecretValue,
    attached: &mut Attached,
) -> Result<()> {
    let body = body::take(state, &mut attached.body).await?;
    let nonce = entropy::token::<16>(&*state.entropy, "");
    let request = hmac_request::Request {
        method: outbound.method.as_str(),
        target: outbound.target,
        body: &body,
        now: state.now(),
        nonce: &nonce,
    };
    let SignedHeaders { headers, signature } = sign_hmac(config, &request, secret)?;
    attached.sought.add(&signature);
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

fn needed<'a>(secret: &'a SecretValue, name: &'static str) -> Result<&'a str> {
    let found = secret.field(name).filter(|value| !value.is_empty());
    found.ok_or_else(|| Error::field(format!("secret.{name}"), "this auth kind needs it"))
}

fn sensitive(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::field("secret", "has characters that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Checks when it is written that a secret has what its kind needs.
pub(crate) fn check(auth: &Auth, secret: &SecretValue) -> Result<()> {
    match auth {
        Auth::Oauth1(config) => oauth1_tokens(*config, secret).map(drop),
        Auth::AwsSigv4(_) => {
            needed(secret, "access_key_id")?;
            needed(secret, "secret_access_key").map(drop)
        }
        Auth::Hmac(config) => {
            let sample =
                Target::parse("https://example.com/").map_err(|error| Error::Internal(error.into()))?;
            let now = pyxis_core::clock::UnixMillis(0);
            let request =
                hmac_request::Request { method: "GET", target: &sample, body: b"", now, nonce: "0" };
            sign_hmac(config, &request, secret)?
                .headers
                .iter()
                .try_for_each(|(_, value)| sensitive(value).map(drop))
        }
        Auth::Oauth2ClientCredentials(_) => {
            needed(secret, "client_id")?;
            needed(secret, "client_secret").map(drop)
        }
        Auth::Oauth2Refresh(_) => needed(secret, "client_id").map(drop),
        Auth::JwtBearer(config) => tokens::assertion_key(config.algorithm, secret).map(drop),
        Auth::GithubApp(_) => {
            tokens::assertion_key(pyxis_core::auth::derived::JwtAlgorithm::Rs256, secret).map(drop)
        }
        Auth::Mtls {} => crate::runtime::mtls_clients::read(secret).map(drop),
        _ => Ok(()),
    }
}
