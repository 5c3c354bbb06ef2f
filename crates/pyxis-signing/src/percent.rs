//! Percent-encoding for signatures: RFC 3986 unreserved characters stay, everything else becomes an upper-case escape
//! (RFC 5849, section 3.6).

use std::borrow::Cow;

use percent_encoding::percent_encode_byte;

/// Percent-encodes `raw` and appends it to `out`.
pub(crate) fn push(out: &mut Vec<u8>, raw: &[u8]) {
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|byte| !UNRESERVED[usize::from(*byte)]) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(percent_encode_byte(rest[at]).as_bytes());
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Percent-encodes `encoded` a second time and appends it to `out`. Only its `%` characters change.
pub(crate) fn push_again(out: &mut Vec<u8>, encoded: &[u8]) {
    let mut rest = encoded;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(b"%25");
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
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

/// Percent-encodes `raw`.
pub(crate) fn encode(raw: &[u8]) -> String {
    let mut out = Vec::with_capacity(raw.len());
    push(&mut out, raw);
    text(out)
}

/// Encoded bytes as text.
pub(crate) fn text(encoded: Vec<u8>) -> String {
    String::from_utf8(encoded).expect("only text and escapes were pushed")
}

/// Decodes a query or form component: `+` is a space, and a `%` without two hex digits stays unchanged.
pub(crate) fn decode_form(encoded: &[u8]) -> Cow<'_, [u8]> {
    if !encoded.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(encoded);
    }
    let spaced: Vec<u8> = encoded.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_encoding::percent_decode(&spaced).collect())
}
