//! A request body as an approver sees it.
//!
//! The body shown must be the body sent. JSON is therefore indented token by token, never parsed and written again:
//! duplicate keys, number spellings and escapes stay as the agent wrote them.

use std::fmt::Write;

use percent_encoding::percent_decode;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use crate::text;

/// A body is read as text if at most one in this many bytes is not UTF-8. Such a body is in an old encoding, or is
/// meant not to look like text to a program.
const MOSTLY: usize = 8;

/// A body, its size and its fingerprint.
#[derive(Clone, Debug)]
pub struct BodyView {
    /// `1.5 KiB`.
    pub size: String,
    /// The `Content-Type` the agent sent.
    pub content_type: Option<String>,
    /// First 12 hexadecimal digits of the SHA-256 of the whole body.
    pub digest_short: String,
    /// All 64 digits.
    pub digest: String,
    pub shown: BodyContent,
    /// Set if only the beginning is shown: `the first 8 KiB of 1.2 MiB`.
    pub cut: Option<String>,
}

/// The content in its most readable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyContent {
    /// No body.
    Empty,
    /// JSON: indented, and as sent.
    Json {
        /// One value per line.
        pretty: String,
        /// As sent.
        raw: String,
    },
    /// A form (`application/x-www-form-urlencoded`): its fields, and as sent.
    Form {
        /// Names and values, decoded, in order.
        fields: Vec<(String, String)>,
        /// As sent.
        raw: String,
    },
    /// Any other UTF-8 text.
    Text {
        /// As sent.
        raw: String,
    },
    /// Not shown here, with the reason. The fingerprint is not known here either.
    Absent {
        /// A sentence; may be empty.
        why: String,
    },
    /// Text except for a few bytes that are not UTF-8.
    NearText {
        /// The text, with those bytes as `\xe9`.
        text: String,
        /// As sent: distinguishes such a byte from a literal `\xe9`.
        dump: String,
    },
    /// Anything else.
    Binary {
        /// Offset, bytes and printable text.
        dump: String,
    },
}

/// The text of a body, one value per line if it is JSON.
pub(super) fn readable(content_type: Option<&str>, bytes: &[u8]) -> String {
    match BodyContent::new(content_type.unwrap_or(""), bytes, usize::MAX).0 {
        BodyContent::Empty | BodyContent::Absent { .. } => String::new(),
        BodyContent::Json { pretty, .. } => pretty,
        BodyContent::Form { fields, .. } => {
            fields.iter().flat_map(|(name, value)| [name.as_str(), "=", value.as_str(), "\n"]).collect()
        }
        BodyContent::Text { raw } => raw,
        BodyContent::NearText { text, .. } => text,
        BodyContent::Binary { dump } => dump,
    }
}

impl BodyView {
    /// The view of `bytes`. At most `limit` bytes are shown (a card in the inbox shows the head; the approval page
    /// passes `usize::MAX`). A cut body is shown as sent, not indented.
    pub fn new(content_type: Option<&str>, bytes: &[u8], limit: usize) -> Self {
        let digest = text::hex(&Sha256::digest(bytes));
        let size = text::size(bytes.len() as u64);
        let (shown, shown_bytes) = BodyContent::new(content_type.unwrap_or(""), bytes, limit);
        let cut = (shown_bytes < bytes.len())
            .then(|| format!("the first {} of {size}", text::size(shown_bytes as u64)));
        Self {
            size,
            content_type: content_type.map(str::to_owned),
            digest_short: digest[..12].to_owned(),
            digest,
            shown,
            cut,
        }
    }

    /// The same with the size (in bytes) and SHA-256 (in hex digits) of the body that is sent, if the shown body
    /// differs.
    #[must_use]
    pub fn with_fingerprint(mut self, digest: &str, bytes: u64) -> Self {
        self.size = text::size(bytes);
        self.digest_short = digest.chars().take(12).collect();
        digest.clone_into(&mut self.digest);
        self
    }

    /// A body of which only the size (in bytes) is known.
    pub fn absent(bytes: u64, why: &str) -> Self {
        let shown = if bytes == 0 { BodyContent::Empty } else { BodyContent::Absent { why: why.to_owned() } };
        Self {
            size: text::size(bytes),
            content_type: None,
            digest_short: String::new(),
            digest: String::new(),
            shown,
            cut: None,
        }
    }

    /// True if part of the body is not shown.
    pub const fn has_more(&self) -> bool {
        matches!(self.shown, BodyContent::Absent { .. }) || self.cut.is_some()
    }
}

impl BodyContent {
    /// The content, and the number of bytes that it covers.
    fn new(content_type: &str, bytes: &[u8], limit: usize) -> (Self, usize) {
        if bytes.is_empty() {
            return (Self::Empty, 0);
        }
        let Ok(raw) = std::str::from_utf8(bytes) else {
            return Self::not_utf8(bytes, limit);
        };
        if raw.len() > limit {
            let head = &raw[..raw.floor_char_boundary(limit)];
            return (Self::Text { raw: head.to_owned() }, head.len());
        }
        let media = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        let raw = raw.to_owned();
        let shown = if media == "application/x-www-form-urlencoded" {
            Self::Form { fields: form_fields(&raw), raw }
        } else if serde_json::from_str::<IgnoredAny>(&raw).is_ok() {
            Self::Json { pretty: indent_json(&raw), raw }
        } else {
            Self::Text { raw }
        };
        (shown, bytes.len())
    }

    fn not_utf8(bytes: &[u8], limit: usize) -> (Self, usize) {
        let head = &bytes[..bytes.len().min(limit)];
        let dump = text::hex_dump(head);
        let odd: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
        let shown = if odd <= bytes.len() / MOSTLY {
            Self::NearText { text: near_text(head), dump }
        } else {
            Self::Binary { dump }
        };
        (shown, head.len())
    }
}

/// Shows every byte that is not part of a character as `\xe9`: nothing is left out or guessed.
fn near_text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _infallible = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Names and values in order; bytes that are not UTF-8 become U+FFFD (the raw form is shown next to it).
pub(crate) fn form_fields(raw: &str) -> Vec<(String, String)> {
    let decode = |part: &str| {
        let spaced = part.replace('+', " ");
        percent_decode(spaced.as_bytes()).decode_utf8_lossy().into_owned()
    };
    raw.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

/// Indents valid JSON without touching a token.
fn indent_json(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() * 2);
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut just_opened = false;
    for c in raw.chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closing = matches!(c, '}' | ']');
        if closing {
            depth = depth.saturating_sub(1);
        }
        if just_opened != closing && (just_opened || closing) {
            new_line(&mut out, depth);
        }
        just_opened = matches!(c, '{' | '[');
        depth += usize::from(just_opened);
        out.push(c);
        match c {
            '"' => in_string = true,
            ':' => out.push(' '),
            ',' => new_line(&mut out, depth),
            _ => {}
        }
    }
    out
}

/// Indentation stops after 32 levels, so that deep nesting does not widen the page.
fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(32)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(content_type: &str, bytes: &[u8]) -> BodyContent {
        BodyView::new(Some(content_type), bytes, usize::MAX).shown
    }

    fn pretty(raw: &str) -> String {
        match rendered("application/json", raw.as_bytes()) {
            BodyContent::Json { pretty, .. } => pretty,
            other => panic!("not JSON: {other:?}"),
        }
    }

    #[test]
    fn json_is_indented_and_no_token_changes() {
        assert_eq!(
            pretty(r#"{"a":1e2,"a":1.0,"s":"\u202e \"{,:}\\","n":[ ],"o":{"x":[1,2]}}"#),
            "{\n  \"a\": 1e2,\n  \"a\": 1.0,\n  \"s\": \"\\u202e \\\"{,:}\\\\\",\n  \"n\": [],\n  \"o\": {\n    \
             \"x\": [\n      1,\n      2\n    ]\n  }\n}"
        );
        assert_eq!(pretty("{}"), "{}");
        assert_eq!(pretty("[[]]"), "[\n  []\n]");
    }

    #[test]
    fn form_fields_are_decoded_in_order_and_duplicates_stay() {
        let BodyContent::Form { fields, raw } = rendered(
            "application/x-www-form-urlencoded; charset=utf-8",
            b"to=a%40b.example&n=1+000&n=2&flag",
        ) else {
            panic!("not a form")
        };
        let expected = [("to", "a@b.example"), ("n", "1 000"), ("n", "2"), ("flag", "")];
        assert_eq!(fields, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert!(raw.starts_with("to=a%40b"));
    }

    #[test]
    fn bytes_that_are_not_text_are_dumped_whole_and_cut_only_where_text_would_be() {
        let whole = BodyView::new(None, &[0xff; 4096], usize::MAX);
        assert!(matches!(&whole.shown, BodyContent::Binary { dump } if dump.lines().count() == 256));
        assert!(whole.cut.is_none() && !whole.has_more());
        let head = BodyView::new(None, &[0xff; 4096], 1024);
        assert!(matches!(&head.shown, BodyContent::Binary { dump } if dump.lines().count() == 64));
        assert_eq!(head.cut.as_deref(), Some("the first 1 KiB of 4 KiB"));
        assert!(head.has_more());
    }

    #[test]
    fn text_with_a_few_other_bytes_is_text_in_which_they_show() {
        let BodyContent::NearText { text, dump } = rendered("text/plain", b"caf\xe9 and cr\xc3\xa8me") else {
            panic!("not near to text")
        };
        assert_eq!(text, "caf\\xe9 and crème");
        assert!(dump.starts_with("00000000  63 61 66 e9 "), "{dump}");
        // One byte in eight at most, anywhere; with more of them it is not text.
        for (bytes, near) in [(&b"1234567\xff"[..], true), (b"123456\xff", false), (b"123456\xff\xff", false)]
        {
            assert_eq!(
                matches!(rendered("text/plain", bytes), BodyContent::NearText { .. }),
                near,
                "{bytes:?}"
            );
        }
        let head = BodyView::new(None, b"\xffpadding, and behind it amount=5", 8);
        assert!(matches!(&head.shown, BodyContent::NearText { text, .. } if text == "\\xffpadding"));
        assert_eq!(head.cut.as_deref(), Some("the first 8 bytes of 32 bytes"));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_says_so() {
        let body = BodyView::new(Some("text/plain"), "ééééé".as_bytes(), 5);
        assert_eq!(body.shown, BodyContent::Text { raw: "éé".into() });
        assert_eq!(body.cut.as_deref(), Some("the first 4 bytes of 10 bytes"));
    }

    #[test]
    fn the_digest_covers_the_whole_body() {
        let whole = BodyView::new(None, b"abc", 1);
        assert_eq!(whole.digest_short, "ba7816bf8f01");
        assert_eq!(whole.digest.len(), 64);
        assert_eq!(BodyView::new(None, b"", 1).shown, BodyContent::Empty);
    }
}
