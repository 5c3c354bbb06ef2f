//! A credential's content, checked for form and dates. Nothing here is trusted until the proof is checked, and the
//! proof must cover every field read here.

use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::stamp::{Nullifier, StampName};

use super::did::{self, Issuer};
use super::json::{JsonNode, Object};
use super::rejection::{Rejection, shortened};

/// Maximum lead of an issuer's clock over the local one.
pub const CLOCK_SKEW: Duration = Duration::from_mins(5);
/// Maximum number of nullifiers in one credential.
pub const MAX_NULLIFIERS: usize = 32;
/// The context that makes a JSON document a version 1 credential.
pub(super) const CREDENTIALS_CONTEXT: &str = "https://www.w3.org/2018/credentials/v1";

pub(super) struct Claims {
    pub(super) issuer: Issuer,
    pub(super) address: EvmAddress,
    pub(super) provider: StampName,
    pub(super) nullifiers: Vec<Nullifier>,
    pub(super) issued_at: UnixMillis,
    pub(super) expires_at: UnixMillis,
}

impl Claims {
    pub(super) fn read(document: &Object<'_>) -> Result<Self, Rejection> {
        let first = document.list("@context")?.first().and_then(JsonNode::as_text);
        let types = document.list("type")?;
        if first != Some(CREDENTIALS_CONTEXT)
            || !types.iter().any(|name| name.as_text() == Some("VerifiableCredential"))
        {
            return Err(Rejection::NotACredential);
        }
        let inner = |rejection: Rejection| rejection.within("credentialSubject");
        let subject = document.object("credentialSubject")?;
        let issuer = Issuer::parse(document.text("issuer")?)?;
        let id = subject.text("id").map_err(inner)?;
        let address = did::holder(id).ok_or_else(|| Rejection::InvalidSubject { found: shortened(id) })?;
        Ok(Self {
            issuer,
            address,
            provider: provider(subject).map_err(inner)?,
            nullifiers: nullifiers(subject).map_err(inner)?,
            issued_at: date(document, "issuanceDate")?,
            expires_at: date(document, "expirationDate")?,
        })
    }

    pub(super) fn check_dates(&self, now: UnixMillis) -> Result<(), Rejection> {
        if self.expires_at <= self.issued_at {
            return Err(Rejection::ExpiresBeforeIssuance);
        }
        if self.issued_at > now.plus(CLOCK_SKEW) {
            return Err(Rejection::IssuedInFuture { at: self.issued_at });
        }
        if self.expires_at <= now {
            return Err(Rejection::Expired { at: self.expires_at });
        }
        Ok(())
    }
}

fn provider(subject: &Object<'_>) -> Result<StampName, Rejection> {
    subject.text("provider")?.parse().map_err(|_| Rejection::InvalidProvider)
}

/// Reads `nullifiers`, or `hash` in older credentials; never both.
fn nullifiers(subject: &Object<'_>) -> Result<Vec<Nullifier>, Rejection> {
    let invalid = |expected| Rejection::InvalidNullifiers { expected };
    let list = match (subject.get("nullifiers"), subject.get("hash")) {
        (Some(JsonNode::List(list)), None) => list.as_slice(),
        (None, Some(hash)) => std::slice::from_ref(hash),
        (Some(_), None) => return Err(invalid("nullifiers must be a list of strings")),
        (None, None) => return Err(invalid("nullifiers (or the older hash) are missing")),
        (Some(_), Some(_)) => return Err(invalid("there must be nullifiers or the older hash, not both")),
    };
    if list.is_empty() || list.len() > MAX_NULLIFIERS {
        return Err(invalid("there must be 1 to 32"));
    }
    let mut nullifiers: Vec<Nullifier> = Vec::with_capacity(list.len());
    for node in list {
        let nullifier: Nullifier = node
            .as_text()
            .and_then(|text| text.parse().ok())
            .ok_or(invalid("each must be a string of 1 to 256 printable bytes"))?;
        if nullifiers.contains(&nullifier) {
            return Err(invalid("all must be different"));
        }
        nullifiers.push(nullifier);
    }
    Ok(nullifiers)
}

/// Reads the required date `field`.
pub(super) fn date(object: &Object<'_>, field: &str) -> Result<UnixMillis, Rejection> {
    parse_time(object.text(field)?).ok_or_else(|| Rejection::InvalidDate { field: field.to_owned() })
}

/// Parses a moment in an accepted format, truncated to milliseconds. A moment past the library's last second becomes
/// that second: credentials that never expire end on the last day of the year 9999.
fn parse_time(text: &str) -> Option<UnixMillis> {
    if !is_rfc3339(text) {
        return None;
    }
    let last = UnixMillis(jiff::Timestamp::MAX.as_second() * 1000);
    UnixMillis::parse_rfc3339(text).or_else(|| is_behind_the_end(text).then_some(last)).map(|at| at.min(last))
}

/// True if an unparsable text is in the year 9999 and has no other fault: it then parses with an earlier year.
fn is_behind_the_end(text: &str) -> bool {
    let earlier = text.strip_prefix("9999-").map(|rest| format!("9998-{rest}"));
    earlier.is_some_and(|earlier| UnixMillis::parse_rfc3339(&earlier).is_some())
}

/// True if `text` has the form of RFC 3339. The parser accepts other forms of ISO 8601 as well.
fn is_rfc3339(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let Some((start, rest)) = text.as_bytes().split_at_checked(FORM.len()) else { return false };
    let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &fraction[digits..]
        }
        None => rest,
    };
    start.iter().zip(FORM).all(fits)
        && match rest {
            b"Z" => true,
            [b'+' | b'-', offset @ ..] => offset.len() == 5 && offset.iter().zip(b"00:00").all(fits),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_rfc_3339_and_no_others() {
        for (text, shown) in [
            ("2024-01-18T15:20:18.055Z", "2024-01-18T15:20:18.055Z"),
            ("2025-11-20T13:12:09.615116194Z", "2025-11-20T13:12:09.615Z"),
            ("2026-02-18T13:12:09Z", "2026-02-18T13:12:09.000Z"),
            ("2026-02-18T13:12:09+02:00", "2026-02-18T11:12:09.000Z"),
            ("2026-02-18T13:12:09.000999Z", "2026-02-18T13:12:09.000Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
            // A leap second maps to the second before: there is no other place for it.
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
            ("0000-01-01T00:00:00+01:00", "-000001-12-31T23:00:00.000Z"),
        ] {
            assert_eq!(parse_time(text).map(UnixMillis::to_rfc3339).as_deref(), Some(shown), "{text}");
        }
        for text in [
            "",
            "2026-02-18",
            "20260218T131209Z",
            "2026-02-18 13:12:09Z",
            "2026-02-18T13:12:09",
            "2026-02-18T13:12:09.Z",
            "2026-02-18T13:12:09.0000000000Z",
            "2026-02-18T13:12Z",
            "2026-02-18T13:12:09+0200",
            "2026-02-18T13:12:09Z[Europe/Berlin]",
            "+002026-02-18T13:12:09Z",
            "-002026-02-18T13:12:09Z",
            "10000-01-01T00:00:00Z",
            "2026-02-18T13:12:0\u{663}Z",
            // XML Schema, which version 1 credentials refer to, allows only capitals.
            "2026-02-18t13:12:09Z",
            "2026-02-18T13:12:09z",
        ] {
            assert!(!is_rfc3339(text), "{text}");
            assert_eq!(parse_time(text), None, "{text}");
        }
        for text in
            ["2023-02-29T00:00:00Z", "2026-02-18T24:00:00Z", "2026-02-18T13:12:61Z", "0000-00-00T00:00:00Z"]
        {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_behind_the_end_of_time_is_its_last_second() {
        let shown = |text| parse_time(text).map(UnixMillis::to_rfc3339);
        assert_eq!(shown("9999-12-30T21:59:59.5Z").as_deref(), Some("9999-12-30T21:59:59.500Z"));
        for text in [
            "9999-12-30T22:00:00.5Z",
            "9999-12-30T22:00:01Z",
            "9999-12-31T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.999999999Z",
            "9999-12-31T23:59:59-12:00",
            "9999-12-31T23:59:59+14:00",
        ] {
            assert_eq!(shown(text).as_deref(), Some("9999-12-30T22:00:00.000Z"), "{text}");
        }
        for text in [
            "9999-02-29T00:00:00Z",
            "9999-12-32T00:00:00Z",
            "9999-13-01T00:00:00Z",
            "9999-12-31T24:00:00Z",
            "9999-12-31T23:59:59+99:00",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
