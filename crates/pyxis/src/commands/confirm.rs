//! Questions before a change that cannot be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Result, bail};

use crate::cli::Confirmation;

/// Asks the person at the terminal to confirm `action`, for example `remove the agent bot`. Fails if they decline, or
/// if no one can be asked.
pub(super) fn confirm(given: Confirmation, action: &str) -> Result<()> {
    if given.yes {
        return Ok(());
    }
    require_terminal(action)?;
    read_consent(action, &mut io::stdin().lock(), &mut io::stderr().lock())
}

/// Fails without a terminal, where no one can answer.
fn require_terminal(action: &str) -> Result<()> {
    if io::stdin().is_terminal() {
        return Ok(());
    }
    bail!("this would {action}, and there is no terminal to ask on; add --yes to do it without asking")
}

/// Only `y` and `yes` consent.
fn read_consent(action: &str, input: &mut impl BufRead, output: &mut impl Write) -> Result<()> {
    let mut letters = action.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let question: String = first.into_iter().chain(letters).collect();
    write!(output, "{question}? [y/N] ")?;
    output.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("canceled; nothing was changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_consents_and_silence_does_not() {
        let asked = |answer: &str| {
            let mut output = Vec::new();
            let done = read_consent("remove the agent bot", &mut answer.as_bytes(), &mut output);
            assert_eq!(String::from_utf8(output).unwrap(), "Remove the agent bot? [y/N] ");
            done.map_err(|error| error.to_string())
        };
        for yes in ["y\n", "Yes\r\n", " YES"] {
            assert_eq!(asked(yes), Ok(()), "{yes}");
        }
        for no in ["", "\n", "n\n", "yes please\n", "bot\n"] {
            assert_eq!(asked(no), Err("canceled; nothing was changed".to_owned()), "{no}");
        }
    }
}
