//! Doc comments that say no more than the name of their item.

use std::collections::BTreeSet;

/// Words that carry no meaning of their own.
const FILLERS: &[&str] =
    &["a", "an", "by", "for", "in", "is", "it", "its", "of", "the", "this", "to", "with"];

/// Doc comments of one line, each with its line and true if it only repeats the name of its item.
pub(super) fn one_line_comments(text: &str) -> Vec<(usize, &str, bool)> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let is_doc = |line: &&str| line.starts_with("///");
        let is_inside =
            (number > 0 && is_doc(&lines[number - 1])) || lines.get(number + 1).is_some_and(is_doc);
        if let Some(comment) = line.strip_prefix("///").filter(|_| !is_inside) {
            let item = lines[number + 1..].iter().find(|line| !line.starts_with('#')).copied().unwrap_or("");
            found.push((number + 1, comment.trim(), is_repetition(comment, name(item))));
        }
    }
    found
}

/// Name that a line of code declares.
fn name(item: &str) -> &str {
    let mut rest = item;
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
            None => public,
        };
    }
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let words = rest.split(|c| !is_letter(c)).filter(|word| !word.is_empty());
    let keywords = ["async", "const", "enum", "fn", "static", "struct", "trait", "type", "unsafe"];
    words.into_iter().find(|word| !keywords.contains(word)).unwrap_or("")
}

/// True if every word of the comment is in the name. Digits and code say more.
fn is_repetition(comment: &str, name: &str) -> bool {
    let known: BTreeSet<String> = split_words(name).into_iter().collect();
    let said: Vec<String> =
        split_words(comment).into_iter().filter(|word| !FILLERS.contains(&word.as_str())).collect();
    !comment.contains('`')
        && !comment.contains(|c: char| c.is_ascii_digit())
        && !said.is_empty()
        && said.iter().all(|word| known.contains(word))
}

/// The words of a sentence or of a name, in lower case and without the `s` of a plural.
fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_lower = false;
    for c in text.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && is_lower) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().expect("one word at least").extend(c.to_lowercase());
        }
        is_lower = c.is_lowercase();
    }
    let singular = words.iter().map(|word| word.strip_suffix('s').unwrap_or(word).to_owned());
    singular.filter(|word| !word.is_empty()).collect()
}

#[test]
fn a_comment_with_no_word_but_the_name_is_found() {
    let found =
        |text: &str| one_line_comments(text).into_iter().map(|(_, _, found)| found).collect::<Vec<_>>();
    assert_eq!(found("/// The key ids.\n#[x]\npub(crate) key_id: KeyId,\n"), [true]);
    assert_eq!(found("/// Labels of a metric.\npub struct MetricLabel {"), [true]);
    assert_eq!(
        found("/// Key id, from 1.\npub key_id: i64,\n/// Age in seconds.\nage: u64,"),
        [false, false]
    );
    assert_eq!(found("/// Key.\n/// And more.\npub key: Key,\n"), [false; 0]);
}
