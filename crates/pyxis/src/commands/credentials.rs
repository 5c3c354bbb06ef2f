//! `pyxis credential`.

mod settings;

use std::io::{IsTerminal, Read, Write};

use anyhow::{Context, Result, bail};
use pyxis_core::admin_error::Missing;
use pyxis_core::auth::{Auth, Connector, KeyAlgorithm, TokenSigningKey};
use pyxis_core::clock::UnixMillis;
use pyxis_core::nearest::suggestion;
use pyxis_core::policy::Policy;
use pyxis_core::presets::Preset;
use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use pyxis_gateway::admin::credentials::{self, CredentialInput, CredentialPatch};
use pyxis_gateway::admin::policies;
use pyxis_gateway::{Actor, CredentialOptions, Error, SecretValue, State};
use pyxis_store::credentials::CredentialRow;
use serde_json::{Value, json};

use self::settings::{filled, of_kind, refuse_unused};
use super::confirm::confirm;
use super::{acting, out, presets};
use crate::app::App;
use crate::cli::{AddCredential, CredentialCommand, GenerateKey, Global, SecretSource, SigningAlgorithm};
use crate::config::env::ProcessEnv;
use crate::config::secrets::{clean_secret, read_secret, read_variable};

pub(super) async fn run(global: &Global, command: CredentialCommand) -> Result<()> {
    let (app, actor) = acting(global).await?;
    let state = &app.gateway;
    match command {
        CredentialCommand::Add(input) => {
            let row = credentials::create(state, &actor, build(input)?).await?;
            warn(state, &row);
            if global.json {
                out::json(&credential_json(&row));
            } else {
                out::line(format_args!("stored {} (version {})", row.name, row.version));
            }
        }
        CredentialCommand::Presets { search } => presets::list(global, &search.join(" ")),
        CredentialCommand::ImportEnv { file } => presets::import(global, state, &actor, &file).await?,
        CredentialCommand::GenerateKey(wanted) => {
            let row = credentials::create(state, &actor, signing_key(wanted)?).await?;
            let auth: Value =
                row.auth.as_deref().and_then(|auth| serde_json::from_str(auth).ok()).unwrap_or_default();
            if global.json {
                out::json(&json!({
                    "id": row.id,
                    "name": row.name,
                    "version": row.version,
                    "algorithm": auth["algorithm"],
                    "public_key": auth["public_key"],
                    "address": auth["address"],
                }));
            } else {
                out::line(format_args!(
                    "stored {}: {}",
                    row.name,
                    auth["public_key"].as_str().unwrap_or_default()
                ));
            }
        }
        CredentialCommand::List => {
            let rows: Vec<_> =
                credentials::list(&state.store, actor.workspace).await?.iter().map(credential_json).collect();
            let columns = ["name", "connector", "allowed_hosts", "version", "description"];
            out::list(global.json, "credentials", &columns, &rows);
        }
        CredentialCommand::SetSecret { name, secret } => {
            let name = name.get()?;
            let secret = read(&secret)?.context("no secret was given")?;
            let row = credential_row(&app, &actor, &name).await?;
            let version = credentials::replace_secret(state, &actor, &row.name, value(&secret)?).await?;
            warn(state, &row);
            if global.json {
                out::json(&json!({ "name": name, "version": version }));
            } else {
                out::line(format_args!("replaced; version {version}"));
            }
        }
        CredentialCommand::SetHosts { name, allow_hosts, allow_http, https_only } => {
            let row = credential_row(&app, &actor, &name.get()?).await?;
            let patch = CredentialPatch {
                allowed_hosts: Some(allow_hosts),
                allow_http: (allow_http || https_only).then_some(allow_http),
                ..CredentialPatch::default()
            };
            let row = credentials::update(state, &actor, &row.name, patch).await?;
            warn(state, &row);
            if global.json {
                out::json(&credential_json(&row));
            } else {
                out::line(hosts_text(&row));
            }
        }
        CredentialCommand::Remove { name, confirmation } => {
            let name = name.get()?;
            let row = credential_row(&app, &actor, &name).await?;
            confirm(confirmation, &format!("remove the credential {} and its secret", row.name))?;
            credentials::remove(&state.audited, &actor, &name).await?;
            if global.json {
                out::json(&json!({ "removed": name }));
            } else {
                out::line(format_args!("removed {name}"));
            }
        }
        CredentialCommand::Show { name } => show(global, &app, &actor, &name.get()?).await?,
        CredentialCommand::Verify { name, url } => {
            let name = credential_row(&app, &actor, &name.get()?).await?.name;
            let status = verified(state, &actor, &name, url.as_deref()).await?;
            if global.json {
                out::json(&json!({ "name": name, "status": status, "ok": (200..400).contains(&status) }));
            } else {
                out::line(format_args!("the host answered {status}"));
            }
        }
    }
    app.gateway.audit.stop().await?;
    Ok(())
}

/// The credential with this name. The refusal names the nearest one, because the command line may list them all.
pub(super) async fn credential_row(app: &App, actor: &Actor, name: &str) -> Result<CredentialRow> {
    let (store, workspace) = (&app.gateway.store, actor.workspace);
    match credentials::get(store, workspace, name).await {
        Err(Error::NotFound(_)) => {
            let all = credentials::list(store, workspace).await?;
            let known = all.iter().map(|row| row.name.as_str());
            Err(Error::NotFound(Missing::with_name("credential", name, known)).into())
        }
        found => Ok(found?),
    }
}

/// Prints a credential without its secret.
async fn show(global: &Global, app: &App, actor: &Actor, name: &str) -> Result<()> {
    let row = credential_row(app, actor, name).await?;
    let store = &app.gateway.store;
    let policy = policies::get(store, actor.workspace, &row.name).await?.map(|(row, _)| row.version);
    let json_of = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let mut value = credential_json(&row);
    value["auth"] = row.auth.as_deref().map(json_of).unwrap_or_default();
    value["options"] = json_of(&row.options);
    value["has_secret"] = row.sealed_secret.is_some().into();
    value["updated_at"] = row.updated_at.to_rfc3339().into();
    value["verified_at"] = row.verified_at.map(UnixMillis::to_rfc3339).into();
    value["verified_status"] = row.verified_status.into();
    value["policy_version"] = policy.into();
    value["warnings"] = credentials::warnings(&app.gateway.keyring, &row).into();
    out::record(global.json, &value);
    Ok(())
}

/// Status of a probe. A failure to connect names the host.
async fn verified(state: &State, actor: &Actor, name: &str, url: Option<&str>) -> Result<u16> {
    match credentials::verify(state, actor, name, url).await {
        Err(error @ (Error::Unreachable(_) | Error::ConnectTimeout | Error::UpstreamTimeout)) => {
            let row = credentials::get(&state.store, actor.workspace, name).await?;
            let probed = url.map(str::to_owned).or_else(|| credentials::probe(&row));
            let dialed = row.api_base.or(probed).unwrap_or_default();
            let host = Target::parse(&dialed).map_or(dialed, |target| target.authority().to_owned());
            Err(anyhow::Error::new(error).context(host))
        }
        done => Ok(done?),
    }
}

/// Prints warnings to standard error.
fn warn(state: &State, row: &CredentialRow) {
    for warning in credentials::warnings(&state.keyring, row) {
        out::notice(format_args!("warning: {warning}"));
    }
}

/// Hosts that a credential may be sent to, as a sentence.
fn hosts_text(row: &CredentialRow) -> String {
    let hosts: Vec<String> = serde_json::from_str(&row.allowed_hosts).unwrap_or_default();
    let scheme = if row.allow_http { "https and plain http" } else { "https only" };
    format!("{} may be sent to {} ({scheme})", row.name, hosts.join(", "))
}

fn build(input: AddCredential) -> Result<CredentialInput> {
    let AddCredential {
        name,
        description,
        auth,
        auth_json,
        preset,
        set,
        auth_name,
        auth_format,
        api_base,
        mut allow_hosts,
        allow_http,
        starter_policy,
        secret,
    } = input;
    let policy = starter_policy.then(|| policy_of(preset.as_deref())).transpose()?;
    let sidecar = api_base.is_some() && auth.is_some_and(|kind| kind.name == "oauth1");
    refuse_unused(auth, sidecar, &set, auth_name.as_deref(), auth_format.as_deref())?;
    let auth = match auth {
        None => Some(parse_auth(auth_json.as_deref(), preset.as_deref(), &set, &mut allow_hosts)?),
        Some(_) if sidecar => None,
        Some(kind) => Some(of_kind(kind, &set, auth_name, auth_format)?),
    };
    // A sidecar's token is optional: it is read only if a source is named.
    let wanted = !sidecar || secret.secret_file.is_some() || secret.secret_env.is_some();
    let secret = if wanted { read(&secret)? } else { None };
    Ok(CredentialInput {
        name: name.get()?,
        description,
        connector: if sidecar { Connector::Sidecar } else { Connector::Direct },
        api_base,
        auth,
        allowed_hosts: allow_hosts,
        allow_http,
        options: CredentialOptions::default(),
        secret: secret.as_ref().map(value).transpose()?,
        policy,
    })
}

/// The starter policy of a preset.
fn policy_of(preset: Option<&str>) -> Result<Policy> {
    let name = preset.context("--starter-policy needs --preset")?;
    Ok(find_preset(name)?.starter_policy().clone())
}

fn find_preset(name: &str) -> Result<&'static Preset> {
    pyxis_core::presets::find(name).with_context(|| {
        let suggestion = suggestion(name, pyxis_core::presets::all().iter().map(|preset| preset.id.as_str()));
        format!("unknown preset {name}{suggestion}; `pyxis credential presets` lists all")
    })
}

/// The kind from JSON or a preset; a preset's hosts apply if none were named.
fn parse_auth(
    json: Option<&str>,
    preset: Option<&str>,
    set: &[String],
    hosts: &mut Vec<String>,
) -> Result<Auth> {
    if let Some(text) = json {
        return serde_json::from_str(text).context("--auth-json is not a valid auth kind");
    }
    let name = preset.context("set --auth, --auth-json or --preset")?;
    let preset = find_preset(name)?;
    if hosts.is_empty() {
        if preset.hosts.is_empty() {
            bail!(
                "the preset {name} has no host, because each account has its own; set yours with --allow-host"
            );
        }
        hosts.clone_from(&preset.hosts);
    }
    filled(&preset.id, &preset.auth, set)
}

/// A new signing key, or an imported one.
fn signing_key(wanted: GenerateKey) -> Result<CredentialInput> {
    let GenerateKey { name, algorithm, description, import_file, import_env } = wanted;
    let algorithm = match algorithm {
        SigningAlgorithm::Ed25519 => KeyAlgorithm::Ed25519,
        SigningAlgorithm::Secp256k1 => KeyAlgorithm::Secp256k1,
        SigningAlgorithm::P256 => KeyAlgorithm::P256,
    };
    let source = SecretSource { secret_file: import_file, secret_env: import_env };
    let imported = source.secret_file.is_some() || source.secret_env.is_some();
    let secret = if imported { read(&source)? } else { None };
    Ok(CredentialInput {
        name: name.get()?,
        description,
        connector: Connector::Direct,
        api_base: None,
        auth: Some(Auth::SigningKey(TokenSigningKey { algorithm, public_key: None, address: None })),
        allowed_hosts: Vec::new(),
        allow_http: false,
        options: CredentialOptions::default(),
        secret: secret.as_ref().map(value).transpose()?,
        policy: None,
    })
}

fn credential_json(row: &CredentialRow) -> Value {
    let hosts: Value = serde_json::from_str(&row.allowed_hosts).unwrap_or_default();
    json!({
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "connector": row.connector,
        "api_base": row.api_base,
        "allowed_hosts": hosts,
        "allow_http": row.allow_http,
        "version": row.version,
        "created_at": row.created_at.to_rfc3339(),
        "last_used_at": row.last_used_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
    })
}

/// A JSON object holds several parts; anything else is the secret itself.
fn value(secret: &SecretString) -> Result<SecretValue> {
    let text = secret.expose();
    let object =
        text.trim_start().starts_with('{').then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    Ok(SecretValue::from_json(object.unwrap_or_else(|| Value::String(text.clone())))?)
}

/// The secret from a file, a variable, or a prompt. Never from the command line.
fn read(source: &SecretSource) -> Result<Option<SecretString>> {
    if let Some(path) = &source.secret_file {
        return read_secret(path).map(Some);
    }
    if let Some(name) = &source.secret_env {
        return read_variable(name, &ProcessEnv).map(Some);
    }
    prompt().map(Some)
}

fn prompt() -> Result<SecretString> {
    if std::io::stdin().is_terminal() {
        write!(std::io::stderr(), "secret (not shown): ")?;
        let text = rpassword::read_password().context("cannot read the secret")?;
        return clean_secret("the secret", text);
    }
    // Read to the end: a PEM key has several lines.
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).context("cannot read the secret")?;
    let secret = clean_secret("the secret", text)?;
    if secret.expose().is_empty() {
        bail!("no secret; give it with --secret-file or --secret-env, or on standard input");
    }
    Ok(secret)
}
