//! The score record as it is stored: what tells it from others, in a third of the bytes of the answer. The more
//! records a page of the database holds, the fewer pages are read for them.
//!
//! Words with a space between them: score, threshold (hundred-thousandths), when it was computed, when it expires
//! or `-` (milliseconds), `1` where it passes or `0`; then for each Stamp its score, when it expires, `1` where it is
//! deduplicated or `0`, its name. Behind a line break, the error as JSON if there is one. The address is that of the row.

use std::fmt::Write;
use std::str::FromStr;

use super::record::{self, Frame, Line, Record};
use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;

/// The text is not a stored record.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a score record as it is stored")]
pub struct DamagedRecord;

impl Record<'_> {
    /// What [`stored_to_json`] reads.
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
        for Line { name, score, dedup, expires_at } in self.lines() {
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

/// The record of `address` as it is answered. One that was stored as JSON, as it once
/// was, already is.
pub fn stored_to_json(address: EvmAddress, stored: String) -> Result<String, DamagedRecord> {
    if stored.starts_with('{') {
        return Ok(stored);
    }
    let (words, error) =
        stored.split_once('\n').map_or((&*stored, None), |(words, error)| (words, Some(error)));
    let mut words = words.split(' ');
    let frame = Frame {
        score: Decimal::from_units(number(words.next())?),
        threshold: Decimal::from_units(number(words.next())?),
        computed_at: UnixMillis(number(words.next())?),
        expires_at: match words.next() {
            Some("-") => None,
            word => Some(UnixMillis(number(word)?)),
        },
        passing: flag(words.next())?,
    };
    let mut json = String::with_capacity(ROOM + GROWTH * stored.len());
    frame.open(&mut json, address, error);
    let mut first = true;
    while let Some(score) = words.next() {
        let line = Line {
            score: Decimal::from_units(number(Some(score))?),
            expires_at: UnixMillis(number(words.next())?),
            dedup: flag(words.next())?,
            name: words.next().ok_or(DamagedRecord)?,
        };
        line.write(&mut json, first);
        first = false;
    }
    record::close(&mut json);
    Ok(json)
}

/// About how long an answer is: this, and so many times the stored text.
const ROOM: usize = 256;
const GROWTH: usize = 3;

fn number<N: FromStr>(word: Option<&str>) -> Result<N, DamagedRecord> {
    word.and_then(|word| word.parse().ok()).ok_or(DamagedRecord)
}

fn flag(word: Option<&str>) -> Result<bool, DamagedRecord> {
    match word {
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        _ => Err(DamagedRecord),
    }
}
