//! A request for an upstream.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use crate::endpoint;
use crate::error::{Error, Result};
use crate::message::Request;
use crate::repeat::{FORWARD_ONCE, FORWARD_SAFE};

use super::MAX_WAIT;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// Methods that change nothing, so that they may be sent again.
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
const OWN_HEADERS: [&str; 5] =
    ["idempotency-key", "host", "content-length", "transfer-encoding", "connection"];

/// A request for an upstream with a stored credential.
#[derive(Clone)]
#[must_use]
pub struct Forward {
    credential: String,
    target: String,
    method: String,
    headers: Vec<(String, String)>,
    body: Option<Bytes>,
    reason: Option<String>,
    idempotency_key: Option<String>,
    wait: u64,
}

impl Forward {
    /// A GET of `target` with a stored credential.
    pub fn new(credential: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            credential: credential.into(),
            target: target.into(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            reason: None,
            idempotency_key: None,
            wait: 0,
        }
    }

    /// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = method.into();
        self
    }

    /// Add a header for the upstream.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Set the body. Add its `Content-Type` as a header.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Set a JSON body with its `Content-Type`.
    pub fn json(self, value: &impl Serialize) -> Result<Self> {
        let body = serde_json::to_vec(value).map_err(|error| {
            Error::InvalidArgument(format!("the body cannot be written as JSON: {error}"))
        })?;
        Ok(self.header("content-type", "application/json").body(body))
    }

    /// Text for the approver.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// A key of your own, which makes repetitions of yours the same request.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Hold the request for a decision, up to 60 seconds.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait.as_secs();
        self
    }

    pub(super) fn request(&self, new_key: impl FnOnce() -> String) -> Result<Request> {
        let refuse = |message: String| Err(Error::InvalidArgument(message));
        if !METHODS.contains(&self.method.as_str()) {
            return refuse(format!("method must be one of {}, not {:?}", METHODS.join(", "), self.method));
        }
        if self.wait > MAX_WAIT {
            return refuse(format!("wait must be 0 to {MAX_WAIT} seconds, not {}", self.wait));
        }
        for (name, value) in &self.headers {
            let lower = name.to_ascii_lowercase();
            if lower.starts_with("x-px-") || OWN_HEADERS.contains(&lower.as_str()) {
                return refuse(format!("the header {name} is set by this client: use the method for it"));
            }
            if lower == "prefer" && value.to_ascii_lowercase().contains("wait") {
                return refuse("call wait() instead of sending it in the header Prefer".to_owned());
            }
        }
        let is_safe = SAFE_METHODS.contains(&self.method.as_str());
        let key = self.idempotency_key.clone().or_else(|| (!is_safe).then(new_key));
        let repeat = if is_safe || key.is_some() { FORWARD_SAFE } else { FORWARD_ONCE };
        let mut request = endpoint::FORWARD.request(&[], &[])?;
        let control = [
            ("X-PX-Credential", Some(self.credential.clone())),
            ("X-PX-Target", Some(self.target.clone())),
            ("X-PX-Method", Some(self.method.clone())),
            ("X-PX-Reason", self.reason.clone()),
            ("Idempotency-Key", key),
            ("Prefer", (self.wait > 0).then(|| format!("wait={}", self.wait))),
        ];
        for (name, value) in control {
            request.headers.extend(value.map(|value| (name.to_owned(), value)));
        }
        request.headers.extend(self.headers.iter().cloned());
        request.body.clone_from(&self.body);
        Ok(Request { repeat, wait: Duration::from_secs(self.wait), ..request })
    }
}

impl fmt::Debug for Forward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { credential, target, method, .. } = self;
        write!(formatter, "Forward({method} {target} with {credential})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(forward: &Forward) -> Result<Request> {
        forward.request(|| "new-key".to_owned())
    }

    fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
        request.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_change_has_an_idempotency_key_and_a_read_has_none() {
        let forward = Forward::new("demo", "https://api.example.org/");
        let read = request(&forward).unwrap();
        assert_eq!(header(&read, "Idempotency-Key"), None);
        assert!(read.repeat.after_silence);
        let change = request(&forward.clone().method("POST")).unwrap();
        assert_eq!(header(&change, "Idempotency-Key"), Some("new-key"));
        assert!(change.repeat.after_silence);
        let own = request(&forward.method("PUT").idempotency_key("mine")).unwrap();
        assert_eq!(header(&own, "Idempotency-Key"), Some("mine"));
    }

    #[test]
    fn headers_cannot_replace_control_headers() {
        for (name, value) in
            [("X-PX-Key", "k"), ("idempotency-key", "k"), ("Host", "h"), ("Prefer", "wait=5")]
        {
            let forward = Forward::new("demo", "https://api.example.org/").header(name, value);
            assert!(matches!(request(&forward), Err(Error::InvalidArgument(_))), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let forward = || Forward::new("demo", "https://api.example.org/");
        for wrong in
            [forward().method("get"), forward().method("WEBSOCKET"), forward().wait(Duration::from_secs(61))]
        {
            assert!(matches!(request(&wrong), Err(Error::InvalidArgument(_))), "{wrong:?}");
        }
    }

    #[test]
    fn a_held_request_has_more_time() {
        let held = Forward::new("demo", "https://api.example.org/").wait(Duration::from_mins(1));
        let held = request(&held).unwrap();
        assert_eq!((header(&held, "Prefer"), held.wait), (Some("wait=60"), Duration::from_mins(1)));
    }
}
