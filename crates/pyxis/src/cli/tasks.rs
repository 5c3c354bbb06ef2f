//! `pyxis task`.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use pyxis_core::task::TaskState;

use super::confirmation::Confirmation;
use super::decisions::PersonOptions;

/// Subcommands of `pyxis task`.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// List tasks that you may decide, newest first.
    List {
        /// State of the tasks to list [default: all].
        #[arg(long, value_name = "STATE", value_parser = states())]
        state: Option<String>,
        #[command(flatten)]
        person: PersonOptions,
    },
    /// Show a task: its purpose, its actions and what they used.
    Show {
        /// Task id, or the link of its page.
        #[arg(value_name = "TASK")]
        task: String,
        #[command(flatten)]
        person: PersonOptions,
    },
    /// Show a proposed task, and approve it, whole or in part.
    Approve(ApproveTask),
    /// Deny a proposed task.
    Deny {
        /// Task id, or the link of its page.
        #[arg(value_name = "TASK")]
        task: String,
        /// Reason for the agent, at most 2000 bytes.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        #[command(flatten)]
        person: PersonOptions,
    },
    /// Stop a running task. Its requests need approval again, at once.
    Stop {
        /// Task id, or the link of its page.
        #[arg(value_name = "TASK")]
        task: String,
        #[command(flatten)]
        person: PersonOptions,
    },
}

/// Options of `pyxis task approve`.
#[derive(Debug, Args)]
pub struct ApproveTask {
    /// Task id, or the link of its page.
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Keep this action, by its number, with all its uses or with at most USES; repeat for more. The others are removed.
    #[arg(long, value_name = "ACTION[=USES]", value_parser = kept_action)]
    pub keep: Vec<KeptAction>,
    /// Length in minutes, at most as proposed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub minutes: Option<u32>,
    #[command(flatten)]
    pub confirmation: Confirmation,
    #[command(flatten)]
    pub person: PersonOptions,
}

/// An action that remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptAction {
    /// Number in the proposal, from 1.
    pub position: u32,
    /// Maximum number of uses; `None` as proposed.
    pub uses: Option<u32>,
}

/// `2` or `2=10`.
fn kept_action(text: &str) -> Result<KeptAction, String> {
    const HINT: &str = "write the number of an action, or with its uses, for example 2 or 2=10";
    let number = |text: &str| text.parse().map_err(|_| HINT.to_owned());
    match text.split_once('=') {
        None => Ok(KeptAction { position: number(text)?, uses: None }),
        Some((position, uses)) => Ok(KeptAction { position: number(position)?, uses: Some(number(uses)?) }),
    }
}

fn states() -> PossibleValuesParser {
    PossibleValuesParser::new(TaskState::ALL.iter().map(|state| state.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_kept_by_its_number_with_or_without_uses() {
        assert_eq!(kept_action("2"), Ok(KeptAction { position: 2, uses: None }));
        assert_eq!(kept_action("2=10"), Ok(KeptAction { position: 2, uses: Some(10) }));
        for wrong in ["", "two", "2=", "=10", "-1", "2=1=1", "2 = 10"] {
            assert!(kept_action(wrong).is_err(), "{wrong}");
        }
    }
}
