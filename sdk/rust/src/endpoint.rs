//! Operations of the API: method, path and parameters.
//!
//! Every request is made through one of these, so a test can hold all of them against the server's `OpenAPI` document.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::message::Request;
use crate::repeat::{CHANGE, FORWARD_ONCE, POLL, READ, Repeat};

/// Everything that could end a segment of a path or a value of a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One operation.
#[derive(Debug)]
pub struct Endpoint {
    pub method: &'static str,
    /// Path with the names of its parameters in braces.
    pub path: &'static str,
    pub query: &'static [&'static str],
    pub headers: &'static [&'static str],
    pub(crate) repeat: Repeat,
}

const fn read(method: &'static str, path: &'static str, query: &'static [&'static str]) -> Endpoint {
    Endpoint { method, path, query, headers: &[], repeat: READ }
}

const SCORE_PATH: &str = "/v2/stamps/{scorer_id}/score/{address}";
const SIGNED: &[&str] = &["signed", "chain_id", "verifying_contract"];

pub(crate) static SCORE: Endpoint = read("GET", SCORE_PATH, &["explain"]);
pub(crate) static SIGNED_SCORE: Endpoint = read("GET", SCORE_PATH, SIGNED);
// Signing changes nothing, so it may be repeated.
pub(crate) static SIGN_SCORE: Endpoint = read("POST", SCORE_PATH, SIGNED);
pub(crate) static SCORE_KEYS: Endpoint = read("GET", "/.well-known/pyxis-score-keys", &[]);
pub(crate) static TOKEN_KEYS: Endpoint = read("GET", "/.well-known/jwks.json", &[]);
pub(crate) static SCORES: Endpoint = read("POST", "/v2/stamps/{scorer_id}/scores", &["strict"]);
pub(crate) static HISTORY: Endpoint =
    read("GET", "/v2/stamps/{scorer_id}/score/{address}/history", &["created_at"]);
pub(crate) static STAMPS: Endpoint =
    read("GET", "/v2/stamps/{address}", &["include_metadata", "limit", "token"]);
// The same credential again is `unchanged`, and a Stamp is removed once: both may be repeated.
pub(crate) static ADD_STAMPS: Endpoint = read("POST", "/v2/stamps/{address}", &[]);
pub(crate) static REMOVE_STAMP: Endpoint = read("DELETE", "/v2/stamps/{address}", &["provider"]);
pub(crate) static CATALOGUE: Endpoint = read("GET", "/v2/stamps/metadata", &[]);
pub(crate) static MODEL_SCORE: Endpoint = read("GET", "/v2/models/score/{address}", &["model"]);
pub(crate) static UNIQUE: Endpoint =
    read("GET", "/sybil-resistance/{credential_type}/{network}", &["user", "action-id", "explain"]);
pub(crate) static RESIDENCE: Endpoint =
    read("GET", "/residence/country/{country}/{network}", &["user", "explain"]);
pub(crate) static CLEAN_HANDS: Endpoint = read("GET", "/attestation/clean-hands/{address}", &["explain"]);
pub(crate) static SERVICES: Endpoint =
    Endpoint { method: "GET", path: "/agent/services", query: &[], headers: &[], repeat: POLL };
pub(crate) static TRANSACTION: Endpoint = Endpoint {
    method: "GET",
    path: "/agent/approvals/{txn_id}",
    query: &["wait"],
    headers: &[],
    repeat: POLL,
};
pub(crate) static WITHDRAW: Endpoint = Endpoint {
    method: "DELETE",
    path: "/agent/approvals/{txn_id}",
    query: &[],
    headers: &[],
    repeat: CHANGE,
};
pub(crate) static FORWARD: Endpoint = Endpoint {
    method: "POST",
    path: "/forward",
    query: &[],
    headers: &["X-PX-Credential", "X-PX-Target", "X-PX-Method", "X-PX-Reason", "Idempotency-Key", "Prefer"],
    repeat: FORWARD_ONCE,
};

/// Every operation.
pub static ALL: [&Endpoint; 19] = [
    &SCORE,
    &SIGNED_SCORE,
    &SIGN_SCORE,
    &SCORE_KEYS,
    &TOKEN_KEYS,
    &SCORES,
    &HISTORY,
    &STAMPS,
    &ADD_STAMPS,
    &REMOVE_STAMP,
    &CATALOGUE,
    &MODEL_SCORE,
    &UNIQUE,
    &RESIDENCE,
    &CLEAN_HANDS,
    &SERVICES,
    &TRANSACTION,
    &WITHDRAW,
    &FORWARD,
];

impl Endpoint {
    /// Builds the request. Each value stays one segment of the path; parameters that are `None` are left out.
    pub(crate) fn request(&self, path: &[(&str, &str)], query: &[(&str, Option<&str>)]) -> Result<Request> {
        let mut target = self.path.to_owned();
        for (name, value) in path {
            if matches!(*value, "" | "." | "..") {
                return Err(Error::InvalidArgument(format!("{name} must not be {value:?}")));
            }
            let value = utf8_percent_encode(value, ESCAPED).to_string();
            target = target.replace(&format!("{{{name}}}"), &value);
        }
        let mut separator = '?';
        for (name, value) in query {
            debug_assert!(self.query.contains(name), "{} has no parameter {name}", self.path);
            if let Some(value) = value {
                target.push(separator);
                target.push_str(name);
                target.push('=');
                target.extend(utf8_percent_encode(value, ESCAPED));
                separator = '&';
            }
        }
        let (method, repeat) = (self.method, self.repeat);
        Ok(Request { method, target, headers: Vec::new(), body: None, repeat, wait: Duration::ZERO })
    }
}

impl Request {
    /// Adds a JSON body.
    pub(crate) fn json(mut self, body: &impl Serialize) -> Result<Self> {
        let body = serde_json::to_vec(body).map_err(|error| {
            Error::InvalidArgument(format!("the body cannot be written as JSON: {error}"))
        })?;
        self.headers.push(("content-type".to_owned(), "application/json".to_owned()));
        self.body = Some(body.into());
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_value_stays_one_segment() {
        let target =
            |address| SCORE.request(&[("scorer_id", "1"), ("address", address)], &[]).map(|it| it.target);
        assert_eq!(target("../a?b#c%2e").unwrap(), "/v2/stamps/1/score/..%2Fa%3Fb%23c%252e");
        for address in ["", ".", ".."] {
            assert!(matches!(target(address), Err(Error::InvalidArgument(_))), "{address}");
        }
    }

    #[test]
    fn values_of_a_query_are_escaped() {
        let request =
            STAMPS.request(&[("address", "0x1")], &[("limit", None), ("token", Some("a&b=c +"))]).unwrap();
        assert_eq!(request.target, "/v2/stamps/0x1?token=a%26b%3Dc%20%2B");
    }
}
