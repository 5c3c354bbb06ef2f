//! The Pyxis server that the requests go to.

use std::time::Duration;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use pyxis_core::secret::SecretString;
use pyxis_net::body::{Body, empty, read_capped};
use pyxis_net::{Client, Error};
use serde_json::Value;

use crate::refusal::ProxyRefusal;
use crate::routes::{RouteChoice, Routes, RoutesError, ServiceList};

/// Longest time until a response begins. The server has limits of its own, and a person may take a minute to decide.
const TIMEOUT: Duration = Duration::from_mins(10);
/// Longest list of credentials, in bytes.
const MAX_LIST: usize = 16 * 1024 * 1024;

const KEY: HeaderName = HeaderName::from_static("x-px-key");
const CREDENTIAL: HeaderName = HeaderName::from_static("x-px-credential");
const METHOD: HeaderName = HeaderName::from_static("x-px-method");
const TARGET: HeaderName = HeaderName::from_static("x-px-target");
const ENTRY_POINT: HeaderName = HeaderName::from_static("x-px-entry-point");
const REASON: HeaderName = HeaderName::from_static("x-px-reason");

/// A Pyxis server and the agent key for it.
#[derive(Clone)]
pub struct Server {
    client: Client,
    base_url: String,
    /// URL that requests with a credential go to.
    forward: Uri,
    key: HeaderValue,
    /// Reason for requests that bring none.
    reason: Option<HeaderValue>,
}

/// Reason that the agent's credentials cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The base URL cannot be read as a URL.
    #[error("not a URL of a Pyxis server: {0}")]
    BadUrl(String),
    /// The key cannot stand in a header.
    #[error("not an agent key: it has characters that no key has")]
    BadKey,
    /// The reason cannot stand in a header.
    #[error("--reason: must have no line end and no other control character")]
    BadReason,
    /// No response.
    #[error("cannot reach Pyxis at {url}: {}", source.public_message())]
    Unreachable {
        /// Base URL of the server.
        url: String,
        /// The network's error.
        source: Error,
    },
    /// A refusal.
    #[error("Pyxis at {url} answered {status}: {detail}")]
    Refused {
        /// Base URL of the server.
        url: String,
        /// Status of its response.
        status: StatusCode,
        /// Its explanation.
        detail: String,
    },
    /// A choice of credentials that does not fit.
    #[error("--use")]
    Choice(#[from] RoutesError),
}

impl Server {
    /// A server at `base_url`, without a final slash, and a key for it.
    pub fn new(client: Client, base_url: String, key: &SecretString) -> Result<Self, ServerError> {
        let mut key = HeaderValue::from_str(key.expose()).map_err(|_| ServerError::BadKey)?;
        key.set_sensitive(true);
        let forward = format!("{base_url}/forward").parse();
        let forward = forward.map_err(|_| ServerError::BadUrl(base_url.clone()))?;
        Ok(Self { client, base_url, forward, key, reason: None })
    }

    /// The same server, which gets a reason with every request that brings none.
    pub fn with_reason(self, reason: &str) -> Result<Self, ServerError> {
        let reason = HeaderValue::from_str(reason).map_err(|_| ServerError::BadReason)?;
        Ok(Self { reason: Some(reason), ..self })
    }

    /// Base URL of the server.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Asks which credentials the key may use.
    pub async fn routes(&self, choices: Vec<RouteChoice>) -> Result<Routes, ServerError> {
        let url = format!("{}/agent/services", self.base_url);
        let request = Request::get(&url).header(KEY, &self.key).body(empty());
        let request =
            request.map_err(|error| self.server_error(StatusCode::BAD_REQUEST, error.to_string()))?;
        let response = self.client.send(request, TIMEOUT).await.map_err(|source| self.unreachable(source))?;
        let status = response.status();
        let body = read_capped(response.into_body(), MAX_LIST).await;
        let body = body.map_err(|source| self.unreachable(source))?;
        if !status.is_success() {
            let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
            let detail = problem["detail"].as_str().unwrap_or("it is not a Pyxis server that serves agents");
            return Err(self.server_error(status, detail.to_owned()));
        }
        let list: ServiceList = serde_json::from_slice(&body).map_err(|error| {
            self.server_error(status, format!("the list of credentials is unreadable: {error}"))
        })?;
        Ok(Routes::new(list, choices)?)
    }

    /// Sends a request of the command with a stored credential. `headers` are those for the target.
    pub(crate) async fn forward(
        &self,
        credential: &str,
        method: &Method,
        target: &str,
        mut headers: HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, ForwardError> {
        self.control(credential, method, target, &mut headers)?;
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.forward.clone();
        *request.headers_mut() = headers;
        Ok(self.client.send(request, TIMEOUT).await?)
    }

    /// Sends the handshake of a WebSocket with a stored credential. `headers` are those for the target, and those of the
    /// handshake except for `Connection` and `Upgrade`.
    pub(crate) async fn websocket(
        &self,
        credential: &str,
        target: &str,
        mut headers: HeaderMap,
    ) -> Result<Response<Incoming>, ForwardError> {
        self.control(credential, &Method::GET, target, &mut headers)?;
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        let mut request = Request::new(empty());
        *request.uri_mut() = self.forward.clone();
        *request.headers_mut() = headers;
        Ok(self.client.for_upgrade().send(request, TIMEOUT).await?)
    }

    /// Adds the headers that tell the server what to do.
    fn control(
        &self,
        credential: &str,
        method: &Method,
        target: &str,
        headers: &mut HeaderMap,
    ) -> Result<(), ForwardError> {
        let text = |value: &str| HeaderValue::from_bytes(value.as_bytes());
        headers.insert(KEY, self.key.clone());
        headers.insert(CREDENTIAL, text(credential)?);
        headers.insert(METHOD, text(method.as_str())?);
        headers.insert(TARGET, text(target)?);
        headers.insert(ENTRY_POINT, HeaderValue::from_static("run"));
        if let Some(reason) = &self.reason {
            headers.entry(REASON).or_insert_with(|| reason.clone());
        }
        Ok(())
    }

    fn unreachable(&self, source: Error) -> ServerError {
        ServerError::Unreachable { url: self.base_url.clone(), source }
    }

    fn server_error(&self, status: StatusCode, detail: String) -> ServerError {
        ServerError::Refused { url: self.base_url.clone(), status, detail }
    }
}

/// Reason that a request got no response from the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForwardError {
    /// The request cannot be written as one to the server.
    #[error("the request cannot be forwarded: {0}")]
    Invalid(#[from] http::Error),
    /// The network's error.
    #[error("{}", .0.public_message())]
    Network(#[from] Error),
}

impl ForwardError {
    /// The refusal that the command gets.
    pub(crate) fn refusal(&self, base_url: &str) -> ProxyRefusal {
        let detail = format!("no response of Pyxis at {base_url}: {self}");
        ProxyRefusal::new(StatusCode::BAD_GATEWAY, "pyxis_unreachable", detail)
    }
}

impl From<http::header::InvalidHeaderValue> for ForwardError {
    fn from(error: http::header::InvalidHeaderValue) -> Self {
        Self::Invalid(error.into())
    }
}
