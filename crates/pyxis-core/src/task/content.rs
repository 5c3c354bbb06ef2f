//! Conditions on the content of an action's requests.

use crate::policy::{ContentCondition, ContentRuleError};
use crate::preview::visible;

/// Maximum number of conditions of an action.
pub const MAX_CONDITIONS: usize = 8;
/// Maximum length of a condition, in bytes.
pub const MAX_CONDITION: usize = 500;

/// Reasons for refusing the conditions of an action, each with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskContentError {
    #[error("must have at most {MAX_CONDITIONS} conditions")]
    TooMany,
    /// Too long to be read by a person.
    #[error("a condition must have at most {MAX_CONDITION} bytes")]
    TooLong,
    /// A person could not see it as it is.
    #[error(r"`{0}` has a character that cannot be seen; in a string, write it as an escape such as \u200b")]
    Hidden(String),
    /// Refused as a condition.
    #[error("`{0}`: {1}")]
    Condition(String, ContentRuleError),
}

/// Parses the conditions of an action.
pub fn conditions(texts: &[String]) -> Result<Vec<ContentCondition>, TaskContentError> {
    if texts.len() > MAX_CONDITIONS {
        return Err(TaskContentError::TooMany);
    }
    texts.iter().map(|text| condition(text)).collect()
}

fn condition(text: &str) -> Result<ContentCondition, TaskContentError> {
    if text.len() > MAX_CONDITION {
        return Err(TaskContentError::TooLong);
    }
    let shown: String =
        text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { visible(c) }).collect();
    if shown != text {
        return Err(TaskContentError::Hidden(shown));
    }
    let parsed = ContentCondition::parse(text);
    parsed.map_err(|error| TaskContentError::Condition(text.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(texts: &[&str]) -> TaskContentError {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        conditions(&texts).unwrap_err()
    }

    #[test]
    fn conditions_are_few_short_and_visible() {
        let most = vec!["json /amount <= 5".to_owned(); MAX_CONDITIONS];
        assert_eq!(conditions(&most).unwrap().len(), MAX_CONDITIONS);
        assert_eq!(refused(&["json /amount <= 5"; MAX_CONDITIONS + 1]), TaskContentError::TooMany);
        assert_eq!(
            refused(&[&format!("json /{} = 1", "a".repeat(MAX_CONDITION))]),
            TaskContentError::TooLong
        );
        for hidden in ["json /to = \"\u{202e}a\"", "json /a\u{200b} = 1", "json /a = 1\n"] {
            assert!(matches!(refused(&[hidden]), TaskContentError::Hidden(_)), "{hidden:?}");
        }
        let wrong = refused(&["json /a = 1", "json /a"]).to_string();
        assert!(wrong.starts_with("`json /a`: write a comparison"), "{wrong}");
    }
}
