//! `.env` files as people write them: names and values, and nothing else that could be a piece of a secret.

use crate::secret::SecretString;

/// Content of a file.
#[derive(Debug, Default)]
pub struct Dotenv<'t> {
    /// Variables with a value, in file order.
    pub variables: Vec<Variable<'t>>,
    /// Line numbers, from 1, of lines that set nothing. Their text may be a piece of a secret.
    pub unreadable: Vec<usize>,
}

/// `NAME=value`.
#[derive(Debug)]
pub struct Variable<'t> {
    /// Number of its first line, from 1.
    pub line: usize,
    /// Capital letters, digits and underscores.
    pub name: &'t str,
    /// Without surrounding quotes.
    pub value: SecretString,
}

/// Parses a file. Skips blank lines and comments, and `export` before a name. Values in single quotes are literal; in
/// double quotes `\n`, `\r`, `\t`, `\"` and `\\` are escapes. Both may span several lines. Without quotes a comment may
/// follow after a space.
pub fn read(text: &str) -> Dotenv<'_> {
    let mut found = Dotenv::default();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut number = 0;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        number += 1;
        let started = number;
        let trimmed = line.trim();
        rest = after;
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let Some((name, from)) = assignment(trimmed) else {
            found.unreadable.push(started);
            continue;
        };
        let value = match from.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                // From the quote to its closing quote, even on a later line.
                let Some((value, length)) = quoted(&from[1..], after, quote) else {
                    found.unreadable.push(started);
                    continue;
                };
                let beyond = length.saturating_sub(from.len() - 1);
                if beyond > 0 {
                    // The value ends in a later line, whose end is skipped as well.
                    let taken = beyond - 1;
                    number += after[..taken].matches('\n').count() + 1;
                    rest = after[taken..].split_once('\n').map_or("", |(_, rest)| rest);
                }
                value
            }
            _ => from.split_once(" #").map_or(from, |(value, _)| value.trim_end()).to_owned(),
        };
        if !value.is_empty() {
            found.variables.push(Variable { line: started, name, value: SecretString::new(value) });
        }
    }
    found
}

/// Name and value of a line; `None` if it sets nothing.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let name = name.trim();
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let fits =
        (1..=128).contains(&name.len()) && name.bytes().all(plain) && !name.as_bytes()[0].is_ascii_digit();
    fits.then(|| (name, value.trim()))
}

/// The text up to the closing quote, and its length including that quote. The length is in bytes of `first`, a
/// line end and `more`; `None` if it is not closed.
fn quoted(first: &str, more: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut length = 0;
    let line_end = if more.is_empty() { "" } else { "\n" };
    let mut letters = [first, line_end, more].into_iter().flat_map(str::chars);
    while let Some(letter) = letters.next() {
        length += letter.len_utf8();
        if letter == quote {
            return Some((text, length));
        }
        if letter != '\\' || quote == '\'' {
            text.push(letter);
            continue;
        }
        let Some(escaped) = letters.next() else { break };
        length += escaped.len_utf8();
        match escaped {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            '"' | '\\' => text.push(escaped),
            other => text.extend(['\\', other]),
        }
    }
    zeroize::Zeroize::zeroize(&mut text);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(&str, String)> {
        read(text).variables.iter().map(|found| (found.name, found.value.expose().clone())).collect()
    }

    #[test]
    fn a_file_is_read_as_people_write_it() {
        let text = "\u{feff}# keys\nexport OPENAI_API_KEY=\"sk-1\" # mine\r\nA='x=y'\n\n  B = plain # note\nC=\nD=a#b";
        let expected = [("OPENAI_API_KEY", "sk-1"), ("A", "x=y"), ("B", "plain"), ("D", "a#b")];
        assert_eq!(values(text), expected.map(|(name, value)| (name, value.to_owned())));
        assert!(read(text).unreadable.is_empty());
    }

    #[test]
    fn a_value_in_quotes_goes_on_over_lines() {
        let text = "KEY=\"-----BEGIN\nAB==\n-----END\" # a key\nNEXT=1\nONE='a\nb'\nESCAPED=\"a\\nb\\\"c\\\\d\\q\"\nLAST='$x\\n'";
        let expected = [
            ("KEY", "-----BEGIN\nAB==\n-----END"),
            ("NEXT", "1"),
            ("ONE", "a\nb"),
            ("ESCAPED", "a\nb\"c\\d\\q"),
            ("LAST", "$x\\n"),
        ];
        assert_eq!(values(text), expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn what_sets_nothing_is_told_by_its_number_only() {
        let text = "A=1\nbroken\nMIIEvQ/AB+==\naB=2\n1A=3\n=4\nB=5\nC='never closed\nD=6";
        let read = read(text);
        assert_eq!(read.unreadable, [2, 3, 4, 5, 6, 8]);
        let names: Vec<_> = read.variables.iter().map(|found| found.name).collect();
        assert_eq!(names, ["A", "B", "D"]);
        assert_eq!(read.variables[1].line, 7);
    }

    #[test]
    fn numbers_count_the_lines_of_values_too() {
        assert_eq!(read("A='1\n2\n3'\nbroken\nB=\"\n\" # x\nbroken").unreadable, [4, 7]);
        assert_eq!(read("A='1\n2'").unreadable, [] as [usize; 0]);
    }
}
