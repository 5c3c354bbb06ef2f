//! The pages: read the request, call a service, fill a view.

pub(crate) mod account;
pub(crate) mod agent_connect;
pub(crate) mod agents;
mod announcement_line;
mod api_key_form;
pub(crate) mod api_keys;
pub(crate) mod audit;
mod audit_rows;
pub(crate) mod batch;
pub(crate) mod brand;
mod cards;
pub(crate) mod catalogue;
mod ceremony;
pub(crate) mod connect;
pub(crate) mod connector;
mod credential_form;
pub(crate) mod credential_import;
pub(crate) mod credentials;
mod db_table;
pub(crate) mod decisions;
mod edit;
mod edit_body;
mod edit_form;
mod edited;
mod escalation_lines;
pub(crate) mod explorer;
mod file;
mod gist;
mod grouping;
pub(crate) mod history;
pub(crate) mod home;
mod home_attention;
mod home_setup;
pub(crate) mod inbox;
mod inbox_query;
pub(crate) mod issuers;
mod key_usage;
mod labels;
mod list_query;
pub(crate) mod mcp_tools;
pub(crate) mod models;
pub(crate) mod notifications;
pub(crate) mod passkey_sign_in;
pub(crate) mod password;
pub(crate) mod people;
pub(crate) mod policies;
mod policy_diff;
mod policy_form;
pub(crate) mod population;
mod publishable_key_form;
pub(crate) mod publishable_keys;
pub(crate) mod quiet_hours;
pub(crate) mod receipts;
mod response_excerpt;
pub(crate) mod reviews;
pub(crate) mod score_jobs;
mod scorer_form;
pub(crate) mod scorers;
mod scoring;
mod secret_fields;
pub(crate) mod self_check;
pub(crate) mod settings;
pub(crate) mod sign_in;
mod signing;
pub(crate) mod staged;
mod table;
pub(crate) mod tasks;
mod tool_call;
pub(crate) mod usage;
pub(crate) mod verification;
pub(crate) mod voting_strategy;
pub(crate) mod webhooks;
mod weight_impact;

use pyxis_core::id::AgentId;
use pyxis_gateway::{Config, Error as Service};
use pyxis_store::credentials::CredentialRow;

use crate::Error;
use crate::view::Problems;

/// A service's message as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// The problem that a service found, at the form's field; anything else stays an error.
fn problem(
    error: Service,
    name_field: &'static str,
    field_of: impl Fn(&str) -> &'static str,
) -> Result<Problems, Service> {
    let mut problems = Problems::default();
    match error {
        Service::InvalidField { field, detail } => problems.add(field_of(&field), sentence(&detail)),
        Service::NameTaken(name) => {
            problems.add(name_field, format!("The name {name} is taken. Choose another."));
        }
        other => return Err(other),
    }
    Ok(problems)
}

/// Parses an agent id. A malformed one is not found.
fn agent_id(text: &str) -> Result<AgentId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

/// A `curl` that makes an agent's first request, with an existing credential and a host it may be sent to.
fn first_request(config: &Config, key: &str, credential: Option<&CredentialRow>) -> String {
    let name = credential.map_or("<credential>", |row| row.name.as_str());
    let exact = credential.into_iter().flat_map(credential_form::hosts).find(|host| !host.starts_with('*'));
    let host = exact.unwrap_or_else(|| "api.example.com".to_owned());
    let scheme = if credential.is_some_and(|row| row.allow_http) { "http" } else { "https" };
    format!(
        "curl {}/forward \\\n  -H 'X-PX-Key: {key}' \\\n  -H 'X-PX-Credential: {name}' \\\n  \
         -H 'X-PX-Target: {scheme}://{host}/' \\\n  -H 'X-PX-Method: POST' \\\n  \
         -H 'X-PX-Reason: a first try' \\\n  -d '{{\"hello\":\"world\"}}'",
        config.base_url
    )
}
