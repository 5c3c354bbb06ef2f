//! Reasons why a command did not do what it was asked: text for people, or JSON with `--json`.

use std::ffi::OsStr;
use std::process::ExitCode;

use anyhow::Error;
use clap::error::ErrorKind;
use pyxis_core::admin_error::AdminError;
use serde_json::{Value, json};

use super::{healthcheck, out};

/// Wrong usage.
const USAGE: u8 = 2;

/// Prints an error to standard error.
pub(super) fn print(as_json: bool, error: &Error) {
    let text = format!("{error:#}");
    if as_json {
        return out::notice(json_error(code(error), &text));
    }
    out::notice(format_args!("error: {text}"));
}

/// Prints why there was nothing to do.
pub(super) fn print_nothing_to_do(as_json: bool, why: &str) {
    if as_json {
        return out::notice(json_error(Some("nothing_to_do"), why));
    }
    out::notice(why);
}

/// Prints the fault of a command line, or the help and version that it asks for.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    let is_fault = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if is_fault && let Some(code) = healthcheck::usage(error, wants_json(std::env::args_os())) {
        return code;
    }
    if is_fault && wants_json(std::env::args_os()) {
        let text = error.render().to_string();
        let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        out::notice(json_error(Some("usage"), text));
        return ExitCode::from(USAGE);
    }
    error.exit()
}

/// True if `--json` is among the options. What follows `--` belongs to another program.
fn wants_json(arguments: impl Iterator<Item: AsRef<OsStr>>) -> bool {
    let mut own = arguments.take_while(|argument| argument.as_ref() != "--");
    own.any(|argument| argument.as_ref() == "--json")
}

/// Code of the API's error behind this one.
fn code(error: &Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        let of_gateway = cause.downcast_ref::<pyxis_gateway::Error>().map(pyxis_gateway::Error::code);
        let is_missing = matches!(cause.downcast_ref::<AdminError>(), Some(AdminError::NotFound(_)));
        of_gateway.or(is_missing.then_some("not_found"))
    })
}

fn json_error(code: Option<&str>, message: &str) -> Value {
    match code {
        Some(code) => json!({ "error": { "code": code, "message": message } }),
        None => json!({ "error": { "message": message } }),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn the_code_of_the_api_is_found_under_added_context() {
        let missing = pyxis_gateway::Error::not_found("agent");
        let error = Err::<(), _>(missing).context("--agent").unwrap_err();
        assert_eq!(code(&error), Some("not_found"));
        assert_eq!(code(&AdminError::not_found("issuer").into()), Some("not_found"));
        assert_eq!(code(&anyhow::anyhow!("no terminal")), None);
        let told = json_error(None, "no terminal").to_string();
        assert_eq!(told, r#"{"error":{"message":"no terminal"}}"#);
    }

    #[test]
    fn the_options_of_a_program_that_is_run_are_not_ours() {
        let wants = |words: &[&str]| wants_json(words.iter());
        assert!(wants(&["pyxis", "agent", "lst", "--json"]));
        assert!(!wants(&["pyxis", "run", "--", "gh", "--json"]));
    }
}
