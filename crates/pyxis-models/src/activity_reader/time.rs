//! Times as explorers and their exports write them. On-chain times are in UTC, so a text without an offset is, too.

use std::num::NonZeroU32;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::Offset;

/// Accepted formats of a time.
pub(super) const FORMS: &str =
    "write Unix seconds, or a time in UTC such as 2023-01-31T09:05:00Z or 2023-01-31 09:05:00";
/// Numbers from here on are milliseconds, microseconds and nanoseconds. The first is the year 5138 in seconds.
const MILLIS: u64 = 100_000_000_000;
const MICROS: u64 = MILLIS * 1_000;
const NANOS: u64 = MICROS * 1_000;
/// Unambiguous formats of civil time other than ISO 8601.
const CIVIL: [&str; 3] = ["%Y-%m-%d %H:%M:%S", "%b-%d-%Y %I:%M:%S %p", "%b-%d-%Y %H:%M:%S"];

/// Unix seconds of a text; `None` for an empty text or zero, which means no time.
pub(super) fn seconds(text: &str) -> Result<Option<NonZeroU32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let seconds = number(text).or_else(|| written(text));
    let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok());
    seconds.map(NonZeroU32::new).ok_or_else(|| format!("{text:?} is not a time; {FORMS}"))
}

/// A number since 1970, in the unit that its size implies.
fn number(text: &str) -> Option<i64> {
    let whole = match text.split_once('.') {
        Some((whole, rest)) if !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        _ => text,
    };
    let number = match whole.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None if whole.bytes().all(|byte| byte.is_ascii_digit()) => whole.parse().ok()?,
        None => return None,
    };
    let each = match number {
        0..MILLIS => 1,
        MILLIS..MICROS => 1_000,
        MICROS..NANOS => 1_000_000,
        NANOS.. => 1_000_000_000,
    };
    i64::try_from(number / each).ok()
}

fn written(text: &str) -> Option<i64> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_second());
    }
    let text = in_utc(text)?;
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_second());
    }
    let civil = text.parse::<DateTime>().ok();
    let civil =
        civil.or_else(|| CIVIL.iter().find_map(|form| strtime::parse(form, text).ok()?.to_datetime().ok()));
    Offset::UTC.to_timestamp(civil?).ok().map(Timestamp::as_second)
}

/// The text without the words for UTC.
fn in_utc(text: &str) -> Option<&str> {
    let mut rest = text;
    for word in ["UTC", "GMT", "Z"] {
        let (head, tail) = rest.split_at_checked(rest.len().checked_sub(word.len())?)?;
        if tail.eq_ignore_ascii_case(word) {
            rest = head.trim_end_matches(['+', ' ', '(']);
            break;
        }
    }
    // One library's format: `2023-01-31 09:05:00 +0000 UTC`.
    for offset in ["+0000", "+00:00"] {
        rest = rest.strip_suffix(offset).map_or(rest, str::trim_end);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_form_of_a_time_is_the_same_moment() {
        for text in [
            "1675155900",
            "1675155900.0",
            "1675155900.999",
            "1675155900000",
            "1675155900123456",
            "1675155900123456789",
            "0x63d8d9bc",
            "2023-01-31T09:05:00Z",
            "2023-01-31T09:05:00.000Z",
            "2023-01-31T09:05:00.000000Z",
            "2023-01-31t09:05:00z",
            "2023-01-31T09:05:00+00:00",
            "2023-01-31T10:05:00+01:00",
            "2023-01-31 09:05:00+00",
            "2023-01-31 09:05:00",
            "2023-01-31T09:05:00",
            "2023-01-31 9:05:00",
            "2023-01-31 09:05:00.000",
            "2023-01-31 09:05:00 UTC",
            "2023-01-31 09:05:00.000 UTC",
            "2023-01-31 09:05:00 utc",
            "2023-01-31 09:05:00 GMT",
            "2023-01-31 09:05:00 +0000 UTC",
            "2023-01-31 09:05:00+00:00 UTC",
            "2023-01-31 09:05:00.000000Z",
            "Jan-31-2023 09:05:00 AM +UTC",
            "Jan-31-2023 09:05:00 AM",
            "Jan-31-2023 09:05:00 UTC",
        ] {
            let read = seconds(text).map(|found| found.map(NonZeroU32::get));
            assert_eq!(read, Ok(Some(1_675_155_900)), "{text}");
        }
        assert_eq!(seconds("Jan-31-2023 09:05:00 PM +UTC").unwrap().unwrap().get(), 1_675_199_100);
        assert_eq!(seconds("2023-01-31").unwrap().unwrap().get(), 1_675_123_200);
        for nothing in ["", "0", "0.0", "1970-01-01 00:00:00"] {
            assert_eq!(seconds(nothing), Ok(None), "{nothing}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_or_not_at_all_is_no_time() {
        for text in [
            "01/02/2023 09:05",
            "1/2/2023 9:05:00 AM",
            "02.01.2023",
            "yesterday",
            "2 days ago",
            "2023-01-31 09:05:00 PST",
            "2023-01-31 09:05:00 +0100 UTC",
            "2023-02-30 09:05:00",
            "2023-01-31 25:05:00",
            "-5",
            "1e9",
            "9999999999",
            "1.67516E+09",
            "0x",
            "UTC",
            "Z",
            "99999999999999999999999",
            "1675155900.",
        ] {
            let why = seconds(text).unwrap_err();
            assert!(why.contains(text) && why.contains(FORMS), "{text}: {why}");
        }
    }
}
