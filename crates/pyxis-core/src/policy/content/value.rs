//! Values that comparisons look at.

use serde_json::Value;

/// A value in a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldValue {
    /// A number, text, boolean or null. A list or an object is not comparable.
    Json(Value),
    /// A form's parameter, which has no type.
    Text(String),
}
