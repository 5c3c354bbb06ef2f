//! Reasons that people give with a decision.

use crate::error::{Error, NO_NUL, Result};

/// Maximum length of a reason, in bytes.
const MAX_REASON: usize = 2000;

/// Trims a reason. `None` if it is empty.
///
/// # Errors
/// `InvalidField` for one that is too long or has a NUL character.
pub(crate) fn trimmed(reason: Option<String>) -> Result<Option<String>> {
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    match &reason {
        Some(text) if text.len() > MAX_REASON => {
            Err(Error::field("reason", format!("must have at most {MAX_REASON} bytes")))
        }
        Some(text) if text.contains('\0') => Err(Error::field("reason", NO_NUL)),
        _ => Ok(reason),
    }
}
