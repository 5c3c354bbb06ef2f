//! The form that edits a request before it is approved, and the difference that an edit made.

use similar::{ChangeTag, TextDiff};

use super::Timestamp;
use super::body::readable;

/// Lines around a change.
const CONTEXT: usize = 3;
/// Longest search for a short diff. After that a longer one is good enough.
const SEARCH: std::time::Duration = std::time::Duration::from_millis(200);

/// The form of one request.
///
/// It posts to `/app/approvals/{txn_id}/approve` with `csrf`, `from`, `digest` and `edited=on`. The body is sent as
/// `body`, or field by field as `body:0`, `body:1` and so on. Query parameters are pairs of `query_name` and
/// `query_value`, headers pairs of `header_name` and `header_value`; a pair without a name is left out.
#[derive(Clone, Debug)]
pub struct EditForm {
    pub body: BodyInput,
    /// Query parameters. `None` if they cannot be edited.
    pub query: Option<Vec<(String, String)>>,
    /// Headers of the agent that can be edited.
    pub headers: Vec<(String, String)>,
    /// Reason that the last edit was refused.
    pub problem: Option<String>,
}

#[derive(Clone, Debug)]
pub enum BodyInput {
    /// One input for each value.
    Values(Vec<ValueInput>),
    /// The whole text.
    Text(String),
    /// Not editable, with the reason.
    Fixed(&'static str),
}

/// Input for one value of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInput {
    /// Place in the body: `items[0].price`.
    pub label: String,
    /// The value as text.
    pub value: String,
}

impl ValueInput {
    /// True if it needs several lines.
    pub(super) fn is_long(&self) -> bool {
        self.value.contains('\n') || self.value.len() > 80
    }
}

/// Edits of a request.
#[derive(Clone, Debug)]
pub struct EditCard {
    /// Person who edited it last.
    pub by: String,
    /// Time of that edit.
    pub at: Timestamp,
    /// Digests of the request: as asked, as decided, and as sent.
    pub records: Vec<(&'static str, String)>,
    /// Lines of the body around changes; empty if it is the same.
    pub lines: Vec<DiffLine>,
    /// Query parameters and headers that differ.
    pub values: Vec<ChangedValue>,
    /// True if the requests are erased.
    pub is_erased: bool,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Text without the line end.
    pub text: String,
}

/// Kind of a line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// In both texts.
    Same,
    /// Only in the text of the agent.
    Removed,
    /// Only in the edited text.
    Added,
    /// Left-out lines in between.
    Gap,
}

impl LineKind {
    /// CSS class.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Same | Self::Gap => "same",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }

    /// First character of the line.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Same => " ",
            Self::Removed => "-",
            Self::Added => "+",
            Self::Gap => "…",
        }
    }
}

/// A query parameter or header with other values.
#[derive(Clone, Debug)]
pub struct ChangedValue {
    /// `Query` or `Header`.
    pub part: &'static str,
    pub name: String,
    /// Values of the agent, joined; `none` if there were none.
    pub before: String,
    /// Values of the edited request.
    pub after: String,
}

/// The lines in which two bodies differ. JSON is compared one value per line.
pub fn diff_lines(content_type: Option<&str>, asked: &[u8], edited: &[u8]) -> Vec<DiffLine> {
    let (asked, edited) = (readable(content_type, asked), readable(content_type, edited));
    if asked == edited {
        return Vec::new();
    }
    let diff = TextDiff::configure().timeout(SEARCH).diff_lines(&asked, &edited);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push(DiffLine { kind: LineKind::Gap, text: String::new() });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let kind = match change.tag() {
                ChangeTag::Equal => LineKind::Same,
                ChangeTag::Delete => LineKind::Removed,
                ChangeTag::Insert => LineKind::Added,
            };
            lines.push(DiffLine { kind, text: change.value().trim_end_matches('\n').to_owned() });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_differs_value_by_value() {
        let lines = diff_lines(None, br#"{"to":"a","amount":5000}"#, br#"{"to":"a","amount":50}"#);
        let told: Vec<String> =
            lines.iter().map(|line| format!("{}{}", line.kind.sign(), line.text)).collect();
        assert_eq!(told, [" {", "   \"to\": \"a\",", "-  \"amount\": 5000", "+  \"amount\": 50", " }"]);
        assert!(diff_lines(None, b"same", b"same").is_empty());
    }
}
