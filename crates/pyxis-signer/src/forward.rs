//! `ANY /`: signs and forwards a request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use pyxis_core::policy::Method;
use pyxis_core::target::{Scheme, Target};
use pyxis_http::body::BodyError;
use pyxis_net::HostPort;
use pyxis_net::body::IdleTimeout;
use pyxis_signing::oauth1::{self, NonceAndTimestamp, Tokens};

use crate::State;
use crate::error::Error;
use crate::headers::{self, once};

/// Maximum size of a form that is buffered to be signed, in bytes. Other bodies are streamed.
const MAX_FORM: usize = 1024 * 1024;

const CREDENTIAL: HeaderName = HeaderName::from_static("x-oauth-credential");
const TARGET: HeaderName = HeaderName::from_static("x-oauth-target");
const METHOD: HeaderName = HeaderName::from_static("x-px-method");

/// Signing options from the headers.
struct SigningRequest<'a> {
    tokens: &'a Tokens,
    method: Method,
    target: Target,
    form: bool,
}

pub(crate) async fn forward(state: &State, request: Request) -> Result<Response, Error> {
    let (mut head, body) = request.into_parts();
    admit(state, &head.headers)?;
    let asked = read(state, &head.method, &head.headers)?;
    state.net.check(&HostPort::new(asked.target.written_host(), asked.target.port())).await?;
    let (authorization, body) = sign(state, &asked, body).await?;
    let sent_headers = headers::outgoing(std::mem::take(&mut head.headers), authorization);
    let mut outbound = http::Request::new(body);
    *outbound.method_mut() = wire_method(asked.method);
    *outbound.uri_mut() = uri(&asked.target)?;
    *outbound.headers_mut() = sent_headers;
    let answer = if asked.method.is_safe() {
        state.net.send(outbound, state.first_byte).await?
    } else {
        // Uses a new connection: if a host closed an idle one just now, it would be unclear whether the request was
        // executed.
        state.net.fresh().send(outbound, state.first_byte).await.map_err(Error::unanswered)?
    };
    Ok(relay(state, answer, asked.method == Method::Head && head.method != http::Method::HEAD))
}

/// Checks the signer's bearer token, if one is configured.
fn admit(state: &State, headers: &HeaderMap) -> Result<(), Error> {
    let Some(token) = &state.token else { return Ok(()) };
    let sent = once(headers, &AUTHORIZATION, "Authorization")?.ok_or(Error::Unauthenticated)?;
    let (scheme, sent) = sent.split_once(' ').ok_or(Error::Unauthenticated)?;
    if scheme.eq_ignore_ascii_case("bearer") && token.matches(sent.trim().as_bytes()) {
        Ok(())
    } else {
        Err(Error::Unauthenticated)
    }
}

fn read<'a>(
    state: &'a State,
    method: &http::Method,
    headers: &HeaderMap,
) -> Result<SigningRequest<'a>, Error> {
    let credential = once(headers, &CREDENTIAL, "X-OAuth-Credential")?;
    let target = once(headers, &TARGET, "X-OAuth-Target")?;
    let named = once(headers, &METHOD, "X-PX-Method")?;
    let credential = credential.ok_or(Error::MissingHeader("X-OAuth-Credential"))?;
    let target = target.ok_or(Error::MissingHeader("X-OAuth-Target"))?;
    let method = Method::parse_http(named.unwrap_or(method.as_str())).ok_or(Error::InvalidMethod)?;
    let target = Target::parse(target).map_err(|error| Error::InvalidTarget(error.to_string()))?;
    if target.scheme() == Scheme::Http && !state.allow_http {
        return Err(Error::InvalidTarget(
            "plain http is not allowed: the request would be sent unencrypted; set \
             OAUTH_SIGNER_ALLOW_HTTP=true to allow it"
                .to_owned(),
        ));
    }
    let tokens = state
        .credentials
        .find(credential)
        .ok_or_else(|| Error::UnknownCredential { known: state.credentials.names() })?;
    let values = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let form = oauth1::is_form(values(CONTENT_TYPE), values(CONTENT_ENCODING))?;
    Ok(SigningRequest { tokens, method, target, form })
}

/// The signature and the body to send with it.
async fn sign(
    state: &State,
    asked: &SigningRequest<'_>,
    body: Body,
) -> Result<(HeaderValue, pyxis_net::Body), Error> {
    let (form, body) = if asked.form {
        let bytes = read_form(body).await?;
        (Some(bytes.clone()), pyxis_net::body::full(bytes))
    } else {
        (None, pyxis_net::body::boxed(body))
    };
    let stamp = NonceAndTimestamp::new(state.clock.now(), &*state.entropy);
    let method = asked.method.as_str();
    let text = oauth1::authorization(asked.tokens, method, &asked.target, form.as_deref(), &stamp)?;
    // Contains only characters that are valid in a header.
    let mut value = HeaderValue::try_from(text).map_err(|_| Error::InvalidHeader("Authorization"))?;
    value.set_sensitive(true);
    Ok((value, body))
}

async fn read_form(body: Body) -> Result<Bytes, Error> {
    pyxis_http::body::read(body, MAX_FORM).await.map_err(|error| match error {
        BodyError::TooLarge => Error::FormTooLarge { max: MAX_FORM },
        BodyError::Broken => Error::IncompleteBody,
    })
}

fn wire_method(method: Method) -> http::Method {
    match method {
        Method::Get | Method::WebSocket => http::Method::GET,
        Method::Head => http::Method::HEAD,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
        Method::Options => http::Method::OPTIONS,
    }
}

fn uri(target: &Target) -> Result<Uri, Error> {
    target.to_string().parse().map_err(|_| Error::InvalidTarget("not a URI".to_owned()))
}

/// `unlengthed` means that the response announces the length of a body that the caller will not receive, although it
/// did not use HEAD.
fn relay(state: &State, answer: http::Response<Incoming>, unlengthed: bool) -> Response {
    let (parts, body) = answer.into_parts();
    let mut response = Response::new(Body::new(Relayed(IdleTimeout::new(body, state.idle))));
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers::incoming(parts.headers);
    if unlengthed {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// The target's body, without authentication trailers.
struct Relayed(IdleTimeout<Incoming>);

impl http_body::Body for Relayed {
    type Data = Bytes;
    type Error = pyxis_net::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, pyxis_net::Error>>> {
        let frame = ready!(Pin::new(&mut self.0).poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map(without_marks)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

fn without_marks(frame: Frame<Bytes>) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(trailers) => Frame::trailers(headers::incoming(trailers)),
        Err(frame) => frame,
    }
}
