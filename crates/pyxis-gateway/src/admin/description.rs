//! Descriptions that managers write.

use crate::error::{Error, NO_NUL, Result};

/// Refuses a description of more than `max` bytes, or with a NUL, which `PostgreSQL` cannot store.
pub(super) fn check_description(description: &str, max: usize) -> Result<()> {
    if description.len() > max {
        return Err(Error::field("description", format!("must have at most {max} bytes")));
    }
    if description.contains('\0') {
        return Err(Error::field("description", NO_NUL));
    }
    Ok(())
}
