//! Exact decimal numbers for weights, scores and thresholds: never floating point.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One, in the unit of [`Decimal`].
const ONE: i64 = 100_000;
const PLACES: usize = 5;
/// Bytes of the longest number: a sign, all digits of 64 bits and the point.
const LONGEST: usize = 21;
/// Digits before the point: sums of millions of the largest numbers still fit 64 bits.
const WHOLE_DIGITS: usize = 7;

/// The text is not such a number.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a decimal number with up to 7 digits before and 5 after the point")]
pub struct InvalidDecimal;

/// A number in steps of 0.00001. Displayed with exactly five decimals
/// (`docs/reference/behavior/scoring.md#score-record`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Decimal(i64);

impl Decimal {
    /// 0.
    pub const ZERO: Self = Self(0);

    /// From hundred-thousandths, as they are stored.
    pub const fn from_units(units: i64) -> Self {
        Self(units)
    }

    /// In hundred-thousandths.
    pub const fn units(self) -> i64 {
        self.0
    }

    /// Appends the displayed form to `text`.
    pub fn push_to(self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.digits(&mut [0; LONGEST]));
    }

    /// Writes from the last digit to the first.
    fn digits(self, room: &mut [u8; LONGEST]) -> &[u8] {
        let mut start = LONGEST;
        let mut put = |byte| {
            start -= 1;
            room[start] = byte;
        };
        let mut units = self.0.unsigned_abs();
        let mut count = 0;
        while units > 0 || count <= PLACES {
            if count == PLACES {
                put(b'.');
            }
            put(b'0' + u8::try_from(units % 10).unwrap_or_default());
            units /= 10;
            count += 1;
        }
        if self.0 < 0 {
            put(b'-');
        }
        &room[start..]
    }
}

impl FromStr for Decimal {
    type Err = InvalidDecimal;

    /// Digits, and at most five more after a point. No sign and no exponent: a weight is never negative.
    fn from_str(text: &str) -> Result<Self, InvalidDecimal> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(InvalidDecimal),
            Some(parts) => parts,
            None => (text, ""),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > WHOLE_DIGITS || fraction.len() > PLACES {
            return Err(InvalidDecimal);
        }
        if !digits(whole) || !digits(fraction) {
            return Err(InvalidDecimal);
        }
        let whole: i64 = whole.parse().map_err(|_| InvalidDecimal)?;
        let fraction: i64 = format!("{fraction:0<PLACES$}").parse().map_err(|_| InvalidDecimal)?;
        Ok(Self(whole * ONE + fraction))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(self.digits(&mut [0; LONGEST])).unwrap_or_default())
    }
}

impl TryFrom<String> for Decimal {
    type Error = InvalidDecimal;

    fn try_from(text: String) -> Result<Self, InvalidDecimal> {
        text.parse()
    }
}

impl From<Decimal> for String {
    fn from(decimal: Decimal) -> Self {
        decimal.to_string()
    }
}

impl Add for Decimal {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Decimal {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn five_decimals_are_written() {
        for (read, written) in [
            ("35.766", "35.76600"),
            ("20", "20.00000"),
            ("0", "0.00000"),
            ("0.00001", "0.00001"),
            ("007.5", "7.50000"),
        ] {
            assert_eq!(decimal(read).to_string(), written);
        }
        assert_eq!(Decimal::from_units(-123_456).to_string(), "-1.23456");
        assert_eq!(Decimal::from_units(i64::MIN).to_string(), "-92233720368547.75808");
    }

    #[test]
    fn a_sum_that_floating_point_misses_is_exact() {
        assert!(decimal("19.9") + decimal("0.1") >= decimal("20"));
        assert_eq!((0..10).map(|_| decimal("0.1")).sum::<Decimal>(), decimal("1"));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "", ".", ".5", "5.", "-1", "+1", "1e3", "1.123456", "12345678", "1,5", " 1", "1.1.1", "NaN",
            "\u{661}", "0x1",
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(InvalidDecimal), "{text:?}");
        }
    }
}
