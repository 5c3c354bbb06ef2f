//! URL patterns of policies (`docs/reference/policy.md#patterns`).
//!
//! `/path` matches a path prefix on every host; `host`, `host/path` and `host:port/path` match that host exactly. A
//! prefix ends at a segment boundary and `*` is exactly one whole, non-empty segment.

mod index;
mod lenient;
mod path_variants;
mod windows;

use crate::target::{Host, Target, TargetError};

pub(crate) use index::PatternIndex;
#[cfg(test)]
pub(crate) use path_variants::TooManyVariants;
pub(crate) use path_variants::{is_garbled, is_unambiguous, variants};

/// The longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 2048;

/// Maximum number of forms of a pattern.
const MAX_FORMS: usize = 32;

/// Reasons for refusing a written pattern, each with its remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// An empty pattern.
    #[error("an empty pattern matches nothing; write `/` for every path, or remove it")]
    Empty,
    /// Over [`MAX_PATTERN_BYTES`].
    #[error("a pattern may have at most {MAX_PATTERN_BYTES} bytes; use a shorter prefix")]
    TooLong,
    /// White space or a control character.
    #[error("white space and control characters are not allowed; write a space in a path as `%20`")]
    Whitespace,
    /// `\`.
    #[error("a backslash is not allowed; write `/`, or `%5C` for a backslash that is data")]
    Backslash,
    /// `https://…`.
    #[error("a pattern has no scheme; write `host/path` or `/path`")]
    Scheme,
    /// `…?…`.
    #[error("queries are ignored when matching; remove `?` and what follows, or write `%3F`")]
    Query,
    /// `…#…`.
    #[error("fragments are ignored when matching; remove `#` and what follows, or write `%23`")]
    Fragment,
    /// `user@host`.
    #[error("a pattern has no user name or password; write `host/path`")]
    Userinfo,
    /// `*.example.com`.
    #[error("`*` is not allowed in a host; write one pattern for each host, or `/path` for every host")]
    StarInHost,
    /// `/v1*`.
    #[error("`*` stands for one whole segment, as in `/v1/*/users`; write a star that is data as `%2A`")]
    PartialStar,
    /// `/a/../b`, `/a/%2e/b`.
    #[error("`.` and `..` segments are not allowed; write the path that they lead to")]
    DotSegment,
    /// `%zz`.
    #[error("a `%` must be followed by two hexadecimal digits; write a percent sign as `%25`")]
    Escape,
    /// The host cannot be read.
    #[error("the part before the first `/` is not a host; write `host/path`, or begin a path with `/`")]
    Host,
    /// The port cannot be read.
    #[error("the port must be a number from 1 to 65535; write `host:port/path` or `host/path`")]
    Port,
}

/// One segment of a pattern's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Any one segment that is not empty.
    Any,
    /// This segment, byte for byte.
    Literal(Box<[u8]>),
}

/// An accepted pattern, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Canonical host; `None` matches every host.
    pub(crate) host: Option<Host>,
    /// The port, if the pattern has one.
    pub(crate) port: Option<u16>,
    /// The path, split at its slashes.
    pub(crate) segments: Vec<Segment>,
    /// The pattern ends with `/`, so that something (perhaps only that slash) must follow.
    pub(crate) trailing_slash: bool,
}

/// Checks a pattern as written in a policy.
pub fn check(text: &str) -> Result<(), PatternError> {
    Pattern::parse(text).map(drop)
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        refuse_foreign_characters(text)?;
        let (authority, path) = text.find('/').map_or((text, "/"), |slash| text.split_at(slash));
        refuse_foreign_authority(authority, path)?;
        refuse_foreign_path(path)?;
        let (host, port) = split_port(authority)?;
        let host = match host {
            "" => None,
            written => Some(Host::parse(written).ok_or(PatternError::Host)?),
        };
        Ok(Self { host, port, ..Self::of_path(canonical(path)?.path().as_bytes()) })
    }

    /// The pattern of every URL.
    pub(crate) fn everything() -> Self {
        Self::of_path(b"/")
    }

    fn of_path(path: &[u8]) -> Self {
        let mut segments: Vec<Segment> = path.split(|&b| b == b'/').skip(1).map(Segment::parse).collect();
        let trailing_slash = segments.pop_if(|last| last.is_empty()).is_some();
        Self { host: None, port: None, segments, trailing_slash }
    }

    /// True if this pattern, as one that protects, matches every URL that `other` matches.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let same_host = self.host.is_none() || self.host == other.host;
        let same_port = self.port.is_none() || self.port == other.port;
        let same_start = self.segments.len() <= other.segments.len()
            && self.segments.iter().zip(&other.segments).all(|(own, other)| match own {
                Segment::Any => true,
                Segment::Literal(_) => own == other,
            });
        same_host && same_port && same_start
    }

    /// The forms in which a protecting pattern is matched: slashes collapsed, trailing slash ignored, and decoded
    /// as often as a path is. This is because `/a%20b` must also match a variant `/a b`. Each form also appears
    /// without the characters that a Windows host drops from its end, because `/a.` must also match a variant
    /// `/a`.
    pub(crate) fn protecting_forms(&self) -> Vec<Self> {
        let mut forms = vec![self.collapsed()];
        let mut next = 0;
        while let Some(form) = forms.get(next).cloned() {
            next += 1;
            for other in [form.decoded(), form.as_on_windows()] {
                let Some(other) = other.map(|other| other.collapsed()) else { continue };
                if forms.len() < MAX_FORMS && !forms.contains(&other) {
                    forms.push(other);
                }
            }
        }
        forms
    }

    /// Each literal as a Windows host reads it. `None` if nothing changes, or if a literal would become empty.
    fn as_on_windows(&self) -> Option<Self> {
        let mut changed = false;
        let mut segments = self.segments.clone();
        for segment in &mut segments {
            if let Segment::Literal(text) = segment
                && let Some(read) = windows::names(text)
            {
                changed = true;
                *text = read.into();
            }
        }
        let is_whole = !segments.iter().any(Segment::is_empty);
        (changed && is_whole).then(|| Self { segments, ..self.clone() })
    }

    fn collapsed(&self) -> Self {
        let segments = self.segments.iter().filter(|segment| !segment.is_empty()).cloned().collect();
        Self { segments, trailing_slash: false, ..self.clone() }
    }

    /// Each literal decoded once; a decoded slash splits it. `None` if nothing changes.
    fn decoded(&self) -> Option<Self> {
        let mut changed = false;
        let mut segments = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            match segment {
                Segment::Literal(text) if let Some(text) = path_variants::decoded(text) => {
                    changed = true;
                    segments.extend(text.split(|&b| b == b'/').map(|part| Segment::Literal(part.into())));
                }
                other => segments.push(other.clone()),
            }
        }
        changed.then(|| Self { segments, ..self.clone() })
    }
}

impl Segment {
    fn parse(text: &[u8]) -> Self {
        if text == b"*" { Self::Any } else { Self::Literal(text.into()) }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Literal(text) if text.is_empty())
    }
}

fn refuse_foreign_characters(text: &str) -> Result<(), PatternError> {
    if text.trim().is_empty() {
        return Err(PatternError::Empty);
    }
    if text.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::TooLong);
    }
    text.chars().try_for_each(|character| match character {
        '\\' => Err(PatternError::Backslash),
        '?' => Err(PatternError::Query),
        '#' => Err(PatternError::Fragment),
        other if other.is_whitespace() || other.is_control() => Err(PatternError::Whitespace),
        _ => Ok(()),
    })
}

fn refuse_foreign_authority(authority: &str, path: &str) -> Result<(), PatternError> {
    if authority.ends_with(':') && path.starts_with("//") {
        Err(PatternError::Scheme)
    } else if authority.contains('@') {
        Err(PatternError::Userinfo)
    } else if authority.contains('*') {
        Err(PatternError::StarInHost)
    } else {
        Ok(())
    }
}

fn refuse_foreign_path(path: &str) -> Result<(), PatternError> {
    if path.split('/').any(|segment| segment.contains('*') && segment != "*") {
        return Err(PatternError::PartialStar);
    }
    if path_variants::has_dot_segments(path.as_bytes()) {
        return Err(PatternError::DotSegment);
    }
    Ok(())
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), PatternError> {
    match authority.rsplit_once(':') {
        // The last colon of a bracketed IPv6 address belongs to the address.
        Some(("", _)) => Err(PatternError::Host),
        Some((host, port)) if !port.ends_with(']') => {
            let number = port.parse().ok().filter(|number| *number > 0);
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            number.filter(|_| digits).map(|number| (host, Some(number))).ok_or(PatternError::Port)
        }
        _ => Ok((authority, None)),
    }
}

/// The path in the same form as the paths of targets.
fn canonical(path: &str) -> Result<Target, PatternError> {
    Target::parse(&format!("https://any.invalid{path}")).map_err(|error| match error {
        TargetError::Escape => PatternError::Escape,
        _ => PatternError::TooLong,
    })
}

#[cfg(test)]
mod tests {
    //! Patterns that are refused when written (`docs/reference/policy.md#patterns`).

    use super::*;

    #[test]
    fn what_is_not_a_pattern_is_refused_with_its_reason() {
        let cases = [
            ("", PatternError::Empty),
            ("  ", PatternError::Empty),
            (" /v1", PatternError::Whitespace),
            ("/v1/a b", PatternError::Whitespace),
            ("/v1\u{0}", PatternError::Whitespace),
            ("/v1\u{a0}", PatternError::Whitespace),
            ("/v1\\x", PatternError::Backslash),
            ("https://api.example.com/v1", PatternError::Scheme),
            ("https://*", PatternError::Scheme),
            ("/v1?x=1", PatternError::Query),
            ("api.example.com?", PatternError::Query),
            ("/v1#top", PatternError::Fragment),
            ("user@api.example.com/v1", PatternError::Userinfo),
            ("user:pw@api.example.com/v1", PatternError::Userinfo),
            ("*", PatternError::StarInHost),
            ("*.example.com/v1", PatternError::StarInHost),
            ("/v1*", PatternError::PartialStar),
            ("/v1/**", PatternError::PartialStar),
            ("/v1/*.json", PatternError::PartialStar),
            ("api.example.com/a*b", PatternError::PartialStar),
            ("/..", PatternError::DotSegment),
            ("/v1/./x", PatternError::DotSegment),
            ("/v1/%2e%2E/x", PatternError::DotSegment),
            ("/v1/%252e/x", PatternError::DotSegment),
            ("/v1/a%2F..%2Fb", PatternError::DotSegment),
            ("/v1/a%5C..%5Cb", PatternError::DotSegment),
            ("/v1/%c0%ae%c0%ae/x", PatternError::DotSegment),
            ("/v1/..%c0%afx", PatternError::DotSegment),
            ("/v1/%25u002e%25u002e/x", PatternError::DotSegment),
            ("/v1/．．/x", PatternError::DotSegment),
            ("/v1/..%e2%88%95x", PatternError::DotSegment),
            ("/v1/..%20/x", PatternError::DotSegment),
            ("/v1/.%20./x", PatternError::DotSegment),
            ("/v1/.../x", PatternError::DotSegment),
            ("/v1/%zz", PatternError::Escape),
            ("/v1/100%", PatternError::Escape),
            ("api..example.com/x", PatternError::Host),
            (":8443/x", PatternError::Host),
            ("[::1/x", PatternError::Host),
            ("api.example.com:/x", PatternError::Port),
            ("api.example.com:0/x", PatternError::Port),
            ("api.example.com:65536/x", PatternError::Port),
            ("api.example.com:+443/x", PatternError::Port),
            ("mailto:ann", PatternError::Port),
        ];
        for (text, reason) in cases {
            assert_eq!(check(text), Err(reason), "{text:?}");
        }
    }

    #[test]
    fn hosts_are_kept_in_canonical_form() {
        let parsed = |text: &str| {
            let pattern = Pattern::parse(text).unwrap();
            (pattern.host.map(|host| host.to_string()), pattern.port)
        };
        assert_eq!(parsed("/v1"), (None, None));
        assert_eq!(parsed("API.Example.com"), (Some("api.example.com".to_owned()), None));
        assert_eq!(parsed("bücher.example:8443/x"), (Some("xn--bcher-kva.example".to_owned()), Some(8443)));
        assert_eq!(parsed("[2001:db8::1]/x"), (Some("[2001:db8::1]".to_owned()), None));
        assert_eq!(parsed("[2001:db8::1]:443"), (Some("[2001:db8::1]".to_owned()), Some(443)));
        assert_eq!(parsed("127.0.0.1:8700/x"), (Some("127.0.0.1".to_owned()), Some(8700)));
    }

    #[test]
    fn paths_are_kept_in_the_form_that_targets_have() {
        let literal = |text: &str| Segment::Literal(text.as_bytes().into());
        let pattern = Pattern::parse("/%7euser/caf%c3%a9/café/*/%2A/").unwrap();
        let cafe = literal("caf%C3%A9");
        assert_eq!(pattern.segments, [literal("~user"), cafe.clone(), cafe, Segment::Any, literal("%2A")]);
        assert!(pattern.trailing_slash);
        assert!(!Pattern::parse("/x").unwrap().trailing_slash);
    }

    #[test]
    fn an_escaped_pattern_protects_in_each_decoded_form() {
        let forms = Pattern::parse("//a%252Fb/").unwrap().protecting_forms();
        let texts: Vec<_> = forms.iter().map(|form| form.segments.len()).collect();
        assert_eq!(texts, [1, 1, 2]);
        assert!(forms.iter().all(|form| !form.trailing_slash));
    }
}
