//! Fixed windows of time, aligned to UTC.

use crate::clock::UnixMillis;

const MINUTE: i64 = 60 * 1000;
const HOUR: i64 = 60 * MINUTE;
const QUARTER: i64 = HOUR / 4;

/// The start of the minute that contains `now`.
#[must_use]
pub fn minute_start(now: UnixMillis) -> UnixMillis {
    start(now, MINUTE)
}

/// The start of the hour that contains `now` (`docs/reference/behavior/proxy.md#rate-limit`).
#[must_use]
pub fn hour_start(now: UnixMillis) -> UnixMillis {
    start(now, HOUR)
}

/// The end of the hour that contains `now`, which is the start of the next one.
#[must_use]
pub fn hour_end(now: UnixMillis) -> UnixMillis {
    UnixMillis(hour_start(now).0.saturating_add(HOUR))
}

/// The start of the quarter hour that contains `now`.
#[must_use]
pub fn quarter_start(now: UnixMillis) -> UnixMillis {
    start(now, QUARTER)
}

/// The end of the quarter hour that contains `now`, which is the start of the next one.
#[must_use]
pub fn quarter_end(now: UnixMillis) -> UnixMillis {
    UnixMillis(quarter_start(now).0.saturating_add(QUARTER))
}

fn start(now: UnixMillis, length: i64) -> UnixMillis {
    UnixMillis(now.0.saturating_sub(now.0.rem_euclid(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> UnixMillis {
        UnixMillis::parse_rfc3339(text).expect("a timestamp")
    }

    #[test]
    fn hours_start_on_the_hour_and_end_where_the_next_one_starts() {
        for (now, start, end) in [
            ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"),
            ("2026-03-01T10:59:59.999Z", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"),
            ("2026-03-01T23:30:00Z", "2026-03-01T23:00:00Z", "2026-03-02T00:00:00Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!((hour_start(at(now)), hour_end(at(now))), (at(start), at(end)), "{now}");
        }
    }

    #[test]
    fn quarters_start_every_fifteen_minutes_and_end_where_the_next_one_starts() {
        for (now, start, end) in [
            ("2026-03-01T10:14:59.999Z", "2026-03-01T10:00:00Z", "2026-03-01T10:15:00Z"),
            ("2026-03-01T10:15:00Z", "2026-03-01T10:15:00Z", "2026-03-01T10:30:00Z"),
            ("2026-03-01T23:59:00Z", "2026-03-01T23:45:00Z", "2026-03-02T00:00:00Z"),
        ] {
            assert_eq!((quarter_start(at(now)), quarter_end(at(now))), (at(start), at(end)), "{now}");
        }
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        for now in [UnixMillis(i64::MIN), UnixMillis(i64::MAX)] {
            assert!(hour_start(now) <= now);
            assert!(hour_end(now) >= now);
            assert!(quarter_end(now) >= now);
        }
    }
}
