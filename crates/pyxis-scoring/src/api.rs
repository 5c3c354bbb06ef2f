//! Scoring's `/admin/*` endpoints for managers and their scripts. Errors are problem bodies (RFC 9457).
//!
//! Each route only reads the request, calls one service function and builds the response.

mod api_keys;
mod catalogue;
mod erasures;
mod history_requests;
mod issuers;
mod models;
pub(crate) mod problems;
mod score_keys;
mod score_lists;
mod scorer_changes;
mod scorers;
mod stamps;

use pyxis_http::openapi::DescribedRouter;
use utoipa_axum::routes;

use crate::state::State;

/// All routes for managers.
pub(crate) fn router() -> DescribedRouter<State> {
    DescribedRouter::default()
        .routes(routes!(scorers::list, scorers::create))
        .routes(routes!(scorers::show, scorers::update, scorers::remove))
        .routes(routes!(scorers::preview))
        .routes(routes!(scorer_changes::withdraw))
        .routes(routes!(scorers::progress, scorers::rescore))
        .routes(routes!(score_lists::show))
        .routes(routes!(score_keys::list))
        .routes(routes!(score_keys::rotate))
        .routes(routes!(api_keys::list, api_keys::create))
        .routes(routes!(api_keys::show, api_keys::update, api_keys::revoke))
        .routes(routes!(api_keys::usage))
        .routes(routes!(issuers::list, issuers::add))
        .routes(routes!(issuers::remove))
        .routes(routes!(stamps::show))
        .routes(routes!(stamps::revoke))
        .routes(routes!(erasures::erase))
        .routes(routes!(erasures::list))
        .routes(routes!(catalogue::show, catalogue::replace, catalogue::reset))
        .routes(routes!(models::show))
        .routes(routes!(models::groups))
        .routes(routes!(history_requests::list, history_requests::create))
        .routes(routes!(history_requests::approve))
        .routes(routes!(history_requests::refuse))
}
