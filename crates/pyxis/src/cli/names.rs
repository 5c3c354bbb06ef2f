//! Names of the things that commands act on: an argument, or an option with the same value.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use anyhow::{Error, Result};
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use pyxis_core::stamp::StampName;
use pyxis_models::scope::Model;

/// Id of the argument.
const ARGUMENT: &str = "name_argument";
/// Id of the option.
const OPTION: &str = "name_option";
/// Id of both together, for options that need a name.
const GROUP: &str = "name_group";

/// The kind of thing that a command names, for help and errors.
pub trait NameLabel: Debug {
    /// A valid name.
    type Value: Clone + PartialEq + Debug + Display + Send + Sync + 'static;
    /// Placeholder in usage texts.
    const PLACEHOLDER: &'static str;
    /// Meaning, without a final period.
    const HELP: &'static str;
    /// The option, without its dashes. `--name` is always understood.
    const LONG: &'static str;

    /// Reads a name.
    fn parser() -> ValueParser;
}

macro_rules! labels {
    ($($(#[$doc:meta])* $label:ident = $long:literal, $placeholder:literal, $help:literal, $value:ty, $parser:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $label {}

        impl NameLabel for $label {
            type Value = $value;
            const PLACEHOLDER: &'static str = $placeholder;
            const HELP: &'static str = $help;
            const LONG: &'static str = $long;

            fn parser() -> ValueParser {
                $parser
            }
        }
    )*};
}

labels! {
    /// An agent.
    AgentLabel = "name", "NAME", "Agent name", String, ValueParser::string();
    /// An API key.
    ApiKeyLabel = "name", "NAME", "Name of the key", String, ValueParser::string();
    /// A stored credential.
    CredentialLabel = "name", "NAME", "Credential name", String, ValueParser::string();
    /// The display name of an issuer.
    IssuerLabel = "name", "NAME", "Display name", String, ValueParser::string();
    /// A model of wallet activity.
    ModelLabel = "model", "MODEL", "Built-in model that your model replaces", Model, ValueParser::new(model);
    /// A person, named by an e-mail address.
    PersonLabel = "email", "EMAIL", "E-mail address", String, ValueParser::string();
    /// A scorer.
    ScorerLabel = "name", "NAME", "Scorer name", String, ValueParser::string();
    /// An allow list, with the Stamp that it gives.
    ListLabel = "name", "NAME", "Name of the list and of its Stamp", StampName, ValueParser::new(StampName::from_str);
    /// An on-chain Stamp.
    StampLabel = "name", "NAME", "Name of the Stamp", StampName, ValueParser::new(StampName::from_str);
    /// A workspace.
    WorkspaceLabel = "name", "NAME", "Workspace name", String, ValueParser::string();
}

/// A model by its name, or the names of all.
pub(super) fn model(text: &str) -> Result<Model, String> {
    Model::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Model::ALL.iter().map(|model| model.as_str()).collect();
        format!("must be one of {}", names.join(", "))
    })
}

/// The name of the one thing that a command acts on. With `REQUIRED` false, the command can do without.
#[derive(Debug)]
pub struct NameArgument<L: NameLabel, const REQUIRED: bool = true> {
    argument: Option<L::Value>,
    option: Option<L::Value>,
}

/// A name that may be left out.
pub type OptionalName<L> = NameArgument<L, false>;

impl<L: NameLabel, const REQUIRED: bool> FromArgMatches for NameArgument<L, REQUIRED> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |id| matches.get_one::<L::Value>(id).cloned();
        Ok(Self { argument: value(ARGUMENT), option: value(OPTION) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<L: NameLabel, const REQUIRED: bool> Args for NameArgument<L, REQUIRED> {
    fn augment_args(command: Command) -> Command {
        let argument = Arg::new(ARGUMENT).value_name(L::PLACEHOLDER).value_parser(L::parser());
        let argument = if REQUIRED {
            argument.help(L::HELP).required_unless_present(OPTION)
        } else {
            argument.help(format!("{} [default: all]", L::HELP))
        };
        let option = Arg::new(OPTION).long(L::LONG).value_name(L::PLACEHOLDER).value_parser(L::parser());
        let option = option.help(format!("{}, instead of the argument", L::HELP));
        let option = if L::LONG == "name" { option } else { option.alias("name") };
        let group = ArgGroup::new(GROUP).args([ARGUMENT, OPTION]).multiple(true);
        command.arg(argument).arg(option).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<L: NameLabel> NameArgument<L> {
    /// The name. Fails if argument and option differ.
    pub fn get(self) -> Result<L::Value> {
        one(L::LONG, self.argument, self.option)?.ok_or_else(|| missing(&format!("--{}", L::LONG)))
    }

    /// The name, and the first of the values after it if the option has pushed that to the argument's place.
    pub fn split(self) -> Result<(L::Value, Option<L::Value>)> {
        match (self.argument, self.option) {
            (Some(first), Some(name)) if first != name => Ok((name, Some(first))),
            (argument, option) => Ok((Self { argument, option }.get()?, None)),
        }
    }
}

impl<L: NameLabel> OptionalName<L> {
    /// The name, if there is one. Fails if argument and option differ.
    pub fn get(self) -> Result<Option<L::Value>> {
        one(L::LONG, self.argument, self.option)
    }
}

impl<L: NameLabel<Value = String>> NameArgument<L> {
    /// The name and the values after it, which `labels` call in errors. If the option gives the name, the arguments
    /// may begin with the first of these values.
    pub fn with<T: From<String>, const N: usize>(
        self,
        values: [Option<T>; N],
        labels: [&str; N],
    ) -> Result<(String, [T; N])> {
        let mut values: Vec<T> = values.into_iter().flatten().collect();
        let name = match (self.argument, self.option) {
            (Some(first), Some(name)) if values.len() < N => {
                values.insert(0, first.into());
                name
            }
            (argument, option) => Self { argument, option }.get()?,
        };
        let label = labels.get(values.len()).copied().unwrap_or_default();
        let values = values.try_into().map_err(|_| missing(label))?;
        Ok((name, values))
    }
}

/// Wrong usage that is found after the command line was read. It ends the program as any other wrong usage does.
pub fn usage(kind: ErrorKind, text: &str) -> Error {
    clap::Error::raw(kind, format!("{text}\n")).into()
}

fn missing(what: &str) -> Error {
    usage(ErrorKind::MissingRequiredArgument, &format!("{what} is missing"))
}

/// The value that was given as an argument, as an option, or as both.
fn one<T: PartialEq + Display>(long: &str, argument: Option<T>, option: Option<T>) -> Result<Option<T>> {
    match (argument, option) {
        (Some(argument), Some(option)) if argument != option => {
            let text = format!("the argument {argument} and --{long} {option} differ; keep one");
            Err(usage(ErrorKind::ArgumentConflict, &text))
        }
        (argument, option) => Ok(argument.or(option)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(argument: Option<&str>, option: Option<&str>) -> NameArgument<AgentLabel> {
        NameArgument { argument: argument.map(str::to_owned), option: option.map(str::to_owned) }
    }

    #[test]
    fn a_name_may_be_an_argument_or_an_option_and_two_different_ones_are_refused() {
        for (argument, option) in [(Some("a"), None), (None, Some("a")), (Some("a"), Some("a"))] {
            assert_eq!(name(argument, option).get().unwrap(), "a");
        }
        let error = name(Some("a"), Some("b")).get().unwrap_err();
        assert_eq!(error.to_string(), "error: the argument a and --name b differ; keep one\n");
        assert!(name(None, None).get().is_err());
    }

    #[test]
    fn values_after_a_name_keep_their_order_when_the_option_names_the_thing() {
        let read = |argument, option, values: [Option<&str>; 2]| {
            let values = values.map(|value| value.map(str::to_owned));
            name(argument, option).with(values, ["METHOD", "URL"]).map_err(|error| error.to_string())
        };
        let expected = || Ok(("api".to_owned(), ["GET".to_owned(), "https://a.example".to_owned()]));
        assert_eq!(read(Some("api"), None, [Some("GET"), Some("https://a.example")]), expected());
        assert_eq!(read(Some("GET"), Some("api"), [Some("https://a.example"), None]), expected());
        assert_eq!(read(Some("api"), Some("api"), [Some("GET"), Some("https://a.example")]), expected());
        assert_eq!(read(Some("GET"), Some("api"), [None, None]), Err("error: URL is missing\n".to_owned()));
        assert_eq!(read(None, Some("api"), [None, None]), Err("error: METHOD is missing\n".to_owned()));
    }
}
