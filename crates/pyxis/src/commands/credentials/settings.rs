//! Settings of a credential's kind, from `--set FIELD=VALUE`, `--auth-name` and `--auth-format`.

use anyhow::{Context, Result, bail};
use pyxis_core::auth::{Auth, CredentialKind, KindField, KindInput};
use pyxis_core::nearest::suggestion;
use serde_json::{Map, Value, json};

/// The parts of `--set FIELD=VALUE`, each field once.
fn parts(set: &[String]) -> Result<Vec<(&str, &str)>> {
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for given in set {
        let (field, value) = given
            .split_once('=')
            .with_context(|| format!("--set {given}: write FIELD=VALUE, for example --set {given}=12"))?;
        if parts.iter().any(|(other, _)| *other == field) {
            bail!("--set names {field} twice; keep one");
        }
        parts.push((field, value));
    }
    Ok(parts)
}

/// Refuses options that would be ignored.
pub(super) fn refuse_unused(
    kind: Option<&CredentialKind>,
    is_sidecar: bool,
    set: &[String],
    name: Option<&str>,
    format: Option<&str>,
) -> Result<()> {
    let given = [("--auth-name", name), ("--auth-format", format)];
    let header = given.iter().find(|(_, value)| value.is_some()).map(|(option, _)| *option);
    match (kind, header) {
        _ if is_sidecar && !set.is_empty() => {
            bail!("--set has no use with --api-base: the sidecar has the settings; leave one of them out")
        }
        (_, Some(option)) if is_sidecar => {
            bail!("{option} has no use with --api-base: the sidecar signs; leave one of them out")
        }
        (None, Some(option)) => {
            bail!("{option} needs --auth; a preset or --auth-json already says where the secret goes")
        }
        _ => Ok(()),
    }
}

/// A preset's kind with the given parts filled in.
pub(super) fn filled(preset: &str, auth: &Auth, set: &[String]) -> Result<Auth> {
    let (parts, kind) = (parts(set)?, auth.kind());
    for (member, value) in &parts {
        if *member == "kind" {
            bail!("--set cannot change the preset's kind; use --auth-json for another kind");
        }
        check(&format!("the preset {preset}"), kind, member, value)?;
    }
    auth.with_parts(parts).with_context(|| format!("a value in --set does not fit the preset {preset}"))
}

/// A kind with the given settings; a header, or the only other setting, may also be given by its name alone.
pub(super) fn of_kind(
    kind: &CredentialKind,
    set: &[String],
    name: Option<String>,
    format: Option<String>,
) -> Result<Auth> {
    let mut members = Map::from_iter([("kind".to_owned(), Value::from(kind.name))]);
    for (member, value) in parts(set)? {
        check(&format!("--auth {}", kind.name), kind, member, value)?;
        members.insert(member.to_owned(), value.into());
    }
    if kind.headers.is_none() && format.is_some() {
        bail!("--auth {} takes no --auth-format; only header and hmac have one", kind.name);
    }
    match (kind.headers, name) {
        (None, Some(name)) => {
            let only = match kind.settings {
                [only] if !matches!(only.input, KindInput::Choice(_)) => only,
                _ => bail!("--auth {} takes no --auth-name; {}", kind.name, known(kind)),
            };
            if members.insert(only.member.to_owned(), name.into()).is_some() {
                bail!("--auth-name and --set {}=… say the same; keep one", only.member);
            }
        }
        (Some(used), Some(name)) => {
            let format = format.unwrap_or_else(|| used.format.to_owned());
            let mut header =
                Map::from_iter([("name".to_owned(), name.into()), ("format".to_owned(), format.into())]);
            if used.is_flat {
                members.append(&mut header);
            } else {
                members.insert("headers".to_owned(), json!([header]));
            }
        }
        (Some(used), None) => {
            bail!(
                "--auth {} needs --auth-name with the header, for example --auth-name {}",
                kind.name,
                used.name
            )
        }
        (None, None) => {}
    }
    let missing: Vec<String> = kind
        .settings
        .iter()
        .filter(|field| field.is_required() && !members.contains_key(field.member))
        .map(|field| format!("--set {}={}", field.member, example(field)))
        .collect();
    if !missing.is_empty() {
        bail!("--auth {} needs {}", kind.name, missing.join(" and "));
    }
    serde_json::from_value(Value::Object(members))
        .with_context(|| format!("a setting of --auth {} is not valid", kind.name))
}

/// An example of a value, or an ellipsis.
fn example(field: &KindField) -> &'static str {
    if field.example.is_empty() || field.example.contains(' ') { "…" } else { field.example }
}

/// Refuses a setting that a kind does not have, and a value that is none of its choices.
fn check(subject: &str, kind: &CredentialKind, member: &str, value: &str) -> Result<()> {
    let Some(field) = kind.settings.iter().find(|field| field.member == member) else {
        if kind.secret_fields().iter().any(|field| field.member == member) {
            bail!(
                "{member} belongs to the secret: give it by --secret-file, --secret-env or on standard input"
            );
        }
        let nearest = suggestion(member, kind.settings.iter().map(|field| field.member));
        bail!("{subject} has no setting {member}{nearest}; {}", known(kind));
    };
    if let KindInput::Choice(choices) = field.input
        && !choices.iter().any(|(choice, _)| *choice == value)
    {
        let names = || choices.iter().map(|(choice, _)| *choice);
        let nearest = suggestion(value, names());
        let all: Vec<&str> =
            names().map(|name| if name.is_empty() { "an empty value" } else { name }).collect();
        bail!("--set {member}={value}: {value} is not allowed{nearest}; write {}", all.join(" or "));
    }
    if value.is_empty() && field.is_required() {
        bail!("--set {member}= has no value; write for example --set {member}={}", example(field));
    }
    Ok(())
}

/// The settings that a kind has.
fn known(kind: &CredentialKind) -> String {
    let known: Vec<&str> = kind.settings.iter().map(|field| field.member).collect();
    if known.is_empty() { "it has no settings".to_owned() } else { format!("it has {}", known.join(", ")) }
}
