//! A request with its repetitions.

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::message::{Request, Response};
use crate::options::Options;
use crate::problem::{api_error, transport_error};
use crate::retry::{RetryDecision, decide};
use crate::transport::{AttemptError, Transport};

/// Context that the operations of a client share.
pub(crate) struct Exchange {
    pub(crate) transport: Transport,
    pub(crate) options: Options,
}

impl Exchange {
    /// Sends until there is a response that is final. Every status is a response.
    pub(crate) async fn send(&self, request: &Request) -> Result<(Response, u32, bool)> {
        let Options { retry, pace, .. } = &self.options;
        let mut attempt = 1;
        loop {
            let result = match self.transport.send(request).await {
                Ok(response) => Ok(response),
                Err(AttemptError::NoResponse(lack)) => Err(lack),
                Err(AttemptError::Fatal(error)) => return Err(error),
            };
            let verdict = decide(retry, request.repeat, result.as_ref(), attempt, pace.jitter(), pace.now());
            let exhausted = match verdict {
                RetryDecision::Again(pause) => {
                    pace.sleep(pause).await;
                    attempt += 1;
                    continue;
                }
                RetryDecision::Final => false,
                RetryDecision::Exhausted => true,
            };
            return match result {
                Ok(response) => Ok((response, attempt, exhausted)),
                Err(lack) => Err(transport_error(lack, attempt, exhausted)),
            };
        }
    }

    /// Sends, and fails unless the status is this one.
    pub(crate) async fn succeed(&self, request: &Request, status: u16) -> Result<Response> {
        let (response, attempts, exhausted) = self.send(request).await?;
        if response.status == status {
            return Ok(response);
        }
        Err(api_error(&response, attempts, exhausted, self.options.pace.now()))
    }

    /// Sends, and reads the JSON of a 200.
    pub(crate) async fn call<T: DeserializeOwned>(&self, request: &Request) -> Result<T> {
        read_json(&self.succeed(request, 200).await?)
    }
}

/// Reads JSON. Members that the type does not name are ignored, as the API asks of its clients.
pub(crate) fn read_json<T: DeserializeOwned>(response: &Response) -> Result<T> {
    serde_json::from_slice(&response.body).map_err(|error| {
        let rest = "is base_url the address of Pyxis?";
        Error::InvalidResponse(format!("the response cannot be read: {error}; {rest}"))
    })
}
