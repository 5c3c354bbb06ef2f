//! The stored form of a score record: its variable parts, in a third of the bytes of the response. The more records a
//! database page holds, the fewer pages are read for them.
//!
//! Words separated by spaces: score and threshold (hundred-thousandths), time of computation, expiry or `-`
//! (milliseconds), `1` if it passes or `0`. Then for each Stamp: its score, its expiry, `1` if it is deduplicated or
//! `0`, its name. After a line break, the error as JSON if there is one. The address is that of the row.

use std::fmt::Write;

use super::record::{self, Frame, ScoreRecord, StampLine};
use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;

/// The text is not a stored record.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a stored score record")]
pub struct DamagedRecord;

impl ScoreRecord<'_> {
    /// The text that [`stored_to_json`] reads.
    #[must_use]
    pub fn to_stored(&self) -> String {
        let Frame { score, threshold, computed_at, expires_at, passing } = self.frame();
        let expires_at = expires_at.map_or("-".to_owned(), |at| at.0.to_string());
        let mut text = format!(
            "{} {} {} {expires_at} {}",
            score.units(),
            threshold.units(),
            computed_at.0,
            u8::from(passing)
        );
        for StampLine { name, score, dedup, expires_at } in self.lines() {
            // Writing to a String does not fail.
            let _ = write!(text, " {} {} {} {name}", score.units(), expires_at.0, u8::from(dedup));
        }
        if let Some(error) = self.error_json() {
            text.push('\n');
            text.push_str(&error);
        }
        text
    }
}

/// The record of `address` as in responses. A record from when they were stored as JSON is returned unchanged.
pub fn stored_to_json(address: EvmAddress, stored: String) -> Result<String, DamagedRecord> {
    if stored.starts_with('{') {
        return Ok(stored);
    }
    let (words, error) =
        stored.split_once('\n').map_or((&*stored, None), |(words, error)| (words, Some(error)));
    let mut words = Words(Some(words));
    let frame = Frame {
        score: Decimal::from_units(words.number()?),
        threshold: Decimal::from_units(words.number()?),
        computed_at: UnixMillis(words.number()?),
        expires_at: if words.skip("- ") { None } else { Some(UnixMillis(words.number()?)) },
        passing: words.flag()?,
    };
    let mut json = Vec::with_capacity(ROOM + GROWTH * stored.len());
    frame.open(&mut json, address, error);
    let mut first = true;
    while words.0.is_some() {
        let line = StampLine {
            score: Decimal::from_units(words.number()?),
            expires_at: UnixMillis(words.number()?),
            dedup: words.flag()?,
            name: words.next()?,
        };
        line.write(&mut json, first);
        first = false;
    }
    record::close(json).ok_or(DamagedRecord)
}

/// Approximate length of a response: this, plus a multiple of the stored text.
const ROOM: usize = 256;
const GROWTH: usize = 3;

/// Words still to be read; `None` after the last.
struct Words<'a>(Option<&'a str>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, DamagedRecord> {
        let rest = self.0.ok_or(DamagedRecord)?;
        let end = rest.bytes().position(|byte| byte == b' ').unwrap_or(rest.len());
        self.0 = rest.get(end + 1..);
        if end == 0 { Err(DamagedRecord) } else { Ok(&rest[..end]) }
    }

    /// Parses while it looks for the end: most words are numbers.
    fn number(&mut self) -> Result<i64, DamagedRecord> {
        let rest = self.0.ok_or(DamagedRecord)?;
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let sign = if digits.len() < rest.len() { -1 } else { 1 };
        let (mut number, mut end) = (0_i64, 0);
        while let Some(digit) = digits.as_bytes().get(end).filter(|byte| byte.is_ascii_digit()) {
            let next =
                number.checked_mul(10).and_then(|tens| tens.checked_add(sign * i64::from(digit - b'0')));
            number = next.ok_or(DamagedRecord)?;
            end += 1;
        }
        let rest = &digits[end..];
        self.0 = rest.strip_prefix(' ');
        if end == 0 || (self.0.is_none() && !rest.is_empty()) { Err(DamagedRecord) } else { Ok(number) }
    }

    fn flag(&mut self) -> Result<bool, DamagedRecord> {
        match self.next()? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(DamagedRecord),
        }
    }

    fn skip(&mut self, start: &str) -> bool {
        let rest = self.0.and_then(|rest| rest.strip_prefix(start));
        self.0 = rest.or(self.0);
        rest.is_some()
    }
}
