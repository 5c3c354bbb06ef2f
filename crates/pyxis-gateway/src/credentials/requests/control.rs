//! Control headers of `POST /forward` and `POST /sign`.
//!
//! Agents invent headers (`X-PX-Body`). Unknown `X-PX-*` headers and repeated control headers are therefore refused,
//! not ignored.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::entry_point::EntryPoint;
use crate::error::{Error, Result};

/// Prefix of every agent key.
pub(crate) const KEY_PREFIX: &str = "px_agent_";
/// Maximum `Prefer: wait`.
pub(crate) const MAX_WAIT: Duration = Duration::from_mins(1);
/// Maximum length of `X-PX-Reason`, in bytes.
const MAX_REASON: usize = 1024;
/// Maximum length of `Idempotency-Key`, in bytes.
const MAX_IDEMPOTENCY_KEY: usize = 255;

const KEY: &str = "x-px-key";
const CREDENTIAL: &str = "x-px-credential";
const TARGET: &str = "x-px-target";
const METHOD: &str = "x-px-method";
const REASON: &str = "x-px-reason";
/// Header by which a program in front of `/forward` names itself.
pub(crate) const ENTRY_POINT: &str = "x-px-entry-point";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const PREFER: &str = "prefer";

/// The control headers, each at most once.
#[derive(Debug, Default)]
pub(crate) struct Control<'a> {
    /// `X-PX-Credential`.
    pub credential: Option<&'a str>,
    /// `X-PX-Target`.
    pub target: Option<&'a str>,
    /// `X-PX-Method`.
    pub method: Option<&'a str>,
    /// `X-PX-Reason`.
    pub reason: Option<&'a str>,
    /// `X-PX-Entry-Point`, which names a program in front of `/forward`. It changes no rule of a policy.
    pub entry_point: Option<&'a str>,
    /// `Idempotency-Key`.
    pub idempotency_key: Option<&'a str>,
    /// `Idempotency-Key` of a tool behind `pyxis run`. Several, or an invalid one, are `None`: they are for the target.
    pub tool_key: Option<&'a str>,
    /// `Prefer: wait=N` (RFC 7240), at most [`MAX_WAIT`].
    pub wait: Option<Duration>,
}

/// Extracts the agent key, before any other check.
pub(crate) fn key(headers: &HeaderMap) -> Result<&str> {
    let mut values = headers.get_all(KEY).iter();
    let key = values.next().ok_or(Error::MissingKey)?;
    if values.next().is_some() {
        return Err(Error::DuplicateHeader("X-PX-Key"));
    }
    let key = key.to_str().map_err(|_| Error::InvalidKey)?.trim();
    if key.is_empty() { Err(Error::MissingKey) } else { Ok(key) }
}

/// True for a request of `pyxis run` or `pyxis proxy`. The tool behind them does not know Pyxis. So its `Idempotency-Key`
/// and `Prefer` are for the target: Pyxis neither repeats a response for the one nor waits for the other.
pub(crate) fn is_of_tool(headers: &HeaderMap) -> bool {
    headers.get(ENTRY_POINT).is_some_and(|name| name == EntryPoint::RUN)
}

impl<'a> Control<'a> {
    /// Reads the control headers.
    pub(crate) fn read(headers: &'a HeaderMap) -> Result<Self> {
        let mut control = Self::default();
        let is_of_tool = is_of_tool(headers);
        for (name, value) in headers {
            match name.as_str() {
                // The key was read before; `Prefer` is read below, as a whole.
                KEY | PREFER => {}
                CREDENTIAL => once(&mut control.credential, "X-PX-Credential", value)?,
                TARGET => once(&mut control.target, "X-PX-Target", value)?,
                METHOD => once(&mut control.method, "X-PX-Method", value)?,
                REASON => once(&mut control.reason, "X-PX-Reason", value)?,
                ENTRY_POINT => once(&mut control.entry_point, "X-PX-Entry-Point", value)?,
                IDEMPOTENCY_KEY if is_of_tool => {}
                IDEMPOTENCY_KEY => once(&mut control.idempotency_key, "Idempotency-Key", value)?,
                other if other.starts_with("x-px-") => return Err(unknown(name)),
                _ => {}
            }
        }
        if is_of_tool {
            control.tool_key = only_key(headers);
        } else {
            control.wait = wait(headers)?;
        }
        control.check_entry_point()?;
        control.check_lengths()?;
        Ok(control)
    }

    /// The credential's name, required for every use.
    pub(crate) fn credential(&self) -> Result<&'a str> {
        self.credential.filter(|name| !name.is_empty()).ok_or(Error::MissingHeader("X-PX-Credential"))
    }

    /// The target, required for every forward.
    pub(crate) fn target(&self) -> Result<&'a str> {
        self.target.filter(|url| !url.is_empty()).ok_or(Error::MissingHeader("X-PX-Target"))
    }

    fn check_entry_point(&self) -> Result<()> {
        if self.entry_point.is_some_and(|name| name != EntryPoint::RUN) {
            return Err(Error::InvalidHeader { name: "X-PX-Entry-Point", detail: "must be run, or absent" });
        }
        Ok(())
    }

    fn check_lengths(&self) -> Result<()> {
        if self.reason.is_some_and(|reason| reason.len() > MAX_REASON) {
            return Err(Error::InvalidHeader { name: "X-PX-Reason", detail: "must have at most 1024 bytes" });
        }
        if self.idempotency_key.is_some_and(|key| key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY) {
            return Err(Error::InvalidHeader { name: "Idempotency-Key", detail: "must have 1 to 255 bytes" });
        }
        Ok(())
    }
}

fn once<'a>(slot: &mut Option<&'a str>, name: &'static str, value: &'a HeaderValue) -> Result<()> {
    if slot.is_some() {
        return Err(Error::DuplicateHeader(name));
    }
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| Error::InvalidHeader { name, detail: "must be UTF-8 text" })?;
    *slot = Some(text.trim());
    Ok(())
}

fn only_key(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    value.to_str().ok().filter(|key| (1..=MAX_IDEMPOTENCY_KEY).contains(&key.len()))
}

fn unknown(name: &HeaderName) -> Error {
    let mut shown = name.as_str().to_owned();
    shown.truncate(100);
    Error::UnknownHeader(shown)
}

/// `wait` of the only `Prefer` header. Other preferences are ignored, as RFC 7240 requires.
fn wait(headers: &HeaderMap) -> Result<Option<Duration>> {
    let mut values = headers.get_all(PREFER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Error::DuplicateHeader("Prefer"));
    }
    let bad =
        Error::InvalidHeader { name: "Prefer", detail: "wait must be whole seconds, for example wait=30" };
    let Ok(text) = value.to_str() else { return Err(bad) };
    for preference in text.split([',', ';']) {
        let (name, argument) = preference.split_once('=').unwrap_or((preference, ""));
        if name.trim().eq_ignore_ascii_case("wait") {
            let seconds: u64 = argument.trim().trim_matches('"').parse().map_err(|_| bad)?;
            return Ok(Some(Duration::from_secs(seconds).min(MAX_WAIT)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            })
    }

    #[test]
    fn an_invented_header_is_refused_by_name() {
        let sent = headers(&[("x-px-body", "{}")]);
        let error = Control::read(&sent).unwrap_err();
        assert!(matches!(error, Error::UnknownHeader(name) if name == "x-px-body"));
    }

    #[test]
    fn a_control_header_sent_twice_is_refused() {
        for name in [
            "x-px-credential",
            "x-px-target",
            "x-px-method",
            "x-px-reason",
            "x-px-entry-point",
            "idempotency-key",
            "prefer",
        ] {
            let sent = headers(&[(name, "a"), (name, "a")]);
            assert!(matches!(Control::read(&sent), Err(Error::DuplicateHeader(_))), "{name}");
        }
        assert!(matches!(
            key(&headers(&[("x-px-key", "a"), ("x-px-key", "b")])),
            Err(Error::DuplicateHeader(_))
        ));
    }

    #[test]
    fn the_headers_of_a_tool_behind_pyxis_run_are_for_its_target() {
        let sent = headers(&[
            ("x-px-entry-point", "run"),
            ("idempotency-key", "a"),
            ("idempotency-key", "b"),
            ("prefer", "wait=soon"),
        ]);
        let control = Control::read(&sent).unwrap();
        assert_eq!((control.idempotency_key, control.tool_key, control.wait), (None, None, None));
        let sent = headers(&[("x-px-entry-point", "run"), ("idempotency-key", "a")]);
        let control = Control::read(&sent).unwrap();
        assert_eq!((control.idempotency_key, control.tool_key), (None, Some("a")));
    }

    #[test]
    fn prefer_wait_is_read_among_other_preferences_and_capped_at_a_minute() {
        let wait = |value| Control::read(&headers(&[("prefer", value)])).unwrap().wait;
        assert_eq!(wait("respond-async, wait=5"), Some(Duration::from_secs(5)));
        assert_eq!(wait("wait=600"), Some(MAX_WAIT));
        assert_eq!(wait("return=minimal"), None);
        assert!(Control::read(&headers(&[("prefer", "wait=soon")])).is_err());
    }
}
