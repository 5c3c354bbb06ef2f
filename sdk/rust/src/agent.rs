//! Requests of agents: services, forwarded requests and approvals.

mod forward;
mod model;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderName;

use crate::endpoint;
use crate::error::{Error, Result};
use crate::exchange::{Exchange, read_json};
use crate::message::Response;
use crate::options::Options;
use crate::problem::api_error;
use crate::secret::Secret;
use crate::transport::Transport;

pub use forward::Forward;
pub use model::{
    Forwarded, HeaderBytes, KeptResponse, MethodOutcome, PendingApproval, Service, Services, Transaction,
    UpstreamResponse, UrlRules,
};

/// Longest wait of one request, in seconds.
const MAX_WAIT: u64 = 60;
/// Wait of one poll, in seconds. Shorter than the idle limit of most reverse proxies.
const POLL_WAIT: u64 = 30;
const POLL_PAUSE: Duration = Duration::from_millis(500);

/// An agent that reaches upstreams through Pyxis.
pub struct Agent {
    exchange: Exchange,
}

impl Agent {
    /// An agent with the default options.
    pub fn new(base_url: &str, agent_key: &str) -> Result<Self> {
        Self::with_options(base_url, agent_key, Options::default())
    }

    /// An agent with options of your own.
    pub fn with_options(base_url: &str, agent_key: &str, options: Options) -> Result<Self> {
        let key = (HeaderName::from_static("x-px-key"), Secret::new("agent_key", agent_key)?);
        let transport = Transport::new(base_url, Some(key), &options)?;
        Ok(Self { exchange: Exchange { transport, options } })
    }

    /// List the credentials that the agent may use, and what each method does.
    pub async fn services(&self) -> Result<Services> {
        self.exchange.call(&endpoint::SERVICES.request(&[], &[])?).await
    }

    /// Send a request to an upstream, or find that a person must approve it.
    ///
    /// A method that changes something gets an idempotency key unless it has one, so that it is executed at most once.
    pub async fn forward(&self, forward: &Forward) -> Result<Forwarded> {
        let request = forward.request(|| self.exchange.options.pace.new_key())?;
        let (response, attempts, exhausted) = self.exchange.send(&request).await?;
        if response.header("px-error").is_some() {
            return Err(self.refusal(&response, attempts, exhausted));
        }
        if response.status == 202 && response.header("px-txn").is_some() {
            return Ok(Forwarded::Pending(read_json(&response)?));
        }
        let Response { status, headers, body } = response;
        Ok(Forwarded::Response(UpstreamResponse { status, headers, body, truncated: false }))
    }

    /// The error for a refusal, or for a decision that came while the request was held.
    fn refusal(&self, response: &Response, attempts: u32, exhausted: bool) -> Error {
        let error = api_error(response, attempts, exhausted, self.exchange.options.pace.now());
        let Some(api) = error.api() else { return error };
        let text = |name: &str| api.members.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let txn_id = text("txn_id").unwrap_or_default();
        match api.code.as_deref() {
            Some("approval_denied") => Error::ApprovalDenied { txn_id, reason: text("reason") },
            Some("approval_expired") => Error::ApprovalExpired { txn_id },
            _ => error,
        }
    }

    /// Read a transaction, after at most `wait` (up to 60 seconds).
    pub async fn transaction(&self, txn_id: &str, wait: Duration) -> Result<Transaction> {
        let seconds = wait.as_secs();
        if seconds > MAX_WAIT {
            return Err(Error::InvalidArgument(format!(
                "wait must be 0 to {MAX_WAIT} seconds, not {seconds}"
            )));
        }
        let text = seconds.to_string();
        let query = [("wait", (seconds > 0).then_some(&*text))];
        let mut request = endpoint::TRANSACTION.request(&[("txn_id", txn_id)], &query)?;
        request.wait = Duration::from_secs(seconds);
        self.exchange.call(&request).await
    }

    /// Wait until a person has decided, and return the upstream's response.
    ///
    /// Without a timeout, wait until the request expires.
    pub async fn wait_for_response(
        &self,
        txn_id: &str,
        timeout: Option<Duration>,
    ) -> Result<UpstreamResponse> {
        let pace = &self.exchange.options.pace;
        let deadline = timeout.map(|timeout| pace.now().saturating_add(timeout).unwrap_or(Timestamp::MAX));
        loop {
            let left = deadline.map(|deadline| Duration::try_from(deadline.duration_since(pace.now())));
            let left = left.map_or(POLL_WAIT, |left| left.unwrap_or_default().as_secs());
            let found = self.transaction(txn_id, Duration::from_secs(left.min(POLL_WAIT))).await?;
            if let Some(response) = found.into_response()? {
                return Ok(response);
            }
            if deadline.is_some_and(|deadline| pace.now() >= deadline) {
                return Err(Error::StillPending { txn_id: txn_id.to_owned() });
            }
            pace.sleep(POLL_PAUSE).await;
        }
    }

    /// Withdraw a request that waits for approval.
    pub async fn withdraw(&self, txn_id: &str) -> Result<()> {
        let request = endpoint::WITHDRAW.request(&[("txn_id", txn_id)], &[])?;
        self.exchange.succeed(&request, 204).await.map(|_| ())
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Agent").field(&self.exchange.transport.base_url()).finish()
    }
}
