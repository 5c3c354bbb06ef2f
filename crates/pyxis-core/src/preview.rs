//! Short previews of request bodies for people who learn of an approval elsewhere.

/// Longest preview, in characters.
pub const MAX_CHARS: usize = 500;

/// The beginning of `body`, cut between characters; `None` if it is empty or unreadable. Control characters, unusual
/// line ends and characters that change the text direction are shown as `�`. So a preview cannot rearrange the message
/// around it.
pub fn preview(body: &[u8]) -> Option<String> {
    // The longest character has four bytes; one that is cut in two at the end is left out.
    let head = &body[..body.len().min(4 * MAX_CHARS)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && head.len() < body.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return None,
    };
    let mut shown: String = text.chars().take(MAX_CHARS).map(visible).collect();
    if head.len() < body.len() || text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    (!shown.trim().is_empty()).then_some(shown)
}

/// The character, or a replacement for one that is invisible or misleading.
pub fn visible(c: char) -> char {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    );
    if turns || (c.is_control() && !matches!(c, '\n' | '\t')) { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(preview(br#"{"amount":5}"#).as_deref(), Some(r#"{"amount":5}"#));
        assert_eq!(preview(b""), None);
        assert_eq!(preview(b" \n"), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        for filler in ["a", "é", "€", "😀"] {
            for count in [MAX_CHARS, MAX_CHARS + 1, 4 * MAX_CHARS + 1] {
                let shown = preview(filler.repeat(count).as_bytes()).unwrap();
                let cut = count > MAX_CHARS;
                assert_eq!(shown.ends_with('…'), cut, "{filler} {count}");
                assert_eq!(shown.chars().count(), MAX_CHARS + usize::from(cut), "{filler} {count}");
            }
        }
        let shifted = preview(format!("a{}", "😀".repeat(MAX_CHARS)).as_bytes()).unwrap();
        assert_eq!(shifted.chars().count(), MAX_CHARS + 1);
    }

    #[test]
    fn what_is_no_text_is_not_shown() {
        assert_eq!(preview(b"\xff\xfe\x00"), None);
        assert_eq!(preview(b"ok \xc3"), None);
    }

    #[test]
    fn signs_that_rearrange_text_are_shown_as_such() {
        assert_eq!(preview("pay\u{202e}cod\x07".as_bytes()).as_deref(), Some("pay\u{fffd}cod\u{fffd}"));
        assert_eq!(preview("a\u{2028}b\u{2029}c\nd".as_bytes()).as_deref(), Some("a\u{fffd}b\u{fffd}c\nd"));
    }
}
