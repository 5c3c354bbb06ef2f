//! Imports credentials from a `.env` file. Presets define which variables belong to which credential.

use std::collections::BTreeMap;

use pyxis_core::auth::{Auth, Connector};
use pyxis_core::dotenv::{self, Variable};
use pyxis_core::presets::{self, Preset};
use zeroize::Zeroizing;

use super::credentials::{self, CredentialInput};
use crate::error::{Error, Result};
use crate::runtime::resolve::CredentialOptions;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;
use pyxis_core::actor::Actor;

/// Import result of one line. Contains names of variables and credentials, never a value.
#[derive(Debug)]
pub struct ImportLine {
    /// Line number, from 1.
    pub number: usize,
    /// Variable name. `None` if the line sets none; its text may then be part of a secret.
    pub variable: Option<String>,
    /// Credential name. `None` if no preset knows the variable.
    pub credential: Option<&'static str>,
    /// Result of the line.
    pub outcome: ImportOutcome,
}

/// Result of importing a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The credential was stored.
    Stored,
    /// The credential was stored, but its secret is too short to be searched for in responses.
    StoredShort,
    /// A credential with this name already exists and was left unchanged.
    Exists,
    /// The credential also needs these variables.
    NeedsMore(Vec<&'static str>),
    /// The values do not match the credential, with details if known.
    Unfit(Option<String>),
    /// No preset knows the variable.
    Unknown,
    /// The line sets no variable.
    Unreadable,
}

impl ImportOutcome {
    /// A short description.
    pub fn describe(&self) -> String {
        match self {
            Self::Stored => "stored".to_owned(),
            Self::StoredShort => {
                "stored, but the secret is too short to be searched for in responses".to_owned()
            }
            Self::Exists => "already exists, unchanged".to_owned(),
            Self::NeedsMore(names) => format!("also needs {}", names.join(" and ")),
            Self::Unfit(None) => "skipped: the values are not valid".to_owned(),
            Self::Unfit(Some(why)) => format!("skipped: {why}"),
            Self::Unknown => "skipped: no preset uses it".to_owned(),
            Self::Unreadable => "skipped: sets no variable".to_owned(),
        }
    }
}

/// Stores a credential for each preset whose variables are set. Existing names are left unchanged.
pub async fn import(state: &State, actor: &Actor, text: &str) -> Result<Vec<ImportLine>> {
    let read = dotenv::read(text);
    let left_out = |&number: &usize| ImportLine {
        number,
        variable: None,
        credential: None,
        outcome: ImportOutcome::Unreadable,
    };
    let mut lines: Vec<ImportLine> = read.unreadable.iter().map(left_out).collect();
    let unknown = read.variables.iter().filter(|found| presets::of_variable(found.name).is_none());
    lines.extend(unknown.map(|found| line(found, None, ImportOutcome::Unknown)));
    for preset in presets::all() {
        let known = |found: &&Variable<'_>| preset.variables().any(|name| name == found.name);
        let found: Vec<&Variable<'_>> = read.variables.iter().filter(known).collect();
        // Either each variable is a whole secret, or all of them are parts of one.
        let together = if preset.env_fields.is_empty() { 1 } else { found.len().max(1) };
        for found in found.chunks(together) {
            lines.extend(import_credential(state, actor, preset, found).await?);
        }
    }
    lines.sort_by_key(|line| line.number);
    Ok(lines)
}

/// Imports the variables of one credential.
async fn import_credential(
    state: &State,
    actor: &Actor,
    preset: &'static Preset,
    found: &[&Variable<'_>],
) -> Result<Vec<ImportLine>> {
    let mut used = Vec::new();
    let outcome = match input(preset, found, &mut used) {
        Err(outcome) => outcome,
        Ok(input) => match credentials::create(state, actor, input).await {
            Ok(row) if credentials::warnings(&state.keyring, &row).is_empty() => ImportOutcome::Stored,
            Ok(_) => ImportOutcome::StoredShort,
            Err(Error::NameTaken(_)) => ImportOutcome::Exists,
            // The service never repeats a value of a secret.
            Err(Error::InvalidField { field, detail }) if field.starts_with("secret") => {
                ImportOutcome::Unfit(Some(format!("{field}: {detail}")))
            }
            Err(Error::InvalidField { .. }) => ImportOutcome::Unfit(None),
            Err(error) => return Err(error),
        },
    };
    let lines = found.iter().map(|found| {
        // If two variables have the same meaning, only the other one was stored.
        let stored = matches!(outcome, ImportOutcome::Stored | ImportOutcome::StoredShort);
        let spare = stored && !used.contains(&found.line);
        line(found, Some(preset), if spare { ImportOutcome::Exists } else { outcome.clone() })
    });
    Ok(lines.collect())
}

fn line(found: &Variable<'_>, preset: Option<&'static Preset>, outcome: ImportOutcome) -> ImportLine {
    let credential = preset.map(|preset| preset.id.as_str());
    ImportLine { number: found.line, variable: Some(found.name.to_owned()), credential, outcome }
}

/// Builds the credential from its variables. `used` receives the lines that were used.
fn input(
    preset: &'static Preset,
    found: &[&Variable<'_>],
    used: &mut Vec<usize>,
) -> std::result::Result<CredentialInput, ImportOutcome> {
    let (auth, secret) = match found {
        [whole] if preset.env_fields.is_empty() => {
            used.push(whole.line);
            (preset.auth.clone(), SecretValue::Text(whole.value.expose().clone()))
        }
        _ => combined(preset, found, used)?,
    };
    Ok(CredentialInput {
        name: preset.id.clone(),
        description: preset.name.clone(),
        connector: Connector::Direct,
        api_base: None,
        auth: Some(auth),
        allowed_hosts: preset.hosts.clone(),
        allow_http: false,
        options: CredentialOptions::default(),
        secret: Some(secret),
        policy: None,
    })
}

/// Combines an authentication kind and a secret from their parts.
fn combined(
    preset: &'static Preset,
    found: &[&Variable<'_>],
    used: &mut Vec<usize>,
) -> std::result::Result<(Auth, SecretValue), ImportOutcome> {
    let mut value = |name: &str| {
        let variable = found.iter().find(|variable| variable.name == name)?;
        used.push(variable.line);
        Some(variable.value.expose().as_str())
    };
    let (mut parts, mut missing) = (BTreeMap::new(), Vec::new());
    for (part, template) in &preset.env_fields {
        match template.fill(&mut value) {
            Ok(text) => drop(parts.insert(part.as_str(), text)),
            Err(name) => missing.push(name),
        }
    }
    for (part, template) in &preset.env_optional {
        parts.extend(template.fill(&mut value).map(|text| (part.as_str(), text)));
    }
    if !missing.is_empty() {
        return Err(ImportOutcome::NeedsMore(missing));
    }
    let of_auth =
        parts.iter().filter_map(|(part, text)| Some((part.strip_prefix("auth.")?, text.expose().as_str())));
    let auth = preset.auth.with_parts(of_auth).map_err(|_| ImportOutcome::Unfit(None))?;
    let named = parts.iter().filter_map(|(part, text)| Some((part.strip_prefix("secret.")?, text)));
    let secret = match parts.get("secret") {
        Some(whole) => SecretValue::Text(whole.expose().clone()),
        None => SecretValue::Fields(
            named.map(|(name, text)| (name.to_owned(), Zeroizing::new(text.expose().clone()))).collect(),
        ),
    };
    Ok((auth, secret))
}

#[cfg(test)]
mod tests {
    use pyxis_core::secret::SecretString;

    use super::*;
    use crate::credentials::kinds;

    const KEY: &str = include_str!("../../../pyxis-signing/data/rsa.pem");

    #[test]
    fn the_variables_of_every_preset_make_what_its_kind_needs_and_a_missing_one_is_named() {
        for preset in presets::all().iter().filter(|preset| !preset.env_fields.is_empty()) {
            let usual = preset.env_fields.values().filter_map(|template| template.variables().next());
            let variables: Vec<Variable<'static>> = usual
                .enumerate()
                .map(|(line, name)| {
                    let value = if name.ends_with("PRIVATE_KEY") { KEY } else { "x" };
                    Variable { line, name, value: SecretString::new(value.to_owned()) }
                })
                .collect();
            let found: Vec<&Variable<'_>> = variables.iter().collect();
            let made = input(preset, &found, &mut Vec::new()).unwrap();
            let (auth, secret) = (made.auth.unwrap(), made.secret.unwrap());
            kinds::behavior(&auth).check(&secret).unwrap();
            let written = serde_json::to_string(&auth).unwrap();
            assert!(!written.contains(":\"\""), "an empty part: {written}");
            for (place, missing) in variables.iter().enumerate() {
                let mut others = found.clone();
                others.remove(place);
                let outcome = input(preset, &others, &mut Vec::new()).unwrap_err();
                assert_eq!(outcome, ImportOutcome::NeedsMore(vec![missing.name]), "{}", preset.id);
            }
        }
    }
}
