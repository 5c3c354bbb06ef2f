//! What notifications look like.

use askama::Template;

use super::{Layout, Problems, in_section};

/// `GET /app/brand`; posts to `/app/brand` (`display_name`, `accent`, and `preview` to look first),
/// `/app/brand/logo` (a file) and `/app/brand/logo/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "brand.html")]
pub struct BrandPage {
    /// The frame.
    pub shell: Layout,
    /// As it stands in the form.
    pub display_name: String,
    /// As it stands in the form: `#rrggbb`, or empty.
    pub accent: String,
    /// The name that the preview shows.
    pub shown_name: String,
    /// The colour that the preview shows, without its `#`.
    pub shown_accent: String,
    /// True if the preview shows what is not saved.
    pub draft: bool,
    /// Where the logo is, if there is one.
    pub logo: Option<String>,
    /// True if Telegram can fetch it.
    pub telegram_logo: bool,
    /// What is wrong.
    pub problems: Problems,
}

in_section!(BrandPage => Settings);
