//! Lines of a message in sections of limited length.

/// Escaped lines, as many in a section of at most `max` UTF-16 units as fit. A longer line is continued in the next
/// section, and nothing that `escape` writes for one character is split. Platforms count units or characters, of which
/// there are never more.
pub(super) fn sections<'a>(
    lines: impl Iterator<Item = &'a str>,
    max: usize,
    escape: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut section, mut length) = (String::new(), 0);
    for (number, line) in lines.enumerate() {
        let line_length = escape(line).encode_utf16().count();
        if length > 0 && length + 1 + line_length > max {
            all.push(std::mem::take(&mut section));
            length = 0;
        } else if number > 0 && length > 0 {
            section.push('\n');
            length += 1;
        }
        for c in line.chars() {
            let piece = escape(c.encode_utf8(&mut [0; 4]));
            let units = piece.encode_utf16().count();
            if length + units > max {
                all.push(std::mem::take(&mut section));
                length = 0;
            }
            section.push_str(&piece);
            length += units;
        }
    }
    all.push(section);
    all.retain(|section| !section.trim().is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 3000;

    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;").replace('<', "&lt;")
    }

    #[test]
    fn every_line_is_in_a_section_and_no_section_is_too_long() {
        let lines: Vec<String> = (0..40).map(|n| format!("{n} {}", "<é".repeat(n * 10))).collect();
        let sections = sections(lines.iter().map(String::as_str), MAX, escaped);
        assert!(sections.iter().all(|section| section.chars().count() <= MAX && !section.is_empty()));
        assert!(sections.len() > 5 && sections.len() < 50);
        assert_eq!(sections.join("\n"), escaped(&lines.join("\n")));
    }

    #[test]
    fn a_line_longer_than_a_section_is_continued_and_blank_lines_make_no_section() {
        let long = "&".repeat(MAX);
        let found = sections(["", long.as_str()].into_iter(), MAX, escaped);
        assert_eq!(found.len(), 5);
        assert_eq!(found.concat(), escaped(&long));
        assert!(sections(["", " "].into_iter(), MAX, escaped).is_empty());
    }
}
