//! Encoded forms of a secret that are searched for.

use memchr::memchr2;
use zeroize::Zeroize;

use crate::base64::{encode_shifted, make_url_safe};
use crate::pem;

/// Minimum length of a secret, in bytes, for encoded forms. The base64 and hex of shorter secrets would match ordinary
/// text all the time, so these are searched for raw and escaped only.
pub const MIN_ENCODED_LEN: usize = 4;

/// Minimum length of a secret, in bytes, for matches with line breaks inside.
const MIN_WRAPPED_LEN: usize = 8;

/// Minimum number of bytes of a form before its first line break.
///
/// With fewer, any text that ends with the first byte of a form and a line end would have to be held back.
pub(crate) const MIN_BEFORE_BREAK: usize = 4;

/// Minimum core length of a form whose end is also searched for separately; see [`Forms::add_end`].
const MIN_END_OF: usize = 24;

/// Maximum number of forms of one [`Needles`](crate::Needles), unless the secrets alone have more. Beyond it, the extra
/// forms of PEM private keys are left out, except for their full text. Each form makes every suspicious byte of a text
/// slightly more expensive.
pub(crate) const MAX_FORMS: usize = 4095;

/// One byte string to search for.
#[derive(Clone, Copy)]
pub(crate) struct SecretVariant<'f> {
    pub(crate) bytes: &'f [u8],
    /// Number of bytes that must match; the rest may match.
    pub(crate) core: usize,
    /// True if lines may be broken inside the form.
    pub(crate) wraps: bool,
}

/// Position of a form in the allocation.
#[derive(Clone, Copy)]
struct FormSpan {
    start: usize,
    core: usize,
    end: usize,
    wraps: bool,
}

/// All forms of all secrets, in one allocation that is wiped when dropped.
#[derive(Default)]
pub(crate) struct Forms {
    bytes: Vec<u8>,
    places: Vec<FormSpan>,
}

impl Forms {
    /// Derives every form of each secret, and the text of each PEM block. While there are fewer than [`MAX_FORMS`], it
    /// then adds, in this order: the encodings of those texts, their lines, and the encodings of the lines.
    pub(crate) fn derive(secrets: &[&[u8]]) -> Self {
        let keys: Vec<pem::Body> = secrets.iter().flat_map(|secret| pem::bodies(secret)).collect();
        let lines =
            || keys.iter().flat_map(|key| key.lines.iter().map(|(start, end)| &key.joined[*start..*end]));
        let joined = || keys.iter().map(|key| key.joined.as_slice());
        // One raw, two hex and six base64 forms each. The vector must not grow, because a move would leave an unwiped
        // copy behind.
        let all = secrets.iter().copied().chain(joined()).chain(lines());
        let capacity = all.map(|secret| 14 * secret.len() + 64).sum();
        let mut forms =
            Self { bytes: Vec::with_capacity(capacity), places: Vec::with_capacity(14 * secrets.len()) };
        for secret in secrets.iter().copied().filter(|secret| !secret.is_empty()) {
            forms.add_raw(secret);
            forms.add_encoded(secret);
        }
        joined().for_each(|text| forms.add_raw(text));
        forms.add_while_room(joined(), Self::add_encoded);
        forms.add_while_room(lines(), Self::add_raw);
        forms.add_while_room(lines(), Self::add_base64);
        debug_assert!(forms.bytes.len() <= capacity, "the forms outgrew their allocation");
        forms
    }

    fn add_while_room<'s>(
        &mut self,
        texts: impl Iterator<Item = &'s [u8]>,
        mut add: impl FnMut(&mut Self, &'s [u8]),
    ) {
        for text in texts {
            if self.len() >= MAX_FORMS {
                return;
            }
            add(self, text);
        }
    }

    fn add_encoded(&mut self, secret: &[u8]) {
        if secret.len() >= MIN_ENCODED_LEN {
            self.add_hex(secret);
            self.add_base64(secret);
        }
    }

    fn add_raw(&mut self, secret: &[u8]) {
        let wraps = secret.len() >= MIN_WRAPPED_LEN && !secret.iter().any(u8::is_ascii_whitespace);
        self.add(wraps, |bytes| {
            bytes.extend_from_slice(secret);
            secret.len()
        });
    }

    fn add_hex(&mut self, secret: &[u8]) {
        let wraps = secret.len() >= MIN_WRAPPED_LEN;
        for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
            let new = self.add(wraps, |bytes| {
                for byte in secret {
                    bytes.push(digits[usize::from(byte >> 4)]);
                    bytes.push(digits[usize::from(byte & 15)]);
                }
                2 * secret.len()
            });
            if new {
                self.add_end();
            }
        }
    }

    fn add_base64(&mut self, secret: &[u8]) {
        let wraps = secret.len() >= MIN_WRAPPED_LEN;
        for shift in 0..3 {
            let start = self.bytes.len();
            let mut core = 0;
            let new = self.add(wraps, |bytes| {
                core = encode_shifted(secret, shift, bytes);
                core
            });
            let end = self.bytes.len();
            if new {
                self.add_end();
            }
            if memchr2(b'+', b'/', &self.bytes[start..end]).is_some() {
                let new = self.add(wraps, |bytes| {
                    bytes.extend_from_within(start..end);
                    make_url_safe(&mut bytes[end..]);
                    core
                });
                if new {
                    self.add_end();
                }
            }
        }
    }

    /// Adds the bytes that `write` appends, unless the form already exists. `write` returns the core length.
    fn add(&mut self, wraps: bool, write: impl FnOnce(&mut Vec<u8>) -> usize) -> bool {
        let start = self.bytes.len();
        let core = write(&mut self.bytes);
        let new = &self.bytes[start..];
        // Only the last ones are compared, since a key has hundreds. A duplicate form costs only time.
        let known = self.places.iter().rev().take(64).map(|place| self.slice(*place));
        if known.into_iter().any(|known| known.bytes == new && known.core == core) {
            self.bytes[start..].zeroize();
            self.bytes.truncate(start);
            return false;
        }
        self.places.push(FormSpan { start, core: start + core, end: self.bytes.len(), wraps });
        true
    }

    /// Adds the last form without its first bytes, if it is long. Thereby a match with an early line break is found,
    /// except for those first bytes.
    fn add_end(&mut self) {
        let Some(last) = self.places.last().copied() else { return };
        if last.wraps && last.core - last.start >= MIN_END_OF {
            self.places.push(FormSpan { start: last.start + MIN_BEFORE_BREAK - 1, ..last });
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = SecretVariant<'_>> {
        self.places.iter().map(|place| self.slice(*place))
    }

    pub(crate) fn get(&self, index: usize) -> SecretVariant<'_> {
        self.slice(self.places[index])
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    fn slice(&self, place: FormSpan) -> SecretVariant<'_> {
        SecretVariant {
            bytes: &self.bytes[place.start..place.end],
            core: place.core - place.start,
            wraps: place.wraps,
        }
    }
}

impl Drop for Forms {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(secret: &[u8]) -> Vec<String> {
        Forms::derive(&[secret]).iter().map(|form| String::from_utf8_lossy(form.bytes).into_owned()).collect()
    }

    #[test]
    fn a_short_secret_has_its_raw_form_only() {
        assert_eq!(forms(b"abc"), ["abc"]);
        assert!(forms(b"").is_empty());
    }

    #[test]
    fn forms_that_are_equal_are_kept_once() {
        // No letter in the hex, and no sign in the base64.
        assert_eq!(forms(b"1234"), ["1234", "31323334", "MTIzNA==", "EyMzQ=", "xMjM0"]);
    }

    #[test]
    fn the_url_safe_alphabet_is_added_where_it_differs() {
        let all = forms(&[0xfb, 0xff, 0xbf, 0x00]);
        assert!(all.contains(&"+/+/AA==".to_owned()) && all.contains(&"-_-_AA==".to_owned()), "{all:?}");
    }

    /// A key whose lines and characters are all different.
    fn key(number: usize, lines: usize) -> String {
        let lines: Vec<String> = (0..lines).map(|line| format!("k{number:02}L{line:04}\n")).collect();
        let body = lines.concat();
        format!("-----BEGIN KEY-----\n{body}-----END KEY-----\n")
    }

    #[test]
    fn of_many_keys_only_the_forms_of_lines_are_left_out() {
        let keys: Vec<String> = (0..8).map(|number| key(number, 128)).collect();
        let secrets: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let forms = Forms::derive(&secrets);
        // One line may add its last forms after the limit is reached.
        assert!((MAX_FORMS..MAX_FORMS + 16).contains(&forms.len()), "{}", forms.len());
        let all: std::collections::HashSet<&[u8]> = forms.iter().map(|form| form.bytes).collect();
        for secret in secrets {
            let keys = pem::bodies(secret);
            for text in [secret, &keys[0].joined] {
                for form in Forms::derive(&[text]).iter().take(3) {
                    assert!(all.contains(form.bytes), "a form of a whole key is missing");
                }
            }
            for (start, end) in &keys[0].lines {
                assert!(all.contains(&keys[0].joined[*start..*end]), "a line is missing");
            }
        }
    }

    #[test]
    fn the_allocation_never_grows() {
        for len in 1..200 {
            let secret: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(73) ^ 0xfb).collect();
            let capacity = 14 * secret.len() + 64;
            assert!(Forms::derive(&[&secret]).bytes.len() <= capacity);
        }
    }
}
