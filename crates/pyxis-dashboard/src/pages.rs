//! The pages: read the request, call a service, fill a view.

pub(crate) mod agents;
pub(crate) mod audit;
mod audit_rows;
mod cards;
pub(crate) mod credentials;
mod credential_form;
pub(crate) mod decisions;
pub(crate) mod entrance;
pub(crate) mod inbox;
pub(crate) mod people;
pub(crate) mod policies;
mod policy_form;
pub(crate) mod settings;
mod words;

use pyxis_gateway::Error as Service;

use crate::State;
use crate::view::Problems;

/// A message of a service as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// What a service found wrong, at the form's field; anything else stays an error.
fn problem(
    error: Service,
    name_field: &'static str,
    field_of: impl Fn(&str) -> &'static str,
) -> Result<Problems, Service> {
    let mut problems = Problems::default();
    match error {
        Service::InvalidField { field, detail } => problems.add(field_of(&field), sentence(&detail)),
        Service::NameTaken(name) => {
            problems.add(name_field, format!("{name} exists already. Choose another."));
        }
        other => return Err(other),
    }
    Ok(problems)
}

/// A `curl` that makes an agent's first request.
fn first_request(state: &State, key: &str, credential: &str, host: &str) -> String {
    format!(
        "curl {}/forward \\\n  -H 'X-PX-Key: {key}' \\\n  -H 'X-PX-Credential: {credential}' \\\n  \
         -H 'X-PX-Target: https://{host}/' \\\n  -H 'X-PX-Method: POST' \\\n  \
         -H 'X-PX-Reason: a first try' \\\n  -d '{{\"hello\":\"world\"}}'",
        state.gateway.config.base_url
    )
}
