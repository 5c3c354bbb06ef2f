//! Content of a signed score, taken from the score record and its moment.

use std::borrow::Cow;
use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use serde::Deserialize;

/// Signed scores are issued on a grid of this many steps in their lifetime. So requests of one step get the same
/// content, and its signature is made once.
const STEPS: i64 = 12;

/// Members of the score record that are signed.
#[derive(Deserialize)]
struct RecordHead<'a> {
    address: EvmAddress,
    #[serde(borrow)]
    score: &'a str,
    passing_score: bool,
    #[serde(borrow)]
    last_score_timestamp: &'a str,
    #[serde(borrow)]
    threshold: &'a str,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
}

/// Reason that a score record cannot be signed.
#[derive(Debug, thiserror::Error)]
pub enum Unsigned {
    /// The record has an error: its score was computed only in part.
    #[error("the score could be computed only in part")]
    Partial,
    /// The text is not a score record.
    #[error("not a score record")]
    Damaged,
}

/// A score that can be signed: what it is, from when and until when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScoreStatement {
    pub scorer: ScorerId,
    pub address: EvmAddress,
    /// In hundred-thousandths.
    pub score: u64,
    /// In hundred-thousandths.
    pub threshold: u64,
    pub passing: bool,
    /// Unix seconds.
    pub computed_at: i64,
    /// Unix seconds.
    pub issued_at: i64,
    /// Unix seconds.
    pub expires_at: i64,
}

impl ScoreStatement {
    /// Reads a score record that stands until `valid_until`. With `exact` the statement is issued now, otherwise at the
    /// start of the step that now is in.
    pub fn from_record(
        record: &str,
        scorer: ScorerId,
        valid_until: UnixMillis,
        lifetime: Duration,
        now: UnixMillis,
        exact: bool,
    ) -> Result<Self, Unsigned> {
        let head: RecordHead<'_> = serde_json::from_str(record).map_err(|_| Unsigned::Damaged)?;
        if head.error.is_some() {
            return Err(Unsigned::Partial);
        }
        let computed_at = UnixMillis::parse_rfc3339(head.last_score_timestamp).ok_or(Unsigned::Damaged)?;
        let lifetime = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
        let step = if exact { 1 } else { (lifetime / STEPS).max(1) };
        let start = now.seconds().div_euclid(step) * step;
        Ok(Self {
            scorer,
            address: head.address,
            score: units(head.score).ok_or(Unsigned::Damaged)?,
            threshold: units(head.threshold).ok_or(Unsigned::Damaged)?,
            passing: head.passing_score,
            computed_at: computed_at.seconds(),
            // A score that was computed within the step was not known at its start.
            issued_at: start.max(computed_at.seconds()),
            expires_at: start.saturating_add(lifetime).min(valid_until.seconds()),
        })
    }
}

/// A number with five decimals in hundred-thousandths.
fn units(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').filter(|(_, fraction)| fraction.len() == 5)?;
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(100_000)?.checked_add(fraction.parse().ok()?)
}

/// A number of hundred-thousandths with five decimals.
pub(super) fn decimal(units: u64) -> String {
    format!("{}.{:05}", units / 100_000, units % 100_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"address":"0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1","score":"22.59800","passing_score":true,
        "last_score_timestamp":"2026-01-31T09:02:30.250000+00:00","expiration_timestamp":null,"threshold":"20.00000",
        "error":null,"stamps":{"A":{"score":"22.59800","dedup":false,"expiration_date":"2026-05-01T09:00:00.000000+00:00"}}}"#;
    const HOUR: Duration = Duration::from_hours(1);
    const FOREVER: UnixMillis = UnixMillis(i64::MAX);

    fn at(text: &str) -> UnixMillis {
        UnixMillis::parse_rfc3339(text).unwrap()
    }

    fn statement(now: &str, until: UnixMillis, exact: bool) -> ScoreStatement {
        ScoreStatement::from_record(RECORD, "1".parse().unwrap(), until, HOUR, at(now), exact).unwrap()
    }

    #[test]
    fn a_statement_repeats_within_a_step_and_never_precedes_its_score() {
        let first = statement("2026-01-31T09:02:31Z", FOREVER, false);
        assert_eq!((first.score, first.threshold, first.passing), (2_259_800, 2_000_000, true));
        assert_eq!(first.issued_at, at("2026-01-31T09:02:30Z").seconds(), "the score was not known before");
        assert_eq!(first.expires_at, at("2026-01-31T10:00:00Z").seconds());
        assert_eq!(first, statement("2026-01-31T09:04:59.999Z", FOREVER, false));
        let next = statement("2026-01-31T09:05:00Z", FOREVER, false);
        assert_eq!(next.issued_at, at("2026-01-31T09:05:00Z").seconds());
        assert_eq!(next.expires_at, at("2026-01-31T10:05:00Z").seconds());
    }

    #[test]
    fn a_statement_ends_with_its_score_and_an_exact_one_begins_now() {
        let until = at("2026-01-31T09:10:00.999Z");
        assert_eq!(statement("2026-01-31T09:06:00Z", until, false).expires_at, until.seconds());
        let exact = statement("2026-01-31T09:06:07.5Z", FOREVER, true);
        assert_eq!(exact.issued_at, at("2026-01-31T09:06:07Z").seconds());
        assert_eq!(exact.expires_at, at("2026-01-31T10:06:07Z").seconds());
    }

    #[test]
    fn a_record_with_an_error_or_of_another_form_is_not_signed() {
        let of = |record: &str| {
            ScoreStatement::from_record(
                record,
                "1".parse().unwrap(),
                FOREVER,
                HOUR,
                at("2026-01-31T09:06:00Z"),
                false,
            )
        };
        let partial = RECORD.replace(r#""error":null"#, r#""error":"a \"part\" is missing""#);
        assert!(matches!(of(&partial), Err(Unsigned::Partial)));
        for (from, to) in [("\"22.59800\",\"p", "\"22.598\",\"p"), ("\"22.59800\",\"p", "\"-1.00000\",\"p")] {
            assert!(matches!(of(&RECORD.replace(from, to)), Err(Unsigned::Damaged)), "{to}");
        }
        assert!(matches!(of("{}"), Err(Unsigned::Damaged)));
        assert_eq!(decimal(2_259_800), "22.59800");
        assert_eq!(decimal(5), "0.00005");
    }
}
