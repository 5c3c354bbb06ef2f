//! Percent-encoding as signatures want it: RFC 3986 unreserved characters stay, everything else is an
//! upper-case escape (RFC 5849, section 3.6).

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Appends `raw`, encoded, to `out`.
pub(crate) fn push(out: &mut String, raw: &[u8]) {
    out.extend(percent_encode(raw, RESERVED));
}

/// `raw`, encoded.
pub(crate) fn encode(raw: &[u8]) -> String {
    percent_encode(raw, RESERVED).to_string()
}

/// The bytes that `encoded` stands for in a query or form: `+` is a space, and a `%` without two
/// hexadecimal digits is itself.
pub(crate) fn decode_form(encoded: &[u8]) -> Cow<'_, [u8]> {
    if !encoded.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(encoded);
    }
    let spaced: Vec<u8> = encoded.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_encoding::percent_decode(&spaced).collect())
}
