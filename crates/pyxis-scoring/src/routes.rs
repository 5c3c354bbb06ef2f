//! Endpoints (`docs/reference/behavior/scoring.md#endpoints`).

mod catalogue;
mod explain;
mod history;
mod ingest;
mod legacy;
mod model;
mod parameters;
mod score;
mod scores;
mod stamps;

pub use score::{FastPathScore, SCORE};

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use axum::Router;
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use pyxis_http::cors;

use crate::auth::{self, Caller};
use crate::error::{Error, Result};
use crate::icon;
use crate::state::State;

/// Methods of a read-only path.
const READ: [Method; 2] = [Method::GET, Method::HEAD];

/// Every route of scoring, including the managers'.
pub fn router(state: State) -> Router {
    let mut stamps = Router::new()
        .route("/v2/stamps/{scorer_id}/score/{address}", get(score::get_score))
        .route("/v2/stamps/{scorer_id}/score/{address}/history", get(history::get_history))
        .route("/v2/stamps/metadata", get(catalogue::get_catalogue));
    let mut posted = Router::new().route("/v2/stamps/{scorer_id}/scores", post(scores::list_scores));
    let written = Router::new().route(
        "/v2/stamps/{address}",
        get(stamps::list_stamps).post(ingest::add_stamps).delete(ingest::remove_stamps),
    );
    let mut models = Router::new().route("/v2/models/score/{address}", get(model::get_model_score));
    // An <img> loads a picture, without a key and without CORS.
    let icons = Router::new()
        .route("/assets/stamps/{file}", get(async |Path(file): Path<String>| icon::serve(&file)));
    if state.config.earlier_paths {
        stamps = stamps.merge(legacy::stamps());
        posted = posted.merge(legacy::posted());
        models = models.merge(legacy::models());
    }
    // Only the open endpoints serve pages of other origins, each with the methods that it accepts. With its own
    // fallback a path answers their preflights; otherwise the program-wide fallback would.
    let stamps = stamps.method_not_allowed_fallback(refuse_method).layer(cors::open(READ));
    let posted = posted.method_not_allowed_fallback(refuse_method).layer(cors::open([Method::POST]));
    let written = written.method_not_allowed_fallback(refuse_method).layer(cors::open([
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::DELETE,
    ]));
    let models = models.method_not_allowed_fallback(model::refuse_method).layer(cors::open(READ));
    let open = stamps.merge(posted).merge(written).merge(models);
    open.merge(crate::api::router()).merge(icons).with_state(state)
}

/// Refuses a method that the path does not accept. The request still counts, and its key is checked first. The route
/// adds the `Allow` header.
async fn refuse_method(Extract(state): Extract<State>, headers: HeaderMap) -> Response {
    respond(&state, &headers, async |_| Err(Error::MethodNotAllowed)).await
}

/// Authenticates and counts the caller, then runs `work`, all within the request timeout
/// (`docs/reference/behavior/scoring.md#time-limit`). Dropping the work cancels it in the database as well.
async fn respond<F, W>(state: &State, headers: &HeaderMap, work: F) -> Response
where
    F: FnOnce(Caller) -> W,
    W: Future<Output = Result<Response>>,
{
    within(state, async {
        let (caller, budget) = auth::caller(state, headers).await?;
        let mut response = work(caller).await.unwrap_or_else(IntoResponse::into_response);
        budget.write(response.headers_mut());
        Ok(response)
    })
    .await
}

async fn within(state: &State, work: impl Future<Output = Result<Response>>) -> Response {
    let mut work = pin!(work);
    // Nearly every response is ready immediately: no need to measure time or create a timer.
    let begun = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    let ended = match begun {
        Poll::Ready(answer) => Ok(answer),
        Poll::Pending => tokio::time::timeout(state.config.request_timeout, work).await,
    };
    match ended {
        Ok(answer) => answer.unwrap_or_else(IntoResponse::into_response),
        Err(_) => Error::TimedOut.into_response(),
    }
}

/// Response with a body that is already JSON.
fn json(body: impl Into<Bytes>) -> Response {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    let mut response = Response::new(axum::body::Body::from(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
