//! Suggestions for misspelled names.

/// Edits by which a suggestion may differ from the name.
const MAX_EDITS: usize = 3;

/// Shortest beginning that is taken for a name.
const MIN_BEGINNING: usize = 4;

/// The known name with the fewest edits from `name`, if it is close enough to be meant; else the one that begins with it.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = MAX_EDITS.min(name.chars().count() / 2);
    let known: Vec<&str> = known.into_iter().collect();
    let close = known
        .iter()
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| *candidate);
    close.or_else(|| known.into_iter().find(|candidate| begins_with(candidate, name)))
}

fn begins_with(candidate: &str, beginning: &str) -> bool {
    let start = candidate.get(..beginning.len());
    beginning.len() >= MIN_BEGINNING && start.is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// ` (did you mean NAME?)`, or nothing.
pub fn suggestion<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(name, known).map(|found| format!(" (did you mean {found}?)")).unwrap_or_default()
}

/// Levenshtein distance, ignoring ASCII case.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(!a.eq_ignore_ascii_case(b));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_suggested_only_if_it_is_close() {
        let known = ["auto_approve_methods", "deny_methods", "stripe"];
        assert_eq!(nearest("auto_approve_method", known), Some("auto_approve_methods"));
        assert_eq!(nearest("Stirpe", known), Some("stripe"));
        assert_eq!(nearest("GET", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(suggestion("strip", known), " (did you mean stripe?)");
        assert_eq!(nearest("Claude", ["codex", "claude-code"]), Some("claude-code"));
        assert_eq!(nearest("cla", ["codex", "claude-code"]), None);
        assert_eq!(suggestion("github", known), "");
    }
}
