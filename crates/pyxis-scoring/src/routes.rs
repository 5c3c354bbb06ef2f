//! Endpoints (`docs/reference/behavior/scoring.md#endpoints`).

mod catalogue;
mod changes;
mod explain;
mod history;
mod ingest;
mod issue;
mod latest;
mod legacy;
mod model;
mod parameters;
mod responses;
mod score;
mod scores;
mod self_check;
mod shared;
mod signed;
mod stamps;
mod well_known;
mod widget;

pub use score::{FastPathScore, SCORE};

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use axum::Router;
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use pyxis_http::cors;
use pyxis_http::openapi::{Clash, DescribedRouter};
use utoipa::openapi::OpenApi;
use utoipa_axum::routes;

use crate::api::problems;
use crate::auth::{self, Caller};
use crate::error::{Error, Result};
use crate::icon;
use crate::state::{Config, State};
use crate::values::Detail;

/// Methods of a read-only path.
const READ: [Method; 2] = [Method::GET, Method::HEAD];

/// The open routes by their methods and the limit that they count against.
struct Described {
    scores: DescribedRouter<State>,
    stamps: DescribedRouter<State>,
    posted: DescribedRouter<State>,
    written: DescribedRouter<State>,
    models: DescribedRouter<State>,
    keys: DescribedRouter<State>,
    widget: DescribedRouter<State>,
}

fn describe_routes(with_earlier: bool) -> Described {
    let (earlier_stamps, earlier_posted, earlier_models) =
        if with_earlier { legacy::describe_routes() } else { Default::default() };
    Described {
        scores: DescribedRouter::default().routes(routes!(score::get_score, signed::sign_score)),
        stamps: DescribedRouter::default()
            .routes(routes!(history::get_history))
            .routes(routes!(changes::get_changes))
            .routes(routes!(catalogue::get_catalogue))
            .merge(earlier_stamps),
        posted: DescribedRouter::default()
            .routes(routes!(scores::list_scores))
            .routes(routes!(issue::issue_stamps))
            .merge(earlier_posted),
        written: DescribedRouter::default().routes(routes!(
            stamps::list_stamps,
            ingest::add_stamps,
            ingest::remove_stamps
        )),
        models: DescribedRouter::default().routes(routes!(model::get_model_score)).merge(earlier_models),
        keys: DescribedRouter::default()
            .routes(routes!(well_known::get_jwks))
            .routes(routes!(well_known::get_score_keys)),
        widget: widget::describe_routes().merge(self_check::describe_routes()),
    }
}

/// The description of all routes, including the earlier ones and the managers'.
pub fn openapi() -> Result<OpenApi, Clash> {
    let Described { scores, stamps, posted, written, models, keys, widget } = describe_routes(true);
    let all = scores.merge(stamps).merge(posted).merge(written).merge(models).merge(keys);
    let all = all.merge(widget).merge(crate::api::router());
    let icons = routes!(get_icon);
    let mut description = all
        .with_descriptions(icons)
        .with_descriptions(routes!(widget::get_widget_script))
        .schema::<Detail>()
        .into_description([responses::all(), problems::all()].concat())?;
    legacy::deprecate(&mut description);
    Ok(description)
}

/// Load the picture of a platform.
#[utoipa::path(
    get,
    path = "/assets/stamps/{file}",
    tag = "Program",
    operation_id = "getStampIcon",
    params(("file" = String, Path)),
    responses(
        (status = 200, description = "The picture.", body = String, content_type = "image/svg+xml"),
        (status = 404, description = "The name cannot be a platform's id."),
    ),
)]
async fn get_icon(Path(file): Path<String>) -> Response {
    icon::serve(&file)
}

/// Every route of scoring, including the managers'.
pub fn router(state: State) -> Router {
    let Described { scores, stamps, posted, written, models, keys, widget } =
        describe_routes(state.config.earlier_paths);
    let [scores, stamps, posted, written, models, keys, widget] =
        [scores, stamps, posted, written, models, keys, widget].map(DescribedRouter::into_router);
    // An <img> loads a picture, without a key and without CORS; a <script> the widget.
    let icons = Router::new()
        .route("/assets/stamps/{file}", get(get_icon))
        .route("/assets/widget/v1/{file}", get(widget::get_widget_script));
    // Only the open endpoints serve pages of other origins, each with the methods that it accepts. With its own
    // fallback a path answers their preflights; otherwise the program-wide fallback would.
    let scores = scores.method_not_allowed_fallback(refuse_method).layer(cors::open([
        Method::GET,
        Method::HEAD,
        Method::POST,
    ]));
    let stamps = stamps.method_not_allowed_fallback(refuse_method).layer(cors::open(READ));
    let posted = posted.method_not_allowed_fallback(refuse_method).layer(cors::open([Method::POST]));
    let written = written.method_not_allowed_fallback(refuse_method).layer(cors::open([
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::DELETE,
    ]));
    let models = models.method_not_allowed_fallback(model::refuse_method).layer(cors::open(READ));
    let keys = keys.layer(cors::open(READ));
    let widget = widget
        .method_not_allowed_fallback(widget::refuse_method)
        .layer(middleware::from_fn_with_state(state.clone(), widget::cors));
    let open = scores.merge(stamps).merge(keys).merge(posted).merge(written).merge(models).merge(widget);
    open.merge(crate::api::router().into_router()).merge(icons).with_state(state)
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
    with_timeout(&state.config, async {
        let (caller, budget) = auth::caller(state, headers).await?;
        let mut response = work(caller).await.unwrap_or_else(IntoResponse::into_response);
        budget.write(response.headers_mut());
        Ok(response)
    })
    .await
}

async fn with_timeout(config: &Config, work: impl Future<Output = Result<Response>>) -> Response {
    let mut work = pin!(work);
    // Nearly every response is ready immediately: no need to measure time or create a timer.
    let begun = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    let ended = match begun {
        Poll::Ready(answer) => Ok(answer),
        Poll::Pending => tokio::time::timeout(config.request_timeout, work).await,
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
