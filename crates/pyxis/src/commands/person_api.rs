//! The approvals API of a running server, as a person with a token.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use pyxis_core::secret::SecretString;
use pyxis_net::Client;
use pyxis_net::body::{empty, full, read_capped};
use serde_json::Value;

use super::run::access::secret_variable;
use super::{connect, saved_login};
use crate::app;
use crate::cli::PersonOptions;
use crate::config::Config;

/// Time until an answer begins.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest answer, in bytes. A request for approval is shown with its whole body.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;

/// A server, and a person's token for it.
pub(super) struct PersonApi {
    client: Client,
    url: String,
    token: HeaderValue,
}

/// No item at the path, or none that the person may see.
#[derive(Debug, thiserror::Error)]
#[error("not found: {0}")]
pub(super) struct UnknownItem(String);

/// An answer of the server.
pub(super) struct ApiResponse {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl PersonApi {
    /// The server and the token that options, variables or the saved login give, in this order.
    pub(super) fn new(config: &Config, options: &PersonOptions) -> Result<Self> {
        let given = connect::given_url(options.url.as_deref());
        let given = given.map(|(name, url)| connect::base_url(name, &url)).transpose()?;
        let token = secret_variable(&options.token_env)?;
        let saved = if token.is_some() && given.is_some() { None } else { saved_login::person()? };
        let env = &options.token_env;
        let (url, token) = match (given, token, saved) {
            (Some(url), Some(token), _) => (url, token),
            (None, Some(token), saved) => {
                (saved.map_or_else(|| connect::installation_url(config), |saved| saved.url), token)
            }
            (given, None, Some(saved)) => match given {
                Some(url) if url != saved.url => bail!(
                    "the saved login is for {}; run `pyxis login --url {url}`, or put an access token into {env}",
                    saved.url
                ),
                _ => (saved.url, saved.token),
            },
            (_, None, None) => bail!(
                "not signed in: run `pyxis login` with your access token, or put it into {env}. Create one with the \
                 scope px:approve in the dashboard, under Account"
            ),
        };
        Self::with_token(config, url, &token)
    }

    /// A server at `url`, without a final slash, and a token for it.
    pub(super) fn with_token(config: &Config, url: String, token: &SecretString) -> Result<Self> {
        let header = SecretString::new(format!("Bearer {}", token.expose()));
        let mut token = HeaderValue::from_str(header.expose())
            .map_err(|_| anyhow!("not an access token: it has characters that no token has"))?;
        token.set_sensitive(true);
        // The address is the operator's own, and often a private one.
        Ok(Self { client: app::client(config)?.private(), url, token })
    }

    /// Base URL of the server.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Reads what is at `path`. A refusal is an error.
    pub(super) async fn get(&self, path: &str) -> Result<Value> {
        let answer = self.send(Method::GET, path, None).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.refusal(&answer)) }
    }

    /// Sends `body` to `path`. A refusal is an error.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let answer = self.send(Method::POST, path, Some(body)).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(self.refusal(&answer)) }
    }

    /// Sends one request.
    pub(super) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<ApiResponse> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header(AUTHORIZATION, &self.token)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(body.map_or_else(empty, |body| full(body.to_string())))
            .with_context(|| format!("not a server's URL: {}", self.url))?;
        let unreachable = |error: pyxis_net::Error| {
            anyhow!("cannot reach Pyxis at {}: {}", self.url, error.public_message())
        };
        let response = self.client.send(request, TIMEOUT).await.map_err(unreachable)?;
        let status = response.status();
        let body = read_capped(response.into_body(), MAX_RESPONSE).await.map_err(unreachable)?;
        Ok(ApiResponse { status, body: serde_json::from_slice(&body).unwrap_or_default() })
    }

    /// A refusal in words, with what to do.
    fn refusal(&self, answer: &ApiResponse) -> anyhow::Error {
        let problem = &answer.body;
        let detail = problem["detail"].as_str();
        match (answer.status, problem["code"].as_str()) {
            (StatusCode::UNAUTHORIZED, _) => anyhow!(
                "{} does not accept the access token: it is unknown, revoked or expired. Create another one in the \
                 dashboard under Account and run `pyxis login`",
                self.url
            ),
            (_, Some("insufficient_scope")) => anyhow!(
                "the access token lacks the scope {}; create one that has it in the dashboard under Account",
                problem["scope"].as_str().unwrap_or("px:approve")
            ),
            (_, Some("passkey_required")) => {
                let page = problem["url"].as_str().unwrap_or(&self.url);
                anyhow!("this approval needs a passkey; open {page}")
            }
            (_, Some("already_decided")) => match problem["state"].as_str() {
                Some("pending") => {
                    anyhow!("you have already approved this request; it waits for other approvers")
                }
                Some("expired") => anyhow!("the request expired before it was decided; nothing was sent"),
                Some(state) => anyhow!("the request is already {state}"),
                None => anyhow!("the request is already decided"),
            },
            (StatusCode::NOT_FOUND, Some(_)) => {
                anyhow::Error::new(UnknownItem(detail.unwrap_or("no such item").to_owned()))
            }
            (status, Some(_)) if detail.is_some() => {
                let field = problem["field"].as_str().map(|field| format!("{field}: ")).unwrap_or_default();
                anyhow!("{field}{} ({status})", detail.unwrap_or_default())
            }
            (status, _) => {
                anyhow!("{} answered {status}, not as a Pyxis server that serves approvals does", self.url)
            }
        }
    }
}
