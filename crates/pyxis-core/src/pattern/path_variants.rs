//! Every plausible variant of a path.
//!
//! An upstream may read a path differently from how it was written. It may decode it again, drop `;params`, merge
//! slashes, or treat a backslash as a slash. It may resolve dot segments that appear only after decoding, decode
//! carelessly ([`lenient`]), or name files as Windows does ([`windows`]). Patterns that protect (require, deny)
//! are tried on all of these variants, so that no spelling of `/admin` slips past a pattern `/admin`.

use super::lenient::{self, DecodeStep};
use super::windows;

/// Maximum number of times that an upstream and the servers in front of it decode a path.
pub(super) const MAX_DECODINGS: usize = 3;

/// More variants than any honest path has; see [`TooManyVariants`].
const MAX_READINGS: usize = 64;

/// The path has so many variants that trying them all would cost too much. The caller treats it as if a protecting
/// pattern matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyVariants;

/// True if the path, already canonical, has only one variant: itself.
pub(crate) fn is_unambiguous(path: &[u8]) -> bool {
    let mut previous = 0;
    !path.iter().any(|&byte| {
        let odd = matches!(byte, b'%' | b';' | b'\\')
            || matches!((previous, byte), (b'/' | b'.', b'/') | (b':', b'$'));
        previous = byte;
        odd
    }) && previous != b'.'
}

/// The path and everything that it becomes by the steps in any order, with at most three decodings.
pub(crate) fn variants(path: &[u8]) -> Result<Vec<Vec<u8>>, TooManyVariants> {
    let mut found = VariantSet(vec![path.to_vec()]);
    let mut level = 0;
    for decodings in 0..=MAX_DECODINGS {
        let mut next = level;
        while next < found.0.len() {
            for step in STEPS {
                found.add(step(&found.0[next]))?;
            }
            next += 1;
        }
        if decodings < MAX_DECODINGS {
            for index in level..next {
                found.add(decoded(&found.0[index]))?;
            }
        }
        level = next;
    }
    Ok(found.0)
}

/// Steps that a host may take between decodings, in any order.
const STEPS: [DecodeStep; 9] = [
    backslashes_as_slashes,
    without_params,
    collapsed,
    dots_resolved,
    lenient::decoded,
    lenient::without_stray,
    lenient::cut_at_nul,
    windows::names,
    windows::without_blank_segments,
];

/// True if one of the variants cannot be decoded by a careful server: overlong or otherwise invalid UTF-8, or NUL. The
/// result of a careless one is a guess.
pub(crate) fn is_garbled(variants: &[Vec<u8>]) -> bool {
    variants.iter().any(|reading| lenient::is_garbled(reading))
}

struct VariantSet(Vec<Vec<u8>>);

impl VariantSet {
    fn add(&mut self, reading: Option<Vec<u8>>) -> Result<(), TooManyVariants> {
        let Some(reading) = reading else { return Ok(()) };
        if self.0.contains(&reading) {
            return Ok(());
        }
        if self.0.len() == MAX_READINGS {
            return Err(TooManyVariants);
        }
        self.0.push(reading);
        Ok(())
    }
}

/// Percent-decoded once; `None` if there is nothing to decode. A stray `%` stays.
pub(crate) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        if let (b'%', [high, low, after @ ..]) = (byte, tail)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high << 4 | low);
            rest = after;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    (out.len() != text.len()).then_some(out)
}

/// True for a path with a dot segment in any form that a host may decode, as written or after decodings.
pub(super) fn has_dot_segments(path: &[u8]) -> bool {
    let dotted = |form: &[u8]| {
        let form = backslashes_as_slashes(form).unwrap_or_else(|| form.to_vec());
        let has_dots = |form: &[u8]| form.split(|&b| b == b'/').any(is_dot_segment);
        has_dots(&form) || windows::names(&form).is_some_and(|form| has_dots(&form))
    };
    let mut forms = vec![path.to_vec()];
    for round in 0..=MAX_DECODINGS {
        forms.extend(forms.iter().filter_map(|form| lenient::decoded(form)).collect::<Vec<_>>());
        if forms.iter().any(|form| dotted(form)) {
            return true;
        }
        if round < MAX_DECODINGS {
            forms = forms.iter().filter_map(|form| decoded(form)).collect();
        }
    }
    false
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn backslashes_as_slashes(path: &[u8]) -> Option<Vec<u8>> {
    path.contains(&b'\\').then(|| path.iter().map(|&b| if b == b'\\' { b'/' } else { b }).collect())
}

/// Each segment cut at its first `;` (RFC 3986, section 3.3, on parameters of a segment).
fn without_params(path: &[u8]) -> Option<Vec<u8>> {
    path.contains(&b';').then(|| {
        let bare = |segment: &[u8]| segment.split(|&b| b == b';').next().unwrap_or_default().to_vec();
        path.split(|&b| b == b'/').map(bare).collect::<Vec<_>>().join(&b'/')
    })
}

fn collapsed(path: &[u8]) -> Option<Vec<u8>> {
    path.windows(2).any(|pair| pair == b"//").then(|| {
        let mut out = path.to_vec();
        out.dedup_by(|second, first| *second == b'/' && *first == b'/');
        out
    })
}

/// RFC 3986, section 5.2.4: a trailing dot segment leaves a trailing slash.
fn dots_resolved(path: &[u8]) -> Option<Vec<u8>> {
    let segments = || path.split(|&b| b == b'/').skip(1);
    if !segments().any(is_dot_segment) {
        return None;
    }
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in segments() {
        match segment {
            b"." => {}
            b".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    if segments().last().is_some_and(is_dot_segment) {
        kept.push(b"");
    }
    Some(kept.iter().flat_map(|segment| [b"/", *segment].concat()).collect())
}

pub(crate) fn is_dot_segment(segment: &[u8]) -> bool {
    matches!(segment, b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_as(path: &str, reading: &str) -> bool {
        variants(path.as_bytes()).unwrap().iter().any(|one| one == reading.as_bytes())
    }

    #[test]
    fn a_plain_path_has_one_reading() {
        assert_eq!(variants(b"/v1/users.json").unwrap(), [b"/v1/users.json".to_vec()]);
        assert!(is_unambiguous(b"/v1/users.json"));
        for odd in ["/a%20b", "/a;b", "/a//b", "/a\\b", "/a.", "/a./b", "/a::$DATA"] {
            assert!(!is_unambiguous(odd.as_bytes()), "{odd}");
        }
    }

    #[test]
    fn each_step_gives_a_reading() {
        for (path, reading) in [
            ("/%61dmin", "/admin"),
            ("/%2561dmin", "/admin"),
            ("/%252561dmin", "/admin"),
            ("/x%2Fadmin", "/x/admin"),
            ("/admin;v=1/users", "/admin/users"),
            ("/admin%3Bv=1/users", "/admin/users"),
            ("//admin", "/admin"),
            ("/a%5Cadmin", "/a/admin"),
            ("/a%5Cadmin", "/a\\admin"),
            ("/a/%252e%252e/admin", "/admin"),
            ("/a/..;/admin", "/admin"),
            ("/a;%2Fb/%252e%252e/admin", "/admin"),
            ("/a/x%2F%2E%2E%2F", "/a/"),
            ("/a//%252e%252e/b", "/a/b"),
            ("/a//%252e%252e/b", "/b"),
            ("/a/..%20/b", "/b"),
            ("/a.%20/b..", "/a/b"),
            ("/a/.%20./b", "/a/b"),
            ("/a::$DATA", "/a"),
        ] {
            assert!(reads_as(path, reading), "{path} should read as {reading}");
        }
    }

    #[test]
    fn a_fourth_decoding_is_not_tried() {
        assert!(!reads_as("/%25252561dmin", "/admin"));
    }

    #[test]
    fn a_stray_percent_sign_stays() {
        assert_eq!(decoded(b"/100%/%4/%zz"), None);
        assert_eq!(decoded(b"/%/%41").as_deref(), Some(&b"/%/A"[..]));
    }

    #[test]
    fn dot_segments_resolve_as_rfc_3986_says() {
        for (path, resolved) in [
            ("/a/b/..", "/a/"),
            ("/a/./b", "/a/b"),
            ("/..", "/"),
            ("/../../a", "/a"),
            ("/a/b/../../../c/.", "/c/"),
        ] {
            assert_eq!(dots_resolved(path.as_bytes()).as_deref(), Some(resolved.as_bytes()), "{path}");
        }
        assert_eq!(dots_resolved(b"/a/...b/.c"), None);
    }
}
