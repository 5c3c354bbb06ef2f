//! The dashboard: inbox, approval, agents, credentials, policies, audit, usage and settings. For scoring: scorers, API
//! keys, the Stamps explorer, the catalogue and issuers. For verification: one page.
//!
//! It has two halves. [`view`] holds one struct for each page, made of owned strings and ready to render
//! (`askama::Template`). [`assets`] holds the files they load; [`chart`] and [`text`] turn numbers and untrusted text
//! into something a person can judge. The `pages` fill those structs from the proxy's services, in-process, and handle
//! the forms: [`router`] mounts them.
//!
//! Invariants: a GET changes nothing. A POST needs a session, its CSRF token and our own origin, and ends in a
//! redirect. Every response carries the headers of [`assets::CONTENT_SECURITY_POLICY`] and its companions. An error is
//! a page.

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
mod recent;
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

/// State shared by all pages. A cheap clone.
#[derive(Clone)]
pub struct State(Arc<DashboardContext>);

/// The content of [`State`].
pub struct DashboardContext {
    gateway: gateway::State,
    scoring: Option<scoring::State>,
    verify: OnceLock<verify::State>,
    cookies: cookies::Cookies,
    health: health::AuditCheck,
    recent: recent::RecentDecisions,
    streams: streams::SseLimiter,
    stopping: watch::Receiver<bool>,
}

impl State {
    /// The pages of the proxy, and of scoring if the same process serves it. Event streams end when `stopping` becomes
    /// true, so that an open inbox does not delay shutdown.
    pub fn new(
        gateway: gateway::State,
        scoring: Option<scoring::State>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let cookies = cookies::Cookies::for_origin(&gateway.config.base_url);
        Self(Arc::new(DashboardContext {
            gateway,
            scoring,
            verify: OnceLock::new(),
            cookies,
            health: health::AuditCheck::default(),
            recent: recent::RecentDecisions::default(),
            streams: streams::SseLimiter::default(),
            stopping,
        }))
    }

    /// Adds the verification page, if the same process serves verification.
    #[must_use]
    pub fn with_verification(self, verify: verify::State) -> Self {
        self.verify.get_or_init(|| verify);
        self
    }
}

impl std::ops::Deref for State {
    type Target = DashboardContext;

    fn deref(&self) -> &DashboardContext {
        &self.0
    }
}
