//! Removes secrets from streams of bytes, whatever their encoding.
//!
//! Specification 3, "sanitization". A credential that Pyxis put into a request must not come back to
//! the agent in the answer. [`Needles`] knows the secrets of one request, [`Scrubber`] replaces them
//! in a stream, [`Needles::scrub_text`] and [`Needles::scrub_bytes`] in a single value, and
//! [`Decoder`] undoes the content codings in front of them. Everything is pure: no I/O, no clock.
//!
//! # What is found
//!
//! | form | from secrets of | spellings |
//! |---|---|---|
//! | raw | 1 byte | the bytes themselves |
//! | hex | 4 bytes | all lower or all upper case |
//! | base64, base64url | 4 bytes | all three alignments, padded or not |
//!
//! Each of these is found plain and also when any of its characters is escaped: percent (`%2F`,
//! `%2f`, `+` for a space), JSON and JavaScript (`\"`, `\/`, `\n`, `\u002f`, `\x2F`, surrogate
//! pairs), HTML (`&amp;`, `&#47;`, `&#x2F;`, with or without `;`). Which characters are escaped, and in
//! which spelling, may differ from one character to the next. Escapes of escapes (`%252F`, `\\\"`,
//! `&amp;quot;`) are undone three deep, and JSON inside of HTML (`\&quot;`).
//!
//! Each form of a secret of 8 bytes or more is also found where lines are broken inside of it, at any
//! width and with up to 64 blanks in front of the next line. Line ends may be escaped too. Where a form
//! of hex or base64 is broken after its first three characters or fewer, these stay.
//!
//! Of a private key in PEM the base64 text is looked for as a whole and line by line: lines of 64
//! characters, and those of the secret as it was given. Of the lines of one secret the first 128 are looked for. Where
//! all forms together would be more than 4,095, as with eight such keys, some of this is left out: first base64 of
//! lines, then single lines, then hex and base64 of a block's text. Every secret in all its forms and the plain text
//! of every block are always looked for.
//!
//! # What is not found
//!
//! Base32, UTF-16, hex with separators or in mixed case, a secret whose case was changed, that was cut
//! (also into several events or fields of a stream), reversed, encrypted, or encoded twice in different ways
//! (base64 of hex, base64 of base64, a percent escape inside of a JSON escape). To find what was sent in an
//! encoding, pass it as sent. At most one base64 character at either end, which also holds bits of the
//! neighboring bytes, can stay beside the replacement. Scrubbing is defense in depth; the boundary is the
//! list of allowed hosts.

mod accept;
mod base64;
mod decoder;
mod escape;
mod forms;
mod grams;
mod gzip;
mod inflate;
mod matching;
mod needles;
mod pem;
mod scrubber;
mod stage;
mod tag;

pub use accept::acceptable;
pub use decoder::{DecodeError, Decoder, UnknownCoding};
pub use forms::MIN_ENCODED_LEN;
pub use needles::Needles;
pub use scrubber::{Pieces, Scrubber};
