//! Static files that pages load: built in, named by their content, cached indefinitely.

use std::sync::LazyLock;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::text::hex;

/// Content security policy of every page. No inline script or style, no HTML from script, no framing.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The same policy for the one page that registers a service worker. It allows the trusted-types policy that returns
/// only the worker's own address.
pub const CONTENT_SECURITY_POLICY_WITH_WORKER: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types pyxis";

/// The route that [`serve`] answers: the last segment of an asset's URL.
pub const ROUTE: &str = "/static/{file}";

const FOREVER: &str = "public, max-age=31536000, immutable";

/// One file of the dashboard.
#[derive(Debug)]
pub struct Asset {
    /// `/static/{name}.{first 16 hex digits of its SHA-256}.{extension}`.
    pub url: String,
    pub content_type: &'static str,
    pub bytes: Bytes,
}

impl Asset {
    fn new(name: &str, extension: &str, bytes: &'static [u8]) -> Self {
        Self::from_bytes(name, extension, Bytes::from_static(bytes))
    }

    fn from_bytes(name: &str, extension: &str, bytes: Bytes) -> Self {
        let digest = hex(&Sha256::digest(&bytes));
        let content_type = match extension {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
        };
        let url = format!("/static/{name}.{}.{extension}", &digest[..16]);
        Self { url, content_type, bytes }
    }
}

/// Every file, hashed once.
#[derive(Debug)]
pub struct Assets {
    /// The one stylesheet.
    pub style: Asset,
    /// On every signed-in page: copy buttons, local times, countdowns, shortcuts.
    pub enhance: Asset,
    /// On the inbox: live updates and keyboard movement between cards.
    pub inbox: Asset,
    /// On the inbox: selects several requests.
    pub select: Asset,
    /// On the page of one pending request: reloads it when someone else decides.
    pub approval: Asset,
    /// On pages that connect a program: says when the first call has arrived.
    pub connect: Asset,
    /// On the scorer page: sums while weights are typed.
    pub weights: Asset,
    /// On pages that ask for a passkey: to register, sign in, approve or confirm.
    pub passkey: Asset,
    /// On the notifications page: subscribes the browser.
    pub push: Asset,
    /// On the self-check page: signs in with a wallet and shows the score.
    pub check: Asset,
    /// The icon sprite.
    pub icons: Asset,
    /// The icon in the browser tab.
    pub mark: Asset,
}

/// The files of this build.
pub static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: Asset::new("pyxis", "css", include_bytes!("../assets/pyxis.css")),
    enhance: Asset::new("enhance", "js", include_bytes!("../assets/enhance.js")),
    inbox: Asset::new("inbox", "js", include_bytes!("../assets/inbox.js")),
    select: Asset::new("select", "js", include_bytes!("../assets/select.js")),
    approval: Asset::new("approval", "js", include_bytes!("../assets/approval.js")),
    connect: Asset::new("connect", "js", include_bytes!("../assets/connect.js")),
    weights: Asset::new("weights", "js", include_bytes!("../assets/weights.js")),
    passkey: Asset::new("passkey", "js", include_bytes!("../assets/passkey.js")),
    push: Asset::new("push", "js", include_bytes!("../assets/push.js")),
    check: Asset::from_bytes(
        "check",
        "js",
        [pyxis_scoring::widget::WALLETS, include_str!("../assets/check.js")].concat().into(),
    ),
    icons: Asset::new("icons", "svg", include_bytes!("../assets/icons.svg")),
    mark: Asset::new("mark", "svg", include_bytes!("../assets/mark.svg")),
});

impl Assets {
    /// The file whose URL ends in `/static/{file}`, in this build's spelling only.
    pub fn find(&self, file: &str) -> Option<&Asset> {
        let Self {
            style,
            enhance,
            inbox,
            select,
            approval,
            connect,
            weights,
            passkey,
            push,
            check,
            icons,
            mark,
        } = self;
        [style, enhance, inbox, select, approval, connect, weights, passkey, push, check, icons, mark]
            .into_iter()
            .find(|asset| asset.url.strip_prefix("/static/") == Some(file))
    }
}

/// Answers `GET /static/{file}`: the file with immutable caching, or 404. An old hash gets 404 too, so no cache keeps
/// new bytes under an old name.
pub fn serve(file: &str) -> Response {
    let Some(asset) = ASSETS.find(file) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, FOREVER),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, asset.bytes.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_found_by_its_own_hash_only() {
        let file = ASSETS.style.url.strip_prefix("/static/").expect("under /static");
        assert_eq!(ASSETS.find(file).map(|a| a.content_type), Some("text/css; charset=utf-8"));
        assert!(ASSETS.find("pyxis.css").is_none());
        assert!(ASSETS.find("pyxis.0000000000000000.css").is_none());
    }

    #[test]
    fn an_asset_is_served_immutable_and_a_stale_name_is_not_found() {
        let file = ASSETS.icons.url.strip_prefix("/static/").expect("under /static");
        let found = serve(file);
        assert_eq!(found.status(), StatusCode::OK);
        assert_eq!(found.headers()[header::CACHE_CONTROL], FOREVER);
        assert_eq!(serve("icons.0.svg").status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn no_script_writes_html() {
        let Assets { enhance, inbox, select, approval, connect, weights, passkey, push, check, .. } =
            &*ASSETS;
        for script in [enhance, inbox, select, approval, connect, weights, passkey, push, check] {
            let source = std::str::from_utf8(&script.bytes).expect("UTF-8");
            for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", ".style"]
            {
                assert!(!source.contains(sink), "{} uses {sink}", script.url);
            }
        }
    }
}
