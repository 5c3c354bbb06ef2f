//! Credentials from a `.env` file: a preset says which variable is whose.

use pyxis_core::auth::Connector;
use pyxis_core::dotenv::{self, Variable};
use pyxis_core::presets::{self, Preset};

use super::credentials::{self, CredentialInput};
use crate::actor::Actor;
use crate::error::{Error, Result};
use crate::resolve::CredentialOptions;
use crate::secret_value::SecretValue;
use crate::state::State;

/// What became of one line of a file. It names variables and credentials, never a value.
#[derive(Debug)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// The variable; `None` where the line sets none. Its text may be a piece of a secret then.
    pub variable: Option<String>,
    /// The credential; `None` where no preset knows the variable.
    pub credential: Option<&'static str>,
    /// How it went.
    pub outcome: Outcome,
}

/// How it went with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A credential was stored.
    Stored,
    /// One of that name is there, and was left as it is.
    Exists,
    /// The kind needs more than this one value.
    NeedsMore,
    /// No preset knows the variable.
    Unknown,
    /// The line sets no variable.
    Unreadable,
}

impl Outcome {
    /// In a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Exists => "exists already, left as it is",
            Self::NeedsMore => "needs more than this variable",
            Self::Unknown => "no preset knows it, left out",
            Self::Unreadable => "sets no variable, left out",
        }
    }
}

/// Stores a credential for each variable that a preset knows. Names that are taken are left alone.
pub async fn import(state: &State, actor: &Actor, text: &str) -> Result<Vec<Line>> {
    let read = dotenv::read(text);
    let left_out =
        |&number: &usize| Line { number, variable: None, credential: None, outcome: Outcome::Unreadable };
    let mut lines: Vec<Line> = read.unreadable.iter().map(left_out).collect();
    for found in &read.variables {
        lines.push(take(state, actor, found).await?);
    }
    lines.sort_by_key(|line| line.number);
    Ok(lines)
}

async fn take(state: &State, actor: &Actor, found: &Variable<'_>) -> Result<Line> {
    let preset = presets::of_variable(found.name);
    let outcome = match preset {
        None => Outcome::Unknown,
        Some(preset) => match credentials::create(state, actor, input(preset, found)).await {
            Ok(_) => Outcome::Stored,
            Err(Error::NameTaken(_)) => Outcome::Exists,
            Err(Error::InvalidField { .. }) => Outcome::NeedsMore,
            Err(error) => return Err(error),
        },
    };
    let credential = preset.map(|preset| preset.id.as_str());
    Ok(Line { number: found.line, variable: Some(found.name.to_owned()), credential, outcome })
}

fn input(preset: &Preset, found: &Variable<'_>) -> CredentialInput {
    CredentialInput {
        name: preset.id.clone(),
        description: preset.name.clone(),
        connector: Connector::Direct,
        api_base: None,
        auth: Some(preset.auth.clone()),
        allowed_hosts: preset.hosts.clone(),
        allow_http: false,
        options: CredentialOptions::default(),
        secret: Some(SecretValue::Text(found.value.expose().clone())),
    }
}
