//! The consent page for programs that act as an agent with tokens of their own
//! (`docs/reference/mcp.md#authorization`).

use axum::extract::RawQuery;
use axum::response::Response;
use http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use pyxis_core::id::AgentId;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::agents::{self, AgentInput, AgentScope};
use pyxis_gateway::admin::{connections as connected, credentials, workspaces};
use pyxis_gateway::connections::{
    self, AuthorizationQuery, AuthorizationRequest, RefusedAuthorization, allow,
};
use pyxis_store::Store;

use super::agents::unprocessable;
use super::problem;
use crate::Error;
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::{Notice, see_other};
use crate::session::{HasCsrf, Manager};
use crate::view::connector::{ConnectorConsentPage, ConnectorRefusedPage, ConnectorReturnPage};
use crate::view::{Choice, Problems};

/// Parameters that matter here. A client may send others, which are dropped.
const PARAMETERS: [&str; 7] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "state",
];

/// Choice of a new agent.
const NEW: &str = "new";
/// Longest suggested name, in characters.
const MAX_NAME: usize = 64;

/// The authorization endpoint. It goes on to the consent page with every value encoded, so that the page survives the
/// way through sign-in.
pub(crate) async fn authorize(RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let known = pairs.filter(|(name, _)| PARAMETERS.contains(name)).map(|(name, value)| {
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8_lossy().into_owned();
        format!("{name}={}", utf8_percent_encode(&value, NON_ALPHANUMERIC))
    });
    see_other(&format!("/app/oauth/consent?{}", known.collect::<Vec<_>>().join("&")))
}

pub(crate) async fn page(
    Page { state, who, query }: Page<Manager, AuthorizationQuery>,
) -> Result<Response, Error> {
    match connections::validate(&state.gateway, &query).await? {
        Ok(request) => {
            // A stranger's program gets nothing that was not chosen for it.
            let form = ConsentForm {
                name: suggested_name(&request.client.name),
                only: Some(Vec::new()),
                ..ConsentForm::default()
            };
            html(&consent(&state.gateway.store, &who, &query, &request, form).await?)
        }
        Err(refused) => refusal(&who, refused),
    }
}

/// Explains to the person, who may then tell the client about its own mistake.
fn refusal(who: &Manager, refused: RefusedAuthorization) -> Result<Response, Error> {
    let (reason, way_back) = match refused {
        RefusedAuthorization::Untrusted(reason) => (reason, None),
        RefusedAuthorization::Invalid { reason, destination, url } => (reason, Some((destination, url))),
    };
    let page = ConnectorRefusedPage { user: who.person.user.email.clone(), reason, way_back };
    let mut response = html(&page)?;
    *response.status_mut() = StatusCode::BAD_REQUEST;
    Ok(response)
}

pub(crate) async fn answer(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let query = query_of(&fields);
    let request = match connections::validate(&state.gateway, &query).await? {
        Ok(request) => request,
        Err(refused) => return refusal(&who, refused),
    };
    if fields.get("answer") != "allow" {
        let url = request.denied(&state.gateway.config);
        return returning(&who, &request, false, url);
    }
    match chosen_agent(&state.gateway, &who, &fields).await? {
        Ok(agent) => {
            let url = allow(&state.gateway, &who.person.actor(), &request, agent).await?;
            returning(&who, &request, true, url)
        }
        Err(problems) => {
            let form = ConsentForm {
                agent: fields.trimmed("agent"),
                name: fields.trimmed("name"),
                only: (fields.get("scope") != "all")
                    .then(|| fields.all("credential").map(str::to_owned).collect()),
                problems,
            };
            Ok(unprocessable(html(&consent(&state.gateway.store, &who, &query, &request, form).await?)?))
        }
    }
}

fn returning(
    who: &Manager,
    request: &AuthorizationRequest,
    allowed: bool,
    url: String,
) -> Result<Response, Error> {
    let (user, program) = (who.person.user.email.clone(), request.client.name.clone());
    html(&ConnectorReturnPage { user, program, allowed, url })
}

fn query_of(fields: &Fields) -> AuthorizationQuery {
    let get = |name: &str| fields.get(name).to_owned();
    AuthorizationQuery {
        response_type: get("response_type"),
        client_id: get("client_id"),
        redirect_uri: get("redirect_uri"),
        code_challenge: get("code_challenge"),
        code_challenge_method: get("code_challenge_method"),
        resource: get("resource"),
        state: fields.all("state").next().map(str::to_owned),
    }
}

/// The agent that the person chose, created if it is a new one.
async fn chosen_agent(
    gateway: &pyxis_gateway::State,
    who: &Manager,
    fields: &Fields,
) -> Result<Result<AgentId, Problems>, Error> {
    let chosen = fields.trimmed("agent");
    let mut problems = Problems::default();
    if chosen.is_empty() {
        problems.add("agent", "Choose the agent that this program acts as.");
        return Ok(Err(problems));
    }
    if chosen != NEW {
        return Ok(Ok(chosen.parse().map_err(|_| Error::NotFound)?));
    }
    let credentials = match fields.get("scope") {
        "all" => AgentScope::All,
        _ => AgentScope::Named(fields.all("credential").map(str::to_owned).collect()),
    };
    let name = fields.trimmed("name");
    let input = AgentInput { name, rate_limit_per_hour: None, max_pending: None, credentials };
    // The key of the new agent is not shown: the program uses tokens. Replacing it makes one that is.
    match agents::create(gateway, &who.person.actor(), input).await {
        Ok((agent, _)) => Ok(Ok(agent.row.id)),
        Err(error) => {
            let field = |name: &str| if name == "credentials" { "credential" } else { "name" };
            Ok(Err(problem(error, "name", field)?))
        }
    }
}

/// The form as it is shown.
#[derive(Default)]
struct ConsentForm {
    agent: String,
    name: String,
    /// Credentials of a new agent; `None` for all.
    only: Option<Vec<String>>,
    problems: Problems,
}

async fn consent(
    store: &Store,
    who: &Manager,
    query: &AuthorizationQuery,
    request: &AuthorizationRequest,
    form: ConsentForm,
) -> Result<ConnectorConsentPage, Error> {
    let workspace = who.person.workspace();
    let all = agents::list(store, workspace).await?;
    let enabled = all.into_iter().filter(|agent| agent.row.disabled_at.is_none());
    let mut agents: Vec<Choice> =
        enabled.map(|agent| choice(agent.row.id.to_string(), agent.row.name, &form.agent)).collect();
    agents.push(choice(NEW.to_owned(), "A new agent".to_owned(), &form.agent));
    let named = form.only.clone().unwrap_or_default();
    let credentials = credentials::list(store, workspace).await?.into_iter();
    let credentials = credentials.map(|row| Choice {
        chosen: named.contains(&row.name),
        label: row.name.clone(),
        value: row.name,
    });
    Ok(ConnectorConsentPage {
        csrf: who.csrf().to_owned(),
        user: who.person.user.email.clone(),
        workspace: workspaces::get(store, workspace).await?.name,
        program: request.client.name.clone(),
        verified_host: request.client.verified_host.clone(),
        destination: request.redirect_uri.destination(),
        is_local: request.redirect_uri.is_local(),
        request: parameters(query),
        agents,
        name: form.name,
        all_credentials: form.only.is_none(),
        credentials: credentials.collect(),
        problems: form.problems,
    })
}

fn choice(value: String, label: String, chosen: &str) -> Choice {
    Choice { chosen: value == chosen, value, label }
}

fn parameters(query: &AuthorizationQuery) -> Vec<(&'static str, String)> {
    let mut pairs = vec![
        ("response_type", query.response_type.clone()),
        ("client_id", query.client_id.clone()),
        ("redirect_uri", query.redirect_uri.clone()),
        ("code_challenge", query.code_challenge.clone()),
        ("code_challenge_method", query.code_challenge_method.clone()),
        ("resource", query.resource.clone()),
    ];
    pairs.extend(query.state.clone().map(|state| ("state", state)));
    pairs
}

/// A program's name in the characters that names of agents may have.
fn suggested_name(program: &str) -> String {
    let mut name = String::new();
    for char in program.chars().take(MAX_NAME) {
        if char.is_ascii_alphanumeric() {
            name.push(char.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

/// Ends a connection, from its agent's page.
pub(crate) async fn revoke(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id = id.parse().map_err(|_| Error::NotFound)?;
    let ended: Result<_, Service> = connected::revoke(&state.gateway.audited, &who.person.actor(), id).await;
    Ok(Notice::ConnectionRevoked.redirect(state.cookies, &format!("/app/agents/{}", ended?.agent_id)))
}

#[cfg(test)]
mod tests {
    use http::header::LOCATION;

    use super::*;

    #[test]
    fn a_suggested_name_has_only_plain_characters() {
        for (program, name) in
            [("ChatGPT", "chatgpt"), ("Claude (web)", "claude-web"), ("  \u{e4} x ", "x"), ("\u{4e2d}", "")]
        {
            assert_eq!(suggested_name(program), name);
        }
    }

    #[tokio::test]
    async fn every_value_reaches_the_consent_page_encoded_once() {
        let query = "client_id=a%2Fb&redirect_uri=https://x.example/cb&evil=1&state=a+b%26c&state=2";
        let response = authorize(RawQuery(Some(query.to_owned()))).await;
        assert_eq!(
            response.headers()[LOCATION],
            "/app/oauth/consent?client_id=a%2Fb&redirect_uri=https%3A%2F%2Fx%2Eexample%2Fcb&state=a%20b%26c&state=2"
        );
    }
}
