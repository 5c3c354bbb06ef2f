//! The widget `<pyxis-passport>`: a page of an application shows a wallet's score to its holder
//! (`docs/reference/widget.md`).
//!
//! The page has a publishable key, which is no secret. The holder signs a message with the wallet (ERC-4361), and gets a
//! short session for this key, scorer, origin and address. Nothing else is readable with such a key.

mod page;
mod script;
mod sign_in;
mod siwe;

pub(crate) use page::{WidgetPage, page};
pub(crate) use script::serve as serve_script;
/// Script that finds the browser's wallets and asks them, for pages of the server itself.
pub const WALLETS: &str = include_str!("../widget/wallets.js");
pub use script::{SCRIPT, WidgetScript};
pub(crate) use sign_in::{SESSION, holder, open_session, sign_out, start};
