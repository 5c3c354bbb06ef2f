//! Prose of the repository: comments, messages, templates and documents, as blocks of plain text.

/// A paragraph, a list item, a table cell or a message: text without markup, and the line on which it starts.
pub(super) struct Block {
    pub(super) line: usize,
    pub(super) text: String,
}

/// Placeholder for a code span or an inserted value: it counts as one word and is not checked.
const CODE: &str = "X";

/// First words of messages that are statements of SQL.
const SQL: &[&str] = &[
    "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "ALTER", "DROP", "FROM", "WHERE", "AND", "AS",
    "SET", "CASE",
];

/// Elements of a page that do not end a sentence.
const INLINE: &[&str] = &["a", "abbr", "b", "code", "em", "i", "kbd", "span", "strong", "time", "wbr"];

/// Comments of a source outside of its tests.
pub(super) fn comments(source: &str) -> Vec<Block> {
    let mut lines = Vec::new();
    for (number, line) in without_tests(source).lines().enumerate() {
        let text = line.trim_start().strip_prefix("//");
        let text = text.map(|text| text.trim_start_matches(['/', '!']));
        lines.push((number + 1, text.unwrap_or_default()));
    }
    paragraphs(&lines)
}

/// Paragraphs, items, headings and cells of a document in Markdown.
pub(super) fn document(text: &str) -> Vec<Block> {
    let lines: Vec<_> = text.lines().enumerate().map(|(number, line)| (number + 1, line)).collect();
    paragraphs(&lines)
}

/// Texts of a page template, without its tags and expressions.
pub(super) fn template(text: &str) -> Vec<Block> {
    let mut blocks = vec![Block { line: 1, text: String::new() }];
    let (mut line, mut rest) = (1, text);
    while let Some(next) = rest.find(['<', '{']) {
        let (before, tagged) = rest.split_at(next);
        blocks.last_mut().expect("one block at least").text.push_str(before);
        line += before.matches('\n').count();
        let end = match tagged.as_bytes() {
            [b'{', b'{', ..] => tagged.find("}}").map(|end| end + 2),
            [b'{', b'%', ..] => tagged.find("%}").map(|end| end + 2),
            [b'{', b'#', ..] => tagged.find("#}").map(|end| end + 2),
            [b'<', ..] if tagged.starts_with("<script") => tagged.find("</script>").map(|end| end + 9),
            [b'<', ..] if tagged.starts_with("<style") => tagged.find("</style>").map(|end| end + 8),
            [b'<', ..] => tagged.find('>').map(|end| end + 1),
            _ => Some(1),
        };
        let (tag, after) = tagged.split_at(end.unwrap_or(tagged.len()));
        line += tag.matches('\n').count();
        let name = tag.trim_start_matches(['<', '/']).split(|c: char| !c.is_alphanumeric()).next();
        if tag.starts_with("{{") {
            blocks.last_mut().expect("one block at least").text.push_str(CODE);
        } else if !name.is_some_and(|name| INLINE.contains(&name)) {
            blocks.push(Block { line, text: String::new() });
        }
        rest = after;
    }
    blocks.last_mut().expect("one block at least").text.push_str(rest);
    blocks.into_iter().filter(|block| !block.text.trim().is_empty()).map(|block| plain(&block)).collect()
}

/// Messages of a source outside of its tests: string literals with a space.
pub(super) fn messages(source: &str) -> Vec<Block> {
    literals(without_tests(source))
        .into_iter()
        .filter(|block| {
            let first = block.text.split_whitespace().next().unwrap_or_default();
            block.text.trim().contains(' ') && !SQL.contains(&first)
        })
        .flat_map(|block| {
            let lines: Vec<_> = block.text.lines().map(|text| (block.line, text)).collect();
            paragraphs(&lines)
        })
        .collect()
}

/// Marks that end a sentence before a space.
pub(super) const ENDS: &[char] = &['.', '?', '!'];

/// Marks that end a part of a message: `PROBLEM: NEXT STEP; ANOTHER`.
pub(super) const MESSAGE_ENDS: &[char] = &['.', '?', '!', ':', ';'];

/// Sentences of a text, with the marks that end one.
pub(super) fn sentences<'t>(text: &'t str, marks: &[char]) -> impl Iterator<Item = &'t str> {
    let words = text.split_inclusive(char::is_whitespace);
    let mut start = 0;
    let mut end = 0;
    let mut ends: Vec<(usize, usize)> = words
        .filter_map(|word| {
            end += word.len();
            let closes = word.trim_end().trim_end_matches([')', '"', '*', '_', '”']).ends_with(marks);
            closes.then(|| (std::mem::replace(&mut start, end), end))
        })
        .collect();
    ends.push((start, text.len()));
    ends.into_iter().map(|(start, end)| text[start..end].trim()).filter(|sentence| !sentence.is_empty())
}

/// Words of a sentence; punctuation alone is none.
pub(super) fn count_words(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

fn without_tests(source: &str) -> &str {
    source.split_once("\n#[cfg(test)]\nmod tests {").map_or(source, |(code, _)| code)
}

/// Joins lines to paragraphs. A list item, a heading, a quote and each cell of a table are blocks of their own.
fn paragraphs(lines: &[(usize, &str)]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for (number, line) in lines {
        let text = line.trim();
        if text.starts_with("```") {
            (open, fenced) = (false, !fenced);
        } else if fenced || text.is_empty() {
            open = false;
        } else if text.starts_with('|') {
            open = false;
            blocks.extend(text.split('|').map(|cell| Block { line: *number, text: cell.to_owned() }));
        } else {
            let starts = starts_block(text);
            if starts || !open {
                blocks.push(Block { line: *number, text: String::new() });
            }
            let block = blocks.last_mut().expect("one block at least");
            block.text.push_str(text);
            block.text.push(' ');
            open = !text.starts_with('#');
        }
    }
    blocks.into_iter().filter(|block| !block.text.trim().is_empty()).map(|block| plain(&block)).collect()
}

fn starts_block(text: &str) -> bool {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with(['#', '>', '['])
        || ["- ", "* ", "+ ", "<"].iter().any(|mark| text.starts_with(mark))
        || (number.len() < text.len() && number.starts_with(". "))
}

/// Takes code spans, link targets and marks out of a text.
fn plain(block: &Block) -> Block {
    let mut text = String::new();
    for (index, part) in block.text.split('`').enumerate() {
        text.push_str(if index % 2 == 0 { part } else { CODE });
    }
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, target)) = rest.split_once("](") {
        plain.push_str(before);
        rest = target.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    Block { text: plain.replace(['[', ']', '*'], ""), line: block.line }
}

/// String literals of a source, with their escapes resolved as far as words need it.
fn literals(source: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let (mut line, mut rest) = (1, source);
    while let Some(at) = rest.find(['"', '/', '\'', '\n']) {
        let before = rest.as_bytes()[..at].iter().rev();
        let hashes = before.clone().take_while(|byte| **byte == b'#').count();
        let raw = rest.as_bytes()[at] == b'"' && before.clone().nth(hashes) == Some(&b'r');
        let tail = &rest[at..];
        let taken = match tail.as_bytes() {
            [b'/', b'/', ..] => tail.find('\n').unwrap_or(tail.len()),
            [b'"', ..] if raw => {
                let close = format!("\"{}", "#".repeat(hashes));
                let end = tail[1..].find(&close).map_or(tail.len(), |end| end + 1);
                found.push(Block { line, text: tail[1..end.max(1)].to_owned() });
                (end + close.len()).min(tail.len())
            }
            [b'"', ..] => {
                let (text, length) = unescaped(&tail[1..]);
                found.push(Block { line, text });
                1 + length
            }
            [b'\'', b'\\', ..] => tail[2..].find('\'').map_or(2, |end| end + 3),
            [b'\'', _, b'\'', ..] => 3,
            _ => 1,
        };
        line += tail[..taken].matches('\n').count();
        rest = &tail[taken..];
    }
    found
}

/// The content of a literal whose opening quote was read, and its length with the closing one.
fn unescaped(tail: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = tail.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, '\n')) => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some((_, escaped)) => text.push(escaped),
                None => {}
            },
            _ => text.push(c),
        }
    }
    (text, tail.len())
}

#[test]
fn prose_is_found_in_comments_messages_templates_and_documents() {
    let texts = |blocks: Vec<Block>| -> Vec<(usize, String)> {
        blocks.into_iter().map(|block| (block.line, block.text.trim().to_owned())).collect()
    };
    let source = "/// One `code` line\n/// and more.\n///\n/// - An item.\nfn f() {\n    say('\"', \"a \\\"b\\\" \\\n       c\"); // Why.\n}\n\n#[cfg(test)]\nmod tests {\n    // Not here.\n}\n";
    let two = |line, text: &str| (line, text.to_owned());
    assert_eq!(texts(comments(source)), [two(1, "One X line and more."), two(4, "- An item.")]);
    assert_eq!(texts(messages(source)), [two(6, "a \"b\" c")]);
    assert_eq!(texts(messages("x(r#\"one \"two\"\"#, \"SELECT a FROM b\")")), [two(1, "one \"two\"")]);
    assert_eq!(
        texts(template("<p>Of <b>{{ x }}</b>\nit.</p><td>Next</td>")),
        [two(1, "Of X\nit."), two(2, "Next")]
    );
    let page = "# Head\n\nText [a\nlink](x.md).\n\n```\ncode\n```\n\n| One | `two` |\n";
    let found = [two(1, "# Head"), two(3, "Text a link."), two(10, "One"), two(10, "X")];
    assert_eq!(texts(document(page)), found);
    let parts: Vec<_> = sentences("One (a.b). Two? Three: 3", ENDS).collect();
    assert_eq!(parts, ["One (a.b).", "Two?", "Three: 3"]);
    assert_eq!(count_words("One - two, X."), 3);
}
