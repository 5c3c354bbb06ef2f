//! Strict parsing of path and query: a malformed value is refused before anything happens.

use std::borrow::Cow;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use jiff::civil::{Date, DateTime};
use percent_encoding::percent_decode_str;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;

use crate::address;
use crate::error::{Error, Parameter, Result};

/// The named segments of the path, decoded one by one: an undecodable segment does not affect the others. Never
/// rejects: the key is checked first.
pub(crate) struct Segments(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Segments {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let pairs = route.split('/').zip(parts.uri.path().split('/'));
        let named = pairs.filter_map(|(name, segment)| {
            let name = name.strip_prefix('{')?.strip_suffix('}')?;
            Some((name.to_owned(), percent_decode_str(segment).decode_utf8_lossy().into_owned()))
        });
        Ok(Self(named.collect()))
    }
}

impl Segments {
    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// `{address}`.
    pub(crate) fn address(&self) -> Result<EvmAddress> {
        let text = self.find("address").ok_or(Error::InvalidAddress)?;
        address::read(text).map_err(|_| Error::InvalidAddress)
    }

    /// `{scorer_id}`: 422 for a non-integer, 404 for an integer that no scorer has.
    pub(crate) fn scorer(&self) -> Result<ScorerId> {
        scorer(self.find("scorer_id").unwrap_or_default(), "path")
    }
}

/// A scorer's number.
pub(crate) fn scorer(text: &str, place: &'static str) -> Result<ScorerId> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Parameter(Parameter {
            place,
            name: "scorer_id",
            kind: "int_parsing",
            message: "Input should be a valid integer, unable to parse string as an integer",
        }));
    }
    text.parse().map_err(|_| Error::NoScorer)
}

/// The parameters of a query.
pub(crate) struct QueryPairs<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> QueryPairs<'q> {
    pub(crate) fn read(query: Option<&'q str>) -> Self {
        Self(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect())
    }

    /// The value of a parameter; if it occurs several times, the last.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Every value of a parameter.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// A switch, off by default.
    pub(crate) fn switch(&self, name: &'static str) -> Result<bool> {
        match self.find(name).map(str::to_ascii_lowercase).as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Error::Parameter(Parameter {
                place: "query",
                name,
                kind: "bool_parsing",
                message: "Input should be a valid boolean: true or false",
            })),
        }
    }

    /// `limit`: 1 to `most`, which is also the default.
    pub(crate) fn limit(&self, most: u32) -> Result<u32> {
        let Some(text) = self.find("limit") else { return Ok(most) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::Parameter(Parameter {
                place: "query",
                name: "limit",
                kind: "int_parsing",
                message: "Input should be a valid integer, unable to parse string as an integer",
            }));
        }
        match text.parse::<u32>() {
            Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
            _ => Err(Error::InvalidLimit),
        }
    }

    /// `created_at`: `YYYY-MM-DD`, which is its start in UTC, or a time in UTC as responses write it.
    pub(crate) fn created_at(&self) -> Result<UnixMillis> {
        let Some(text) = self.find("created_at") else {
            return Err(created_at("missing", "Field required"));
        };
        parse_time(text).ok_or_else(|| {
            created_at(
                "datetime_parsing",
                "Input should be a date (YYYY-MM-DD) or a time in UTC (YYYY-MM-DDThh:mm:ss.sssZ); a second has 0 to 9 \
                 decimals, and the time ends in Z or +00:00",
            )
        })
    }
}

fn created_at(kind: &'static str, message: &'static str) -> Error {
    Error::Parameter(Parameter { place: "query", name: "created_at", kind, message })
}

/// A date, or a time in UTC with any number of decimals, and no other form: digits where digits belong. A moment
/// between two milliseconds rounds up, so that earlier times stay earlier.
fn parse_time(text: &str) -> Option<UnixMillis> {
    if is_form(text, "0000-00-00") {
        return in_utc(text.parse::<Date>().ok()?.at(0, 0, 0, 0));
    }
    // A plus sign in a query is a space, unless it is escaped.
    let local = ["Z", "+00:00", " 00:00"].iter().find_map(|zone| text.strip_suffix(zone))?;
    let (whole, fraction) = local.split_once('.').map_or((local, "0"), |(whole, fraction)| (whole, fraction));
    let digits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    // The library's parser accepts a leap second.
    if !digits || !is_form(whole, "0000-00-00T00:00:00") || whole.ends_with("60") {
        return None;
    }
    let at = in_utc(whole.parse().ok()?)?;
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    Some(UnixMillis(at.0 + (nanos + 999_999) / 1_000_000))
}

fn is_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, place)| match place {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

/// Covers the last days of the year 9999, where the library's time range ends.
fn in_utc(at: DateTime) -> Option<UnixMillis> {
    let epoch = Date::constant(1970, 1, 1).at(0, 0, 0, 0);
    i64::try_from(at.duration_since(epoch).as_millis()).ok().map(UnixMillis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_at_takes_a_date_or_a_time_in_utc_and_nothing_else() {
        let at = |text| parse_time(text).map(UnixMillis::to_rfc3339);
        assert_eq!(at("2024-02-29").as_deref(), Some("2024-02-29T00:00:00.000Z"));
        assert_eq!(at("9999-12-31").as_deref(), Some("253402214400000"));
        for text in [
            "2024-02-29T10:20:30.456Z",
            "2024-02-29T10:20:30.456000Z",
            "2024-02-29T10:20:30.456+00:00",
            "2024-02-29T10:20:30.456000+00:00",
            "2024-02-29T10:20:30.456000 00:00",
            "2024-02-29T10:20:30.456000000Z",
            "2024-02-29T10:20:30.455999999Z",
            "2024-02-29T10:20:30.4555Z",
        ] {
            assert_eq!(at(text).as_deref(), Some("2024-02-29T10:20:30.456Z"), "{text}");
        }
        for text in ["2024-02-29T10:20:30Z", "2024-02-29T10:20:30+00:00", "2024-02-29T10:20:30.0Z"] {
            assert_eq!(at(text).as_deref(), Some("2024-02-29T10:20:30.000Z"), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2024-2-9",
            "2023-02-29",
            "2024-13-01",
            "2024-02-29T10:20:30.456",
            "2024-02-29T10:20:30",
            "2024-02-29T10:20:30.456+01:00",
            "2024-02-29T10:20:30.456 01:00",
            "2024-02-29T10:20:30.456-00:00",
            "2024-02-29T10:20:30.456+0000",
            "2024-02-29T10:20:30.456+00",
            "2024-02-29T10:20:30.456 +00:00",
            "2024-02-29T10:20:30.456Z+00:00",
            "2024-02-29 10:20:30.456Z",
            "2024-02-29t10:20:30.456z",
            "2024-02-29T10:20Z",
            "2024-02-29Z",
            "2024-02-29 00:00",
            "2024-02-29T10:20:30.Z",
            "2024-02-29T10:20:30,456Z",
            "2024-02-29T10:20:30.4567891234Z",
            "2024-02-29T25:00:00.000Z",
            "2024-02-29T24:00:00Z",
            "+024-02-29",
            "2024-02-29T10:20:60.000Z",
            "1709202030",
        ] {
            assert_eq!(parse_time(text), None, "{text:?}");
        }
    }

    #[test]
    fn created_at_takes_every_time_that_answers_write() {
        for at in [0, 1, 999, 1_709_202_030_456, 1_767_225_600_000, 253_402_207_199_999] {
            for text in [UnixMillis(at).to_iso_micros(), UnixMillis(at).to_rfc3339()] {
                assert_eq!(parse_time(&text), Some(UnixMillis(at)), "{text}");
                assert_eq!(parse_time(&text.replace('+', " ")), Some(UnixMillis(at)), "{text}");
            }
        }
    }

    #[test]
    fn a_limit_outside_its_bounds_is_another_error_than_one_that_is_no_number() {
        let limit = |query| QueryPairs::read(Some(query)).limit(1000);
        assert_eq!(limit("").unwrap(), 1000);
        assert_eq!(limit("limit=3").unwrap(), 3);
        assert_eq!(limit("limit=1000").unwrap(), 1000);
        for query in ["limit=0", "limit=-1", "limit=1001", "limit=99999999999999999999"] {
            assert!(matches!(limit(query), Err(Error::InvalidLimit)), "{query}");
        }
        for query in ["limit=abc", "limit=", "limit=1.5", "limit=-"] {
            assert!(matches!(limit(query), Err(Error::Parameter(_))), "{query}");
        }
    }

    #[test]
    fn a_scorer_that_is_no_integer_is_malformed_and_one_that_cannot_exist_is_not_found() {
        for text in ["abc", "", "1.0", "1e3", "0x1", "+1"] {
            assert!(matches!(scorer(text, "path"), Err(Error::Parameter(_))), "{text:?}");
        }
        for text in ["0", "-1", "99999999999999999999"] {
            assert!(matches!(scorer(text, "path"), Err(Error::NoScorer)), "{text:?}");
        }
        assert_eq!(scorer("335", "path").unwrap().get(), 335);
    }
}
