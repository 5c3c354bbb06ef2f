//! JSON-RPC over one POST: batches, failover to the next node, and reverts told apart from failures.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request};
use pyxis_core::hex;
use pyxis_net::{Client, body};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Error;

/// Largest answer, in bytes.
const MAX_ANSWER: usize = 32 << 20;
/// Longest piece of a node's words that is kept.
const MAX_WORDS: usize = 200;
/// What geth and its kin answer when a contract reverts.
const REVERTED: i64 = 3;

/// A method and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Request1 {
    pub(crate) method: &'static str,
    params: String,
}

impl Request1 {
    /// `params` is JSON, and goes out as it is: that of many calls is long, and is not read again.
    pub(crate) fn new(method: &'static str, params: String) -> Self {
        Self { method, params }
    }

    /// Appends the request, whose answer will have this `id`.
    fn write(&self, id: usize, text: &mut String) {
        let Self { method, params } = self;
        let id = id.to_string();
        text.extend([
            r#"{"jsonrpc":"2.0","id":"#,
            &id,
            r#","method":""#,
            method,
            r#"","params":"#,
            params,
            "}",
        ]);
    }
}

/// A piece of a node's answer, as it came: the result of many calls is long, and is not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Json(Bytes);

impl Json {
    /// What it says.
    pub(crate) fn value(&self) -> Value {
        // It was read as JSON before.
        serde_json::from_slice(&self.0).unwrap_or_default()
    }

    /// The bytes that it spells, if it is a string of `0x` and hexadecimal digits.
    pub(crate) fn data(&self) -> Option<Vec<u8>> {
        let text = str::from_utf8(&self.0).ok()?.strip_prefix('"')?.strip_suffix('"')?;
        hex::decode_prefixed(text)
    }
}

/// What one call of a batch came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Result(Json),
    /// The contract reverted: its data, and what the node said.
    Reverted {
        data: Option<String>,
        message: String,
    },
}

#[derive(Deserialize)]
struct Received<'a> {
    id: Option<usize>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
}

/// The nodes of a network, in the order of preference.
pub(crate) struct Nodes {
    net: Client,
    urls: Vec<String>,
    timeout: Duration,
    /// The one that answered last.
    preferred: AtomicUsize,
}

impl Nodes {
    pub(crate) fn new(net: Client, urls: Vec<String>, timeout: Duration) -> Self {
        Self { net, urls, timeout, preferred: AtomicUsize::new(0) }
    }

    /// Asks the node that answered last, then the others, until one answers every call.
    pub(crate) async fn batch(&self, calls: &[Request1]) -> Result<Vec<Outcome>, Error> {
        let first = self.preferred.load(Ordering::Relaxed);
        let mut failure = Error::Url;
        for offset in 0..self.urls.len() {
            let index = (first + offset) % self.urls.len();
            match self.ask(&self.urls[index], calls).await {
                Ok(outcomes) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(outcomes);
                }
                Err(error) => {
                    tracing::debug!(%error, node = index, "a node failed");
                    failure = error;
                }
            }
        }
        Err(failure)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.urls.len()
    }

    /// Scheme, host and port of one: the rest of a URL may hold a key.
    pub(crate) fn origin(&self, index: usize) -> String {
        let url: Option<http::Uri> = self.urls[index].parse().ok();
        let origin = url.as_ref().and_then(|url| {
            let port = url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
            Some(format!("{}://{}{port}", url.scheme_str()?, url.host()?))
        });
        origin.unwrap_or_else(|| "a node without a usable url".to_owned())
    }

    /// Asks one node only.
    pub(crate) async fn ask_one(&self, index: usize, calls: &[Request1]) -> Result<Vec<Outcome>, Error> {
        self.ask(&self.urls[index], calls).await
    }

    async fn ask(&self, url: &str, calls: &[Request1]) -> Result<Vec<Outcome>, Error> {
        let request = Request::post(url).header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = request.body(body::full(written(calls))).map_err(|_| Error::Url)?;
        let answer = tokio::time::timeout(self.timeout, self.send(request)).await;
        read(&answer.map_err(|_| Error::Timeout)??, calls.len())
    }

    async fn send(&self, request: Request<pyxis_net::Body>) -> Result<Bytes, Error> {
        let response = self.net.send(request, self.timeout).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(Error::Status(status.as_u16()));
        }
        Ok(body::read_capped(response.into_body(), MAX_ANSWER).await?)
    }
}

/// The body of a request. Some nodes refuse a batch of one.
fn written(calls: &[Request1]) -> String {
    let mut text = String::with_capacity(calls.iter().map(|call| call.params.len() + 96).sum());
    if let [only] = calls {
        only.write(0, &mut text);
        return text;
    }
    for (id, call) in calls.iter().enumerate() {
        text.push(if id == 0 { '[' } else { ',' });
        call.write(id, &mut text);
    }
    text.push(']');
    text
}

/// Puts the answers into the order of the calls; every call must have its own.
fn read(text: &Bytes, count: usize) -> Result<Vec<Outcome>, Error> {
    let malformed = |_| Error::Malformed("not JSON-RPC");
    let received: Vec<Received<'_>> = if text.trim_ascii_start().starts_with(b"[") {
        serde_json::from_slice(text).map_err(malformed)?
    } else {
        // One call, or a refusal of the whole batch.
        vec![serde_json::from_slice(text).map_err(malformed)?]
    };
    let mut outcomes: Vec<Option<Outcome>> = vec![None; count];
    for one in received {
        let outcome = outcome(text, one.result, one.error)?;
        let place = one.id.and_then(|id| outcomes.get_mut(id));
        *place.ok_or(Error::Malformed("an answer to no call"))? = Some(outcome);
    }
    outcomes.into_iter().collect::<Option<_>>().ok_or(Error::Malformed("a call without an answer"))
}

fn outcome(text: &Bytes, result: Option<&RawValue>, error: Option<Failure>) -> Result<Outcome, Error> {
    let Some(failure) = error else {
        let result = result.ok_or(Error::Malformed("neither result nor error"))?;
        return Ok(Outcome::Result(Json(text.slice_ref(result.get().as_bytes()))));
    };
    let message: String = failure.message.chars().take(MAX_WORDS).collect();
    let reverted = failure.code == REVERTED || message.to_ascii_lowercase().contains("execution reverted");
    if !reverted {
        return Err(Error::Refused { code: failure.code, message });
    }
    Ok(Outcome::Reverted { data: revert_data(&failure.data), message })
}

/// What the contract said. Some nodes put a word before it, others an object around it.
fn revert_data(data: &Value) -> Option<String> {
    let text = data.as_str().or_else(|| data.get("data")?.as_str())?;
    Some(text.strip_prefix("Reverted ").unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl AsRef<[u8]>, count: usize) -> Result<Vec<Outcome>, Error> {
        super::read(&Bytes::copy_from_slice(text.as_ref()), count)
    }

    fn json(text: &'static str) -> Json {
        Json(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn one_call_goes_out_alone_and_several_as_a_batch() {
        let calls = [Request1::new("a", "[]".to_owned()), Request1::new("b", r#"["0x",1]"#.to_owned())];
        assert_eq!(written(&calls[..1]), r#"{"jsonrpc":"2.0","id":0,"method":"a","params":[]}"#);
        let batch: Value = serde_json::from_str(&written(&calls)).unwrap();
        assert_eq!(
            batch,
            serde_json::json!([
                { "jsonrpc": "2.0", "id": 0, "method": "a", "params": [] },
                { "jsonrpc": "2.0", "id": 1, "method": "b", "params": ["0x", 1] }
            ])
        );
    }

    #[test]
    fn answers_are_put_into_the_order_of_the_calls() {
        let text = r#"[{"id":1,"result":"b"},{"id":0,"result":[ 1 ]}]"#;
        assert_eq!(read(text, 2).unwrap(), [json("[ 1 ]"), json(r#""b""#)].map(Outcome::Result));
        assert_eq!(
            read(r#"{"id":0,"result":null}"#, 1).unwrap_err().to_string(),
            "the node's answer cannot be read: neither result nor error"
        );
    }

    #[test]
    fn only_hexadecimal_is_data() {
        assert_eq!(json(r#""0x0aFF""#).data(), Some(vec![10, 255]));
        assert_eq!(json(r#""0x""#).data(), Some(vec![]));
        for text in [r#""0x0""#, r#""ff""#, r#""0xzz""#, "1", "null", "0x00", r#""0x\u0030a""#] {
            assert_eq!(json(text).data(), None, "{text}");
        }
    }

    #[test]
    fn a_revert_is_an_answer_and_any_other_error_is_none() {
        let reverted =
            br#"{"id":0,"error":{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}}"#;
        let wanted =
            Outcome::Reverted { data: Some("0x08c379a0".into()), message: "execution reverted: no".into() };
        assert_eq!(read(reverted, 1).unwrap(), [wanted]);
        for data in [r#""Reverted 0x08c379a0""#, r#"{"message":"no","data":"0x08c379a0"}"#] {
            let text =
                format!(r#"{{"id":0,"error":{{"code":3,"message":"execution reverted","data":{data}}}}}"#);
            let Outcome::Reverted { data, .. } = &read(&text, 1).unwrap()[0] else { panic!("{text}") };
            assert_eq!(data.as_deref(), Some("0x08c379a0"), "{text}");
        }
        for text in [
            r#"{"id":0,"error":{"code":-32005,"message":"rate limited"}}"#,
            r#"{"id":0,"error":{"code":-32000,"message":"header not found"}}"#,
            r#"{"id":null,"error":{"code":-32600,"message":"batch too large"}}"#,
            r#"[{"id":0,"result":"a"}]"#,
            r#"[{"id":7,"result":"a"},{"id":0,"result":"a"}]"#,
            "[]",
            "nonsense",
            "",
        ] {
            assert!(read(text, 2).is_err(), "{text}");
        }
    }
}
