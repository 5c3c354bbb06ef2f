//! Authentication of workspace managers.

use std::future::Future;
use std::pin::Pin;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::HeaderMap;
use http::request::Parts;
use pyxis_core::actor::Actor;

/// Future returned by [`ManagerAuth`].
pub type ManagerFuture<'a, P = Actor> = Pin<Box<dyn Future<Output = Result<P, Response>> + Send + 'a>>;

/// Authenticates the managers of every workspace. The state of an interface without accounts of its own passes the
/// question on.
pub trait ManagerAuth<P = Actor>: Send + Sync + 'static {
    /// The owner or admin whose session token is in `headers`. Otherwise a refusal: 401 without a live session, 403 for
    /// other roles.
    fn manager<'a>(&'a self, headers: &'a HeaderMap) -> ManagerFuture<'a, P>;
}

/// A signed-in owner or admin. As an [`Actor`], the author of changes.
#[derive(Clone, Debug)]
pub struct Manager<P = Actor>(pub P);

impl<S: ManagerAuth<P>, P> FromRequestParts<S> for Manager<P> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        state.manager(&parts.headers).await.map(Self)
    }
}
