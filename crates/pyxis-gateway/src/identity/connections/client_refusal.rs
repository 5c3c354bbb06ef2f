//! Refusal of a client, and its name as people may see it.

use std::borrow::Cow;

/// Longest name of a program, in characters.
const MAX_NAME: usize = 100;

/// Reason that a client is not accepted, as the end of a sentence about the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientRefusal(pub(super) Cow<'static, str>);

impl ClientRefusal {
    pub(super) const fn new(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

/// A program's name for people, without characters that could hide or reorder it. `None` if nothing is left.
pub(super) fn program_name(name: Option<&str>) -> Option<String> {
    let visible = |char: &char| !char.is_control() && !is_invisible(*char);
    let name: String = name?.chars().filter(visible).take(MAX_NAME).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Zero-width characters and marks that change the direction of text.
const fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_only_what_a_person_sees() {
        assert_eq!(program_name(Some(" ChatGPT ")), Some("ChatGPT".to_owned()));
        assert_eq!(program_name(Some("a\u{202e}b\u{200b}\n\u{7}c")), Some("abc".to_owned()));
        assert_eq!(program_name(Some("\u{200b} ")), None);
        assert_eq!(program_name(None), None);
        assert_eq!(program_name(Some(&"x".repeat(500))).unwrap().len(), MAX_NAME);
    }
}
