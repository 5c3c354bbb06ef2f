//! Every route of the dashboard. [`crate::view::routes::ROUTES`] is the same table for the templates.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path};
use axum::routing::{get, post};

use crate::pages::{
    account, agent_connect, agents, api_keys, audit, batch, brand, catalogue, connect, connector,
    credential_import, credentials, decisions, explorer, history, home, inbox, issuers, mcp_tools, models,
    notifications, passkey_sign_in, password, people, policies, population, publishable_keys, quiet_hours,
    receipts, reviews, score_jobs, scorers, self_check, settings, sign_in, staged, tasks, usage,
    verification, voting_strategy, webhooks,
};
use crate::{Error, State, assets, events, form, headers, notice};

/// Every page, form and file.
pub fn router(state: State) -> Router {
    let scoring = if state.scoring.is_some() { scoring() } else { Router::new() };
    Router::new()
        .route("/", get(async || notice::see_other("/app")))
        .route(assets::ROUTE, get(async |Path(file): Path<String>| assets::serve(&file)))
        .merge(doors())
        .merge(approvals())
        .merge(access())
        .merge(record())
        .merge(delivery())
        .merge(scoring)
        .route("/app", get(home::page))
        .route("/app/setup/skip", post(home::skip))
        .route("/app/{*rest}", get(async || Error::NotFound))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(form::MAX_FORM))
        .layer(axum::middleware::from_fn_with_state(state.clone(), headers::apply_security_headers))
        .with_state(state)
}

fn doors() -> Router<State> {
    Router::new()
        .route("/sign-in", get(sign_in::sign_in_page).post(sign_in::sign_in))
        .route("/sign-in/passkey", post(passkey_sign_in::sign_in))
        .route("/sign-in/passkey/begin", post(passkey_sign_in::begin))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/link/{token}", get(sign_in::link_page).post(sign_in::link))
}

fn approvals() -> Router<State> {
    Router::new()
        .route("/approve/{txn_id}", get(inbox::standalone))
        .route("/app/events", get(events::stream))
        .route("/app/inbox", get(inbox::inbox))
        .route("/app/inbox/begin", post(batch::begin))
        .route("/app/inbox/decide", post(batch::decide))
        .route("/app/decided", get(history::page))
        .route("/app/approvals/{txn_id}", get(inbox::approval))
        .route("/app/approvals/{txn_id}/receipt", get(receipts::receipt))
        .route("/app/approvals/{txn_id}/approve", post(decisions::approve))
        .route("/app/approvals/{txn_id}/begin", post(decisions::begin))
        .route("/app/approvals/{txn_id}/deny", post(decisions::deny))
        .route("/app/tasks", get(tasks::list))
        .route("/app/tasks/{id}", get(tasks::show))
        .route("/app/tasks/{id}/approve", post(tasks::approve))
        .route("/app/tasks/{id}/deny", post(tasks::deny))
        .route("/app/tasks/{id}/stop", post(tasks::stop))
        .route("/app/policies", get(policies::list))
        .route("/app/policies/{credential}", get(policies::edit).post(policies::save))
        .route("/app/policies/{credential}/explain", post(policies::explain))
        .route("/app/policies/{credential}/replay", post(policies::replay))
        .route("/app/policies/{credential}/remove", post(policies::remove))
        .route("/app/staged/{id}", get(staged::page))
        .route("/app/staged/{id}/begin", post(staged::begin))
        .route("/app/staged/{id}/apply", post(staged::apply))
        .route("/app/staged/{id}/withdraw", post(staged::withdraw))
        .route("/app/grants/{id}/revoke", post(policies::revoke))
}

fn access() -> Router<State> {
    Router::new()
        .route("/app/agents", get(agents::list).post(agents::add))
        .route("/app/new/agent", get(agents::new))
        .route("/app/agents/{id}", get(agents::show))
        .route("/app/agents/{id}/connect", get(agent_connect::page))
        .route("/app/agents/{id}/seen", get(agent_connect::last_message_time))
        .route("/app/agents/{id}/edit", post(agents::edit))
        .route("/app/agents/{id}/rotate", post(agents::rotate))
        .route("/app/agents/{id}/disable", post(agents::disable))
        .route("/app/agents/{id}/enable", post(agents::enable))
        .route("/app/agents/{id}/deny-all", post(agents::deny_all))
        .route("/app/agents/{id}/remove", post(agents::remove))
        .route("/app/credentials", get(credentials::list).post(credentials::add))
        .route("/app/new/credential", get(credentials::new))
        .route("/app/import/credentials", get(credential_import::page).post(credential_import::import))
        .route("/app/credentials/{name}", get(credentials::show))
        .route("/app/credentials/{name}/edit", post(credentials::edit))
        .route("/app/credentials/{name}/secret", post(credentials::replace_secret))
        .route("/app/credentials/{name}/verify", post(credentials::verify))
        .route("/app/credentials/{name}/mcp", post(mcp_tools::set_url))
        .route("/app/credentials/{name}/tools", get(mcp_tools::show).post(mcp_tools::change))
        .route("/app/credentials/{name}/connect", post(connect::begin))
        .route("/app/oauth/callback", get(connect::finish_connect).post(connect::finish))
        .route("/app/credentials/{name}/remove", post(credentials::remove))
        .route("/oauth/authorize", get(connector::authorize))
        .route("/app/oauth/consent", get(connector::page).post(connector::answer))
        .route("/app/connections/{id}/revoke", post(connector::revoke))
        .route("/app/people", get(people::list).post(people::add))
        .route("/app/new/person", get(people::new))
        .route("/app/people/{id}", get(people::show))
        .route("/app/people/{id}/grants", post(people::grant))
        .route("/app/people/{id}/withdraw", post(people::withdraw))
        .route("/app/people/{id}/disable", post(people::disable))
        .route("/app/people/{id}/enable", post(people::enable))
        .route("/app/people/{id}/link", post(people::link))
        .route("/app/people/{id}/role", post(people::role))
        .route("/app/account", get(account::page))
        .route("/app/account/password", post(password::change))
        .route("/app/account/quiet-hours", post(quiet_hours::set))
        .route("/app/account/quiet-hours/remove", post(quiet_hours::remove))
        .route("/app/account/passkeys", post(account::add_passkey))
        .route("/app/account/passkeys/begin", post(account::begin_passkey))
        .route("/app/account/passkeys/{id}/rename", post(account::rename_passkey))
        .route("/app/account/passkeys/{id}/remove", post(account::remove_passkey))
        .route("/app/account/tokens", post(account::add_token))
        .route("/app/account/tokens/{id}/revoke", post(account::revoke_token))
}

fn delivery() -> Router<State> {
    Router::new()
        .route("/app/webhooks", get(webhooks::list).post(webhooks::add))
        .route("/app/new/webhook", get(webhooks::new))
        .route("/app/webhooks/{id}", get(webhooks::show))
        .route("/app/webhooks/{id}/edit", post(webhooks::edit))
        .route("/app/webhooks/{id}/rotate", post(webhooks::rotate))
        .route("/app/webhooks/{id}/disable", post(webhooks::disable))
        .route("/app/webhooks/{id}/enable", post(webhooks::enable))
        .route("/app/webhooks/{id}/remove", post(webhooks::remove))
        .route("/app/deliveries/{id}", get(webhooks::delivery))
        .route("/app/deliveries/{id}/resend", post(webhooks::resend))
        .route("/app/notifications", get(notifications::page))
        .route("/sw.js", get(notifications::worker))
        .route("/app/push/subscribe", post(notifications::subscribe))
        .route("/app/push/{id}/unsubscribe", post(notifications::unsubscribe))
        .route("/app/notifications/link", post(notifications::link))
        .route("/app/notifications/unlink", post(notifications::unlink))
        .route("/app/notifications/chats", post(notifications::chats))
        .route("/app/brand", get(brand::page).post(brand::save))
        .route("/app/brand/logo", post(brand::set_logo))
        .route("/app/brand/logo/remove", post(brand::remove_logo))
        .route("/app/brand.css", get(brand::stylesheet))
        .route("/brand/{workspace}/logo.png", get(brand::logo))
}

fn record() -> Router<State> {
    Router::new()
        .route("/app/audit", get(audit::page))
        .route("/app/audit/export.csv", get(audit::export_csv))
        .route("/app/audit/export.jsonl", get(audit::export_jsonl))
        .route("/app/usage", get(usage::page))
        .route("/app/verification", get(verification::page))
        .route("/app/verification/strategy", get(voting_strategy::page))
        .route("/app/settings", get(settings::page).post(settings::save))
}

fn scoring() -> Router<State> {
    Router::new()
        .route("/check/{scorer}", get(self_check::page))
        .route("/app/scorers", get(scorers::list).post(scorers::add))
        .route("/app/new/scorer", get(scorers::new))
        .route("/app/scorers/{id}", get(scorers::show).post(scorers::save))
        .route("/app/scorers/{id}/preview", post(scorers::try_out))
        .route("/app/scorers/{id}/rescore", post(scorers::rescore))
        .route("/app/scorers/{id}/withdraw-change", post(scorers::withdraw_change))
        .route("/app/scorers/{id}/remove", post(scorers::remove))
        .route("/app/scorers/{id}/population", get(population::show))
        .route("/app/scorers/{id}/population/export", get(population::export))
        // The file of this form is bounded where it is read.
        .route(
            "/app/score-jobs",
            get(score_jobs::list).merge(post(score_jobs::add).layer(DefaultBodyLimit::disable())),
        )
        .route("/app/score-jobs/{id}", get(score_jobs::show))
        .route("/app/score-jobs/{id}/cancel", post(score_jobs::cancel))
        .route("/app/score-jobs/{id}/retry", post(score_jobs::retry))
        .route("/app/score-jobs/{id}/remove", post(score_jobs::remove))
        .route("/app/score-jobs/{id}/export", get(score_jobs::export))
        .route("/app/reviews", get(reviews::list))
        .route("/app/reviews/{id}", get(reviews::show))
        .route("/app/reviews/{id}/decide", post(reviews::decide))
        .route("/app/api-keys", get(api_keys::list).post(api_keys::add))
        .route("/app/new/api-key", get(api_keys::new))
        .route("/app/new/publishable-key", get(publishable_keys::new))
        .route("/app/publishable-keys", post(publishable_keys::add))
        .route("/app/api-keys/{id}", get(api_keys::show))
        .route("/app/api-keys/{id}/edit", post(api_keys::edit))
        .route("/app/api-keys/{id}/history", post(api_keys::ask_history))
        .route("/app/api-keys/{id}/withdraw", post(api_keys::withdraw_history))
        .route("/app/api-keys/{id}/revoke", post(api_keys::revoke))
        .route("/app/history-requests/{id}/approve", post(api_keys::approve_history))
        .route("/app/history-requests/{id}/refuse", post(api_keys::refuse_history))
        .route("/app/explorer", get(explorer::page))
        .route("/app/stamps/{digest}/revoke", post(explorer::revoke))
        .route("/app/catalogue", get(catalogue::page).post(catalogue::add))
        .route("/app/new/platform", get(catalogue::new))
        .route("/app/catalogue/{id}", get(catalogue::show).post(catalogue::save))
        .route("/app/catalogue/{id}/remove", post(catalogue::remove))
        .route("/app/reset/catalogue", post(catalogue::reset))
        .route("/app/models", get(models::page))
        .route("/app/models/export", get(population::export_clusters))
        .route("/app/issuers", get(issuers::list).post(issuers::add))
        .route("/app/issuers/{did}/remove", post(issuers::remove))
}
