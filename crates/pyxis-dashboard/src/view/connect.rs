//! Pages on the way to a provider and back.

use askama::Template;

use super::{Layout, in_section};

/// Leads to the provider.
#[derive(Clone, Debug, Template)]
#[template(path = "connect.html")]
pub struct ConsentPage {
    /// The frame.
    pub shell: Layout,
    /// The credential.
    pub name: String,
    /// The provider's page.
    pub url: String,
}

/// `GET /app/oauth/callback`; posts `state` and `code` to the same address.
#[derive(Clone, Debug, Template)]
#[template(path = "connected.html")]
pub struct ArrivedPage {
    /// The frame.
    pub shell: Layout,
    /// As the provider sent it.
    pub state: String,
    /// Likewise.
    pub code: String,
}

in_section!(ConsentPage => Credentials, ArrivedPage => Credentials);
