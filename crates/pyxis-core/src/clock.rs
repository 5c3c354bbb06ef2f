//! Time as an argument.
//!
//! Wall-clock time is [`UnixMillis`]; code that needs the current time takes a [`Clock`] or, better, the value.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// This instant plus `duration`, saturating.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// This instant minus `duration`, saturating.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whole seconds since the epoch, rounded down.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// RFC 3339 in UTC with milliseconds, for example `2026-01-31T09:05:00.250Z`.
    pub fn to_rfc3339(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).map_or_else(|_| self.0.to_string(), |t| format!("{t:.3}"))
    }

    /// Parses a `Date` header, for example `Sat, 31 Jan 2026 09:05:00 GMT` (RFC 9110, section 5.6.7).
    pub fn parse_http_date(text: &str) -> Option<Self> {
        let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
        Some(Self(at.as_millisecond()))
    }

    /// ISO 8601 in UTC with microseconds and a numeric offset (`docs/reference/behavior/scoring.md#score-record`),
    /// for example `2026-01-31T09:05:00.250000+00:00`. Moments after the year 9999 are shown as its end.
    pub fn to_iso_micros(self) -> String {
        let mut text = Vec::with_capacity(ISO_MICROS.len());
        self.push_iso_micros(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// Appends the same to `text`. A score response has one for each of its Stamps, so this formats by hand.
    pub fn push_iso_micros(self, text: &mut Vec<u8>) {
        let end = if self.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let shown = jiff::Timestamp::from_millisecond(self.0).unwrap_or(end);
        let at = jiff::tz::Offset::UTC.to_datetime(shown);
        let Ok(year) = u32::try_from(at.year()) else {
            // Before the year 0, which has a different form.
            text.extend_from_slice(format!("{shown:.6}").trim_end_matches('Z').as_bytes());
            text.extend_from_slice(b"+00:00");
            return;
        };
        let part = |part: i8| u32::from(part.unsigned_abs());
        let micros = at.subsec_nanosecond().unsigned_abs() / 1000;
        let mut digits = *ISO_MICROS;
        for (place, value) in [
            (0..4, year),
            (5..7, part(at.month())),
            (8..10, part(at.day())),
            (11..13, part(at.hour())),
            (14..16, part(at.minute())),
            (17..19, part(at.second())),
            (20..26, micros),
        ] {
            write_digits(&mut digits[place], value);
        }
        text.extend_from_slice(&digits);
    }

    /// Parses an RFC 3339 timestamp with any offset; `None` if it is not one.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Self(t.as_millisecond()))
    }
}

/// Parses an RFC 3339 timestamp from a decoded query, where an unescaped plus sign has become a space.
pub fn parse_rfc3339_of_query(text: &str) -> Option<UnixMillis> {
    let repaired = match text.rsplit_once(' ') {
        Some((time, offset)) if time.contains(['T', 't']) => Some(format!("{time}+{offset}")),
        _ => None,
    };
    UnixMillis::parse_rfc3339(repaired.as_deref().unwrap_or(text))
}

impl fmt::Debug for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// Template that the digits of a timestamp overwrite.
const ISO_MICROS: &[u8; 32] = b"0000-00-00T00:00:00.000000+00:00";

/// Writes the last digits of `value`, as many as fit.
fn write_digits(room: &mut [u8], mut value: u32) {
    for digit in room.iter_mut().rev() {
        *digit = b'0' + u8::try_from(value % 10).unwrap_or_default();
        value /= 10;
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A source of wall-clock time.
pub trait Clock: Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> UnixMillis;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> UnixMillis {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        UnixMillis(millis(since_epoch))
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that shows `now`.
    pub fn new(now: UnixMillis) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, now: UnixMillis) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_keeps_milliseconds_and_reads_back() {
        let at = UnixMillis(1_767_225_600_250);
        assert_eq!(at.to_rfc3339(), "2026-01-01T00:00:00.250Z");
        assert_eq!(UnixMillis::parse_rfc3339("2026-01-01T01:00:00.25+01:00"), Some(at));
        assert_eq!(UnixMillis::parse_rfc3339("yesterday"), None);
    }

    #[test]
    fn a_plus_sign_that_a_query_made_a_space_is_read_back() {
        let at = UnixMillis(1_767_225_600_250);
        for text in [&at.to_iso_micros(), &at.to_rfc3339(), "2026-01-01T01:00:00.25+01:00"] {
            assert_eq!(parse_rfc3339_of_query(text), Some(at), "{text}");
            assert_eq!(parse_rfc3339_of_query(&text.replace('+', " ")), Some(at), "{text}");
        }
        for text in ["2026-01-01T00:00:00", "2026-01-01T00:00:00 Z", "2026-01-01 01:00", " ", "T +00:00"] {
            assert_eq!(parse_rfc3339_of_query(text), None, "{text}");
        }
    }

    #[test]
    fn microseconds_and_the_offset_are_always_written() {
        assert_eq!(UnixMillis(1_767_225_600_250).to_iso_micros(), "2026-01-01T00:00:00.250000+00:00");
        assert_eq!(UnixMillis(1_767_225_600_000).to_iso_micros(), "2026-01-01T00:00:00.000000+00:00");
        assert_eq!(UnixMillis(i64::MAX).to_iso_micros(), "9999-12-30T22:00:00.999999+00:00");
    }

    #[test]
    fn every_moment_is_written_as_the_library_writes_it() {
        let mut step = 1_i64;
        for at in (0..2000).flat_map(|_| {
            step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            [step >> 8, step >> 16, step >> 20, step >> 24, step >> 40]
        }) {
            let Ok(shown) = jiff::Timestamp::from_millisecond(at) else { continue };
            let wanted = format!("{shown:.6}").replace('Z', "+00:00");
            assert_eq!(UnixMillis(at).to_iso_micros(), wanted);
        }
        assert_eq!(UnixMillis(i64::MIN).to_iso_micros(), "-009999-01-02T01:59:59.000000+00:00");
    }

    #[test]
    fn a_fixed_clock_moves_only_when_told() {
        let clock = FixedClock::new(UnixMillis(5));
        assert_eq!(clock.now(), UnixMillis(5));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.now(), UnixMillis(1005));
        assert_eq!(clock.now().since(UnixMillis(2000)), Duration::ZERO);
    }
}
