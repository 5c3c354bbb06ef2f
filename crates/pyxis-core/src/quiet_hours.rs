//! Hours of the day in which a person gets no messages (`docs/reference/notifications.md#escalation-and-quiet-hours`).

use jiff::tz::TimeZone;

use crate::clock::UnixMillis;

/// Longest accepted name of a time zone, in bytes.
const MAX_ZONE: usize = 64;
/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// Quiet hours: a time zone and two times of the day. They cross midnight if they end before they start.
#[derive(Clone, Debug, PartialEq)]
pub struct QuietHours {
    zone: TimeZone,
    name: String,
    start: u16,
    end: u16,
}

/// Reasons for refusing quiet hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuietHoursError {
    /// No such time zone.
    #[error("no time zone has this name; use an IANA name such as Europe/Berlin or UTC")]
    Zone,
    /// The start is not a time of the day.
    #[error("must be a time such as 22:00")]
    Start,
    /// The end is not a time of the day.
    #[error("must be a time such as 07:00")]
    End,
    /// Both times are the same.
    #[error("is the same time as the start; choose another one, or remove the quiet hours")]
    Empty,
}

impl QuietHoursError {
    /// Field with the fault.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Zone => "time_zone",
            Self::Start => "from",
            Self::End | Self::Empty => "to",
        }
    }
}

impl QuietHours {
    /// Quiet hours in a time zone (IANA name), between two times written as `22:00`.
    pub fn parse(zone: &str, from: &str, to: &str) -> Result<Self, QuietHoursError> {
        let start = minute_of_day(from).ok_or(QuietHoursError::Start)?;
        let end = minute_of_day(to).ok_or(QuietHoursError::End)?;
        Self::from_minutes(zone, start, end)
    }

    /// Quiet hours between two minutes of the day.
    pub fn from_minutes(zone: &str, start: u16, end: u16) -> Result<Self, QuietHoursError> {
        let is_name = !zone.is_empty() && zone.len() <= MAX_ZONE && zone.is_ascii();
        let found = is_name.then(|| TimeZone::get(zone).ok()).flatten().ok_or(QuietHoursError::Zone)?;
        let name = found.iana_name().unwrap_or(zone).to_owned();
        if start >= DAY {
            return Err(QuietHoursError::Start);
        }
        if end >= DAY {
            return Err(QuietHoursError::End);
        }
        if start == end {
            return Err(QuietHoursError::Empty);
        }
        Ok(Self { zone: found, name, start, end })
    }

    /// IANA name of the time zone.
    pub fn zone(&self) -> &str {
        &self.name
    }

    /// Start, in minutes from midnight.
    pub const fn start(&self) -> u16 {
        self.start
    }

    /// End, in minutes from midnight.
    pub const fn end(&self) -> u16 {
        self.end
    }

    /// The start as `22:00`.
    pub fn from_text(&self) -> String {
        clock_text(self.start)
    }

    /// The end as `07:00`.
    pub fn to_text(&self) -> String {
        clock_text(self.end)
    }

    /// End of the quiet hours around `now`; `None` outside of them.
    pub fn end_after(&self, now: UnixMillis) -> Option<UnixMillis> {
        let local = jiff::Timestamp::from_millisecond(now.0).ok()?.to_zoned(self.zone.clone());
        let minute = u16::try_from(local.hour()).ok()? * 60 + u16::try_from(local.minute()).ok()?;
        let crosses_midnight = self.start > self.end;
        let is_quiet = if crosses_midnight {
            minute >= self.start || minute < self.end
        } else {
            (self.start..self.end).contains(&minute)
        };
        if !is_quiet {
            return None;
        }
        let today = local.date();
        let day = if minute < self.end { today } else { today.tomorrow().ok()? };
        let (hour, minute) = (i8::try_from(self.end / 60).ok()?, i8::try_from(self.end % 60).ok()?);
        let end = day.at(hour, minute, 0, 0).to_zoned(self.zone.clone()).ok()?;
        // Where clocks are set back, the end may already be over.
        Some(UnixMillis(end.timestamp().as_millisecond())).filter(|end| *end > now)
    }
}

/// Minutes from midnight of a time written as `22:00`.
fn minute_of_day(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hour, minute) = (number(hour, 1..=2)?, number(minute, 2..=2)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

fn clock_text(minutes: u16) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> UnixMillis {
        UnixMillis::parse_rfc3339(text).unwrap()
    }

    fn end(hours: &QuietHours, now: &str) -> Option<String> {
        hours.end_after(at(now)).map(UnixMillis::to_rfc3339)
    }

    #[test]
    fn hours_across_midnight_end_on_the_next_morning() {
        let hours = QuietHours::parse("Europe/Berlin", "22:00", "07:00").unwrap();
        assert_eq!(end(&hours, "2026-01-10T20:59:59Z"), None);
        assert_eq!(end(&hours, "2026-01-10T21:00:00Z").unwrap(), "2026-01-11T06:00:00.000Z");
        assert_eq!(end(&hours, "2026-01-11T05:59:59Z").unwrap(), "2026-01-11T06:00:00.000Z");
        assert_eq!(end(&hours, "2026-01-11T06:00:00Z"), None);
        assert_eq!(end(&hours, "2026-07-10T20:00:00Z").unwrap(), "2026-07-11T05:00:00.000Z", "summer time");
    }

    #[test]
    fn hours_within_a_day_end_on_that_day() {
        let hours = QuietHours::parse("UTC", "9:05", "17:30").unwrap();
        assert_eq!((hours.from_text(), hours.to_text()), ("09:05".to_owned(), "17:30".to_owned()));
        assert_eq!(end(&hours, "2026-01-10T09:04:59Z"), None);
        assert_eq!(end(&hours, "2026-01-10T09:05:00Z").unwrap(), "2026-01-10T17:30:00.000Z");
        assert_eq!(end(&hours, "2026-01-10T17:30:00Z"), None);
    }

    #[test]
    fn an_end_that_clocks_skip_or_repeat_is_still_an_end() {
        // On 2026-03-29, 02:30 does not exist in Berlin; on 2026-10-25 it is twice.
        let hours = QuietHours::parse("Europe/Berlin", "22:00", "02:30").unwrap();
        assert_eq!(end(&hours, "2026-03-29T00:30:00Z").unwrap(), "2026-03-29T01:30:00.000Z");
        assert_eq!(end(&hours, "2026-10-25T00:10:00Z").unwrap(), "2026-10-25T00:30:00.000Z");
        assert_eq!(end(&hours, "2026-10-25T01:10:00Z"), None, "it ended before clocks were set back");
    }

    #[test]
    fn hours_that_are_none_are_refused_by_their_field() {
        for (zone, from, to, field) in [
            ("Mars/Base", "22:00", "07:00", "time_zone"),
            ("", "22:00", "07:00", "time_zone"),
            ("UTC", "24:00", "07:00", "from"),
            ("UTC", "22", "07:00", "from"),
            ("UTC", "+2:00", "07:00", "from"),
            ("UTC", "22:00", "7:0", "to"),
            ("UTC", "22:00", "07:60", "to"),
            ("UTC", "22:00", "22:00", "to"),
        ] {
            let error = QuietHours::parse(zone, from, to).unwrap_err();
            assert_eq!(error.field(), field, "{zone} {from} {to}: {error}");
        }
    }
}
