//! A day or a time, as a parameter.

use jiff::Timestamp;
use jiff::civil::Date;

/// A day, which means its start in UTC, or a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayOrTime(pub(crate) String);

impl From<Date> for DayOrTime {
    fn from(date: Date) -> Self {
        Self(date.to_string())
    }
}

impl From<Timestamp> for DayOrTime {
    fn from(timestamp: Timestamp) -> Self {
        Self(timestamp.to_string())
    }
}
