//! HTTP by reqwest: one request, and the reason if there is no response.

use std::error::Error as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Method, Url, redirect};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::base_url::BaseUrl;
use crate::error::{Error, Result};
use crate::message::{NoResponse, Request, Response};
use crate::options::Options;
use crate::secret::Secret;

const AGENT: &str = concat!("pyxis-rust/", env!("CARGO_PKG_VERSION"));
/// Largest response that is read, in bytes.
const MAX_RESPONSE: usize = 64 << 20;

/// A connection pool, the address of the server and the key.
pub(crate) struct Transport {
    client: reqwest::Client,
    base_url: BaseUrl,
    key: Option<(HeaderName, Secret)>,
    timeout: std::time::Duration,
}

/// The failure of an attempt.
pub(crate) enum AttemptError {
    NoResponse(NoResponse),
    /// No attempt would help.
    Fatal(Error),
}

impl Transport {
    pub(crate) fn new(base_url: &str, key: Option<(HeaderName, Secret)>, options: &Options) -> Result<Self> {
        let base_url = BaseUrl::parse(base_url)?;
        if let Some((name, _)) = &key {
            base_url.check_key(name.as_str())?;
        }
        if options.timeout.is_zero() {
            return Err(Error::InvalidArgument("timeout must be above 0".to_owned()));
        }
        let tls = options.tls.clone().map_or_else(system_tls, Ok)?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            // Repetitions are decided here.
            .retry(reqwest::retry::never());
        if !base_url.is_encrypted() {
            // A proxy of the environment would read the key.
            builder = builder.no_proxy();
        }
        let client =
            builder.build().map_err(|error| Error::InvalidArgument(format!("no HTTP client: {error}")))?;
        Ok(Self { client, base_url, key, timeout: options.timeout })
    }

    pub(crate) fn base_url(&self) -> &str {
        self.base_url.as_str()
    }

    /// One attempt.
    pub(crate) async fn send(&self, request: &Request) -> std::result::Result<Response, AttemptError> {
        let url = format!("{}{}", self.base_url.as_str(), request.target);
        let url = Url::parse(&url).map_err(|_| unsendable("the URL"))?;
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| unsendable("the method"))?;
        let mut builder = self
            .client
            .request(method, url)
            .timeout(self.timeout.saturating_add(request.wait))
            .headers(self.headers(request)?);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let response = builder.send().await.map_err(|error| no_response(&error))?;
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        Ok(Response { status, headers, body: read(response).await? })
    }

    fn headers(&self, request: &Request) -> std::result::Result<HeaderMap, AttemptError> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        for (name, value) in &request.headers {
            // The value is not repeated: it may be secret.
            let header =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable("the name of a header"))?;
            headers.append(header, HeaderValue::from_str(value).map_err(|_| unsendable(name))?);
        }
        if let Some((name, key)) = &self.key {
            headers.insert(name.clone(), key.header());
        }
        Ok(headers)
    }
}

async fn read(mut response: reqwest::Response) -> std::result::Result<Bytes, AttemptError> {
    let mut body = BytesMut::new();
    while let Some(part) = response.chunk().await.map_err(|error| no_response(&error))? {
        if body.len() + part.len() > MAX_RESPONSE {
            let message = format!("the response has more than {MAX_RESPONSE} bytes");
            return Err(AttemptError::Fatal(Error::InvalidResponse(message)));
        }
        body.extend_from_slice(&part);
    }
    Ok(body.freeze())
}

fn system_tls() -> Result<rustls::ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| {
            Error::InvalidArgument(format!("the system's certificates cannot be used: {error}"))
        })?;
    Ok(builder.with_no_client_auth())
}

fn unsendable(what: &str) -> AttemptError {
    AttemptError::Fatal(Error::InvalidArgument(format!("{what} has characters that cannot be sent")))
}

fn no_response(error: &reqwest::Error) -> AttemptError {
    let before = error.is_connect();
    let reason = match (error.is_timeout(), before) {
        (true, true) => "no connection in time".to_owned(),
        (true, false) => "no response in time".to_owned(),
        (false, true) => format!("no connection: {}", innermost(error)),
        (false, false) => format!("the connection ended without a complete response: {}", innermost(error)),
    };
    AttemptError::NoResponse(NoResponse {
        reason,
        may_have_arrived: !before,
        timed_out: error.is_timeout(),
        permanent: is_refused_certificate(error),
    })
}

fn innermost(error: &reqwest::Error) -> String {
    let mut source = error.source();
    let mut last = None;
    while let Some(found) = source {
        last = Some(found.to_string());
        source = found.source();
    }
    last.unwrap_or_else(|| "no reason is known".to_owned())
}

fn is_refused_certificate(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(found) = source {
        if matches!(found.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        let inner = found.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        if inner
            .is_some_and(|inner| matches!(inner.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
        {
            return true;
        }
        source = found.source();
    }
    false
}
