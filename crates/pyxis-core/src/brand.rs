//! The notification brand (`docs/reference/notifications.md#brand`): a name, a color and a logo.

/// Longest display name, in characters.
pub const MAX_NAME: usize = 60;
/// Largest logo, in bytes.
pub const MAX_LOGO: usize = 256 * 1024;
/// Display name of notifications from a workspace without a brand.
pub const DEFAULT_NAME: &str = "Pyxis";
/// The accent of a workspace without a brand.
pub const DEFAULT_ACCENT: &str = "#4338ca";
/// Text appended to every notification.
pub const SECURED_BY: &str = "Secured by Pyxis";

/// An accent color, `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accent([u8; 3]);

impl Accent {
    /// Parses `#rrggbb`, in either case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let channel = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some(Self([channel(0)?, channel(2)?, channel(4)?]))
    }

    /// Red, green and blue.
    pub const fn rgb(self) -> [u8; 3] {
        self.0
    }

    /// Black or white, whichever is easier to read on the color. The contrast is at least 4.58 to 1 (WCAG 2.2 AA
    /// requires 4.5), because the contrasts with black and with white multiply to 21.
    pub fn text_on(self) -> &'static str {
        let luminance = self.luminance();
        let (with_black, with_white) = ((luminance + 0.05) / 0.05, 1.05 / (luminance + 0.05));
        if with_black >= with_white { "#000000" } else { "#ffffff" }
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl std::fmt::Display for Accent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Normalizes a display name, or returns its fault. Empty means none.
pub fn display_name(text: &str) -> Result<Option<String>, &'static str> {
    let name = text.trim();
    if name.is_empty() {
        return Ok(None);
    }
    if name.chars().count() > MAX_NAME {
        return Err("must have at most 60 characters");
    }
    if name.chars().any(|c| c.is_control() || crate::preview::visible(c) != c) {
        return Err("must not contain control characters or characters that change the direction of text");
    }
    Ok(Some(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_six_hex_digits_and_nothing_else() {
        assert_eq!(Accent::parse("#4338CA").map(|accent| accent.to_string()).as_deref(), Some("#4338ca"));
        for text in ["", "4338ca", "#43c", "#4338cag", "#4338c ", "red", "#+338ca", "#4338ca;}"] {
            assert_eq!(Accent::parse(text), None, "{text}");
        }
    }

    #[test]
    fn text_on_any_accent_has_the_contrast_of_aa() {
        for red in (0..=255).step_by(15) {
            for green in (0..=255).step_by(15) {
                for blue in (0..=255).step_by(15) {
                    let accent = Accent([red, green, blue]);
                    let ink = Accent::parse(accent.text_on()).unwrap().luminance();
                    let (light, dark) = (accent.luminance().max(ink), accent.luminance().min(ink));
                    assert!((light + 0.05) / (dark + 0.05) >= 4.5, "{accent}");
                }
            }
        }
    }

    #[test]
    fn a_name_is_trimmed_and_cannot_disguise_itself() {
        assert_eq!(display_name("  Acme  "), Ok(Some("Acme".to_owned())));
        assert_eq!(display_name(" "), Ok(None));
        assert!(display_name(&"é".repeat(61)).is_err());
        assert!(display_name("a\nb").is_err());
        assert!(display_name("\u{202e}emca").is_err());
    }
}
