//! Reads one escaped character as written in URLs, JSON, JavaScript and HTML.
//!
//! A reading never depends on the text after it. A text without secrets therefore stays free of them when its neighbor
//! is replaced, and a stream may be cut anywhere.

/// Maximum depth of nested escapes: `%252F` is one level above `%2F`.
const NESTING: usize = 3;
/// `\\\\\\\\` is one backslash, three levels deep.
const MAX_BACKSLASHES: usize = 1 << NESTING;
const MAX_NUMERIC_DIGITS: usize = 8;
/// Length of the longest reading: `\\\\\\\\&amp;amp;amp;DiacriticalGrave;`.
pub(crate) const MAX_ESCAPE_LEN: usize = MAX_BACKSLASHES + 1 + 4 * NESTING + 17;

/// True for the first byte of an escape. `+` counts, since it is a space in query strings.
pub(crate) fn is_lead(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&' | b'+')
}

/// Maximum length of a line break inside an encoded secret, in bytes, including the indentation of the next line.
const MAX_BLANKS: usize = 64;
/// Maximum length of a line break whose last blank is an escape, in bytes.
pub(crate) const MAX_BREAK_LEN: usize = MAX_BLANKS + MAX_ESCAPE_LEN;

/// True for the bytes that break a line.
pub(crate) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// A line break with the blanks after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// Another character.
    None,
    /// A line break that ends at this offset.
    Ends(usize),
    /// A line break that may continue after the end of `text`.
    CutShort,
}

/// Reads the line break at `at` to its end, plain or escaped in any way that [`each_reading`] knows. Encoders break
/// base64 and PEM into lines, and printers indent them.
pub(crate) fn line_break(text: &[u8], at: usize) -> Break {
    let (mut end, mut broken) = (at, false);
    loop {
        match blank(text, end) {
            Blank::LineEnd(next) => (end, broken) = (next, true),
            Blank::Space(next) if broken => end = next,
            Blank::CutShort => return Break::CutShort,
            _ if broken => return Break::Ends(end),
            _ => return Break::None,
        }
        if end - at > MAX_BLANKS {
            return Break::None;
        }
    }
}

/// One character of a line break, and its end offset.
#[derive(Clone, Copy)]
enum Blank {
    None,
    LineEnd(usize),
    Space(usize),
    CutShort,
}

fn blank(text: &[u8], at: usize) -> Blank {
    match text.get(at) {
        None => Blank::CutShort,
        Some(b'\n' | b'\r') => Blank::LineEnd(at + 1),
        Some(b' ' | b'\t') => Blank::Space(at + 1),
        Some(b'%' | b'\\' | b'&') => {
            let mut longest = Blank::None;
            let truncated = each_reading(text, at, |unit, end| match unit {
                Unit::Byte(b'\n' | b'\r') | Unit::Char('\n' | '\r') => longest = Blank::LineEnd(end),
                Unit::Byte(b' ' | b'\t') | Unit::Char(' ' | '\t') => longest = Blank::Space(end),
                _ => {}
            });
            if truncated { Blank::CutShort } else { longest }
        }
        Some(_) => Blank::None,
    }
}

/// Decoded value of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Byte(u8),
    /// A code point. In a secret it is its UTF-8 encoding, or the byte with the same number (Latin-1).
    Char(char),
}

impl Unit {
    /// If `secret` starts with this unit, the number of bytes that the unit takes, as UTF-8 and as a single byte.
    pub(crate) fn prefix_of(self, secret: &[u8]) -> [Option<usize>; 2] {
        let (utf8, byte) = match self {
            Self::Byte(byte) => (None, Some(byte)),
            Self::Char(char) if char.is_ascii() => (None, u8::try_from(char).ok()),
            Self::Char(char) => {
                let mut buffer = [0; 4];
                let encoded = char.encode_utf8(&mut buffer).as_bytes();
                (secret.starts_with(encoded).then_some(encoded.len()), u8::try_from(char).ok())
            }
        };
        [utf8, byte.filter(|byte| secret.first() == Some(byte)).map(|_| 1)]
    }

    /// The first byte that this unit can be in a secret, as UTF-8 and as a single byte.
    pub(crate) fn first_bytes(self) -> [Option<u8>; 2] {
        match self {
            Self::Byte(byte) => [Some(byte), None],
            Self::Char(char) if char.is_ascii() => [u8::try_from(char).ok(), None],
            Self::Char(char) => {
                let mut buffer = [0; 4];
                [Some(char.encode_utf8(&mut buffer).as_bytes()[0]), u8::try_from(char).ok()]
            }
        }
    }
}

/// Calls `found` with each reading of the escape at `at` and the offset after it. Returns true if `text` ends in the
/// middle of another possible reading.
pub(crate) fn each_reading(text: &[u8], at: usize, found: impl FnMut(Unit, usize)) -> bool {
    match text[at] {
        b'%' => percent(text, at, found),
        b'\\' => backslash(text, at, found),
        b'&' => entity(text, at, found),
        b'+' => {
            let mut found = found;
            found(Unit::Byte(b' '), at + 1);
            false
        }
        _ => false,
    }
}

/// Reads a number of exactly `len` hex digits. `Err(true)` means that `text` ends among them.
fn hex(text: &[u8], at: usize, len: usize) -> Result<u32, bool> {
    let rest = text.get(at..).unwrap_or_default();
    let mut value = 0;
    for digit in &rest[..len.min(rest.len())] {
        value = value * 16 + char::from(*digit).to_digit(16).ok_or(false)?;
    }
    if rest.len() < len { Err(true) } else { Ok(value) }
}

fn byte_of(value: u32) -> Unit {
    Unit::Byte(u8::try_from(value).expect("two hex digits make a byte"))
}

fn percent(text: &[u8], at: usize, mut found: impl FnMut(Unit, usize)) -> bool {
    let mut digits = at + 1;
    for _ in 0..=NESTING {
        match hex(text, digits, 2) {
            Ok(value) => {
                found(byte_of(value), digits + 2);
                if value != u32::from(b'%') {
                    return false;
                }
                digits += 2;
            }
            Err(truncated) => return truncated,
        }
    }
    false
}

fn backslash(text: &[u8], at: usize, mut found: impl FnMut(Unit, usize)) -> bool {
    let run = run_of_backslashes(text, at);
    for half in [2, 4, 8] {
        if half <= run {
            found(Unit::Byte(b'\\'), at + half);
        }
    }
    let Some(&byte) = text.get(at + run) else { return true };
    let end = at + run + 1;
    match byte {
        b'b' => found(Unit::Byte(8), end),
        b'f' => found(Unit::Byte(12), end),
        b'n' => found(Unit::Byte(b'\n'), end),
        b'r' => found(Unit::Byte(b'\r'), end),
        b't' => found(Unit::Byte(b'\t'), end),
        b'x' => match hex(text, end, 2) {
            Ok(value) => found(byte_of(value), end + 2),
            Err(truncated) => return truncated,
        },
        b'u' => return utf16(text, end, found),
        // JSON inside HTML.
        b'&' => {
            found(Unit::Byte(b'&'), end);
            return entity(text, at + run, found);
        }
        b'\\' => {}
        other if other.is_ascii_alphanumeric() => {}
        other => found(Unit::Byte(other), end),
    }
    false
}

fn run_of_backslashes(text: &[u8], at: usize) -> usize {
    text[at..].iter().take(MAX_BACKSLASHES).take_while(|byte| **byte == b'\\').count()
}

/// Reads the four hex digits that follow `\u`, at `at`, and the second half of a surrogate pair.
fn utf16(text: &[u8], at: usize, mut found: impl FnMut(Unit, usize)) -> bool {
    let high = match hex(text, at, 4) {
        Ok(value) => value,
        Err(truncated) => return truncated,
    };
    if let Some(char) = char::from_u32(high) {
        found(Unit::Char(char), at + 4);
        return false;
    }
    let run = run_of_backslashes(text, at + 4);
    let Some(&byte) = text.get(at + 4 + run) else { return true };
    if run == 0 || byte != b'u' {
        return false;
    }
    let digits = at + 4 + run + 1;
    match hex(text, digits, 4) {
        Ok(low) => {
            let pair = u16::try_from(high).into_iter().chain(u16::try_from(low));
            if let Some(Ok(char)) = char::decode_utf16(pair).next() {
                found(Unit::Char(char), digits + 4);
            }
            false
        }
        Err(truncated) => truncated,
    }
}

/// Named HTML character references for ASCII characters.
const NAMED: [(&[u8], u8); 46] = [
    (b"amp", b'&'),
    (b"AMP", b'&'),
    (b"lt", b'<'),
    (b"LT", b'<'),
    (b"gt", b'>'),
    (b"GT", b'>'),
    (b"quot", b'"'),
    (b"QUOT", b'"'),
    (b"apos", b'\''),
    (b"Tab", b'\t'),
    (b"NewLine", b'\n'),
    (b"excl", b'!'),
    (b"num", b'#'),
    (b"dollar", b'$'),
    (b"percnt", b'%'),
    (b"lpar", b'('),
    (b"rpar", b')'),
    (b"ast", b'*'),
    (b"midast", b'*'),
    (b"plus", b'+'),
    (b"comma", b','),
    (b"period", b'.'),
    (b"sol", b'/'),
    (b"colon", b':'),
    (b"semi", b';'),
    (b"equals", b'='),
    (b"quest", b'?'),
    (b"commat", b'@'),
    (b"lsqb", b'['),
    (b"lbrack", b'['),
    (b"bsol", b'\\'),
    (b"rsqb", b']'),
    (b"rbrack", b']'),
    (b"Hat", b'^'),
    (b"lowbar", b'_'),
    (b"UnderBar", b'_'),
    (b"grave", b'`'),
    (b"DiacriticalGrave", b'`'),
    (b"lcub", b'{'),
    (b"lbrace", b'{'),
    (b"verbar", b'|'),
    (b"vert", b'|'),
    (b"VerticalLine", b'|'),
    (b"rcub", b'}'),
    (b"rbrace", b'}'),
    (b"nbsp", b' '),
];

fn entity(text: &[u8], at: usize, mut found: impl FnMut(Unit, usize)) -> bool {
    let mut name = at + 1;
    let mut truncated = false;
    for _ in 0..=NESTING {
        let rest = &text[name..];
        if rest.first() == Some(&b'#') {
            return truncated | numeric(text, name + 1, found);
        }
        let initial = rest.first().copied();
        if initial.is_some_and(|byte| !byte.is_ascii_alphabetic()) {
            break;
        }
        for (known, byte) in NAMED.iter().filter(|(known, _)| initial.is_none_or(|byte| known[0] == byte)) {
            if rest.starts_with(known) {
                truncated |= or_semicolon(text, name + known.len(), Unit::Byte(*byte), &mut found);
            } else {
                truncated |= known.starts_with(rest);
            }
        }
        if !rest.starts_with(b"amp;") {
            break;
        }
        name += 4;
    }
    truncated
}

/// Reports `unit` as ending at `end`, and again after a semicolon there.
fn or_semicolon(text: &[u8], end: usize, unit: Unit, found: &mut impl FnMut(Unit, usize)) -> bool {
    found(unit, end);
    if text.get(end) == Some(&b';') {
        found(unit, end + 1);
    }
    end == text.len()
}

fn numeric(text: &[u8], at: usize, mut found: impl FnMut(Unit, usize)) -> bool {
    let Some(&first) = text.get(at) else { return true };
    let (radix, digits) = if first | 0x20 == b'x' { (16, at + 1) } else { (10, at) };
    let mut value = 0;
    for end in digits..digits + MAX_NUMERIC_DIGITS {
        let Some(&byte) = text.get(end) else { return true };
        let Some(digit) = char::from(byte).to_digit(radix) else { return false };
        value = value * radix + digit;
        if let Some(char) = char::from_u32(value) {
            or_semicolon(text, end + 1, Unit::Char(char), &mut found);
        }
    }
    text.len() == digits + MAX_NUMERIC_DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(text: &str) -> Vec<(Unit, usize)> {
        let mut all = Vec::new();
        each_reading(text.as_bytes(), 0, |unit, end| all.push((unit, end)));
        all
    }

    fn truncated(text: &str) -> bool {
        each_reading(text.as_bytes(), 0, |_, _| {})
    }

    #[test]
    fn each_spelling_reads_as_its_character_to_its_end() {
        let slash = Unit::Byte(b'/');
        let slash_char = Unit::Char('/');
        for (text, unit) in [
            ("%2f", slash),
            ("%2F", slash),
            ("%252F", slash),
            ("%2525252f", slash),
            ("\\/", slash),
            ("\\\\\\/", slash),
            ("\\x2F", slash),
            ("\\u002f", slash_char),
            ("\\\\u002F", slash_char),
            ("\\ud83d\\uDE00", Unit::Char('😀')),
            ("&sol;", slash),
            ("&sol", slash),
            ("&amp;sol;", slash),
            ("&amp;amp;amp;sol;", slash),
            ("&#47;", slash_char),
            ("&#47", slash_char),
            ("&#00000047;", slash_char),
            ("&#x2f;", slash_char),
            ("&#X2F;", slash_char),
            ("&amp;#47;", slash_char),
            ("\\n", Unit::Byte(b'\n')),
            ("\\\\\\\\", Unit::Byte(b'\\')),
            ("+", Unit::Byte(b' ')),
            ("\\&quot;", Unit::Byte(b'"')),
            ("\\\\\\\\\\\\\\&amp;amp;amp;DiacriticalGrave;", Unit::Byte(b'`')),
            ("\\\\\\\\\\\\\\ud83d\\\\\\\\\\\\\\ude00", Unit::Char('😀')),
        ] {
            assert!(variants(text).contains(&(unit, text.len())), "{text}: {:?}", variants(text));
            assert!(text.len() <= MAX_ESCAPE_LEN, "{text}");
        }
    }

    #[test]
    fn what_is_no_escape_has_no_reading() {
        for text in ["%zz", "%2g", "\\q", "\\u12g4", "\\xzz", "&zz;", "&#;", "&#xg", "\\ud83dabc", "a"] {
            assert_eq!(variants(text), [], "{text}");
            assert!(!truncated(text), "{text}");
        }
    }

    #[test]
    fn a_line_break_is_read_with_its_blanks_in_every_spelling() {
        for text in [
            "\n",
            "\r\n",
            "\n    ",
            "\r\n\t",
            "\\n",
            "\\r\\n",
            "\\\\n",
            "\\n  \\t",
            "%0A",
            "%0d%0a%20",
            "&#10;",
            "&#xA",
            "&NewLine;",
            "\\\n  ",
            "\n \n ",
        ] {
            assert_eq!(line_break(format!("{text}x").as_bytes(), 0), Break::Ends(text.len()), "{text:?}");
            assert_eq!(line_break(text.as_bytes(), 0), Break::CutShort, "{text:?}");
        }
        for text in ["x", " \nx", "\\tx", "%20\nx", "+\nx"] {
            assert_eq!(line_break(text.as_bytes(), 0), Break::None, "{text:?}");
        }
        let long = |blanks: usize| line_break(format!("\n{}x", " ".repeat(blanks)).as_bytes(), 0);
        assert_eq!((long(63), long(64)), (Break::Ends(64), Break::None));
    }

    #[test]
    fn an_escape_cut_short_is_reported() {
        for text in ["%", "%2", "%25", "%252", "\\", "\\\\", "\\u", "\\u00", "\\x2", "\\ud83d", "\\ud83d\\"] {
            assert!(truncated(text), "{text}");
        }
        for text in ["&", "&s", "&sol", "&amp", "&amp;", "&amp;s", "&#", "&#4", "&#x", "&#x2"] {
            assert!(truncated(text), "{text}");
        }
    }
}
