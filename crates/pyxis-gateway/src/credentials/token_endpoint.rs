//! One request to a token endpoint (RFC 6749, sections 3.2 and 5).

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use pyxis_core::auth::{ClientAuth, Connected, TokenSource};
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::config::Config;
use crate::credentials::requests::authorize;
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// Largest answer that is read, in bytes.
const MAX_RESPONSE: usize = 64 * 1024;
/// Longest accepted lifetime.
const MAX_LIFE: u64 = 366 * 24 * 3600;
/// Longest scope that is kept, in bytes.
const MAX_SCOPE: usize = 4096;
/// Seconds between two clocks that are worth reporting. `Date` and network take a few.
const CLOCK_DIFFERS: u64 = 30;

/// Response of a token endpoint.
pub(crate) struct GrantedToken {
    pub(crate) access_token: Zeroizing<String>,
    pub(crate) refresh_token: Option<Zeroizing<String>>,
    /// Lifetime of the access token.
    pub(crate) life: Option<Duration>,
    /// Until when, where the endpoint says it that way.
    pub(crate) expires_at: Option<UnixMillis>,
    /// Its scope, where the endpoint names it.
    pub(crate) scope: Option<String>,
}

/// Why there is no token.
pub(crate) enum TokenError {
    /// The endpoint said no.
    Refused(TokenRefusal),
    /// It could not be asked, or not understood.
    Error(Error),
}

/// A no, and its code where it has one (RFC 6749, section 5.2).
pub(crate) struct TokenRefusal {
    status: StatusCode,
    code: String,
    /// Seconds by which the endpoint's clock is ahead of ours, by its `Date`.
    ahead: Option<i64>,
    /// True where what was refused is only good at its time.
    is_of_assertion: bool,
}

impl TokenRefusal {
    /// True if the provider says that what it granted is no longer good. It may say so by the RFC, by `OpenID`
    /// Connect for a person who withdrew their consent, or in GitHub's and Slack's own words.
    pub(crate) fn ends_the_connection(&self) -> bool {
        matches!(
            self.code.as_str(),
            "invalid_grant"
                | "interaction_required"
                | "consent_required"
                | "login_required"
                | "bad_refresh_token"
                | "invalid_refresh_token"
                | "token_revoked"
        )
    }

    /// True if a person must do something. Some providers say `invalid_request`, or nothing at all, of a
    /// refresh token that is no longer good.
    pub(crate) fn needs_a_person(&self) -> bool {
        let refused =
            matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let passes = matches!(self.code.as_str(), "temporarily_unavailable" | "server_error");
        self.ends_the_connection() || refused && !passes
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank = if self.code.is_empty() { "" } else { " " };
        write!(f, "it answered {}{blank}{}", self.status.as_u16(), self.code)?;
        match self.ahead {
            Some(ahead) if self.is_of_assertion && ahead.unsigned_abs() >= CLOCK_DIFFERS => {
                let direction = if ahead > 0 { "behind" } else { "ahead of" };
                write!(
                    f,
                    "; this machine's clock is {} seconds {direction} the endpoint's, and a signed assertion \
                     is valid only for a short time: check both clocks",
                    ahead.unsigned_abs()
                )
            }
            _ => Ok(()),
        }
    }
}

impl TokenError {
    /// The same about a signed assertion, which can be refused over the time.
    pub(crate) fn of_an_assertion(self) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(TokenRefusal { is_of_assertion: true, ..refusal }),
            error @ Self::Error(_) => error,
        }
    }
}

impl From<Error> for TokenError {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<TokenError> for Error {
    fn from(failure: TokenError) -> Self {
        match failure {
            TokenError::Error(error) => error,
            TokenError::Refused(refusal) => Self::TokenEndpoint(refusal.to_string()),
        }
    }
}

/// The form that is posted; wiped when dropped.
pub(crate) struct TokenRequestBody(Zeroizing<String>);

impl TokenRequestBody {
    pub(crate) fn new(grant_type: &str) -> Self {
        let mut form = Self(Zeroizing::new(String::with_capacity(512)));
        form.add("grant_type", grant_type);
        form
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        self.0.extend(form_encoded(value));
    }

    pub(crate) fn add_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.add(name, value);
        }
    }
}

/// What RFC 3986 does not reserve stays: some endpoints do not decode client ids.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) fn form_encoded(value: &str) -> PercentEncode<'_> {
    utf8_percent_encode(value, FORM)
}

/// Means of asking a token endpoint.
#[derive(Clone, Copy)]
pub(crate) struct TokenClient<'a> {
    pub(crate) config: &'a Config,
    pub(crate) net: &'a pyxis_net::Client,
    /// Read before and after the request, which may take long.
    pub(crate) clock: &'a dyn Clock,
}

impl<'a> TokenClient<'a> {
    pub(crate) fn from_state(state: &'a State) -> Self {
        Self { config: &state.config, net: &state.net, clock: &*state.clock }
    }
}

/// RFC 6749, section 4.4.
pub(crate) async fn client_credentials(
    client: TokenClient<'_>,
    source: &TokenSource,
    secret: &SecretValue,
) -> Result<GrantedToken, TokenError> {
    let mut form = TokenRequestBody::new("client_credentials");
    form.add_some("scope", source.scope.as_deref());
    form.add_some("audience", source.audience.as_deref());
    let authorization = identify(source.client_auth, secret, &mut form)?;
    request_token(client, &source.token_url, form, authorization).await
}

/// RFC 6749, section 6.
pub(crate) async fn refresh(
    client: TokenClient<'_>,
    account: &Connected,
    secret: &SecretValue,
    refresh_token: &str,
) -> Result<GrantedToken, TokenError> {
    let mut form = TokenRequestBody::new("refresh_token");
    form.add("refresh_token", refresh_token);
    // Without a scope it is the one that was granted, which may be less than was asked for.
    let authorization = identify(account.client_auth, secret, &mut form)?;
    request_token(client, &account.token_url, form, authorization).await
}

/// Section 4.1.3, with the proof of RFC 7636.
pub(crate) async fn code(
    client: TokenClient<'_>,
    account: &Connected,
    secret: &SecretValue,
    code: &str,
    verifier: &str,
    redirect_uri: &str,
) -> Result<GrantedToken, TokenError> {
    let mut form = TokenRequestBody::new("authorization_code");
    form.add("code", code);
    form.add("redirect_uri", redirect_uri);
    form.add("code_verifier", verifier);
    let authorization = identify(account.client_auth, secret, &mut form)?;
    request_token(client, &account.token_url, form, authorization).await
}

/// The client says who it is: in the form, or in the returned header. Without a secret it is a public
/// client and says its id in the form.
fn identify(
    how: ClientAuth,
    secret: &SecretValue,
    form: &mut TokenRequestBody,
) -> Result<Option<HeaderValue>> {
    let id = secret.field("client_id").ok_or_else(|| Error::field("secret.client_id", "is required"))?;
    let password = secret.field("client_secret").filter(|text| !text.is_empty());
    match (how, password) {
        (ClientAuth::Basic, Some(password)) => {
            let pair = Zeroizing::new(format!("{}:{}", form_encoded(id), form_encoded(password)));
            let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
            let mut value = HeaderValue::from_str(&text).map_err(|error| Error::Internal(error.into()))?;
            value.set_sensitive(true);
            Ok(Some(value))
        }
        (_, password) => {
            form.add("client_id", id);
            form.add_some("client_secret", password);
            Ok(None)
        }
    }
}

/// Posts a form to a token endpoint.
pub(crate) async fn request_token(
    client: TokenClient<'_>,
    url: &str,
    form: TokenRequestBody,
    authorization: Option<HeaderValue>,
) -> Result<GrantedToken, TokenError> {
    let mut request = Request::new(pyxis_net::body::full(form.0.as_bytes().to_vec()));
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    if let Some(value) = authorization {
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    send(client, url, request).await
}

/// Posts to a token endpoint, through the egress guard like any other request.
pub(crate) async fn send(
    client: TokenClient<'_>,
    url: &str,
    mut request: Request<pyxis_net::Body>,
) -> Result<GrantedToken, TokenError> {
    let TokenClient { config, net, clock } = client;
    let target = Target::parse(url).map_err(|error| Error::InvalidTarget(error.to_string()))?;
    net.check(&authorize::host_port(&target)).await.map_err(Error::from)?;
    *request.method_mut() = Method::POST;
    *request.uri_mut() =
        target.to_string().parse().map_err(|error: http::uri::InvalidUri| Error::Internal(error.into()))?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let unreachable = |error: pyxis_net::Error| match error {
        pyxis_net::Error::Blocked(blocked) => Error::TargetNotAllowed(blocked.to_string()),
        error => Error::TokenEndpoint(error.to_string()),
    };
    let answer = net.fresh().send(request, config.forward_timeout).await.map_err(unreachable)?;
    let status = answer.status();
    let ahead = clock_ahead(answer.headers(), clock.now());
    let body = pyxis_net::body::IdleTimeout::new(answer.into_body(), config.forward_timeout);
    let bytes =
        Zeroizing::new(pyxis_net::body::read_capped(body, MAX_RESPONSE).await.map_err(unreachable)?.to_vec());
    read(status, &bytes, ahead)
}

fn clock_ahead(answer: &HeaderMap, now: UnixMillis) -> Option<i64> {
    let date = UnixMillis::parse_http_date(answer.get(DATE)?.to_str().ok()?)?;
    Some(date.seconds() - now.seconds())
}

/// Providers differ in small things: numbers as texts, `token` for `access_token`, an error with 200.
#[derive(Deserialize)]
struct TokenResponse {
    #[serde(alias = "token")]
    access_token: Option<SecretString>,
    refresh_token: Option<SecretString>,
    expires_in: Option<Value>,
    expires_at: Option<Value>,
    scope: Option<Value>,
    error: Option<Value>,
}

fn read(status: StatusCode, body: &[u8], ahead: Option<i64>) -> Result<GrantedToken, TokenError> {
    let answer: Option<TokenResponse> = serde_json::from_slice(body).ok();
    let granted = answer.as_ref().filter(|_| status.is_success()).and_then(granted);
    granted.ok_or_else(|| {
        let code = answer.and_then(|answer| answer.error?.as_str().map(str::to_owned)).unwrap_or_default();
        // Codes are short words; whatever else a provider sends is not repeated.
        let plain = code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let code = if plain { code } else { String::new() };
        TokenError::Refused(TokenRefusal { code, status, ahead, is_of_assertion: false })
    })
}

fn granted(answer: &TokenResponse) -> Option<GrantedToken> {
    let keep = |secret: &SecretString| Zeroizing::new(secret.expose().clone());
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let access_token = answer.access_token.as_ref().filter(|token| !token.expose().is_empty()).map(keep)?;
    let life = answer.expires_in.as_ref().and_then(number);
    let end = answer.expires_at.as_ref().and_then(Value::as_str).and_then(UnixMillis::parse_rfc3339);
    Some(GrantedToken {
        access_token,
        refresh_token: answer.refresh_token.as_ref().filter(|token| !token.expose().is_empty()).map(keep),
        life: life.map(|seconds| Duration::from_secs(seconds.min(MAX_LIFE))),
        expires_at: end,
        scope: answer.scope.as_ref().and_then(scope),
    })
}

/// A text (RFC 6749, section 3.3) or, of some providers, a list.
fn scope(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(" "),
        _ => return None,
    };
    let is_plain = text.len() <= MAX_SCOPE && !text.chars().any(char::is_control);
    Some(text.trim().to_owned()).filter(|text| is_plain && !text.is_empty())
}
