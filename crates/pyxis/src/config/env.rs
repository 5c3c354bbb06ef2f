//! The only place that reads the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// A source of environment variables.
pub trait Env {
    /// The value of a variable; empty counts as absent.
    fn var(&self, name: &str) -> Option<String>;

    /// Every variable whose name starts with `prefix`, with its value, even an empty one. Bytes that are not UTF-8 are
    /// replaced, so that a reader finds the value invalid rather than absent.
    fn starting_with(&self, prefix: &str) -> Vec<(String, String)>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnv;

impl Env for ProcessEnv {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn starting_with(&self, prefix: &str) -> Vec<(String, String)> {
        // Text is moved: a copy would leave behind another one that no one wipes.
        let lossy =
            |text: OsString| text.into_string().unwrap_or_else(|text| text.to_string_lossy().into_owned());
        std::env::vars_os()
            .map(|(name, value)| (lossy(name), lossy(value)))
            .filter(|(name, _)| name.starts_with(prefix))
            .collect()
    }
}

/// Every variable of this process, byte for byte, for a child process.
pub fn all_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

impl Env for BTreeMap<String, String> {
    fn var(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty()).cloned()
    }

    fn starting_with(&self, prefix: &str) -> Vec<(String, String)> {
        let wanted = |(name, _): &(&String, &String)| name.starts_with(prefix);
        self.iter().filter(wanted).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}
