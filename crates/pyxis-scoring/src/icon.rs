//! A neutral picture for each platform of a catalogue: a tile with initials, derived from the id.
//!
//! The same id always gets the same tile, so nothing is stored. Anyone may load it: API clients show catalogues to
//! people.

use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::header::{CONTENT_SECURITY_POLICY, HeaderName, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// Longest id that gets a tile, in bytes.
const MAX_ID: usize = 64;
/// Cache lifetime. A tile only changes with the program.
const A_WEEK: HeaderValue = HeaderValue::from_static("public, max-age=604800");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Background colors on which white letters are readable (WCAG AA).
const GROUNDS: [&str; 12] = [
    "#4338ca", "#0f766e", "#b4235a", "#7c3aed", "#9a5a00", "#1d66b5", "#3f6b1c", "#a13d2d", "#56606e",
    "#8a2f8f", "#0b7285", "#5f4b32",
];

/// URL path of a platform's tile.
#[must_use]
pub fn path(id: &str) -> String {
    let escaped = url::form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>();
    format!("/assets/stamps/{escaped}.svg")
}

/// Serves `GET /assets/stamps/{file}`: a tile, or 404 for anything that cannot be a platform's id.
#[must_use]
pub fn serve(file: &str) -> Response {
    let Some(tile) = file.strip_suffix(".svg").and_then(tile) else {
        let readable = [(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))];
        return (StatusCode::NOT_FOUND, readable).into_response();
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (CACHE_CONTROL, A_WEEK),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'")),
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("cross-origin")),
    ];
    (headers, tile).into_response()
}

/// The tile of an id; `None` if the id has no letter or digit to show.
fn tile(id: &str) -> Option<String> {
    let fits = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    let initials = initials(id);
    if !fits || initials.is_empty() {
        return None;
    }
    let digest = Sha256::digest(id.as_bytes());
    let ground = GROUNDS[usize::from(digest[0]) % GROUNDS.len()];
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 48 48\" width=\"48\" height=\"48\">\
         <rect width=\"48\" height=\"48\" rx=\"12\" fill=\"{ground}\"/>\
         <text x=\"24\" y=\"31.5\" fill=\"#fff\" text-anchor=\"middle\" font-family=\"system-ui, sans-serif\" \
         font-size=\"21\" font-weight=\"600\">{initials}</text></svg>"
    ))
}

/// The first letter and that of the next word, or else the next letter: `GtcStaking` gives GS, `Ens` gives En. Only
/// letters and digits, so no part of an id can be markup.
fn initials(id: &str) -> String {
    let letters: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let Some(first) = letters.first() else { return String::new() };
    let begins_word = |at: &usize| {
        letters[*at].is_ascii_uppercase()
            && (letters[*at - 1].is_ascii_lowercase()
                || letters.get(*at + 1).is_some_and(char::is_ascii_lowercase))
    };
    let second = (1..letters.len()).find(begins_word).unwrap_or(1);
    let second = letters.get(second).map(char::to_string).unwrap_or_default();
    format!("{}{second}", first.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use pyxis_core::catalogue::default_catalogue;

    use super::*;

    #[test]
    fn the_icon_of_every_built_in_platform_is_a_tile() {
        for platform in default_catalogue() {
            assert_eq!(platform.icon, path(&platform.id));
            let answer = serve(platform.icon.strip_prefix("/assets/stamps/").unwrap());
            assert_eq!(answer.status(), StatusCode::OK, "{}", platform.id);
            assert_eq!(answer.headers()[CONTENT_TYPE], "image/svg+xml");
        }
    }

    #[test]
    fn initials_are_those_of_the_words_in_an_id() {
        for (id, letters) in [
            ("GtcStaking", "GS"),
            ("Discord", "Di"),
            ("ETH", "ET"),
            ("ZKEmail", "ZE"),
            ("HumanIdKyc", "HI"),
            ("X", "X"),
            ("my-app", "My"),
            ("--", ""),
        ] {
            assert_eq!(initials(id), letters, "{id}");
        }
    }

    #[test]
    fn an_id_is_never_markup_and_a_strange_one_has_no_tile() {
        assert!(!tile("<script>").unwrap().contains("script"));
        let long = format!("{}.svg", "a".repeat(MAX_ID + 1));
        for file in ["", ".svg", "Discord", "Discord.png", "a b.svg", "\u{e9}.svg", "--.svg", &long] {
            assert_eq!(serve(file).status(), StatusCode::NOT_FOUND, "{file:?}");
        }
    }
}
