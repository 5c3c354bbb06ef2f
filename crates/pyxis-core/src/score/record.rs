//! The score record as it is answered.

use std::fmt::Write;

use super::{Entry, Settled};
use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;

/// A score with what is shown beside it (Spec 1, Score record). It is written once, when it is
/// computed, and stored as it will be answered.
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
        let mut json = String::with_capacity(FRAME + ENTRY * self.settled.stamps.len());
        let Self { address, threshold, computed_at, settled, error } = self;
        let expires =
            settled.expires_at.map_or("null".to_owned(), |at| format!("\"{}\"", at.to_iso_micros()));
        let error = serde_json::Value::from(*error);
        // Writing to a String does not fail.
        let _ = write!(
            json,
            "{{\"address\":\"{address}\",\"score\":\"{}\",\"passing_score\":{},\
             \"last_score_timestamp\":\"{}\",\"expiration_timestamp\":{expires},\
             \"threshold\":\"{threshold}\",\"error\":{error},\"stamps\":{{",
            settled.score,
            settled.passing,
            computed_at.to_iso_micros(),
        );
        for (index, entry) in settled.stamps.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            push_entry(&mut json, entry);
        }
        json.push_str("}}");
        json
    }
}

fn push_entry(json: &mut String, entry: &Entry) {
    json.push('"');
    // A name is printable ASCII: only these two must be escaped (RFC 8259, section 7).
    for character in entry.provider.as_str().chars() {
        if matches!(character, '"' | '\\') {
            json.push('\\');
        }
        json.push(character);
    }
    let expires = entry.expires_at.to_iso_micros();
    let _ = write!(
        json,
        "\":{{\"score\":\"{}\",\"dedup\":{},\"expiration_date\":\"{expires}\"}}",
        entry.score, entry.dedup
    );
}
