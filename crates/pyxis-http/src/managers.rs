//! Who may manage a workspace, asked by surfaces that keep no people themselves.

use std::future::Future;
use std::pin::Pin;

use axum::response::Response;
use http::HeaderMap;
use pyxis_core::actor::Actor;

/// A future of [`Managers`].
pub type ManagerFuture<'a> = Pin<Box<dyn Future<Output = Result<Actor, Response>> + Send + 'a>>;

/// Knows the people of every workspace.
pub trait ManagerAuth: Send + Sync + 'static {
    /// The owner or admin whose session token `headers` carry, or the answer that refuses: 401 without a
    /// live session, 403 for anybody else.
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a>;
}
