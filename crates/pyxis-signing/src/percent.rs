//! Percent-encoding as signatures want it: RFC 3986 unreserved characters stay, everything else is an
//! upper-case escape (RFC 5849, section 3.6).

use std::borrow::Cow;

use percent_encoding::percent_encode_byte;

/// Appends `raw`, encoded, to `out`. Base strings are encoded twice over and so half escapes: byte by byte is
/// faster than run by run.
pub(crate) fn push(out: &mut String, raw: &[u8]) {
    for &byte in raw {
        if UNRESERVED[usize::from(byte)] {
            out.push(char::from(byte));
        } else {
            out.push_str(percent_encode_byte(byte));
        }
    }
}

/// RFC 3986, section 2.3, by byte.
const UNRESERVED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    table
};

/// `raw`, encoded.
pub(crate) fn encode(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    push(&mut out, raw);
    out
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
