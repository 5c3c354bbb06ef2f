//! Appearance of notifications.

use askama::Template;
use pyxis_gateway::channels::platform::PlatformDescriptor;

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
    /// True if a chat platform can fetch it.
    pub public_logo: bool,
    /// Previews of chat messages.
    pub chats: Vec<ChatBrand>,
    pub problems: Problems,
}

/// What a chat platform shows of the brand.
#[derive(Clone, Debug)]
pub struct ChatBrand {
    pub platform: &'static str,
    pub shows_color: bool,
    pub shows_logo: bool,
    /// The same in a sentence.
    pub hint: &'static str,
}

impl From<&'static PlatformDescriptor> for ChatBrand {
    fn from(described: &'static PlatformDescriptor) -> Self {
        let page = &described.page;
        Self {
            platform: described.platform.spec().label,
            shows_color: page.shows_color,
            shows_logo: page.shows_logo,
            hint: page.brand_hint,
        }
    }
}

in_section!(BrandPage => Settings);
