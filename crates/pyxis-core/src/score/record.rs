//! The score record in responses.

use super::ScoreResult;
use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;

/// A score with its displayed data (`docs/reference/behavior/scoring.md#score-record`). It is built once, when the
/// score is computed.
#[derive(Clone, Copy, Debug)]
pub struct ScoreRecord<'a> {
    /// The scored address.
    pub address: EvmAddress,
    /// The score needed to pass.
    pub threshold: Decimal,
    /// Time of the computation.
    pub computed_at: UnixMillis,
    /// The computed score.
    pub settled: &'a ScoreResult,
    /// Human-readable reason if the score could be computed only in part.
    pub error: Option<&'a str>,
}

/// Approximate length of a record without Stamps, and of one Stamp.
const FRAME: usize = 288;
const ENTRY: usize = 128;

impl ScoreRecord<'_> {
    /// The JSON object, with its members in a fixed order (`docs/reference/behavior/scoring.md#score-record`).
    #[must_use]
    pub fn to_json(&self) -> String {
        let stamps = self.lines();
        let mut json = Vec::with_capacity(FRAME + ENTRY * stamps.len());
        self.frame().open(&mut json, self.address, self.error_json().as_deref());
        for (index, line) in stamps.enumerate() {
            line.write(&mut json, index == 0);
        }
        close(json).unwrap_or_default()
    }

    pub(super) fn frame(&self) -> Frame {
        let ScoreResult { score, passing, expires_at, .. } = *self.settled;
        Frame { score, threshold: self.threshold, computed_at: self.computed_at, expires_at, passing }
    }

    pub(super) fn lines(&self) -> impl ExactSizeIterator<Item = StampLine<'_>> {
        self.settled.stamps.iter().map(|entry| StampLine {
            name: entry.provider.as_str(),
            score: entry.score,
            dedup: entry.dedup,
            expires_at: entry.expires_at,
        })
    }

    pub(super) fn error_json(&self) -> Option<String> {
        self.error.map(|error| serde_json::Value::from(error).to_string())
    }
}

/// The record's fields about the score as a whole.
pub(super) struct Frame {
    pub(super) score: Decimal,
    pub(super) threshold: Decimal,
    pub(super) computed_at: UnixMillis,
    pub(super) expires_at: Option<UnixMillis>,
    pub(super) passing: bool,
}

impl Frame {
    /// Everything before the Stamps.
    pub(super) fn open(&self, json: &mut Vec<u8>, address: EvmAddress, error: Option<&str>) {
        json.extend_from_slice(b"{\"address\":\"");
        json.extend_from_slice(&address.to_ascii());
        json.extend_from_slice(b"\",\"score\":\"");
        self.score.push_to(json);
        json.extend_from_slice(b"\",\"passing_score\":");
        json.extend_from_slice(boolean(self.passing));
        json.extend_from_slice(b",\"last_score_timestamp\":\"");
        self.computed_at.push_iso_micros(json);
        match self.expires_at {
            None => json.extend_from_slice(b"\",\"expiration_timestamp\":null,\"threshold\":\""),
            Some(at) => {
                json.extend_from_slice(b"\",\"expiration_timestamp\":\"");
                at.push_iso_micros(json);
                json.extend_from_slice(b"\",\"threshold\":\"");
            }
        }
        self.threshold.push_to(json);
        json.extend_from_slice(b"\",\"error\":");
        json.extend_from_slice(error.unwrap_or("null").as_bytes());
        json.extend_from_slice(b",\"stamps\":{");
    }
}

/// The record's fields about one Stamp.
pub(super) struct StampLine<'a> {
    pub(super) name: &'a str,
    pub(super) score: Decimal,
    pub(super) dedup: bool,
    pub(super) expires_at: UnixMillis,
}

impl StampLine<'_> {
    pub(super) fn write(&self, json: &mut Vec<u8>, first: bool) {
        json.extend_from_slice(if first { b"\"".as_slice() } else { b",\"" });
        push_escaped(json, self.name);
        json.extend_from_slice(b"\":{\"score\":\"");
        self.score.push_to(json);
        json.extend_from_slice(b"\",\"dedup\":");
        json.extend_from_slice(boolean(self.dedup));
        json.extend_from_slice(b",\"expiration_date\":\"");
        self.expires_at.push_iso_micros(json);
        json.extend_from_slice(b"\"}");
    }
}

/// Closes the record after the last Stamp.
pub(super) fn close(mut json: Vec<u8>) -> Option<String> {
    json.extend_from_slice(b"}}");
    String::from_utf8(json).ok()
}

/// A name is printable ASCII: only these two must be escaped (RFC 8259, section 7).
fn push_escaped(json: &mut Vec<u8>, name: &str) {
    let must_be = |byte| matches!(byte, b'"' | b'\\');
    if !name.bytes().any(must_be) {
        return json.extend_from_slice(name.as_bytes());
    }
    for byte in name.bytes() {
        if must_be(byte) {
            json.push(b'\\');
        }
        json.push(byte);
    }
}

const fn boolean(value: bool) -> &'static [u8] {
    if value { b"true" } else { b"false" }
}
