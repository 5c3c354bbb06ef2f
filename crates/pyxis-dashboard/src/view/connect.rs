//! Pages for connecting an account at a provider.

use askama::Template;

use super::{Layout, in_section};

/// Links to the provider.
#[derive(Clone, Debug, Template)]
#[template(path = "connect.html")]
pub struct ConsentPage {
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
    pub shell: Layout,
    /// As sent by the provider.
    pub state: String,
    /// As sent by the provider.
    pub code: String,
}

in_section!(ConsentPage => Credentials, ArrivedPage => Credentials);
