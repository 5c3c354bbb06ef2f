//! Credentials from the environment: four variables each (`docs/reference/signer.md#credentials`).

use std::collections::BTreeMap;

use pyxis_core::auth::WithoutToken;
use pyxis_core::secret::{BadEntry, SecretString, clean_input};
use pyxis_signing::oauth1::Tokens;

/// Prefix of every credential variable.
const PREFIX: &str = "OAUTH_CRED_";
const CONSUMER_KEY: &str = "_CONSUMER_KEY";
const CONSUMER_SECRET: &str = "_CONSUMER_SECRET";
const TOKEN: &str = "_ACCESS_TOKEN";
const TOKEN_SECRET: &str = "_ACCESS_TOKEN_SECRET";
/// Suffix of the optional variable that sets the form of `oauth_token` without an access token.
const WITHOUT_TOKEN: &str = "_WITHOUT_TOKEN";
const SUFFIXES: [&str; 4] = [CONSUMER_KEY, CONSUMER_SECRET, TOKEN, TOKEN_SECRET];

/// Configuration error that prevents a signer from starting. Names variables, never values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// A required variable of a set is missing.
    #[error(
        "{found} is set but {missing} is not: a credential needs all four variables; set it, empty if the credential has no access token"
    )]
    Incomplete {
        /// The variable through which the set was found.
        found: String,
        /// The missing variable.
        missing: String,
    },
    /// The variable must not be empty.
    #[error("{0} is empty: every credential has a consumer key and a consumer secret")]
    Empty(String),
    /// A value that is obviously a mistake.
    #[error("{variable} {error}")]
    Entry {
        /// Name of the variable.
        variable: String,
        /// Problem with the value.
        error: BadEntry,
    },
    /// Two sets with the same credential name.
    #[error("{first} and {second} are the same credential, {name}: remove or rename one of the sets")]
    Collision {
        /// A variable of the first set.
        first: String,
        /// A variable of the second set.
        second: String,
        /// The name that requests would use for either.
        name: String,
    },
    /// The value is not one of the variable's choices.
    #[error(
        "{0} must be omit or empty: for a request without an access token, omit oauth_token or send it empty"
    )]
    Choice(String),
    /// The credential name is empty or cannot be used in a request.
    #[error(
        "{0} names no credential: write OAUTH_CRED_<NAME>_CONSUMER_KEY with a name of letters, digits and _"
    )]
    Name(String),
}

/// Loaded credentials by folded name.
#[derive(Debug, Default)]
pub struct Credentials(BTreeMap<String, Tokens>);

/// Result of reading the environment.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Complete credentials.
    pub credentials: Credentials,
    /// Variables that belong to no set, probably a mistake.
    pub stray: Vec<String>,
}

impl Credentials {
    /// Reads the variables that start with `OAUTH_CRED_` and ignores all others.
    pub fn discover(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Discovered, EnvironmentError> {
        let variables: BTreeMap<String, SecretString> = variables
            .into_iter()
            .filter(|(name, _)| name.starts_with(PREFIX))
            .map(|(name, value)| (name, SecretString::new(value)))
            .collect();
        let mut found: BTreeMap<String, (&str, Tokens)> = BTreeMap::new();
        for variable in variables.keys().filter(|name| part(name, CONSUMER_KEY).is_some()) {
            let (name, tokens) = read(&variables, variable)?;
            if let Some((first, _)) = found.insert(name.clone(), (variable, tokens)) {
                let (first, second) = (first.to_owned(), variable.clone());
                return Err(EnvironmentError::Collision { first, second, name: environment_name(&name) });
            }
        }
        let stray = variables.keys().filter(|name| is_stray(name, &variables)).cloned().collect();
        let tokens = found.into_iter().map(|(name, (_, tokens))| (name, tokens)).collect();
        Ok(Discovered { credentials: Self(tokens), stray })
    }

    /// Looks up a credential by name. Ignores case and treats `-` and `.` as `_`.
    pub(crate) fn find(&self, name: &str) -> Option<&Tokens> {
        self.0.get(&normalize_name(name))
    }

    /// All names, in lower case with `-`.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().map(|name| environment_name(name)).collect()
    }
}

/// Reads the credential of the consumer key variable `found`, with its folded name.
fn read(
    variables: &BTreeMap<String, SecretString>,
    found: &str,
) -> Result<(String, Tokens), EnvironmentError> {
    let name = part(found, CONSUMER_KEY).unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(EnvironmentError::Name(found.to_owned()));
    }
    let value = |suffix: &str| {
        let variable = format!("{PREFIX}{name}{suffix}");
        match variables.get(&variable) {
            Some(value) => match clean_input(value.expose()) {
                Ok(meant) => Ok((variable, SecretString::new(meant.to_owned()))),
                Err(error) => Err(EnvironmentError::Entry { variable, error }),
            },
            None => Err(EnvironmentError::Incomplete { found: found.to_owned(), missing: variable }),
        }
    };
    let filled = |suffix: &str| {
        let (variable, value) = value(suffix)?;
        if value.expose().is_empty() { Err(EnvironmentError::Empty(variable)) } else { Ok(value) }
    };
    let variable = format!("{PREFIX}{name}{WITHOUT_TOKEN}");
    let without_token = match variables.get(&variable) {
        None => WithoutToken::Omit,
        Some(value) => {
            WithoutToken::parse(value.expose().trim()).ok_or(EnvironmentError::Choice(variable))?
        }
    };
    let tokens = Tokens {
        without_token,
        consumer_key: filled(CONSUMER_KEY)?.expose().clone(),
        consumer_secret: filled(CONSUMER_SECRET)?,
        token: value(TOKEN)?.1.clone(),
        token_secret: value(TOKEN_SECRET)?.1,
    };
    Ok((normalize_name(name), tokens))
}

/// The part between prefix and suffix.
fn part<'a>(variable: &'a str, suffix: &str) -> Option<&'a str> {
    variable.strip_prefix(PREFIX)?.strip_suffix(suffix)
}

fn is_stray(variable: &str, variables: &BTreeMap<String, SecretString>) -> bool {
    !SUFFIXES
        .iter()
        .chain(&[WITHOUT_TOKEN])
        .filter_map(|suffix| part(variable, suffix))
        .any(|name| variables.contains_key(&format!("{PREFIX}{name}{CONSUMER_KEY}")))
}

/// Normalizes all spellings of a credential name.
fn normalize_name(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '-' | '.') { '_' } else { c.to_ascii_uppercase() }).collect()
}

fn environment_name(folded: &str) -> String {
    folded.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discover(variables: &[(&str, &str)]) -> Result<Discovered, EnvironmentError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Credentials::discover(variables.iter().map(owned))
    }

    fn set<'a>(name: &'a str, values: [&'a str; 4]) -> Vec<(String, String)> {
        let variable = |(suffix, value): (&str, &str)| (format!("{PREFIX}{name}{suffix}"), value.to_owned());
        SUFFIXES.into_iter().zip(values).map(variable).collect()
    }

    #[test]
    fn a_name_is_found_whatever_its_case_and_separators() {
        let found = Credentials::discover(set("MY_APP", ["k", "s", "t", "ts"])).unwrap().credentials;
        for name in ["my-app", "my_app", "MY_APP", "My.App"] {
            assert_eq!(found.find(name).unwrap().consumer_key, "k", "{name}");
        }
        assert!(found.find("myapp").is_none() && found.find("").is_none());
        assert_eq!(found.names(), ["my-app"]);
    }

    #[test]
    fn an_empty_token_is_two_legged_but_an_unset_one_stops_the_start() {
        let two_legged = Credentials::discover(set("A", ["k", "s", "", ""])).unwrap();
        assert_eq!(two_legged.credentials.find("a").unwrap().token.expose(), "");
        for missing in &SUFFIXES[1..] {
            let mut variables = set("A", ["k", "s", "t", "ts"]);
            variables.retain(|(name, _)| *name != format!("{PREFIX}A{missing}"));
            let error = Credentials::discover(variables).unwrap_err();
            assert!(error.to_string().contains(&format!("{PREFIX}A{missing} is not")), "{error}");
        }
    }

    #[test]
    fn a_credential_may_say_what_stands_for_a_token_that_there_is_not() {
        let with = |value: &str| {
            let mut variables = set("A", ["k", "s", "", ""]);
            variables.push(("OAUTH_CRED_A_WITHOUT_TOKEN".to_owned(), value.to_owned()));
            Credentials::discover(variables)
        };
        let usual = Credentials::discover(set("A", ["k", "s", "", ""])).unwrap().credentials;
        assert_eq!(usual.find("a").unwrap().without_token, WithoutToken::Omit);
        for (value, expected) in [("omit", WithoutToken::Omit), ("empty", WithoutToken::Empty)] {
            let found = with(value).unwrap();
            assert_eq!(found.credentials.find("a").unwrap().without_token, expected);
            assert!(found.stray.is_empty(), "{:?}", found.stray);
        }
        for wrong in ["", "true", "EMPTY"] {
            let error = with(wrong).unwrap_err();
            assert!(
                error.to_string().contains("OAUTH_CRED_A_WITHOUT_TOKEN must be omit or empty"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_empty_consumer_key_or_secret_stops_the_start() {
        for values in [["", "s", "t", "ts"], ["k", "", "t", "ts"]] {
            let error = Credentials::discover(set("A", values)).unwrap_err();
            assert!(matches!(error, EnvironmentError::Empty(_)), "{error}");
        }
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_are_cut_and_control_characters_are_refused_by_variable() {
        let found =
            Credentials::discover(set("A", ["\u{feff}k\n", "s\r\n", "t\n", "\n"])).unwrap().credentials;
        let tokens = found.find("a").unwrap();
        assert_eq!((tokens.consumer_key.as_str(), tokens.token.expose().as_str()), ("k", "t"));
        assert_eq!(
            (tokens.consumer_secret.expose().as_str(), tokens.token_secret.expose().as_str()),
            ("s", "")
        );
        for place in 0..4 {
            let mut values = ["k", "s", "t", "ts"];
            values[place] = "ca\nary";
            let error = Credentials::discover(set("A", values)).unwrap_err().to_string();
            assert!(
                error.contains(SUFFIXES[place]) && error.contains("U+000A") && !error.contains("nary"),
                "{error}"
            );
        }
        let empty = Credentials::discover(set("A", ["k", "\n", "t", "ts"])).unwrap_err();
        assert!(matches!(empty, EnvironmentError::Empty(_)), "{empty}");
    }

    #[test]
    fn sets_that_mean_the_same_name_collide() {
        let variables = [set("MY_APP", ["k", "s", "t", "ts"]), set("my-app", ["k", "s", "t", "ts"])];
        let error = Credentials::discover(variables.concat()).unwrap_err();
        assert!(error.to_string().contains("my-app"), "{error}");
    }

    #[test]
    fn variables_without_a_consumer_key_are_strays() {
        let found = discover(&[("OAUTH_CRED_X_ACCESS_TOKEN", "t"), ("OTHER", "x")]).unwrap();
        assert_eq!(found.stray, ["OAUTH_CRED_X_ACCESS_TOKEN"]);
        assert!(found.credentials.names().is_empty());
    }

    #[test]
    fn a_set_without_a_name_stops_the_start() {
        let error = discover(&[("OAUTH_CRED__CONSUMER_KEY", "k")]).unwrap_err();
        assert!(matches!(error, EnvironmentError::Name(_)), "{error}");
    }

    #[test]
    fn no_error_repeats_a_value() {
        let mut variables = set("A", ["canary-k", "canary-s", "canary-t", "canary-ts"]);
        variables.pop();
        let error = Credentials::discover(variables).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("canary"));
    }
}
