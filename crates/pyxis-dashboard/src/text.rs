//! Makes untrusted text safe for a person to judge.
//!
//! An approver decides by what is on the screen, so nothing may be hidden there. Control, bidi and invisible characters
//! are written out as `⟨U+202E⟩`. Long paths lose their middle and never their ends, and every number has its unit.

use std::fmt::{self, Write};

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;

/// The escaper of all templates (`askama.toml`): HTML, with hidden characters made visible.
#[derive(Clone, Copy, Debug, Default)]
pub struct Escape;

impl askama::filters::Escaper for Escape {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        reveal(&mut dest, string, write_escaped)
    }
}

fn write_escaped<W: Write>(dest: &mut W, c: char) -> fmt::Result {
    match c {
        '<' => dest.write_str("&lt;"),
        '>' => dest.write_str("&gt;"),
        '&' => dest.write_str("&amp;"),
        '"' => dest.write_str("&quot;"),
        '\'' => dest.write_str("&#39;"),
        _ => dest.write_char(c),
    }
}

/// HTML of a URL or host that breaks after `/`, `.`, `-`, `?` and `&` instead of inside words. Already escaped: use
/// `|safe` in templates.
#[derive(Clone, Copy, Debug)]
pub struct Breakable<'a>(&'a str);

/// The text with places where a line may break.
pub const fn breakable(text: &str) -> Breakable<'_> {
    Breakable(text)
}

impl fmt::Display for Breakable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut after_separator = false;
        reveal(f, self.0, |f, c| {
            if after_separator && c.is_alphanumeric() {
                f.write_str("<wbr>")?;
            }
            after_separator = matches!(c, '/' | '.' | '-' | '?' | '&');
            write_escaped(f, c)
        })
    }
}

/// Writes `text` with its hidden characters spelled out and every other one through `plain`.
fn reveal<W: Write>(
    dest: &mut W,
    text: &str,
    mut plain: impl FnMut(&mut W, char) -> fmt::Result,
) -> fmt::Result {
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if is_hidden(c, before, rest.peek().copied()) {
            write!(dest, "\u{27e8}U+{:04X}\u{27e9}", u32::from(c))?;
        } else {
            plain(dest, c)?;
        }
        before = Some(c);
    }
    Ok(())
}

/// True if a reader could not see `c`, or would see its neighbors in another order.
///
/// Joiners (U+200C, U+200D) are part of ordinary words in several scripts and of emoji. They stay between two
/// characters outside ASCII and are shown anywhere else. Line feed and tab stay.
fn is_hidden(c: char, before: Option<char>, after: Option<char>) -> bool {
    let outside_ascii = |side: Option<char>| side.is_some_and(|s| !s.is_ascii());
    match c {
        '\n' | '\t' => false,
        '\u{200c}' | '\u{200d}' => !(outside_ascii(before) && outside_ascii(after)),
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// `text` with its hidden characters written out, for places that are not templates.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let _infallible = reveal(&mut out, text, String::write_char);
    out
}

/// A long text without its middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Middle {
    /// The beginning; the whole text if nothing was left out.
    pub head: String,
    /// The end, if the middle was left out.
    pub tail: Option<String>,
    /// The whole text.
    pub full: String,
}

impl Middle {
    /// Keeps at most about `keep` characters of `full`. More of them are from the end, because the end of a path says
    /// what it does.
    pub fn new(full: &str, keep: usize) -> Self {
        let length = full.chars().count();
        if length <= keep {
            return Self { head: full.to_owned(), tail: None, full: full.to_owned() };
        }
        let head = keep * 2 / 5;
        let tail = keep - head;
        Self {
            head: full.chars().take(head).collect(),
            tail: Some(full.chars().skip(length - tail).collect()),
            full: full.to_owned(),
        }
    }
}

/// Distance of `at` from `now`, in one unit: `in 12 min`, `3 h ago`, `just now`.
pub fn relative(at: UnixMillis, now: UnixMillis) -> String {
    let seconds = at.0.saturating_sub(now.0) / 1000;
    let span = match seconds.unsigned_abs() {
        0..5 => return "just now".to_owned(),
        s @ 5..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..86_400 => format!("{} h", s / 3600),
        s => count_noun(s / 86_400, "day"),
    };
    if seconds > 0 { format!("in {span}") } else { format!("{span} ago") }
}

/// `2026-01-31 09:05:00 UTC`.
pub fn absolute(at: UnixMillis) -> String {
    let iso = at.to_rfc3339();
    match (iso.get(..10), iso.get(11..19)) {
        (Some(date), Some(time)) => format!("{date} {time} UTC"),
        _ => iso,
    }
}

/// `2026-01-31 09:05`, if the page says that times are UTC.
pub fn minute(at: UnixMillis) -> String {
    let absolute = absolute(at);
    absolute.get(..16).unwrap_or(&absolute).to_owned()
}

/// `09:05 UTC`, for moments within a day.
pub fn time_of_day(at: UnixMillis) -> String {
    at.to_rfc3339().get(11..16).map_or_else(|| absolute(at), |time| format!("{time} UTC"))
}

/// `0 bytes`, `1 byte`, `512 bytes`, `1.5 KiB`, `10 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return count_noun(bytes, "byte");
    }
    // Tenths of the unit, in whole numbers, to avoid rounding surprises at the borders.
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10 * 1024 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{tenth} {}", UNITS[unit])
    }
}

/// `1 request`, `2 requests`.
pub fn count_noun(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Count in at most four characters, rounded down: `950`, `2.5k`, `40k`, `1M`.
pub fn short_count(count: u64) -> String {
    const UNITS: [(u64, &str); 6] = [
        (1_000_000_000_000_000_000, "E"),
        (1_000_000_000_000_000, "P"),
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    let Some((unit, letter)) = UNITS.into_iter().find(|(unit, _)| count >= *unit) else {
        return count.to_string();
    };
    match (count / unit, count % unit / (unit / 10)) {
        (whole @ 1..=9, tenth @ 1..) => format!("{whole}.{tenth}{letter}"),
        (whole, _) => format!("{whole}{letter}"),
    }
}

/// A weight or score without zeros at its end: `16.021`, `20`.
pub fn plain(number: Decimal) -> String {
    number.to_string().trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number with a comma every three digits: `1,204`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration in words: `30 minutes`, `1 hour`, `90 seconds`.
pub fn duration(seconds: u64) -> String {
    match seconds {
        s if s > 0 && s.is_multiple_of(3600) => count_noun(s / 3600, "hour"),
        s if s > 0 && s.is_multiple_of(60) => count_noun(s / 60, "minute"),
        s => count_noun(s, "second"),
    }
}

/// Sixteen bytes per line: offset, hexadecimal, and their printable ASCII.
pub fn hex_dump(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 5);
    for (line, chunk) in bytes.chunks(16).enumerate() {
        let _infallible = write!(out, "{:08x} ", line * 16);
        for column in 0..16 {
            let gap = if column % 8 == 0 { " " } else { "" };
            let _infallible = match chunk.get(column) {
                Some(byte) => write!(out, "{gap}{byte:02x} "),
                None => write!(out, "{gap}   "),
            };
        }
        out.push(' ');
        out.extend(chunk.iter().map(|b| if matches!(b, b' '..=b'~') { char::from(*b) } else { '.' }));
        out.push('\n');
    }
    out
}

/// Lowercase hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use askama::filters::Escaper;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        Escape.write_escaped_str(&mut out, text).expect("a String takes everything");
        out
    }

    #[test]
    fn a_url_breaks_between_its_parts_and_stays_escaped() {
        let html = |text: &str| breakable(text).to_string();
        assert_eq!(html("api.github.com/a?b=1&c"), "api.<wbr>github.<wbr>com/<wbr>a?<wbr>b=1&amp;<wbr>c");
        assert_eq!(html("/v1/<b>/../x-y"), "/<wbr>v1/&lt;b&gt;/../<wbr>x-<wbr>y");
        assert_eq!(html("a\u{202e}.b."), "a\u{27e8}U+202E\u{27e9}.<wbr>b.");
    }

    #[test]
    fn a_short_count_has_four_characters_at_most() {
        let cases = [
            (0, "0"),
            (950, "950"),
            (1_000, "1k"),
            (2_500, "2.5k"),
            (40_000, "40k"),
            (250_000, "250k"),
            (1_999_999, "1.9M"),
            (u64::MAX, "18E"),
        ];
        for (count, short) in cases {
            assert_eq!(short_count(count), short);
        }
    }

    #[test]
    fn markup_is_escaped_in_text_and_attributes() {
        assert_eq!(escaped(r#"<a b="c" d='e'>&"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    }

    #[test]
    fn bidi_and_control_characters_are_written_out() {
        assert_eq!(escaped("pay\u{202e}gpj.exe\u{7}"), "pay⟨U+202E⟩gpj.exe⟨U+0007⟩");
        assert_eq!(visible("a\u{200b}b\u{feff}\r\n\tc"), "a⟨U+200B⟩b⟨U+FEFF⟩⟨U+000D⟩\n\tc");
        assert_eq!(visible("tag\u{e0041}"), "tag⟨U+E0041⟩");
    }

    #[test]
    fn joiners_stay_inside_words_that_need_them_and_show_between_ascii() {
        let persian = "می\u{200c}خواهم";
        assert_eq!(visible(persian), persian);
        assert_eq!(visible("adm\u{200d}in"), "adm⟨U+200D⟩in");
        assert_eq!(visible("\u{200d}"), "⟨U+200D⟩");
    }

    #[test]
    fn a_long_path_keeps_both_ends() {
        let cut = Middle::new("/v1/accounts/0123456789/transfers", 20);
        assert_eq!((cut.head.as_str(), cut.tail.as_deref()), ("/v1/acco", Some("89/transfers")));
        assert_eq!(cut.full, "/v1/accounts/0123456789/transfers");
        assert_eq!(Middle::new("/v1", 20).tail, None);
        assert_eq!(Middle::new("ääääää", 5).tail.as_deref(), Some("äää"));
    }

    #[test]
    fn relative_time_names_one_unit_and_a_direction() {
        let now = UnixMillis(1_767_225_600_000);
        let at = |seconds: i64| relative(UnixMillis(now.0 + seconds * 1000), now);
        assert_eq!(at(0), "just now");
        assert_eq!(at(59), "in 59 s");
        assert_eq!(at(61), "in 1 min");
        assert_eq!(at(-7199), "1 h ago");
        assert_eq!(at(-86_400), "1 day ago");
        assert_eq!(at(-864_000), "10 days ago");
    }

    #[test]
    fn absolute_time_is_utc_and_says_so() {
        let at = UnixMillis(1_767_225_600_250);
        assert_eq!(absolute(at), "2026-01-01 00:00:00 UTC");
        assert_eq!(time_of_day(at), "00:00 UTC");
    }

    #[test]
    fn sizes_change_unit_at_1024() {
        let cases = [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB")];
        for (bytes, words) in cases {
            assert_eq!(size(bytes), words);
        }
        assert_eq!(size(10 << 20), "10 MiB");
        assert_eq!(size((1 << 20) - 1), "1023 KiB");
        assert_eq!(size(u64::MAX), "16777215 TiB");
    }

    #[test]
    fn numbers_are_written_without_what_says_nothing() {
        let decimal = |text: &str| plain(text.parse().expect("a decimal"));
        assert_eq!(
            [decimal("16.02100"), decimal("20"), decimal("0"), decimal("100")],
            ["16.021", "20", "0", "100"]
        );
        assert_eq!(
            [grouped(0), grouped(999), grouped(1204), grouped(1_000_000)],
            ["0", "999", "1,204", "1,000,000"]
        );
    }

    #[test]
    fn durations_use_the_largest_whole_unit() {
        assert_eq!(duration(900), "15 minutes");
        assert_eq!(duration(3600), "1 hour");
        assert_eq!(duration(90), "90 seconds");
        assert_eq!(duration(0), "0 seconds");
    }

    #[test]
    fn a_hex_dump_shows_offset_bytes_and_printable_text() {
        let dump = hex_dump(b"\x00PNG<\xff0123456789ab");
        let mut lines = dump.lines();
        assert_eq!(
            lines.next(),
            Some("00000000  00 50 4e 47 3c ff 30 31  32 33 34 35 36 37 38 39  .PNG<.0123456789")
        );
        assert_eq!(lines.next().map(|l| &l[..17]), Some("00000010  61 62  "));
    }
}
