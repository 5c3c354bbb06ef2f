//! Encoders independent of the crate under test, for anything that upstream might do to a secret.

use std::fmt::Write;

/// A named encoding.
pub(crate) type Encoding = (&'static str, fn(&[u8]) -> Vec<u8>);

/// All encodings. The textual ones use lossy UTF-8 and are meant for text only.
pub(crate) const ENCODINGS: [Encoding; 20] = [
    ("raw", <[u8]>::to_vec),
    ("hex lower", |s| each(s, |b| format!("{b:02x}"))),
    ("hex upper", |s| each(s, |b| format!("{b:02X}"))),
    ("base64", |s| base64(s, STANDARD, true)),
    ("base64 unpadded", |s| base64(s, STANDARD, false)),
    ("base64url", |s| base64(s, URL_SAFE, true)),
    ("base64url unpadded", |s| base64(s, URL_SAFE, false)),
    ("percent upper", |s| percent(s, |b| format!("%{b:02X}"))),
    ("percent lower", |s| percent(s, |b| format!("%{b:02x}"))),
    ("percent all", |s| each(s, |b| format!("%{b:02X}"))),
    ("percent all lower", |s| each(s, |b| format!("%{b:02x}"))),
    ("percent twice", |s| percent(&percent(s, |b| format!("%{b:02X}")), |b| format!("%{b:02X}"))),
    ("percent mixed", |s| {
        let mut upper = false;
        percent(s, |b| {
            upper = !upper;
            if upper { format!("%{b:02X}") } else { format!("%{b:02x}") }
        })
    }),
    ("form", |s| percent(s, |b| if b == b' ' { "+".into() } else { format!("%{b:02X}") })),
    ("json", |s| json(s)),
    ("json in json", |s| json(&json(s))),
    ("html named", |s| {
        chars(s, |c| match c {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            '"' => "&quot;".into(),
            '\'' => "&apos;".into(),
            c => c.into(),
        })
    }),
    ("html decimal", |s| chars(s, |c| format!("&#{};", u32::from(c)))),
    ("html hex", |s| chars(s, |c| format!("&#x{:x};", u32::from(c)))),
    ("html of json", |s| chars(&json(s), |c| if c == '"' { "&#34;".into() } else { c.into() })),
];

/// JSON with every character as `\uXXXX`.
pub(crate) fn json_all_escaped(text: &str, upper: bool) -> String {
    text.encode_utf16().map(|u| if upper { format!("\\u{u:04X}") } else { format!("\\u{u:04x}") }).collect()
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64(bytes: &[u8], alphabet: &[u8; 64], pad: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, b| word << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        let chars = (0..4).map(|i| alphabet[(word >> (18 - 6 * i)) as usize & 63]);
        out.extend(chars.take(group.len() + 1));
        if pad {
            out.extend(std::iter::repeat_n(b'=', 3 - group.len()));
        }
    }
    out
}

pub(crate) fn base64_standard(bytes: &[u8]) -> Vec<u8> {
    base64(bytes, STANDARD, true)
}

pub(crate) fn each_hex(bytes: &[u8]) -> String {
    String::from_utf8(each(bytes, |byte| format!("{byte:02x}"))).expect("digits")
}

fn each(bytes: &[u8], mut write: impl FnMut(u8) -> String) -> Vec<u8> {
    bytes.iter().map(|b| write(*b)).collect::<String>().into_bytes()
}

fn percent(bytes: &[u8], mut escape: impl FnMut(u8) -> String) -> Vec<u8> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    each(bytes, |b| if plain(b) { char::from(b).to_string() } else { escape(b) })
}

fn chars(bytes: &[u8], write: impl FnMut(char) -> String) -> Vec<u8> {
    String::from_utf8_lossy(bytes).chars().map(write).collect::<String>().into_bytes()
}

/// JSON as PHP writes it: slashes and all non-ASCII characters escaped.
fn json(bytes: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '"' | '\\' | '/' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_ascii_graphic() || c == ' ' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("strings take all");
                }
            }
        }
    }
    out.into_bytes()
}
