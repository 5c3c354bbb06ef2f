//! The pages a person sees: inbox, approval, agents, credentials, policies, audit, usage, settings, and
//! those of scoring: scorers, API keys, the Stamps explorer, the catalogue, issuers; one of verification.
//!
//! Two halves. [`view`] holds one struct for each page, made of owned strings and ready to render
//! (`askama::Template`); [`assets`] the files they load; [`chart`] and [`text`] what turns numbers and
//! strangers' text into something a person can judge. The `pages` fill those structs from the proxy's
//! services, in-process, and take the forms: [`router`] mounts them.
//!
//! Invariants: a GET changes nothing; a POST needs a session, its CSRF token and our own origin, and
//! ends in a redirect; every answer carries the headers of [`assets::CONTENT_SECURITY_POLICY`] and its
//! companions; an error is a page.

pub mod assets;
pub mod chart;
mod cookies;
mod csrf;
mod error;
mod events;
mod form;
mod headers;
mod health;
mod notice;
mod pages;
mod router;
mod session;
mod streams;
pub mod text;
mod upload;
pub mod view;

use std::sync::{Arc, OnceLock};

use pyxis_gateway as gateway;
use pyxis_scoring as scoring;
use pyxis_verify as verify;
use tokio::sync::watch;

pub use error::Error;
pub use router::router;

/// What every page shares. A cheap clone.
#[derive(Clone)]
pub struct State(Arc<Inner>);

/// What [`State`] points to.
pub struct Inner {
    gateway: gateway::State,
    scoring: Option<scoring::State>,
    verify: OnceLock<verify::State>,
    cookies: cookies::Cookies,
    health: health::AuditCheck,
    streams: streams::SseLimiter,
    stopping: watch::Receiver<bool>,
}

impl State {
    /// The pages of a proxy, and of scoring where the same process serves it. Event streams end when
    /// `stopping` becomes true, so that an open inbox does not hold up the end of the process.
    pub fn new(
        gateway: gateway::State,
        scoring: Option<scoring::State>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let cookies = cookies::Cookies::for_origin(&gateway.config.base_url);
        Self(Arc::new(Inner {
            gateway,
            scoring,
            verify: OnceLock::new(),
            cookies,
            health: health::AuditCheck::default(),
            streams: streams::SseLimiter::default(),
            stopping,
        }))
    }

    /// With the page of verification, where the same process serves that.
    #[must_use]
    pub fn with_verification(self, verify: verify::State) -> Self {
        self.verify.get_or_init(|| verify);
        self
    }
}

impl std::ops::Deref for State {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
