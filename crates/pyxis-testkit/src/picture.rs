//! Picture to upload.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// PNG of one pixel.
pub fn dot() -> Vec<u8> {
    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
    STANDARD.decode(PNG).expect("it is Base64")
}
