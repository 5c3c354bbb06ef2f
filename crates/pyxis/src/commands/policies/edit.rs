//! `pyxis policy edit`: the stored document in the person's editor.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use pyxis_core::policy::{Method, Policy};
use pyxis_gateway::admin::{policies, satisfiability};
use pyxis_gateway::{Actor, Error};
use pyxis_store::credentials::CredentialRow;
use similar::TextDiff;

use super::super::confirm::confirm;
use super::super::{AlreadySo, out};
use super::stored;
use crate::app::{self, App};
use crate::cli::{Confirmation, Global};
use crate::config::env::{Env, ProcessEnv};

/// Edits, checks, shows and stores the policy. A text that is not stored stays in its file.
pub(super) async fn run(
    global: &Global,
    app: &App,
    actor: &Actor,
    credential: &CredentialRow,
    confirmation: Confirmation,
) -> Result<()> {
    let (state, name) = (&app.gateway, &credential.name);
    let present = policies::get(&state.store, actor.workspace, name).await?;
    let base = present.as_ref().map_or(0, |(row, _)| row.version);
    let before = present.map_or_else(starting_point, |(_, policy)| policy);
    let before_text = text(&before)?;
    let draft = Draft::new(&app.config.data_dir, credential, &before_text)?;
    draft.edit()?;
    let after = draft.policy()?;
    let done = async {
        if base != 0 && after == before {
            return Err(AlreadySo("the policy is unchanged".to_owned()).into());
        }
        satisfiability::check(&state.store, actor.workspace, credential.id, &after).await?;
        out::notice(difference(&before_text, &text(&after)?, base == 0));
        confirm(confirmation, &format!("store this policy of {name}"))?;
        match policies::replace(state, actor, name, &after, base).await {
            Err(Error::Conflict(_)) => {
                Err(anyhow!("the policy of {name} has changed meanwhile; edit it again"))
            }
            done => Ok(done?),
        }
    };
    let version = match done.await {
        Ok(version) => version,
        Err(error) if error.is::<AlreadySo>() => {
            draft.remove();
            return Err(error);
        }
        Err(error) => return Err(draft.with_path(&error)),
    };
    draft.remove();
    stored(global, app, credential, &after, version).await
}

/// A first policy starts like the gated mode: reading passes.
fn starting_point() -> Policy {
    Policy { auto_approve_methods: vec![Method::Get], ..Policy::default() }
}

fn text(policy: &Policy) -> Result<String> {
    Ok(serde_json::to_string_pretty(policy)? + "\n")
}

/// The change as a unified diff; a first policy as a whole.
fn difference(before: &str, after: &str, is_first: bool) -> String {
    let before = if is_first { "" } else { before };
    let diff = TextDiff::from_lines(before, after);
    let shown = diff.unified_diff().context_radius(2).header("stored", "edited").to_string();
    shown.trim_end().to_owned()
}

/// A policy document in a file of the data directory, which only its owner can read.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn new(data_dir: &Path, credential: &CredentialRow, text: &str) -> Result<Self> {
        app::make_dir(data_dir)?;
        let path = std::path::absolute(data_dir)?.join(format!(
            "policy-{}-{}.json",
            credential.name,
            std::process::id()
        ));
        let create = || -> Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            Ok(file.write_all(text.as_bytes())?)
        };
        create().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path })
    }

    /// Runs the person's editor on the file until it ends.
    fn edit(&self) -> Result<()> {
        let chosen = ["VISUAL", "EDITOR"].into_iter().find_map(|name| ProcessEnv.var(name));
        let Some(editor) = chosen else {
            self.remove();
            bail!(
                "no editor: set EDITOR, for example EDITOR=nano, or use `pyxis policy show` and `pyxis policy set`"
            );
        };
        // The variable may have arguments, as `code --wait` has.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&self.path);
        let ended = command.status().with_context(|| format!("cannot run {editor}"));
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.with_path(&anyhow!("the editor {editor} failed ({status})"))),
            Err(error) => Err(self.with_path(&error)),
        }
    }

    fn policy(&self) -> Result<Policy> {
        let read = || -> Result<Policy> {
            let text =
                fs::read(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
            Ok(Policy::from_json(&text).map_err(policies::invalid)?)
        };
        read().map_err(|error| self.with_path(&error))
    }

    /// The error with the place of the text.
    fn with_path(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow!("{error:#}. Nothing was stored; your text is in {}", self.path.display())
    }

    fn remove(&self) {
        // A file that stays is harmless.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_line_by_line_and_a_first_policy_as_a_whole() {
        let before = text(&starting_point()).unwrap();
        let after = text(&Policy { min_approvals: 2, ..starting_point() }).unwrap();
        let shown = difference(&before, &after, false);
        assert!(
            shown.contains("-  \"min_approvals\": 1,") && shown.contains("+  \"min_approvals\": 2,"),
            "{shown}"
        );
        assert!(!shown.contains("deny_urls"), "{shown}");
        let whole = difference(&before, &after, true);
        assert!(whole.contains("+  \"deny_urls\": []") && !whole.contains("\n-"), "{whole}");
    }
}
