//! The forms a secret is looked for in.

use memchr::memchr2;
use zeroize::Zeroize;

use crate::base64::{encode_shifted, make_url_safe};

/// Secrets shorter than this many bytes are looked for raw and escaped only: their base64 and hex
/// would be so short that ordinary text is full of them.
pub const MIN_ENCODED_LEN: usize = 4;

/// One byte string to look for: `core` bytes must match, the rest up to `end` may.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    start: u32,
    core: u32,
    end: u32,
}

/// All forms of all secrets in one wiped allocation.
#[derive(Default)]
pub(crate) struct Forms {
    bytes: Vec<u8>,
    forms: Vec<Form>,
}

impl Forms {
    pub(crate) fn derive(secrets: &[&[u8]]) -> Self {
        // Raw, two times hex, six times base64. The vector must not grow: a move would leave an
        // unwiped copy behind.
        let capacity = secrets.iter().map(|secret| 14 * secret.len() + 64).sum();
        let mut forms =
            Self { bytes: Vec::with_capacity(capacity), forms: Vec::with_capacity(9 * secrets.len()) };
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            forms.add(|bytes| {
                bytes.extend_from_slice(secret);
                secret.len()
            });
            if secret.len() >= MIN_ENCODED_LEN {
                forms.add_hex(secret);
                forms.add_base64(secret);
            }
        }
        debug_assert!(forms.bytes.len() <= capacity, "the forms outgrew their allocation");
        forms
    }

    fn add_hex(&mut self, secret: &[u8]) {
        for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
            self.add(|bytes| {
                for byte in secret {
                    bytes.push(digits[usize::from(byte >> 4)]);
                    bytes.push(digits[usize::from(byte & 15)]);
                }
                2 * secret.len()
            });
        }
    }

    fn add_base64(&mut self, secret: &[u8]) {
        for shift in 0..3 {
            let start = self.bytes.len();
            let mut core = 0;
            self.add(|bytes| {
                core = encode_shifted(secret, shift, bytes);
                core
            });
            let end = self.bytes.len();
            if memchr2(b'+', b'/', &self.bytes[start..end]).is_some() {
                self.add(|bytes| {
                    bytes.extend_from_within(start..end);
                    make_url_safe(&mut bytes[end..]);
                    core
                });
            }
        }
    }

    /// Adds what `write` appends, of which it returns the core length, unless it is there already.
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>) -> usize) {
        let start = self.bytes.len();
        let core = write(&mut self.bytes);
        let new = &self.bytes[start..];
        if self.iter().any(|(known, known_core)| known == new && known_core == core) {
            self.bytes[start..].zeroize();
            self.bytes.truncate(start);
            return;
        }
        let offset = |at: usize| u32::try_from(at).expect("secrets of one request fit in 256 MiB");
        self.forms.push(Form {
            start: offset(start),
            core: offset(start + core),
            end: offset(self.bytes.len()),
        });
    }

    /// Every form with the length of its core.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.forms.iter().map(|form| self.slice(*form))
    }

    pub(crate) fn get(&self, index: usize) -> (&[u8], usize) {
        self.slice(self.forms[index])
    }

    pub(crate) fn len(&self) -> usize {
        self.forms.len()
    }

    fn slice(&self, form: Form) -> (&[u8], usize) {
        (&self.bytes[form.start as usize..form.end as usize], (form.core - form.start) as usize)
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
        Forms::derive(&[secret]).iter().map(|(form, _)| String::from_utf8_lossy(form).into_owned()).collect()
    }

    #[test]
    fn a_short_secret_has_its_raw_form_only() {
        assert_eq!(forms(b"abc"), ["abc"]);
        assert!(forms(b"").is_empty());
    }

    #[test]
    fn forms_that_are_equal_are_kept_once() {
        // No letter in the hex and no sign in the base64.
        assert_eq!(forms(b"1234"), ["1234", "31323334", "MTIzNA==", "EyMzQ=", "xMjM0"]);
    }

    #[test]
    fn the_url_safe_alphabet_is_added_where_it_differs() {
        let all = forms(&[0xfb, 0xff, 0xbf, 0x00]);
        assert!(all.contains(&"+/+/AA==".to_owned()) && all.contains(&"-_-_AA==".to_owned()), "{all:?}");
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
