//! Stored credentials.

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, HeaderValue};
use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::auth::{Auth, Connector};
use pyxis_core::entropy::Entropy;
use pyxis_core::hosts::AllowedHosts;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_core::policy::{Method, Policy};
use pyxis_core::target::{Scheme, Target};
use pyxis_core::{mcp_tool, presets};
use pyxis_store::audit::{AuditedStore, Change};
use pyxis_store::cipher::Keyring;
use pyxis_store::credentials::{self, CredentialChange, CredentialRow, NewCredential};
use pyxis_store::tasks::{self, TaskStop};
use pyxis_store::{Store, StoreError, grants, mcp_tools, policies};
use serde_json::json;

use super::channels;
use super::description::check_description;
use super::satisfiability;
use crate::approvals::tasks::TaskEnds;
use crate::credentials::outbound::{ConnectionUse, Outbound, dispatch};
use crate::credentials::redaction::Redactor;
use crate::credentials::requests::authorize;
use crate::credentials::{kinds, search_strings, signing_keys};
use crate::error::{Error, Result};
use crate::runtime::resolve::{CredentialOptions, MAX_NAME, ResolvedCredential};
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 2000;
/// Maximum length of a secret, in bytes.
const MAX_SECRET: usize = 64 * 1024;
/// Warning about a credential that no request can use.
const NO_HOST: &str =
    "This credential has no allowed hosts, so every request with it is refused. Add the hosts of its API.";
/// Maximum number of fields in a secret.
const MAX_PARTS: usize = 64;
/// Error when neither the caller nor a preset names a URL to probe.
const NO_PROBE: &str =
    "name a URL to try: no exact host is allowed, or the API responds to a bad secret as to a good one";

/// Settings of a new credential. The default has no hosts and no secret, and forwards directly.
#[derive(Debug, Default)]
pub struct CredentialInput {
    /// Unique in the workspace, ignoring case.
    pub name: String,
    /// Description for people.
    pub description: String,
    /// Destination of requests.
    pub connector: Connector,
    /// Base URL of the sidecar.
    pub api_base: Option<String>,
    /// Authentication method.
    pub auth: Option<Auth>,
    /// Hosts that it may be sent to.
    pub allowed_hosts: Vec<String>,
    /// True if plain http targets are allowed.
    pub allow_http: bool,
    /// Further options.
    pub options: CredentialOptions,
    pub secret: Option<SecretValue>,
    /// Policy to start with; without one, the workspace's mode applies.
    pub policy: Option<Policy>,
}

/// Change to a credential; `None` leaves a field unchanged.
#[derive(Debug, Default)]
pub struct CredentialPatch {
    /// New description.
    pub description: Option<String>,
    /// New sidecar URL.
    pub api_base: Option<String>,
    /// New authentication method, which must match the stored secret.
    pub auth: Option<Auth>,
    /// New allowed hosts.
    pub allowed_hosts: Option<Vec<String>>,
    /// True allows plain http targets.
    pub allow_http: Option<bool>,
    /// New options.
    pub options: Option<CredentialOptions>,
}

/// Stores a credential.
pub async fn create(state: &State, actor: &Actor, mut input: CredentialInput) -> Result<CredentialRow> {
    check_name("name", &input.name)?;
    input.secret = input.secret.map(SecretValue::clean_input).transpose()?;
    complete_key(&*state.entropy, &mut input)?;
    check_description(&input.description, MAX_DESCRIPTION)?;
    let allowed_hosts = check_hosts(&input.allowed_hosts)?;
    check_connector(&input)?;
    check_mcp(&input.name, &input.options, (&input.allowed_hosts, input.allow_http))?;
    for (platform, room) in input.policy.iter().flat_map(|policy| policy.rooms.iter()) {
        channels::check_room(state, platform, room).await?;
    }
    let now = state.now();
    let id = CredentialId::new(now, &*state.entropy);
    if let Some(policy) = &input.policy {
        satisfiability::check(&state.store, actor.workspace, id, policy).await?;
    }
    let aad = credentials::secret_aad(actor.workspace, id);
    let sealed = input
        .secret
        .as_ref()
        .map(|secret| state.keyring.seal(&*state.entropy, &aad, secret.to_bytes().expose()));
    let new = NewCredential {
        id,
        workspace_id: actor.workspace,
        name: input.name.clone(),
        description: input.description,
        connector: input.connector,
        api_base: input.api_base,
        auth: input.auth.as_ref().map(to_json),
        allowed_hosts,
        allow_http: input.allow_http,
        options: to_json(&input.options),
        sealed_secret: sealed,
        created_at: now,
    };
    let mut change = state.audited.begin(actor).await?;
    match credentials::insert(&mut change.tx, &new).await {
        Err(StoreError::Conflict { .. }) => return Err(Error::NameTaken(input.name)),
        other => other?,
    }
    if let Some(policy) = &input.policy {
        let document = to_json(policy);
        policies::put(&mut change.tx, actor.workspace, id, &document, &actor.name, now).await?;
    }
    let detail = json!({
        "connector": new.connector, "allowed_hosts": input.allowed_hosts, "policy": input.policy,
    });
    change.commit_about(AuditEvent::CredentialCreated, Some(&input.name), detail).await?;
    get(&state.store, actor.workspace, &input.name).await
}

pub async fn get(store: &Store, workspace: WorkspaceId, name: &str) -> Result<CredentialRow> {
    let found = credentials::find_by_name(store, workspace, name).await?;
    // Without a suggestion: a member may ask, who must not learn the names of other credentials.
    found.ok_or_else(|| Error::NotFound(Missing::with_name("credential", name, [])))
}

/// Warnings for the person who stored a credential. It may have no allowed host, and parts of the secret may be
/// too short to be searched for in responses.
pub fn warnings(keyring: &Keyring, row: &CredentialRow) -> Vec<String> {
    let Ok(credential) = ResolvedCredential::parse(row.clone(), None, ApprovalMode::Gated) else {
        return Vec::new();
    };
    if matches!(credential.auth, Some(Auth::SigningKey(_))) {
        return Vec::new();
    }
    let unusable = credential.hosts.is_empty().then(|| NO_HOST.to_owned());
    let Some(opened) = credential.open(keyring).ok().flatten() else { return Vec::from_iter(unusable) };
    let short = kinds::short_parts(credential.auth.as_ref(), opened.secret());
    let warning = |field: String| {
        format!(
            "{field} has fewer than {} characters, so responses are not searched for it alone: ordinary text \
             is full of such words. Use a longer one if the service allows it.",
            search_strings::MIN_CHARS
        )
    };
    unusable.into_iter().chain(short.into_iter().map(warning)).collect()
}

pub async fn by_id(store: &Store, workspace: WorkspaceId, id: CredentialId) -> Result<CredentialRow> {
    credentials::find(store, workspace, id).await?.ok_or(Error::not_found("credential"))
}

/// All credentials of a workspace.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<CredentialRow>> {
    Ok(credentials::list(store, workspace).await?)
}

/// Changes the configuration but not the secret.
pub async fn update(
    state: &State,
    actor: &Actor,
    name: &str,
    patch: CredentialPatch,
) -> Result<CredentialRow> {
    let row = get(&state.store, actor.workspace, name).await?;
    if let Some(description) = &patch.description {
        check_description(description, MAX_DESCRIPTION)?;
    }
    let allowed_hosts = patch.allowed_hosts.as_deref().map(check_hosts).transpose()?;
    if let (Some(auth), Some(hosts)) = (stored_auth(&row)?, &patch.allowed_hosts) {
        check_bounds(&auth, hosts)?;
    }
    let hosts: Vec<String> = serde_json::from_str(&row.allowed_hosts).unwrap_or_default();
    if let Some(options) = &patch.options {
        let hosts = patch.allowed_hosts.as_ref().unwrap_or(&hosts);
        check_mcp(&row.name, options, (hosts, patch.allow_http.unwrap_or(row.allow_http)))?;
    }
    if let Some(auth) = &patch.auth {
        check_new_auth(&state.keyring, &row, auth)?;
    }
    if let Some(api_base) = &patch.api_base {
        check_api_base(row.connector, Some(api_base))?;
    }
    let wanted = CredentialChange {
        description: patch.description,
        api_base: patch.api_base.map(Some),
        auth: patch.auth.as_ref().map(to_json).map(Some),
        allowed_hosts,
        allow_http: patch.allow_http,
        options: patch.options.as_ref().map(to_json),
        ..CredentialChange::default()
    };
    let before: CredentialOptions = serde_json::from_str(&row.options).unwrap_or_default();
    let moved = patch.options.as_ref().is_some_and(|options| options.mcp_url != before.mcp_url);
    let mut change = state.audited.begin(actor).await?;
    credentials::update(&mut change.tx, actor.workspace, row.id, wanted, state.now()).await?;
    let mut detail = json!({ "allowed_hosts": patch.allowed_hosts, "allow_http": patch.allow_http });
    if moved {
        // What people allowed was a tool of the other server.
        mcp_tools::clear(&mut change.tx, actor.workspace, row.id).await?;
        detail["mcp_url"] = json!(patch.options.and_then(|options| options.mcp_url));
    }
    change.commit_about(AuditEvent::CredentialUpdated, Some(&row.name), detail).await?;
    get(&state.store, actor.workspace, name).await
}

/// Replaces the secret, raises its version and ends the credential's grants. Returns the new version.
pub async fn replace_secret(state: &State, actor: &Actor, name: &str, secret: SecretValue) -> Result<i64> {
    let row = get(&state.store, actor.workspace, name).await?;
    let secret = secret.clean_input()?;
    check_secret(&secret)?;
    let auth = stored_auth(&row)?;
    match &auth {
        Some(auth) => kinds::behavior(auth).check(&secret)?,
        None => check_token(&secret)?,
    }
    let now = state.now();
    let aad = credentials::secret_aad(actor.workspace, row.id);
    let sealed = state.keyring.seal(&*state.entropy, &aad, secret.to_bytes().expose());
    let mut change = state.audited.begin(actor).await?;
    let version = credentials::replace_secret(&mut change.tx, actor.workspace, row.id, sealed, now).await?;
    let version = version.ok_or(Error::not_found("credential"))?;
    if let Some(Auth::SigningKey(key)) = auth {
        let described = signing_keys::describe(&signing_keys::open(key.algorithm, &secret)?);
        let auth = Some(Some(to_json(&Auth::SigningKey(described))));
        let wanted = CredentialChange { auth, ..CredentialChange::default() };
        credentials::update(&mut change.tx, actor.workspace, row.id, wanted, now).await?;
    }
    grants::end_for_credential(&mut change.tx, actor.workspace, row.id, "secret replaced", now).await?;
    let ends = stop_tasks(&mut change, row.id, TaskStop::after_change("secret replaced", now)).await?;
    ends.record(&mut change).await?;
    change
        .commit_about(AuditEvent::CredentialSecretReplaced, Some(&row.name), json!({ "version": version }))
        .await?;
    ends.count();
    Ok(version)
}

/// Removes a credential with its policy and grants. Pending approvals can no longer be sent.
pub async fn remove(db: &AuditedStore, actor: &Actor, name: &str) -> Result<()> {
    let row = get(&db.store, actor.workspace, name).await?;
    let mut change = db.begin(actor).await?;
    let now = db.now();
    grants::end_for_credential(&mut change.tx, actor.workspace, row.id, "credential removed", now).await?;
    let ends = stop_tasks(&mut change, row.id, TaskStop::after_change("credential removed", now)).await?;
    credentials::remove(&mut change.tx, actor.workspace, row.id).await?;
    ends.record(&mut change).await?;
    change.commit_about(AuditEvent::CredentialRemoved, Some(&row.name), json!({})).await?;
    ends.count();
    Ok(())
}

/// Stops all tasks with an action of this credential.
async fn stop_tasks(
    change: &mut Change<'_>,
    credential: CredentialId,
    stop: TaskStop<'_>,
) -> Result<TaskEnds> {
    let workspace = change.actor.workspace;
    let mut ends = TaskEnds::default();
    ends.add_stopped(
        stop.reason,
        tasks::stop_for_credential(&mut change.tx, workspace, credential, stop).await?,
    );
    Ok(ends)
}

/// Sends one GET with the credential to a URL within its allowed hosts. Returns only the status.
pub async fn verify(state: &State, actor: &Actor, name: &str, url: Option<&str>) -> Result<u16> {
    let row = get(&state.store, actor.workspace, name).await?;
    let credential = ResolvedCredential::parse(row, None, ApprovalMode::Gated)?;
    let url = match url {
        Some(url) => url.to_owned(),
        None => probe(&credential.row).ok_or_else(|| Error::field("url", NO_PROBE))?,
    };
    let target = Target::parse(&url).map_err(|error| Error::InvalidTarget(error.to_string()))?;
    authorize::check_allowed_hosts(&credential, &target)?;
    state.net.check(&authorize::host_port(&target)).await?;
    let redactor =
        Redactor::of_workspace(&state.store, &state.keyring, actor.workspace, &[credential.row.id]).await?;
    let change = state.audited.begin(actor).await?;
    let detail = json!({ "target": redactor.text(&target.route()) });
    change.commit_about(AuditEvent::CredentialVerified, Some(&credential.row.name), detail).await?;
    let headers = probe_headers(credential.auth.as_ref(), &target);
    let outbound = Outbound {
        credential: &credential,
        method: Method::Get,
        target: &target,
        headers,
        connection: ConnectionUse::Pooled,
    };
    let answer = dispatch(state, outbound, pyxis_net::body::empty()).await?;
    let status = answer.status.as_u16();
    let (id, version, seen) = (credential.row.id, credential.row.version, Some(i64::from(status)));
    let (store, now) = (&state.store, state.now());
    credentials::record_verification(store, actor.workspace, id, version, seen, now).await?;
    Ok(status)
}

/// Headers of a probe: the `User-Agent` that any API may require, and those that a preset requires.
fn probe_headers(auth: Option<&Auth>, target: &Target) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static("pyxis"))]);
    let known = auth.and_then(|auth| presets::probe_headers(auth, target));
    for (name, value) in known.into_iter().flatten() {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers
}

/// Default probe URL of a credential: the preset's URL for its kind and hosts, or else the root of its first exact
/// host. `None` if there is neither, or if the API answers an invalid secret like a valid one.
pub fn probe(row: &CredentialRow) -> Option<String> {
    let hosts: Vec<String> = serde_json::from_str(&row.allowed_hosts).unwrap_or_default();
    let auth = stored_auth(row).ok().flatten();
    let known = auth.as_ref().zip(AllowedHosts::parse(&hosts).ok());
    if let Some(url) = known.and_then(|(auth, hosts)| presets::probe(auth, &hosts)) {
        return Some(url.to_owned());
    }
    let host = hosts.iter().find(|host| !host.starts_with('*'))?;
    let scheme = if row.allow_http { "http" } else { "https" };
    let root = format!("{scheme}://{host}/");
    let blind = |target: &Target| auth.as_ref().is_some_and(|auth| presets::has_no_probe(auth, target));
    (!Target::parse(&root).is_ok_and(|target| blind(&target))).then_some(root)
}

/// Checks the pattern `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, which is safe in headers, paths and variables.
pub(crate) fn check_name(field: &str, name: &str) -> Result<()> {
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let fits =
        name.len() <= MAX_NAME && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if starts && fits {
        return Ok(());
    }
    Err(Error::field(
        field,
        "must be 1 to 64 letters, digits, dots, dashes or underscores, starting with a letter or digit",
    ))
}

fn check_hosts(hosts: &[String]) -> Result<String> {
    AllowedHosts::parse_new(hosts).map_err(|error| Error::field("allowed_hosts", error.to_string()))?;
    Ok(to_json(hosts))
}

fn check_connector(input: &CredentialInput) -> Result<()> {
    check_api_base(input.connector, input.api_base.as_deref())?;
    if let Some(secret) = &input.secret {
        check_secret(secret)?;
    }
    match (input.connector, &input.auth, &input.secret) {
        (Connector::Direct, None, _) => Err(Error::field("auth", "a direct credential needs it")),
        (Connector::Direct, Some(_), None) => Err(Error::field("secret", "a direct credential needs it")),
        (Connector::Direct, Some(auth), Some(secret)) => {
            check_auth(auth)?;
            check_bounds(auth, &input.allowed_hosts)?;
            kinds::behavior(auth).check(secret)
        }
        (Connector::Sidecar, Some(_), _) => {
            Err(Error::field("auth", "a sidecar credential has none: the sidecar signs"))
        }
        (Connector::Sidecar, None, Some(secret)) => check_token(secret),
        (Connector::Sidecar, None, None) => Ok(()),
    }
}

/// Checks the URL of an MCP server, and that the names of its tools can be told apart.
fn check_mcp(name: &str, options: &CredentialOptions, (hosts, allow_http): (&[String], bool)) -> Result<()> {
    let Some(url) = &options.mcp_url else { return Ok(()) };
    let wrong = |detail: String| Err(Error::field("options.mcp_url", detail));
    if !mcp_tool::can_prefix(name) {
        return wrong("the name of an MCP server's credential must not contain __ or end with _".to_owned());
    }
    let target = match Target::parse(url) {
        Ok(target) => target,
        Err(error) => return wrong(format!("must be the http or https URL of an MCP server: {error}")),
    };
    if target.scheme() == Scheme::Http && !allow_http {
        return wrong("must be https, unless the credential's field allow_http is true".to_owned());
    }
    match AllowedHosts::parse(hosts) {
        Ok(hosts) if !hosts.admits(&target) => wrong(format!("add {} to allowed_hosts", target.authority())),
        _ => Ok(()),
    }
}

fn check_token(secret: &SecretValue) -> Result<()> {
    match secret.text() {
        Some(text) if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(()),
        _ => Err(Error::field("secret", "the sidecar's token is one string of printable characters")),
    }
}

fn check_secret(secret: &SecretValue) -> Result<()> {
    if secret.parts().map(str::len).sum::<usize>() > MAX_SECRET {
        return Err(Error::field("secret", format!("at most {MAX_SECRET} bytes")));
    }
    if secret.parts().count() > MAX_PARTS {
        return Err(Error::field("secret", format!("at most {MAX_PARTS} fields")));
    }
    Ok(())
}

fn check_api_base(connector: Connector, api_base: Option<&str>) -> Result<()> {
    match (connector, api_base) {
        (Connector::Direct, None) => Ok(()),
        (Connector::Direct, Some(_)) => Err(Error::field("api_base", "only a sidecar credential has one")),
        (Connector::Sidecar, None) => Err(Error::field("api_base", "a sidecar credential needs it")),
        (Connector::Sidecar, Some(url)) => Target::parse(url)
            .map(drop)
            .map_err(|error| Error::field("api_base", format!("must be an http or https URL: {error}"))),
    }
}

fn check_auth(auth: &Auth) -> Result<()> {
    auth.settings().check().map_err(|wrong| Error::field(wrong.field, wrong.detail))
}

/// Generates a missing signing key and derives its public parts.
fn complete_key(entropy: &dyn Entropy, input: &mut CredentialInput) -> Result<()> {
    let Some(Auth::SigningKey(described)) = &mut input.auth else { return Ok(()) };
    let algorithm = described.algorithm;
    let secret = input.secret.get_or_insert_with(|| signing_keys::generate(algorithm, entropy));
    *described = signing_keys::describe(&signing_keys::open(algorithm, secret)?);
    Ok(())
}

/// A signing key is never sent, so that no request can leak it.
fn check_bounds(auth: &Auth, hosts: &[String]) -> Result<()> {
    if matches!(auth, Auth::SigningKey(_)) && !hosts.is_empty() {
        return Err(Error::field("allowed_hosts", "a signing key is never sent anywhere: it has none"));
    }
    Ok(())
}

fn check_new_auth(keyring: &Keyring, row: &CredentialRow, auth: &Auth) -> Result<()> {
    if row.connector == Connector::Sidecar {
        return Err(Error::field("auth", "a sidecar credential has none: the sidecar signs"));
    }
    check_auth(auth)?;
    let before = stored_auth(row)?;
    if [before.as_ref(), Some(auth)].into_iter().flatten().any(|auth| matches!(auth, Auth::SigningKey(_))) {
        return Err(Error::field("auth", "a signing key stays one, and no other credential becomes one"));
    }
    let Some(sealed) = &row.sealed_secret else { return Ok(()) };
    let aad = credentials::secret_aad(row.workspace_id, row.id);
    let bytes = keyring.open(&aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    kinds::behavior(auth).check(&SecretValue::from_bytes(&bytes)?)
}

fn stored_auth(row: &CredentialRow) -> Result<Option<Auth>> {
    let parse = |text: &String| serde_json::from_str(text).map_err(|error| Error::Internal(error.into()));
    row.auth.as_ref().map(parse).transpose()
}

/// Serialization of these types never fails.
fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pyxis_core::auth::BearerToken;

    use super::*;

    #[test]
    fn a_probe_says_who_sends_it_and_what_its_api_demands() {
        for (preset, header, version) in
            [("anthropic", "anthropic-version", "2023-06-01"), ("notion", "notion-version", "2022-06-28")]
        {
            let preset = presets::find(preset).unwrap();
            let target = Target::parse(preset.probe.as_deref().unwrap()).unwrap();
            let headers = probe_headers(Some(&preset.auth), &target);
            assert_eq!(
                (headers.len(), &headers[USER_AGENT], &headers[header]),
                (2, &"pyxis".parse().unwrap(), &version.parse().unwrap())
            );
        }
        let elsewhere = Target::parse("https://api.example.com/").unwrap();
        assert_eq!(probe_headers(Some(&Auth::Bearer(BearerToken {})), &elsewhere).len(), 1);
        assert_eq!(probe_headers(None, &elsewhere).len(), 1);
    }
}
