//! The widget's JavaScript module, built in. Pages of every origin may load it.

use std::sync::LazyLock;

use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::header::{HeaderName, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::hex;
use sha2::{Digest, Sha256, Sha384};

/// The parts of the module, in their order. The npm package joins the same files.
const SOURCE: &str = concat!(
    include_str!("../../widget/messages.js"),
    include_str!("../../widget/wallets.js"),
    include_str!("../../widget/server.js"),
    include_str!("../../widget/style.js"),
    include_str!("../../widget/view.js"),
    include_str!("../../widget/element.js"),
);
/// Folder of the module's URLs. The number changes when pages have to be changed with it.
const FOLDER: &str = "/assets/widget/v1/";
const NAME: &str = "pyxis-passport";

const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const A_WHILE: HeaderValue = HeaderValue::from_static("public, max-age=300, stale-while-revalidate=86400");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The module of this build and its names.
#[derive(Debug)]
pub struct WidgetScript {
    /// Path that stays: each release serves its module here.
    pub path: String,
    /// Path of exactly this module, for pages with `integrity`.
    pub pinned_path: String,
    /// Value of the attribute `integrity`.
    pub integrity: String,
    etag: HeaderValue,
}

/// The module of this build.
pub static SCRIPT: LazyLock<WidgetScript> = LazyLock::new(|| {
    let digest = hex::encode(&Sha256::digest(SOURCE.as_bytes()));
    WidgetScript {
        path: format!("{FOLDER}{NAME}.js"),
        pinned_path: format!("{FOLDER}{NAME}.{}.js", &digest[..16]),
        integrity: format!("sha384-{}", STANDARD.encode(Sha384::digest(SOURCE.as_bytes()))),
        etag: HeaderValue::from_str(&format!("\"{}\"", &digest[..32]))
            .unwrap_or(HeaderValue::from_static("\"widget\"")),
    }
});

/// Serves `GET /assets/widget/v1/{file}`. The pinned name of another release is not found: no cache may keep other
/// bytes under it.
pub(crate) fn serve(file: &str, headers: &HeaderMap) -> Response {
    let is = |path: &str| path.strip_prefix(FOLDER) == Some(file);
    let (is_pinned, is_found) = (is(&SCRIPT.pinned_path), is(&SCRIPT.path));
    let cached = if is_pinned { FOREVER } else { A_WHILE };
    let of_all = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("cross-origin")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    if !is_pinned && !is_found {
        return (StatusCode::NOT_FOUND, of_all).into_response();
    }
    let named = [(CACHE_CONTROL, cached), (ETAG, SCRIPT.etag.clone())];
    if headers.get(IF_NONE_MATCH) == Some(&SCRIPT.etag) {
        return (StatusCode::NOT_MODIFIED, of_all, named).into_response();
    }
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"))];
    (of_all, named, kind, SOURCE).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_needs_nothing_that_a_strict_policy_forbids() {
        for sink in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            ".style.",
            "setAttribute(\"style\"",
            "import(",
            "import ",
        ] {
            assert!(!SOURCE.contains(sink), "the widget uses {sink}");
        }
    }

    #[test]
    fn a_pinned_name_is_immutable_and_the_name_that_stays_is_revalidated() {
        let file = |path: &str| path.strip_prefix(FOLDER).unwrap().to_owned();
        let pinned = serve(&file(&SCRIPT.pinned_path), &HeaderMap::new());
        assert_eq!((pinned.status(), &pinned.headers()[CACHE_CONTROL]), (StatusCode::OK, &FOREVER));
        let stays = serve(&file(&SCRIPT.path), &HeaderMap::new());
        assert_eq!((stays.status(), &stays.headers()[CACHE_CONTROL]), (StatusCode::OK, &A_WHILE));
        assert_eq!(stays.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert_eq!(stays.headers()[CROSS_ORIGIN_RESOURCE_POLICY], "cross-origin");
        let known = HeaderMap::from_iter([(IF_NONE_MATCH, stays.headers()[ETAG].clone())]);
        assert_eq!(serve(&file(&SCRIPT.path), &known).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(
            serve("pyxis-passport.0000000000000000.js", &HeaderMap::new()).status(),
            StatusCode::NOT_FOUND
        );
    }
}
