//! The only place that reads the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::OnceLock;

/// A source of environment variables.
pub trait Env {
    /// The value of a variable; empty counts as absent.
    fn var(&self, name: &str) -> Option<String>;

    /// Every variable whose name starts with `prefix`, with its value, even an empty one. Bytes that are not UTF-8 are
    /// replaced, so that a reader finds the value invalid rather than absent.
    fn starting_with(&self, prefix: &str) -> Vec<(String, String)>;
}

/// Variable of the program itself, with the number of an open file that has further variables.
pub const CARRIER: &str = "PYXIS_VARIABLES_FD";

/// Variables of this process that are in its memory only.
static ADDED: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();

/// Adds variables to those of this process, once, before anything reads them. `/proc` does not show them.
pub fn add(variables: Vec<(OsString, OsString)>) {
    // A second time, there is nothing to add.
    drop(ADDED.set(variables));
}

fn added() -> impl Iterator<Item = (OsString, OsString)> {
    ADDED.get().into_iter().flatten().cloned()
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnv;

impl Env for ProcessEnv {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    fn var(&self, name: &str) -> Option<String> {
        let from_memory = || added().find(|(own, _)| own == name)?.1.into_string().ok();
        std::env::var(name).ok().or_else(from_memory).filter(|value| !value.is_empty())
    }

    fn starting_with(&self, prefix: &str) -> Vec<(String, String)> {
        // Text is moved: a copy would leave behind another one that no one wipes.
        let lossy =
            |text: OsString| text.into_string().unwrap_or_else(|text| text.to_string_lossy().into_owned());
        all_variables()
            .map(|(name, value)| (lossy(name), lossy(value)))
            .filter(|(name, _)| name.starts_with(prefix))
            .collect()
    }
}

/// Every variable of this process, byte for byte, for a child process.
pub fn all_variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name != CARRIER).chain(added())
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
