//! Appearance of notifications.

use askama::Template;

use super::{Layout, Problems, in_section};

/// `GET /app/brand`; posts to `/app/brand` (`display_name`, `accent`, and `preview` to look first),
/// `/app/brand/logo` (a file) and `/app/brand/logo/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "brand.html")]
pub struct BrandPage {
    pub shell: Layout,
    /// The name as typed.
    pub display_name: String,
    /// The color as typed: `#rrggbb`, or empty.
    pub accent: String,
    /// The name in the preview.
    pub shown_name: String,
    /// The color in the preview, without its `#`.
    pub shown_accent: String,
    /// True if the preview shows unsaved changes.
    pub draft: bool,
    /// Path of the logo, if there is one.
    pub logo: Option<String>,
    /// True if Telegram can fetch it.
    pub telegram_logo: bool,
    pub problems: Problems,
}

in_section!(BrandPage => Settings);
