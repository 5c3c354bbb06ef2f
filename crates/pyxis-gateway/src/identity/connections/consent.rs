//! The authorization endpoint: a client's request, and a person's answer to it (RFC 6749, section 4.1; RFC 7636;
//! RFC 8707; RFC 9207).

use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{AgentId, ConnectionId};
use pyxis_core::redirect_uri::RedirectUri;
use pyxis_core::{entropy, hex};
use pyxis_store::agents;
use pyxis_store::connections::clients;
use pyxis_store::connections::codes::{self, AuthorizationCodeRow};
use serde::Deserialize;
use serde_json::json;

use super::client::{self, ClientLookup, OauthClient};
use super::metadata;
use super::protocol_error::{OauthError, OauthErrorCode};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;

/// Life of an authorization code.
const CODE_LIFE: Duration = Duration::from_mins(1);
/// Time for which the registration of a client stays after a person consented.
const CONSENTED_LIFE: Duration = Duration::from_hours(24);
/// Prefix of authorization codes.
const CODE_PREFIX: &str = "px_code_";
/// Longest `state` of a client, in bytes.
const MAX_STATE: usize = 2048;
/// Length of an S256 challenge: 32 bytes in base64url.
const CHALLENGE: usize = 43;

/// Parameters of an authorization request, as the client sent them. Absent ones are empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuthorizationQuery {
    pub response_type: String,
    pub client_id: String,
    pub redirect_uri: String,
    pub code_challenge: String,
    pub code_challenge_method: String,
    pub resource: String,
    pub state: Option<String>,
}

/// A valid authorization request. Only a person can answer it.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    /// The client that asks.
    pub client: OauthClient,
    /// Where the answer goes.
    pub redirect_uri: RedirectUri,
    state: Option<String>,
    challenge: String,
}

/// Reason that an authorization request cannot be answered by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedAuthorization {
    /// The client or its redirect URI is not trusted. The person is told, and nothing is sent anywhere.
    Untrusted(String),
    /// The client made a mistake. It is told only if the person decides so. Anyone can be a client, and a redirect
    /// without a person's choice could lead to any page (RFC 9700, section 4.11.2).
    Invalid {
        /// Mistake, as the end of a sentence.
        reason: String,
        /// Host or scheme that the client is told at.
        destination: String,
        /// URL that tells the client.
        url: String,
    },
}

/// Checks an authorization request. May fetch the client's metadata document.
pub async fn validate(
    state: &State,
    query: &AuthorizationQuery,
) -> Result<Result<AuthorizationRequest, RefusedAuthorization>> {
    let untrusted = |reason: String| Ok(Err(RefusedAuthorization::Untrusted(reason)));
    if query.client_id.is_empty() {
        return untrusted("it sent no client_id, or a parameter twice".to_owned());
    }
    let client = match client::look_up(state, &query.client_id).await? {
        ClientLookup::Known(client) => client,
        ClientLookup::Refused(refusal) => return untrusted(refusal.0.into_owned()),
    };
    let Ok(redirect_uri) = RedirectUri::parse(&query.redirect_uri) else {
        return untrusted("its redirect_uri is missing or not acceptable".to_owned());
    };
    if !client.redirect_uris.iter().any(|registered| registered.admits(&redirect_uri)) {
        return untrusted("its redirect_uri is not one that it registered".to_owned());
    }
    let sent_state = query.state.clone().filter(|text| text.len() <= MAX_STATE);
    let request = AuthorizationRequest {
        client,
        redirect_uri,
        state: sent_state,
        challenge: query.code_challenge.clone(),
    };
    Ok(match check(&state.config, query) {
        Ok(()) => Ok(request),
        Err(error) => Err(RefusedAuthorization::Invalid {
            reason: format!("its request is invalid: {}", error.description),
            destination: request.redirect_uri.destination(),
            url: request.error_redirect(&state.config, &error),
        }),
    })
}

/// Checks the parameters about which a trusted client may be told.
fn check(config: &Config, query: &AuthorizationQuery) -> Result<(), OauthError> {
    use OauthErrorCode as E;
    if query.state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
        return Err(OauthError::new(E::InvalidRequest, "state must have at most 2048 bytes"));
    }
    if query.response_type != "code" {
        return Err(OauthError::new(E::UnsupportedResponseType, "response_type must be code"));
    }
    if query.code_challenge_method != "S256" {
        return Err(OauthError::new(E::InvalidRequest, "code_challenge_method must be S256"));
    }
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if query.code_challenge.len() != CHALLENGE || !query.code_challenge.bytes().all(is_base64url) {
        return Err(OauthError::new(
            E::InvalidRequest,
            "code_challenge must be the SHA-256 of the verifier in base64url, 43 characters",
        ));
    }
    check_resource(config, Some(query.resource.as_str()).filter(|resource| !resource.is_empty()))
}

/// Checks the audience that a client asks for. There is only one, so none means that one.
pub(super) fn check_resource(config: &Config, resource: Option<&str>) -> Result<(), OauthError> {
    let ours = metadata::resource(config);
    match resource {
        Some(resource) if resource.strip_suffix('/').unwrap_or(resource) != ours => {
            Err(OauthError::new(OauthErrorCode::InvalidTarget, format!("resource must be {ours}")))
        }
        _ => Ok(()),
    }
}

impl AuthorizationRequest {
    /// The URL that tells the client that the person said no.
    pub fn denied(&self, config: &Config) -> String {
        self.respond(config, &[("error", "access_denied"), ("error_description", "the person refused")])
    }

    fn error_redirect(&self, config: &Config, error: &OauthError) -> String {
        self.respond(config, &[("error", error.code.code()), ("error_description", &error.description)])
    }

    /// The redirect URI with an answer, the client's state and the issuer.
    fn respond(&self, config: &Config, answer: &[(&str, &str)]) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let issuer = ("iss", config.base_url.as_str());
        let parameters: Vec<_> = answer.iter().copied().chain(state).chain([issuer]).collect();
        self.redirect_uri.with_query(&parameters)
    }
}

/// Lets the client act as an agent, and returns the URL that takes the code to it. `actor` is a manager.
pub async fn allow(
    state: &State,
    actor: &Actor,
    request: &AuthorizationRequest,
    agent: AgentId,
) -> Result<String> {
    let now = state.now();
    let code = entropy::token::<32>(&*state.entropy, CODE_PREFIX);
    let connection = ConnectionId::new(now, &*state.entropy);
    let mut change = state.audited.begin(actor).await?;
    let agent = agents::find(&mut change.tx, actor.workspace, agent).await?;
    let agent = agent.ok_or(Error::not_found("agent"))?;
    if agent.disabled_at.is_some() {
        return Err(Error::Conflict("the agent is disabled; enable it first, or choose another"));
    }
    let client = &request.client;
    let row = AuthorizationCodeRow {
        code_hash: hex::encode(&key_hash(&code)),
        connection_id: connection,
        workspace_id: actor.workspace,
        agent_id: agent.id,
        client_id: client.id.clone(),
        client_name: client.name.clone(),
        redirect_uri: request.redirect_uri.as_str().to_owned(),
        challenge: request.challenge.clone(),
        allowed_by: actor.name.clone(),
        expires_at: now.plus(CODE_LIFE),
        used_at: None,
    };
    codes::insert(&mut change.tx, &row).await?;
    clients::extend(&mut change.tx, &client.id, now.plus(CONSENTED_LIFE)).await?;
    let detail = json!({
        "agent": agent.name,
        "id": agent.id,
        "connection": connection,
        "client": client.name,
        "client_id": client.id,
        "destination": request.redirect_uri.destination(),
    });
    change.commit(AuditEvent::ConnectionAllowed, detail).await?;
    Ok(request.respond(&state.config, &[("code", &code)]))
}
