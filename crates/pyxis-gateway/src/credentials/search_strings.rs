//! The strings that answers are searched for: a secret, and each form of it that goes out.
//!
//! An API can only give back what it was sent. So a response is searched for everything in the form in which it
//! was attached. Examples are the base64 of a basic pair, the percent-encoded value of a parameter, and a
//! signature. The encodings of each string are the business of [`pyxis_scrub`].

use percent_encoding::percent_decode_str;
use pyxis_scrub::Needles;
use zeroize::Zeroizing;

/// Secrets with fewer characters are not looked for on their own: answers are full of such words.
pub(crate) const MIN_CHARS: usize = 8;

/// Strings to search an answer for, wiped when dropped.
#[derive(Default)]
pub(crate) struct SearchStrings(Vec<Zeroizing<String>>);

impl SearchStrings {
    /// Adds a string, unless it is too short to stand for a secret.
    pub(crate) fn add(&mut self, text: &str) {
        if is_long(text) && !self.0.iter().any(|known| **known == text) {
            self.0.push(Zeroizing::new(text.to_owned()));
        }
    }

    /// Adds a secret; one that is too short with what stands around it where it goes out.
    pub(crate) fn add_sent(&mut self, secret: &str, around: impl FnOnce() -> String) {
        if is_long(secret) {
            self.add(secret);
        } else if !secret.is_empty() {
            self.add(&Zeroizing::new(around()));
        }
    }

    /// Adds what stands percent-encoded on the wire, with digits in either case. Encoded again it is another text
    /// than the secret is.
    pub(crate) fn add_percent_encoded(&mut self, encoded: &str) {
        if !encoded.contains('%') {
            return self.add(encoded);
        }
        self.add(encoded);
        let mut lower = Zeroizing::new(String::with_capacity(encoded.len()));
        let mut digits = 0_u8;
        for letter in encoded.chars() {
            lower.push(if digits > 0 { letter.to_ascii_lowercase() } else { letter });
            digits = if letter == '%' { 2 } else { digits.saturating_sub(1) };
        }
        self.add(&lower);
        self.add(&Zeroizing::new(percent_decode_str(encoded).decode_utf8_lossy().into_owned()));
    }

    /// Search for them in answers to the agent.
    pub(crate) fn needles(&self, credential: &str) -> Needles {
        Needles::new(credential, &self.slices())
    }

    /// The same for what people read.
    pub(crate) fn needles_in_words(&self, credential: &str) -> Needles {
        Needles::in_words(credential, &self.slices())
    }

    #[cfg(test)]
    pub(crate) fn to_texts(&self) -> Vec<String> {
        self.0.iter().map(|text| text.to_string()).collect()
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.0.iter().map(|text| text.as_bytes()).collect()
    }
}

/// True for a text that is long enough to be searched for on its own.
pub(crate) fn is_long(text: &str) -> bool {
    text.chars().nth(MIN_CHARS - 1).is_some()
}
