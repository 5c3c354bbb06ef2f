//! Names of new things, as an argument or as an option.

use anyhow::{Result, bail};
use clap::Args;

/// Name of a credential to add.
#[derive(Debug, Args)]
pub struct NewCredentialName {
    /// Credential name.
    #[arg(value_name = "NAME", required_unless_present = "name_option")]
    name_argument: Option<String>,
    /// Credential name, instead of the argument.
    #[arg(long = "name", value_name = "NAME")]
    name_option: Option<String>,
}

impl NewCredentialName {
    /// The name; fails if argument and option differ.
    pub fn get(self) -> Result<String> {
        one("--name", self.name_argument, self.name_option)
    }
}

/// E-mail address of a person.
#[derive(Debug, Args)]
pub struct UserEmail {
    /// E-mail address.
    #[arg(value_name = "EMAIL", required_unless_present = "email_option")]
    email_argument: Option<String>,
    /// E-mail address, instead of the argument.
    #[arg(long = "email", value_name = "EMAIL")]
    email_option: Option<String>,
}

impl UserEmail {
    /// The address; fails if argument and option differ.
    pub fn get(self) -> Result<String> {
        one("--email", self.email_argument, self.email_option)
    }
}

/// The value that was given as an argument, as an option, or as both.
fn one(option: &str, argument: Option<String>, given: Option<String>) -> Result<String> {
    match (argument, given) {
        (Some(argument), Some(given)) if argument != given => {
            bail!("the argument {argument} and {option} {given} differ; keep one")
        }
        (Some(value), _) | (None, Some(value)) => Ok(value),
        (None, None) => bail!("{option} is missing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_an_argument_or_an_option_and_two_different_ones_are_refused() {
        let text = |text: &str| Some(text.to_owned());
        for (argument, given) in [(text("a"), None), (None, text("a")), (text("a"), text("a"))] {
            assert_eq!(one("--name", argument, given).unwrap(), "a");
        }
        let error = one("--name", text("a"), text("b")).unwrap_err();
        assert_eq!(error.to_string(), "the argument a and --name b differ; keep one");
        assert!(one("--name", None, None).is_err());
    }
}
