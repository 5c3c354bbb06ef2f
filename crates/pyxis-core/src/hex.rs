//! Bytes as hexadecimal digits, two each.

/// Encodes `data` in lower case.
pub fn encode(data: &[u8]) -> String {
    const_hex::encode(data)
}

/// Appends `data` to `text` in lower case, and leaves no copy elsewhere.
pub fn push(text: &mut String, data: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    text.reserve(2 * data.len());
    for byte in data {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
}

/// Decodes an even number of digits of either case. `None` for anything else, including `0x`.
pub fn decode(digits: &str) -> Option<Vec<u8>> {
    // The library would skip it, in either case.
    if digits.starts_with("0x") || digits.starts_with("0X") { None } else { const_hex::decode(digits).ok() }
}

/// Decodes digits after a required `0x`.
pub fn decode_prefixed(text: &str) -> Option<Vec<u8>> {
    decode(text.strip_prefix("0x")?)
}

/// Decodes digits with or without a leading `0x`.
pub fn decode_either(text: &str) -> Option<Vec<u8>> {
    decode(text.strip_prefix("0x").unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_either_case_are_bytes_and_nothing_else_is() {
        assert_eq!(encode(&[0, 0x1f, 0xff]), "001fff");
        let mut text = "0x".to_owned();
        push(&mut text, &[0, 0x1f, 0xff]);
        assert_eq!(text, "0x001fff");
        assert_eq!(decode("001fFF"), Some(vec![0, 0x1f, 0xff]));
        assert_eq!((decode(""), decode_prefixed("0x")), (Some(vec![]), Some(vec![])));
        assert_eq!(decode_prefixed("0x0a"), Some(vec![10]));
        for text in ["0", "0x00", "0X00", "zz", "0 ", "+1", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(
            (decode_prefixed("00"), decode_prefixed("0x0x00"), decode_prefixed("0x0")),
            (None, None, None)
        );
        assert_eq!((decode_either("0x0a"), decode_either("0a")), (Some(vec![10]), Some(vec![10])));
        assert_eq!((decode_either("0x0x00"), decode_either("0X00")), (None, None));
    }
}
