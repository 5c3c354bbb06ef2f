//! Percent escapes in one spelling each (RFC 3986, section 6.2.2).

use std::borrow::Cow;

/// `path` with the escapes of unreserved characters decoded and all others in upper case; `None` if a `%` is not
/// followed by two hexadecimal digits. Copies only if something changes.
pub(super) fn normalize(path: &str) -> Option<Cow<'_, str>> {
    let mut out = String::new();
    let mut rest = path;
    let mut changed = false;
    while let Some(at) = rest.find('%') {
        let escape = rest.as_bytes().get(at..at + 3)?;
        let byte = hex(escape[1])? << 4 | hex(escape[2])?;
        let decoded = is_unreserved(byte);
        if !changed && (decoded || escape[1..].iter().any(u8::is_ascii_lowercase)) {
            changed = true;
            out.reserve(path.len());
            out.push_str(&path[..path.len() - rest.len()]);
        }
        if changed {
            out.push_str(&rest[..at]);
            if decoded {
                out.push(char::from(byte));
            } else {
                out.extend(escape.iter().map(|b| char::from(b.to_ascii_uppercase())));
            }
        }
        rest = &rest[at + 3..];
    }
    if !changed {
        return Some(Cow::Borrowed(path));
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// RFC 3986, section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}
