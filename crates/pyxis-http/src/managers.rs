//! Authentication of workspace managers, for interfaces that have no accounts of their own.

use std::future::Future;
use std::pin::Pin;

use axum::response::Response;
use http::HeaderMap;
use pyxis_core::actor::Actor;

/// Future returned by [`ManagerAuth`].
pub type ManagerFuture<'a> = Pin<Box<dyn Future<Output = Result<Actor, Response>> + Send + 'a>>;

/// Authenticates the managers of every workspace.
pub trait ManagerAuth: Send + Sync + 'static {
    /// The owner or admin whose session token is in `headers`. Otherwise a refusal: 401 without a live session, 403 for
    /// other roles.
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a>;
}
