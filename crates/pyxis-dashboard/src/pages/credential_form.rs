//! Converts between the credential form and the service's input.

use std::collections::BTreeMap;

use pyxis_core::auth::{Auth, Connector, CredentialKind, HeaderFormat, KindField, KindInput, SecretForm};
use pyxis_core::presets::Preset;
use pyxis_gateway::SecretValue;
use pyxis_store::credentials::CredentialRow;
use serde_json::{Map, Value, json};

use crate::form::Fields;
use crate::view::credentials::CredentialForm;
use crate::view::{Choice, Problems};

/// The auth kind of a stored credential, and its configuration.
pub(super) struct Attached {
    pub(super) kind: &'static CredentialKind,
    auth: Option<Auth>,
}

impl Attached {
    /// Reads a row. Anything unreadable counts as a bearer token without configuration.
    pub(super) fn from_row(row: &CredentialRow) -> Self {
        if row.connector == Connector::Sidecar {
            return Self { kind: CredentialKind::SIDECAR, auth: None };
        }
        let auth: Option<Auth> = row.auth.as_deref().and_then(|text| serde_json::from_str(text).ok());
        Self { kind: auth.as_ref().map_or(CredentialKind::USUAL, Auth::kind), auth }
    }

    /// True if a person can connect the account behind it.
    pub(super) fn is_connectable(&self) -> bool {
        matches!(&self.auth, Some(Auth::Oauth2Refresh(account)) if account.authorization_url.is_some())
    }

    /// `Bearer token`, `Header X-Api-Key`.
    pub(super) fn summary(&self) -> String {
        match &self.auth {
            Some(auth) => auth.settings().summary().unwrap_or_else(|| self.kind.label.to_owned()),
            None if self.kind.connector == Connector::Sidecar => "Signing sidecar".to_owned(),
            None => self.kind.label.to_owned(),
        }
    }

    /// The form with the stored values; never a secret.
    pub(super) fn form(&self, row: &CredentialRow) -> CredentialForm {
        let mut form = CredentialForm {
            name: row.name.clone(),
            description: row.description.clone(),
            allowed_hosts: hosts(row).join("\n"),
            allow_http: row.allow_http,
            ..CredentialForm::default()
        };
        self.fill(&mut form);
        form.values.extend(row.api_base.clone().map(|url| ("api_base", url)));
        form
    }

    /// Fills the fields that belong to the kind.
    fn fill(&self, form: &mut CredentialForm) {
        let Some(auth) = &self.auth else { return };
        let stored = serde_json::to_value(auth).unwrap_or_default();
        let value = |field: &KindField| Some((field.name, stored[field.member].as_str()?.to_owned()));
        form.values = self.kind.settings.iter().filter_map(value).collect();
        if self.kind.headers.is_some() {
            form.headers = stored_headers(&stored);
        }
    }
}

/// Names and formats of a stored configuration, which writes a single header without a list.
fn stored_headers(stored: &Value) -> Vec<(String, String)> {
    let list = stored["headers"].as_array().map_or_else(|| std::slice::from_ref(stored), Vec::as_slice);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    list.iter().filter_map(|header| text(&header["name"]).zip(text(&header["format"]))).collect()
}

/// The form of a preset, with everything but the secret.
pub(super) fn preset(preset: &Preset) -> (&'static CredentialKind, CredentialForm) {
    let kind = preset.auth.kind();
    let mut form = CredentialForm {
        name: preset.id.clone(),
        description: preset.name.clone(),
        allowed_hosts: preset.hosts.join("\n"),
        ..CredentialForm::default()
    };
    Attached { kind, auth: Some(preset.auth.clone()) }.fill(&mut form);
    (kind, form)
}

/// Allowed hosts of a row.
pub(super) fn hosts(row: &CredentialRow) -> Vec<String> {
    serde_json::from_str(&row.allowed_hosts).unwrap_or_default()
}

/// The form as typed, without its secrets.
pub(super) fn typed(kind: &CredentialKind, fields: &Fields, problems: Problems) -> CredentialForm {
    CredentialForm {
        name: fields.trimmed("name"),
        description: fields.trimmed("description"),
        allowed_hosts: fields.text("allowed_hosts"),
        allow_http: fields.is_checked("allow_http"),
        headers: headers(fields).into_iter().map(|header| (header.name, header.format)).collect(),
        values: typed_values(kind.settings.iter().chain(kind.secret_fields()), fields),
        problems,
    }
}

/// Typed values of the fields that are not secret.
pub(super) fn typed_values(
    described: impl IntoIterator<Item = &'static KindField>,
    fields: &Fields,
) -> BTreeMap<&'static str, String> {
    let shown = described.into_iter().filter(|field| !field.is_unkept());
    shown.map(|field| (field.name, fields.text(field.name).trim().to_owned())).collect()
}

/// Auth configuration of a direct credential; `None` for a sidecar.
pub(super) fn auth(kind: &CredentialKind, fields: &Fields) -> Result<Option<Auth>, Problems> {
    if kind.connector == Connector::Sidecar {
        return Ok(None);
    }
    let mut members = members(kind.settings, fields)?;
    members.insert("kind".to_owned(), kind.name.into());
    if let Some(used) = kind.headers {
        let mut headers = headers(fields);
        match headers.pop().filter(|_| used.is_flat && headers.is_empty()) {
            Some(one) => {
                members.insert("name".to_owned(), one.name.into());
                members.insert("format".to_owned(), one.format.into());
            }
            None => drop(members.insert("headers".to_owned(), json!(self::headers(fields)))),
        }
    }
    // Only a choice value that is not ours can still be wrong.
    let auth = serde_json::from_value(Value::Object(members));
    auth.map(Some).map_err(|_| single_problem("name", "A choice is not one of those given."))
}

/// Typed values of some fields, by name; fails if a required one is missing.
fn members(described: &'static [KindField], fields: &Fields) -> Result<Map<String, Value>, Problems> {
    let (mut members, mut problems) = (Map::new(), Problems::default());
    for field in described {
        let text = fields.text(field.name);
        let text = if field.input == KindInput::Secret { text.trim_end_matches('\n') } else { text.trim() };
        if !text.is_empty() {
            members.insert(field.member.to_owned(), text.into());
        } else if let KindInput::Choice([(usual, _), ..]) = field.input {
            members.insert(field.member.to_owned(), (*usual).into());
        } else if !field.optional {
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
pub(super) fn secret(kind: &CredentialKind, fields: &Fields) -> Result<Option<SecretValue>, Problems> {
    if let SecretForm::Fields(described) = kind.secret {
        let object = Value::Object(members(described, fields)?);
        return SecretValue::from_json(object)
            .map(Some)
            .map_err(|_| single_problem("name", "The secret is empty."));
    }
    let typed = fields.secret("secret");
    if typed.expose().is_empty() {
        return Ok(None);
    }
    let may_be_object = matches!(kind.secret, SecretForm::TextOrObject(_));
    let value = if may_be_object && typed.expose().trim_start().starts_with('{') {
        match serde_json::from_str::<Value>(typed.expose()) {
            Ok(object @ Value::Object(_)) => object,
            _ => return Err(single_problem("secret", "Looks like a JSON object, but is not a valid one.")),
        }
    } else {
        Value::String(typed.expose().clone())
    };
    SecretValue::from_json(value).map(Some).map_err(|_| {
        single_problem("secret", "Every field of the object must be a text, and none may be missing.")
    })
}

fn single_problem(field: &'static str, message: &str) -> Problems {
    let mut problems = Problems::default();
    problems.add(field, message);
    problems
}

/// Configuration and secret of a direct credential, or all of their problems.
pub(super) fn both(
    kind: &CredentialKind,
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
pub(super) fn field(kind: &CredentialKind, name: &str) -> &'static str {
    let member = name.split('.').nth(1).and_then(|member| kind.field(member));
    if let Some(field) = member {
        return field.name;
    }
    match name {
        "name" => "name",
        "description" => "description",
        "allowed_hosts" => "allowed_hosts",
        "api_base" => "api_base",
        name if name.starts_with("auth.") && kind.headers.is_some() => "header_name",
        name if name.starts_with("auth") => kind.settings.first().map_or("header_name", |field| field.name),
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
