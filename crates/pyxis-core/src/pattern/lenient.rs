//! Variants of a path that careless decoders produce.
//!
//! Some servers decode more than percent escapes. Examples are overlong UTF-8 (`%C0%AE` for a dot), `%u002e` as in
//! IIS, and look-alikes of ASCII, such as a full-width slash. A normalization or a code page maps these to ASCII.
//! Others drop what they cannot decode, or end a path at NUL. Each function here is one such step; `None` if it changes
//! nothing.

/// A step that rewrites a path; `None` if it changes nothing.
pub(super) type DecodeStep = fn(&[u8]) -> Option<Vec<u8>>;

/// True for a path that no careful server decodes: invalid UTF-8, which every overlong form is, or NUL.
pub(super) fn is_garbled(path: &[u8]) -> bool {
    path.contains(&0) || std::str::from_utf8(path).is_err()
}

/// Decodes everything that only careless decoders decode, in one step: a path that needs two of them is garbled or
/// hostile.
pub(super) fn decoded(path: &[u8]) -> Option<Vec<u8>> {
    in_turn(path, [shortest, unicode_escapes, look_alikes])
}

/// Removes the bytes that careless decoders drop.
pub(super) fn without_stray(path: &[u8]) -> Option<Vec<u8>> {
    in_turn(path, [without_invalid, without_controls])
}

/// Replaces `%uXXXX` by the character with that number.
fn unicode_escapes(path: &[u8]) -> Option<Vec<u8>> {
    rewritten(path, |rest| match rest {
        [b'%', b'u' | b'U', a, b, c, d, ..] => {
            let number = [a, b, c, d].into_iter().try_fold(0, |number, digit| {
                char::from(*digit).to_digit(16).map(|value| number << 4 | value)
            })?;
            Some((6, char::from_u32(number)?))
        }
        _ => None,
    })
}

/// Shortens overlong UTF-8 (RFC 3629, section 10), of up to six bytes, to its shortest form. A second byte after `C0`
/// or `C1` counts by its low six bits, since some decoders look at no more.
fn shortest(path: &[u8]) -> Option<Vec<u8>> {
    rewritten(path, |rest| {
        let (&lead, rest) = rest.split_first()?;
        // Continuation bytes, bits of the lead byte, and the least number that needs this many bytes.
        let (more, mask, least) = match lead {
            0xC0..=0xC1 => (1, 0x1F, 0x80),
            0xE0 => (2, 0x0F, 0x800),
            0xF0 => (3, 0x07, 0x1_0000),
            0xF8..=0xFB => (4, 0x03, 0x20_0000),
            0xFC..=0xFD => (5, 0x01, 0x400_0000),
            _ => return None,
        };
        let tail = rest.get(..more)?;
        if more > 1 && !tail.iter().all(|byte| matches!(byte, 0x80..=0xBF)) {
            return None;
        }
        let number =
            tail.iter().fold(u32::from(lead & mask), |number, byte| number << 6 | u32::from(byte & 0x3F));
        let character = char::from_u32(number).filter(|_| number < least)?;
        Some((1 + more, character))
    })
}

/// Replaces look-alikes by the ASCII characters that compatibility normalization (NFKC) or a Windows code page maps
/// them to.
fn look_alikes(path: &[u8]) -> Option<Vec<u8>> {
    if path.is_ascii() {
        return None;
    }
    let (mut out, mut changed) = (Vec::with_capacity(path.len()), false);
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            match ascii(character) {
                Some(text) => {
                    changed = true;
                    out.extend_from_slice(text.as_bytes());
                }
                None if matches!(character, '\u{FF01}'..='\u{FF5E}') => {
                    changed = true;
                    out.push(u8::try_from(u32::from(character) - 0xFEE0).unwrap_or(b'?'));
                }
                None => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
    changed.then_some(out)
}

fn ascii(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{2024}' | '\u{3002}' | '\u{FE52}' | '\u{FF61}' => ".",
        '\u{2025}' | '\u{FE30}' => "..",
        '\u{2026}' | '\u{FE19}' => "...",
        '\u{2044}' | '\u{2215}' | '\u{29F8}' => "/",
        '\u{A5}' | '\u{20A9}' | '\u{2216}' | '\u{29F5}' | '\u{29F9}' | '\u{FE68}' => "\\",
        '\u{FE54}' | '\u{37E}' => ";",
        '\u{FE6A}' => "%",
        '\u{A0}' | '\u{3000}' => " ",
        '\u{17F}' => "s",
        '\u{212A}' => "K",
        // Shown and compared as if they were absent.
        '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' => "",
        _ => return None,
    })
}

/// Removes the bytes that are not UTF-8.
fn without_invalid(path: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(path)
        .is_err()
        .then(|| path.utf8_chunks().flat_map(|chunk| chunk.valid().as_bytes().iter().copied()).collect())
}

/// Removes control characters.
fn without_controls(path: &[u8]) -> Option<Vec<u8>> {
    path.iter()
        .any(u8::is_ascii_control)
        .then(|| path.iter().copied().filter(|byte| !byte.is_ascii_control()).collect())
}

/// The part before the first NUL, where C strings end.
pub(super) fn cut_at_nul(path: &[u8]) -> Option<Vec<u8>> {
    path.iter().position(|&byte| byte == 0).map(|nul| path[..nul].to_vec())
}

/// Applies the steps in order; `None` if none changes anything.
fn in_turn<const N: usize>(path: &[u8], steps: [DecodeStep; N]) -> Option<Vec<u8>> {
    steps.iter().fold(None, |changed, step| step(changed.as_deref().unwrap_or(path)).or(changed))
}

/// Replaces each place where `read` finds something by one character; `read` gives the number of bytes and the
/// character.
fn rewritten(text: &[u8], read: impl Fn(&[u8]) -> Option<(usize, char)>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut changed) = (text, false);
    while let Some((&byte, tail)) = rest.split_first() {
        if let Some((length, character)) = read(rest) {
            changed = true;
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[length..];
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_overlong_form_of_a_character_has_its_shortest_form() {
        for overlong in [
            &b"\xC0\xAF"[..],
            b"\xC0\x2F",
            b"\xE0\x80\xAF",
            b"\xF0\x80\x80\xAF",
            b"\xF8\x80\x80\x80\xAF",
            b"\xFC\x80\x80\x80\x80\xAF",
        ] {
            assert_eq!(shortest(overlong).as_deref(), Some(&b"/"[..]), "{overlong:x?}");
            assert!(is_garbled(overlong), "{overlong:x?}");
        }
        // A full-width dot in four bytes, where three do.
        assert_eq!(shortest(b"\xF0\x8F\xBC\x8E").as_deref(), Some("\u{FF0E}".as_bytes()));
        for plain in ["/é/€/😀".as_bytes(), b"\xE9", b"\xC0", b"\xE0\x80", b"\xED\xA0\x80"] {
            assert_eq!(shortest(plain), None, "{plain:x?}");
        }
    }

    #[test]
    fn look_alikes_become_ascii_and_other_letters_stay() {
        let read = |text: &str| look_alikes(text.as_bytes()).map(|out| String::from_utf8(out).unwrap());
        assert_eq!(read("／．．＼ａ；").as_deref(), Some("/..\\a;"));
        assert_eq!(read("\u{2025}\u{2215}").as_deref(), Some("../"));
        assert_eq!(read("a\u{200B}b").as_deref(), Some("ab"));
        assert_eq!(read("/café/日本"), None);
        assert_eq!(look_alikes(b"\xFF\xEF\xBC\x8E").as_deref(), Some(&b"\xFF."[..]));
    }

    #[test]
    fn escapes_of_iis_are_characters() {
        assert_eq!(unicode_escapes(b"/%u002e%U002F").as_deref(), Some(&b"/./"[..]));
        assert_eq!(unicode_escapes(b"/%uff0e").as_deref(), Some("/\u{FF0E}".as_bytes()));
        assert_eq!(unicode_escapes(b"/%u002/%ud800/%u"), None);
    }
}
