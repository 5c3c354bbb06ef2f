//! Headers that servers cannot tell apart.

use http::{HeaderMap, HeaderName};
use pyxis_core::headers::is_same;

/// Removes every header that many servers cannot tell from `name`.
pub(super) fn remove_spellings(headers: &mut HeaderMap, name: &str) {
    let same: Vec<HeaderName> = headers.keys().filter(|key| is_same(key.as_str(), name)).cloned().collect();
    for name in same {
        headers.remove(name);
    }
}
