//! Base64 of a secret that is part of a longer encoded text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the characters that encode `secret` after `shift` (0, 1 or 2) preceding bytes, modulo three. Returns how
/// many of them depend on the secret alone.
///
/// After those come the characters that occur only if the secret ends the encoded text: the last character, filled with
/// zero bits, and the padding.
pub(crate) fn encode_shifted(secret: &[u8], shift: usize, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let (first_bit, end_bit) = (8 * shift, 8 * (shift + secret.len()));
    let (first, end) = (first_bit.div_ceil(6), end_bit / 6);
    let sextet = |index: usize| {
        let bit = 6 * index - first_bit;
        let high = u16::from(secret[bit / 8]) << 8;
        let low = secret.get(bit / 8 + 1).copied().unwrap_or(0);
        ALPHABET[usize::from((high | u16::from(low)) >> (10 - bit % 8)) & 63]
    };
    out.extend((first..end).map(sextet));
    let core = out.len() - start;
    if end_bit % 6 != 0 {
        out.push(sextet(end));
        let padding = 3 - (shift + secret.len()) % 3;
        out.extend(std::iter::repeat_n(b'=', padding));
    }
    core
}

/// Converts standard base64 characters to base64url.
pub(crate) fn make_url_safe(text: &mut [u8]) {
    for byte in text {
        match *byte {
            b'+' => *byte = b'-',
            b'/' => *byte = b'_',
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aligned_form_is_plain_base64_with_its_padding() {
        for (secret, text, core) in
            [(&b"pass"[..], "cGFzcw==", 5), (b"passw", "cGFzc3c=", 6), (b"passwo", "cGFzc3dv", 8)]
        {
            let mut out = Vec::new();
            assert_eq!(encode_shifted(secret, 0, &mut out), core);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn shifted_forms_are_what_stands_inside_a_longer_text() {
        // base64("u:pass") = dTpwYXNz and base64("u:passX") = dTpwYXNzWA==
        let mut out = Vec::new();
        assert_eq!(encode_shifted(b"pass", 2, &mut out), 5);
        assert_eq!(out, b"wYXNz");
        // base64(":pass") = OnBhc3M=
        out.clear();
        assert_eq!(encode_shifted(b"pass", 1, &mut out), 4);
        assert_eq!(out, b"Bhc3M=");
    }
}
