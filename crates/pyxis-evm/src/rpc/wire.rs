//! JSON-RPC messages: writing requests and matching answers to calls.

use bytes::Bytes;
use pyxis_core::hex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Error;
use crate::failure::{FailureKind, NodeFailure};

/// A method and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct RpcCall {
    pub(crate) method: &'static str,
    params: String,
}

impl RpcCall {
    /// `params` is JSON text and is sent unchanged, because the parameters of a large Multicall3 call are expensive to
    /// parse again.
    pub(crate) fn new(method: &'static str, params: String) -> Self {
        Self { method, params }
    }

    /// Appends the request with this `id`.
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

/// Part of a response, as received. Results of large calls are long, so they are not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawJson(Bytes);

impl RawJson {
    /// The parsed value.
    pub(crate) fn value(&self) -> Value {
        // This text already parsed as JSON.
        serde_json::from_slice(&self.0).unwrap_or_default()
    }

    /// The bytes of a string of `0x` and hex digits.
    pub(crate) fn data(&self) -> Option<Vec<u8>> {
        let text = str::from_utf8(&self.0).ok()?.strip_prefix('"')?.strip_suffix('"')?;
        hex::decode_prefixed(text)
    }
}

/// Outcome of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Result(RawJson),
    /// The contract reverted, with its reason if it gave one.
    Reverted(Option<String>),
    /// The call needs more gas or time than the node allows.
    Unfinished,
}

/// Answers to one request.
#[derive(Debug)]
pub(crate) struct Answers {
    /// One outcome per call; `None` where the node gave none.
    pub(crate) outcomes: Vec<Option<CallOutcome>>,
    /// Reason that some calls have no outcome.
    pub(crate) failure: Option<Error>,
}

#[derive(Deserialize)]
struct Received<'a> {
    #[serde(default)]
    id: Value,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Value,
}

/// Distinguishes `null` from an absent field.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Index of the call with this id. Some nodes send ids as strings or as fractions.
fn call_index(id: &Value) -> Option<usize> {
    match id {
        Value::Number(number) => {
            let digits = number.to_string();
            digits.strip_suffix(".0").unwrap_or(&digits).parse().ok()
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Request body. A single call is not sent as a batch, because some nodes refuse a batch of one.
pub(crate) fn written(calls: &[&RpcCall]) -> String {
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

/// Sorts the answers by call. An answer to no call, or a second one to the same call, is an error.
pub(crate) fn read(text: &Bytes, count: usize) -> Result<Answers, Error> {
    let malformed = |_| Error::Malformed("not JSON-RPC");
    let received: Vec<Received<'_>> = if text.trim_ascii_start().starts_with(b"[") {
        serde_json::from_slice(text).map_err(malformed)?
    } else {
        // A single call, or a refusal of the whole batch.
        vec![serde_json::from_slice(text).map_err(malformed)?]
    };
    let mut answers = Answers { outcomes: vec![None; count], failure: None };
    for one in received {
        let place = call_index(&one.id);
        match outcome(text, &one, count) {
            Ok(outcome) => answers.put(place, outcome)?,
            Err(failure) => answers.record_failure(failure),
        }
    }
    if answers.failure.is_none() && answers.outcomes.contains(&None) {
        answers.failure = Some(Error::Malformed("a call without a response"));
    }
    Ok(answers)
}

impl Answers {
    fn put(&mut self, place: Option<usize>, outcome: CallOutcome) -> Result<(), Error> {
        // A failure of the only call needs no id.
        let alone = self.outcomes.len() == 1 && place.is_none() && !matches!(outcome, CallOutcome::Result(_));
        let place = if alone { Some(0) } else { place };
        let slot = place.and_then(|place| self.outcomes.get_mut(place));
        let slot = slot.ok_or(Error::Malformed("a response to no call"))?;
        if slot.replace(outcome).is_some() {
            return Err(Error::Malformed("two responses to one call"));
        }
        Ok(())
    }

    /// Records a failure. A lagging node is lagging for all calls; otherwise the first failure counts.
    fn record_failure(&mut self, failure: Error) {
        if self.failure.is_none() || failure.is_behind() {
            self.failure = Some(failure);
        }
    }
}

fn outcome(text: &Bytes, one: &Received<'_>, count: usize) -> Result<CallOutcome, Error> {
    if one.error.is_null() {
        let result = one.result.ok_or(Error::Malformed("neither result nor error"))?.get();
        if result == "null" {
            return Err(Error::Behind("it responded with null".to_owned()));
        }
        return Ok(CallOutcome::Result(RawJson(text.slice_ref(result.as_bytes()))));
    }
    let NodeFailure { code, message, kind } = NodeFailure::read(&one.error);
    match kind {
        FailureKind::Reverted(reason) => Ok(CallOutcome::Reverted(reason)),
        FailureKind::Halted => Ok(CallOutcome::Unfinished),
        // In a smaller batch it may be fast enough.
        FailureKind::Time if count == 1 => Ok(CallOutcome::Unfinished),
        FailureKind::Behind => Err(Error::Behind(message)),
        FailureKind::Busy => Err(Error::Busy { code, message }),
        FailureKind::Time | FailureKind::Refused => Err(Error::Refused { code, message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: impl AsRef<[u8]>, count: usize) -> Result<Answers, Error> {
        read(&Bytes::copy_from_slice(text.as_ref()), count)
    }

    fn whole(text: &str, count: usize) -> Vec<CallOutcome> {
        let answers = answers(text, count).unwrap();
        assert!(answers.failure.is_none(), "{text}");
        answers.outcomes.into_iter().map(Option::unwrap).collect()
    }

    fn json(text: &'static str) -> RawJson {
        RawJson(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn one_call_goes_out_alone_and_several_as_a_batch() {
        let calls = [RpcCall::new("a", "[]".to_owned()), RpcCall::new("b", r#"["0x",1]"#.to_owned())];
        assert_eq!(written(&[&calls[0]]), r#"{"jsonrpc":"2.0","id":0,"method":"a","params":[]}"#);
        let batch: Value = serde_json::from_str(&written(&[&calls[0], &calls[1]])).unwrap();
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
        let wanted = [json("[ 1 ]"), json(r#""b""#)].map(CallOutcome::Result);
        assert_eq!(whole(r#"[{"id":1,"result":"b"},{"id":0,"result":[ 1 ]}]"#, 2), wanted);
        assert_eq!(whole(r#"[{"id":"1","result":"b"},{"id":" 0 ","result":[ 1 ]}]"#, 2), wanted);
        assert_eq!(whole(r#"[{"id":1.0,"result":"b"},{"id":0,"result":[ 1 ],"error":null}]"#, 2), wanted);
        assert_eq!(whole(r#"{"id":"0","result":"b"}"#, 1), [CallOutcome::Result(json(r#""b""#))]);
    }

    #[test]
    fn a_null_is_no_answer_of_a_node_that_keeps_up() {
        let failure = answers(r#"{"id":0,"result":null}"#, 1).unwrap().failure.unwrap();
        assert!(failure.is_behind(), "{failure}");
        let failure = answers(r#"{"id":0}"#, 1).unwrap().failure.unwrap();
        assert_eq!(failure.to_string(), "the node's response cannot be read: neither result nor error");
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
    fn a_failure_of_some_calls_leaves_the_answers_of_the_others() {
        let text = r#"[{"id":0,"result":"a"},{"id":1,"error":{"code":-32005,"message":"limit exceeded"}},
            {"id":2,"error":{"code":3,"message":"execution reverted: no"}},
            {"id":3,"error":{"code":-32000,"message":"out of gas"}}]"#;
        let answers = answers(text, 4).unwrap();
        assert_eq!(
            answers.outcomes,
            [
                Some(CallOutcome::Result(json(r#""a""#))),
                None,
                Some(CallOutcome::Reverted(Some("no".to_owned()))),
                Some(CallOutcome::Unfinished),
            ]
        );
        assert_eq!(answers.failure.unwrap().to_string(), "the node is at a limit: -32005, limit exceeded");
    }

    #[test]
    fn what_is_no_answer_to_the_calls_is_an_error() {
        for text in [
            r#"{"id":0,"error":{"code":-32005,"message":"rate limited"}}"#,
            r#"{"id":0,"error":{"code":-32000,"message":"header not found"}}"#,
            r#"{"id":null,"error":{"code":-32600,"message":"batch too large"}}"#,
            r#"[{"id":null,"error":{"code":-32600,"message":"batch too large"}}]"#,
            r#"{"id":0,"error":"batch too large"}"#,
            r#"[{"id":0,"result":"a"}]"#,
            "[]",
        ] {
            assert!(answers(text, 2).unwrap().failure.is_some(), "{text}");
        }
        for text in [
            r#"[{"id":7,"result":"a"},{"id":0,"result":"a"}]"#,
            r#"[{"id":0,"result":"a"},{"id":"0","result":"b"}]"#,
            r#"[{"result":"a"},{"id":0,"result":"a"}]"#,
            r#"[{"id":0.5,"result":"a"},{"id":0,"result":"a"}]"#,
            "nonsense",
            "<html>",
            "",
        ] {
            assert!(answers(text, 2).is_err(), "{text}");
        }
        // A single call is identified without an id.
        let alone = r#"{"id":null,"error":{"code":3,"message":"execution reverted"}}"#;
        assert_eq!(whole(alone, 1), [CallOutcome::Reverted(None)]);
        assert!(answers(r#"{"id":null,"result":"a"}"#, 1).is_err());
    }
}
