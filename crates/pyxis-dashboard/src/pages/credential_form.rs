//! Converts between the credential form and the service's input.

use std::collections::BTreeMap;

use pyxis_core::auth::{Auth, Connector, HeaderFormat, HeaderList, Headers, KeyAlgorithm, TokenSigningKey};
use pyxis_core::presets::Preset;
use pyxis_gateway::SecretValue;
use pyxis_store::credentials::CredentialRow;
use serde_json::{Map, Value, json};

use crate::form::Fields;
use crate::view::credentials::{CredentialForm, CredentialKind, Input, KindField};
use crate::view::{Choice, Problems};

/// The auth kind of a stored credential, and its configuration.
pub(super) struct Attached {
    pub(super) kind: CredentialKind,
    auth: Option<Auth>,
}

impl Attached {
    /// Reads a row. Anything unreadable counts as a bearer token without configuration.
    pub(super) fn of(row: &CredentialRow) -> Self {
        if row.connector == Connector::Sidecar {
            return Self { kind: CredentialKind::Sidecar, auth: None };
        }
        let auth: Option<Auth> = row.auth.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let kind = kind_of(auth.as_ref());
        Self { kind, auth }
    }

    /// True if a person can connect the account behind it.
    pub(super) fn is_connectable(&self) -> bool {
        matches!(&self.auth, Some(Auth::Oauth2Refresh(account)) if account.authorization_url.is_some())
    }

    /// `Bearer token`, `Header X-Api-Key`.
    pub(super) fn words(&self) -> String {
        match &self.auth {
            Some(Auth::Header(headers)) => {
                let names: Vec<_> = headers.list().iter().map(|header| header.name.as_str()).collect();
                let noun = if names.len() == 1 { "Header" } else { "Headers" };
                format!("{noun} {}", names.join(", "))
            }
            Some(Auth::Query { parameter }) => format!("Query parameter {parameter}"),
            Some(Auth::Cookie { name }) => format!("Cookie {name}"),
            Some(Auth::Basic {}) => "HTTP Basic".to_owned(),
            Some(Auth::SigningKey(key)) => signing_key_words(key),
            None if self.kind == CredentialKind::Sidecar => "Signing sidecar".to_owned(),
            Some(_) | None => self.kind.label().to_owned(),
        }
    }

    /// The form with the stored values; never a secret.
    pub(super) fn form(&self, row: &CredentialRow) -> CredentialForm {
        let mut form = CredentialForm {
            name: row.name.clone(),
            description: row.description.clone(),
            allowed_hosts: hosts(row).join("\n"),
            allow_http: row.allow_http,
            api_base: row.api_base.clone().unwrap_or_default(),
            ..CredentialForm::default()
        };
        self.fill(&mut form);
        form
    }

    /// Fills the fields that belong to the kind.
    fn fill(&self, form: &mut CredentialForm) {
        match &self.auth {
            Some(Auth::Header(headers)) => {
                form.headers = headers.list().iter().map(|h| (h.name.clone(), h.format.clone())).collect();
            }
            Some(Auth::Query { parameter }) => form.parameter.clone_from(parameter),
            Some(Auth::Cookie { name }) => form.cookie_name.clone_from(name),
            Some(Auth::SigningKey(key)) => key.algorithm.as_str().clone_into(&mut form.algorithm),
            Some(Auth::Bearer {} | Auth::Basic {}) | None => {}
            Some(described) => {
                if let Auth::Hmac(config) = described {
                    form.headers =
                        config.headers.iter().map(|h| (h.name.clone(), h.format.clone())).collect();
                }
                form.values = values(self.kind, described);
            }
        }
    }
}

/// The kind of a stored configuration.
const fn kind_of(auth: Option<&Auth>) -> CredentialKind {
    match auth {
        None | Some(Auth::Bearer {}) => CredentialKind::Bearer,
        Some(Auth::Header(_)) => CredentialKind::Header,
        Some(Auth::Basic {}) => CredentialKind::Basic,
        Some(Auth::Query { .. }) => CredentialKind::Query,
        Some(Auth::Cookie { .. }) => CredentialKind::Cookie,
        Some(Auth::SigningKey(_)) => CredentialKind::SigningKey,
        Some(Auth::Oauth1(_)) => CredentialKind::Oauth1,
        Some(Auth::AwsSigv4(_)) => CredentialKind::AwsSigv4,
        Some(Auth::Hmac(_)) => CredentialKind::Hmac,
        Some(Auth::Mtls {}) => CredentialKind::Mtls,
        Some(Auth::Oauth2Refresh(_)) => CredentialKind::Oauth2Refresh,
        Some(Auth::Oauth2ClientCredentials(_)) => CredentialKind::Oauth2ClientCredentials,
        Some(Auth::JwtBearer(_)) => CredentialKind::JwtBearer,
        Some(Auth::GithubApp(_)) => CredentialKind::GithubApp,
    }
}

/// Stored values by field name.
fn values(kind: CredentialKind, auth: &Auth) -> BTreeMap<&'static str, String> {
    let stored = serde_json::to_value(auth).unwrap_or_default();
    let value = |field: &KindField| Some((field.name, stored[field.name].as_str()?.to_owned()));
    kind.fields().iter().filter_map(value).collect()
}

/// The form of a preset, with everything but the secret.
pub(super) fn preset(preset: &Preset) -> (CredentialKind, CredentialForm) {
    let auth = Some(preset.auth.clone());
    let kind = kind_of(auth.as_ref());
    let mut form = CredentialForm {
        name: preset.id.clone(),
        description: preset.name.clone(),
        allowed_hosts: preset.hosts.join("\n"),
        ..CredentialForm::default()
    };
    Attached { kind, auth }.fill(&mut form);
    (kind, form)
}

/// `Signing key secp256k1, 0xf39F…`.
fn signing_key_words(key: &TokenSigningKey) -> String {
    let public = key.address.as_deref().or(key.public_key.as_deref()).unwrap_or_default();
    format!("Signing key {}, {public}", key.algorithm.as_str())
}

/// Allowed hosts of a row.
pub(super) fn hosts(row: &CredentialRow) -> Vec<String> {
    serde_json::from_str(&row.allowed_hosts).unwrap_or_default()
}

/// The form as typed, without its secrets.
pub(super) fn typed(kind: CredentialKind, fields: &Fields, problems: Problems) -> CredentialForm {
    CredentialForm {
        name: fields.trimmed("name"),
        description: fields.trimmed("description"),
        allowed_hosts: fields.text("allowed_hosts"),
        allow_http: fields.on("allow_http"),
        headers: headers(fields).into_iter().map(|header| (header.name, header.format)).collect(),
        parameter: fields.trimmed("parameter"),
        cookie_name: fields.trimmed("cookie_name"),
        algorithm: fields.trimmed("algorithm"),
        values: typed_values(kind.fields().iter().chain(kind.secret_fields()), fields),
        api_base: fields.trimmed("api_base"),
        problems,
    }
}

/// Typed values of the fields that are not secret.
pub(super) fn typed_values(
    described: impl IntoIterator<Item = &'static KindField>,
    fields: &Fields,
) -> BTreeMap<&'static str, String> {
    let shown = described.into_iter().filter(|field| !field.is_secret());
    shown.map(|field| (field.name, fields.text(field.name).trim().to_owned())).collect()
}

/// Auth configuration of a direct credential; `None` for a sidecar.
pub(super) fn auth(kind: CredentialKind, fields: &Fields) -> Result<Option<Auth>, Problems> {
    Ok(Some(match kind {
        CredentialKind::Oauth1
        | CredentialKind::AwsSigv4
        | CredentialKind::Hmac
        | CredentialKind::Mtls
        | CredentialKind::Oauth2Refresh
        | CredentialKind::Oauth2ClientCredentials
        | CredentialKind::JwtBearer
        | CredentialKind::GithubApp => described(kind, fields)?,
        CredentialKind::Bearer => Auth::Bearer {},
        CredentialKind::Basic => Auth::Basic {},
        CredentialKind::Query => Auth::Query { parameter: fields.trimmed("parameter") },
        CredentialKind::Cookie => Auth::Cookie { name: fields.trimmed("cookie_name") },
        CredentialKind::Header => {
            let mut headers = headers(fields);
            Auth::Header(match (headers.pop(), headers.is_empty()) {
                (Some(one), true) => Headers::One(one),
                (last, _) => {
                    headers.extend(last);
                    Headers::Several(HeaderList { headers })
                }
            })
        }
        CredentialKind::SigningKey => {
            let algorithm = match fields.get("algorithm") {
                "secp256k1" => KeyAlgorithm::Secp256k1,
                "p256" => KeyAlgorithm::P256,
                _ => KeyAlgorithm::Ed25519,
            };
            Auth::SigningKey(TokenSigningKey { algorithm, public_key: None, address: None })
        }
        CredentialKind::Sidecar => return Ok(None),
    }))
}

/// A configuration from its fields.
fn described(kind: CredentialKind, fields: &Fields) -> Result<Auth, Problems> {
    let mut members = members(kind.fields(), fields)?;
    members.insert("kind".to_owned(), kind.name().into());
    if kind == CredentialKind::Hmac {
        members.insert("headers".to_owned(), json!(headers(fields)));
    }
    // Only a choice value that is not ours can still be wrong.
    serde_json::from_value(Value::Object(members))
        .map_err(|_| one("name", "A choice is not one of those given."))
}

/// Typed values of some fields, by name; fails if a required one is missing.
fn members(described: &'static [KindField], fields: &Fields) -> Result<Map<String, Value>, Problems> {
    let (mut members, mut problems) = (Map::new(), Problems::default());
    for field in described {
        let text = fields.text(field.name);
        let text = if field.input == Input::Secret { text.trim_end_matches('\n') } else { text.trim() };
        if !text.is_empty() {
            members.insert(field.name.to_owned(), text.into());
        } else if !field.optional && !matches!(field.input, Input::Choice(_)) {
            problems.add(field.name, format!("{} is needed.", field.label));
        }
    }
    if problems.is_empty() { Ok(members) } else { Err(problems) }
}

/// The pairs with a name; an empty format is the secret alone.
fn headers(fields: &Fields) -> Vec<HeaderFormat> {
    fields
        .all("header_name")
        .zip(fields.all("header_format"))
        .map(|(name, format)| (name.trim(), format.trim()))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, format)| HeaderFormat {
            name: name.to_owned(),
            format: if format.is_empty() { "{secret}".to_owned() } else { format.to_owned() },
        })
        .collect()
}

/// The secret as typed; `None` if the field was empty.
pub(super) fn secret(kind: CredentialKind, fields: &Fields) -> Result<Option<SecretValue>, Problems> {
    if !kind.secret_fields().is_empty() {
        let object = Value::Object(members(kind.secret_fields(), fields)?);
        return SecretValue::from_json(object).map(Some).map_err(|_| one("name", "The secret is empty."));
    }
    let typed = fields.secret("secret");
    let value = match kind {
        CredentialKind::Basic => {
            let (username, password) = (fields.trimmed("username"), fields.secret("password"));
            if username.is_empty() {
                return Err(one("username", "Write the user name."));
            }
            json!({ "username": username, "password": password.expose() })
        }
        CredentialKind::Header if typed.expose().trim_start().starts_with('{') => {
            match serde_json::from_str::<Value>(typed.expose()) {
                Ok(object @ Value::Object(_)) => object,
                _ => return Err(one("secret", "Looks like a JSON object, but is not a valid one.")),
            }
        }
        _ if typed.expose().is_empty() => return Ok(None),
        _ => Value::String(typed.expose().clone()),
    };
    match SecretValue::from_json(value) {
        Ok(secret) => Ok(Some(secret)),
        Err(_) if kind == CredentialKind::Basic => Err(one("password", "Write the password.")),
        Err(_) => Err(one("secret", "Every field of the object must be a text, and none may be missing.")),
    }
}

fn one(field: &'static str, message: &str) -> Problems {
    let mut problems = Problems::default();
    problems.add(field, message);
    problems
}

/// Configuration and secret of a direct credential, or all of their problems.
pub(super) fn both(
    kind: CredentialKind,
    fields: &Fields,
) -> Result<(Option<Auth>, Option<SecretValue>), Problems> {
    match (auth(kind, fields), secret(kind, fields)) {
        (Ok(auth), Ok(secret)) => Ok((auth, secret)),
        (Err(mut problems), Err(more)) => {
            problems.extend(more);
            Err(problems)
        }
        (Err(problems), Ok(_)) | (Ok(_), Err(problems)) => Err(problems),
    }
}

/// The form's field for a field of the service.
pub(super) fn field(kind: CredentialKind, name: &str) -> &'static str {
    let member = name.split('.').nth(1).and_then(|member| kind.field(member));
    if let Some(field) = member {
        return field.name;
    }
    match (name, kind) {
        ("name", _) => "name",
        ("description", _) => "description",
        ("allowed_hosts", _) => "allowed_hosts",
        ("api_base", _) => "api_base",
        ("secret.username", _) => "username",
        ("secret.password", _) | (_, CredentialKind::Basic) => "password",
        ("auth", CredentialKind::Hmac) => "content",
        (name, CredentialKind::Header | CredentialKind::Hmac) if name.starts_with("auth") => "header_name",
        (name, CredentialKind::Query) if name.starts_with("auth") => "parameter",
        (name, CredentialKind::Cookie) if name.starts_with("auth") => "cookie_name",
        _ => kind.secret_fields().iter().find(|field| field.is_secret()).map_or("secret", |field| field.name),
    }
}

/// Puts the choice "any" in front of the names.
pub(super) fn any(
    label: &str,
    names: impl IntoIterator<Item = (String, String)>,
    chosen: &str,
) -> Vec<Choice> {
    let first = (String::new(), label.to_owned());
    std::iter::once(first)
        .chain(names)
        .map(|(value, label)| Choice { chosen: value == chosen, value, label })
        .collect()
}
