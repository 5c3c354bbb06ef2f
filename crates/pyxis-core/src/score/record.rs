//! The score record as it is answered.

use super::Settled;
use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;

/// A score with what is shown beside it (Spec 1, Score record). It is made once, when it is computed.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The scored address.
    pub address: EvmAddress,
    /// The score needed to pass.
    pub threshold: Decimal,
    /// When it was computed.
    pub computed_at: UnixMillis,
    /// The score.
    pub settled: &'a Settled,
    /// Why the score could be computed only in part, for people.
    pub error: Option<&'a str>,
}

/// About how long a record without Stamps is, and how much one adds.
const FRAME: usize = 288;
const ENTRY: usize = 128;

impl Record<'_> {
    /// The JSON object, with its members in the order of the specification.
    #[must_use]
    pub fn to_json(&self) -> String {
        let stamps = self.lines();
        let mut json = String::with_capacity(FRAME + ENTRY * stamps.len());
        self.frame().open(&mut json, self.address, self.error_json().as_deref());
        for (index, line) in stamps.enumerate() {
            line.write(&mut json, index == 0);
        }
        close(&mut json);
        json
    }

    pub(super) fn frame(&self) -> Frame {
        let Settled { score, passing, expires_at, .. } = *self.settled;
        Frame { score, threshold: self.threshold, computed_at: self.computed_at, expires_at, passing }
    }

    pub(super) fn lines(&self) -> impl ExactSizeIterator<Item = Line<'_>> {
        self.settled.stamps.iter().map(|entry| Line {
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

/// What a record says of the score as a whole.
pub(super) struct Frame {
    pub(super) score: Decimal,
    pub(super) threshold: Decimal,
    pub(super) computed_at: UnixMillis,
    pub(super) expires_at: Option<UnixMillis>,
    pub(super) passing: bool,
}

impl Frame {
    /// Everything before the Stamps.
    pub(super) fn open(&self, json: &mut String, address: EvmAddress, error: Option<&str>) {
        json.push_str("{\"address\":\"");
        json.push_str(str::from_utf8(&address.to_ascii()).unwrap_or_default());
        json.push_str("\",\"score\":\"");
        self.score.push_to(json);
        json.push_str("\",\"passing_score\":");
        json.push_str(boolean(self.passing));
        json.push_str(",\"last_score_timestamp\":\"");
        self.computed_at.push_iso_micros(json);
        json.push_str("\",\"expiration_timestamp\":");
        match self.expires_at {
            None => json.push_str("null"),
            Some(at) => {
                json.push('"');
                at.push_iso_micros(json);
                json.push('"');
            }
        }
        json.push_str(",\"threshold\":\"");
        self.threshold.push_to(json);
        json.push_str("\",\"error\":");
        json.push_str(error.unwrap_or("null"));
        json.push_str(",\"stamps\":{");
    }
}

/// What it says of one Stamp.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) score: Decimal,
    pub(super) dedup: bool,
    pub(super) expires_at: UnixMillis,
}

impl Line<'_> {
    pub(super) fn write(&self, json: &mut String, first: bool) {
        json.push_str(if first { "\"" } else { ",\"" });
        push_escaped(json, self.name);
        json.push_str("\":{\"score\":\"");
        self.score.push_to(json);
        json.push_str("\",\"dedup\":");
        json.push_str(boolean(self.dedup));
        json.push_str(",\"expiration_date\":\"");
        self.expires_at.push_iso_micros(json);
        json.push_str("\"}");
    }
}

/// Everything after the Stamps.
pub(super) fn close(json: &mut String) {
    json.push_str("}}");
}

/// A name is printable ASCII: only these two must be escaped (RFC 8259, section 7).
fn push_escaped(json: &mut String, name: &str) {
    if !name.contains(['"', '\\']) {
        return json.push_str(name);
    }
    for character in name.chars() {
        if matches!(character, '"' | '\\') {
            json.push('\\');
        }
        json.push(character);
    }
}

const fn boolean(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
