//! Removes secrets from byte streams, in any encoding.
//!
//! Rules: `docs/reference/behavior/proxy.md#scrubbing`. A credential that Pyxis put into a request must not come back
//! to the agent in the response. [`Needles`] holds the secrets of one request. [`Scrubber`] replaces them in a
//! stream, [`Needles::scrub_text`] and [`Needles::scrub_bytes`] in a single value. [`Decoder`] first undoes the
//! content codings. Everything is pure: no I/O, no clock.
//!
//! # Encodings that are found
//!
//! | form | from secrets of | spellings |
//! |---|---|---|
//! | raw | 1 byte | the bytes themselves |
//! | hex | 4 bytes | all lower or all upper case |
//! | base64, base64url | 4 bytes | all three alignments, padded or not |
//!
//! Each of these is found plain, and also if any of its characters is escaped. The escapes are percent (`%2F`,
//! `%2f`, `+` for a space), and those of JSON and JavaScript (`\"`, `\/`, `\n`, `\u002f`, `\x2F`, surrogate
//! pairs). Others are those of HTML (`&amp;`, `&#47;`, `&#x2F;`, with or without `;`). Each character may be
//! escaped or not, and in a different spelling. Nested escapes (`%252F`, `\\\"`, `&amp;quot;`) are undone three
//! levels deep, as is JSON inside HTML (`\&quot;`).
//!
//! Each form of a secret of 8 bytes or more is also found with line breaks inside. The lines have any width, and
//! up to 64 blanks before the next one. Line ends may be escaped too. If a hex or base64 form is broken after its
//! first three characters or fewer, those characters stay.
//!
//! The base64 text of a PEM private key is searched for as a whole and line by line. Lines are taken at 64
//! characters, and in the lines of the secret as given. Only the first 128 lines of a secret are searched for. If
//! all forms together would exceed 4,095, as with eight such keys, some are left out. First goes the base64 of
//! lines, then single lines, then the hex and base64 of a block's text. Every secret in all its forms and the
//! plain text of every block are always searched for.
//!
//! # Encodings that are not found
//!
//! Base32, UTF-16, hex with separators or in mixed case. A secret with changed case, reversed, encrypted, or cut, even
//! if only across several events or fields of a stream. A secret encoded twice in different ways (base64 of hex,
//! base64 of base64, a percent escape inside a JSON escape). To find a secret that was sent encoded, pass it as sent.
//!
//! At most one base64 character at either end, which also holds bits of the neighboring bytes, can stay next to the
//! replacement. Scrubbing is defense in depth; the list of allowed hosts is the boundary.

mod accept;
mod base64;
mod decoder;
mod escape;
mod grams;
mod gzip;
mod inflate;
mod matching;
mod needles;
mod pem;
mod scrubber;
mod secret_variants;
mod stage;
mod tag;

pub use accept::acceptable;
pub use decoder::{DecodeError, Decoder, UnknownCoding};
pub use needles::Needles;
pub use scrubber::{Pieces, Scrubber};
pub use secret_variants::MIN_ENCODED_LEN;
