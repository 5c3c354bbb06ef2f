//! The JSON API for people and scripts: sessions, `/admin/*`, `/approvals`.
//!
//! Routes only parse the request, call one service function and build the response.

mod agents;
mod approvals;
mod audit;
mod batch;
mod brand;
mod caller;
mod connections;
mod credentials;
mod grants;
mod mcp_tools;
mod people;
mod policies;
mod quiet_hours;
pub(crate) mod receipts;
mod session;
mod settings;
mod staged;
mod tasks;
mod tokens;
mod webhooks;

use pyxis_http::openapi::DescribedRouter;
use utoipa_axum::routes;

use crate::runtime::state::State;
pub use caller::{Approving, Editing, SignedIn};

/// All routes of the admin API.
pub(crate) fn router() -> DescribedRouter<State> {
    DescribedRouter::default()
        .routes(routes!(session::sign_in, session::sign_out))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::show))
        .routes(routes!(approvals::approve))
        .routes(routes!(approvals::deny))
        .routes(routes!(batch::decide))
        .routes(routes!(receipts::of_person))
        .routes(routes!(receipts::published_keys))
        .routes(routes!(receipts::list_keys))
        .routes(routes!(receipts::rotate_key))
        .routes(routes!(agents::list, agents::create))
        .routes(routes!(agents::show, agents::update, agents::remove))
        .routes(routes!(agents::rotate))
        .routes(routes!(agents::deny_all))
        .routes(routes!(connections::list))
        .routes(routes!(connections::revoke))
        .routes(routes!(credentials::list, credentials::create))
        .routes(routes!(credentials::show, credentials::update, credentials::remove))
        .routes(routes!(credentials::replace_secret))
        .routes(routes!(credentials::verify))
        .routes(routes!(mcp_tools::list, mcp_tools::refresh))
        .routes(routes!(mcp_tools::set))
        .routes(routes!(policies::show, policies::put, policies::remove))
        .routes(routes!(policies::explain))
        .routes(routes!(policies::replay))
        .routes(routes!(staged::list))
        .routes(routes!(staged::withdraw))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::approve))
        .routes(routes!(tasks::deny))
        .routes(routes!(tasks::stop))
        .routes(routes!(grants::list))
        .routes(routes!(grants::revoke))
        .routes(routes!(people::list, people::add))
        .routes(routes!(people::show, people::update))
        .routes(routes!(people::link))
        .routes(routes!(people::put_rights, people::remove_rights))
        .routes(routes!(people::invitations, people::invite))
        .routes(routes!(people::withdraw_invitation))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(quiet_hours::show, quiet_hours::put, quiet_hours::remove))
        .routes(routes!(settings::show, settings::update, settings::replace))
        .routes(routes!(audit::search))
        .routes(routes!(brand::show))
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::show, webhooks::update, webhooks::remove))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::deliveries_of))
        .routes(routes!(webhooks::deliveries))
        .routes(routes!(webhooks::show_delivery))
        .routes(routes!(webhooks::resend))
}
