//! Scoring's `/admin/*` endpoints for managers and their scripts. Errors are problem bodies (RFC 9457).
//!
//! Each route only reads the request, calls one service function and builds the response.

mod allow_lists;
mod api_keys;
mod catalogue;
mod erasures;
mod history_requests;
mod issuers;
mod models;
mod onchain_stamps;
mod population;
pub(crate) mod problems;
mod score_jobs;
mod score_keys;
mod score_lists;
mod score_reviews;
mod scorer_changes;
mod scorers;
mod stamp_keys;
mod stamp_signing;
mod stamps;
mod streamed;

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
        .routes(routes!(population::list))
        .routes(routes!(population::summary))
        .routes(routes!(population::export))
        .routes(routes!(score_jobs::create))
        .routes(routes!(score_jobs::list))
        .routes(routes!(score_jobs::show, score_jobs::remove))
        .routes(routes!(score_jobs::cancel))
        .routes(routes!(score_jobs::retry))
        .routes(routes!(score_jobs::result))
        .routes(routes!(score_reviews::list))
        .routes(routes!(score_reviews::show))
        .routes(routes!(score_reviews::decide))
        .routes(routes!(score_keys::list))
        .routes(routes!(score_keys::rotate))
        .routes(routes!(api_keys::list, api_keys::create))
        .routes(routes!(api_keys::show, api_keys::update, api_keys::revoke))
        .routes(routes!(api_keys::usage))
        .routes(routes!(issuers::list, issuers::add))
        .routes(routes!(issuers::remove))
        .routes(routes!(stamps::show))
        .routes(routes!(stamps::revoke))
        .routes(routes!(stamp_signing::sign))
        .routes(routes!(stamp_keys::list))
        .routes(routes!(stamp_keys::rotate))
        .routes(routes!(allow_lists::list, allow_lists::create))
        .routes(routes!(allow_lists::show, allow_lists::delete))
        .routes(routes!(allow_lists::addresses, allow_lists::add))
        .routes(routes!(allow_lists::remove))
        .routes(routes!(onchain_stamps::list, onchain_stamps::create))
        .routes(routes!(onchain_stamps::show, onchain_stamps::remove))
        .routes(routes!(erasures::erase))
        .routes(routes!(erasures::list))
        .routes(routes!(catalogue::show, catalogue::replace, catalogue::reset))
        .routes(routes!(models::show))
        .routes(routes!(models::groups))
        .routes(routes!(models::export_groups))
        .routes(routes!(history_requests::list, history_requests::create))
        .routes(routes!(history_requests::approve))
        .routes(routes!(history_requests::refuse))
}
