//! Variables that no setting has, named before a command runs.

use super::out;
use crate::cli::{Cli, Command, ConfigCommand};
use crate::config::env::ProcessEnv;
use crate::config::warnings::unknown_variables;

/// Warns about them on standard error, for people. A misspelled variable has no effect, which no one would notice.
pub(super) fn warn(cli: &Cli) {
    if cli.global.json || reports_itself(&cli.command) {
        return;
    }
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    for found in unknown_variables(&ProcessEnv) {
        if !is_named(&found.place, &arguments) {
            out::notice(format_args!("warning: {}: {}; {}", found.place, found.message, found.fix));
        }
    }
}

/// True for commands whose own log or report has these warnings, and for those whose output a shell or package reads.
fn reports_itself(command: &Command) -> bool {
    matches!(
        command,
        Command::Serve { .. }
            | Command::Quickstart { .. }
            | Command::Doctor
            | Command::Config(ConfigCommand::Check)
            | Command::Completions { .. }
            | Command::Man { .. }
    )
}

/// True if an option names the variable, for example `--token-env PX_MINE` or `--encryption-key=env:PX_MINE`.
fn is_named(variable: &str, arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.rsplit(['=', ':']).next() == Some(variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_an_option_names_is_meant() {
        let named = |argument: &str| is_named("PX_MINE", &["pyxis".to_owned(), argument.to_owned()]);
        for argument in ["PX_MINE", "--token-env=PX_MINE", "env:PX_MINE", "--encryption-key=env:PX_MINE"] {
            assert!(named(argument), "{argument}");
        }
        for argument in ["PX_MINE_TOO", "--token-env", "MINE"] {
            assert!(!named(argument), "{argument}");
        }
    }
}
