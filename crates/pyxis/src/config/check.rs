//! Every problem of the settings, where a start stops at the first.

use std::collections::{BTreeMap, BTreeSet};

use super::env::Env;
use super::{Config, Flags, SettingSources, file_path, keys, parse, warnings};

/// A setting that keeps a server from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingProblem {
    /// Variables of the settings that the message is about.
    pub variables: Vec<String>,
    pub message: String,
}

/// The variable of other programs that also names the collector of traces.
const OTLP: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Reads the settings as a start does. A setting with a problem is put aside, and the rest is read again.
pub fn problems(flags: &Flags, env: &impl Env) -> Result<Config, Vec<SettingProblem>> {
    let mut found = Vec::new();
    let (mut flags, mut hidden) = (flags.clone(), BTreeSet::new());
    let mut file = file(&flags, env, &mut found);
    loop {
        let rest = RemainingEnv { env, hidden: &hidden };
        let source = SettingSources { flags: &flags, env: &rest, file: file.clone() };
        let message = match Config::from_source(&source) {
            Ok(config) if found.is_empty() => return Ok(config),
            Ok(_) => return Err(found),
            Err(error) => format!("{error:#}"),
        };
        let is_set = |key: &str| source.is_set(key);
        let named: Vec<&'static str> = keys::all()
            .map(|key| key.name)
            .filter(|key| has_word(&message, &keys::env_name(key)) && is_set(key))
            .collect();
        let otlp = has_word(&message, OTLP) && rest.var(OTLP).is_some();
        let mut variables: Vec<String> = named.iter().map(|key| keys::env_name(key)).collect();
        variables.extend(otlp.then(|| OTLP.to_owned()));
        let is_last = variables.is_empty();
        for key in named {
            flags.remove(key);
            file.remove(key);
            hidden.insert(keys::env_name(key));
            hidden.insert(format!("{}_FILE", keys::env_name(key)));
        }
        hidden.extend(otlp.then(|| OTLP.to_owned()));
        found.push(SettingProblem { variables, message });
        // What is left cannot be told apart from the rest.
        if is_last {
            return Err(found);
        }
    }
}

/// The values of the file. Its own problems do not hide those of the values.
fn file(flags: &Flags, env: &impl Env, found: &mut Vec<SettingProblem>) -> BTreeMap<String, String> {
    let mut problem = |message| found.push(SettingProblem { variables: Vec::new(), message });
    match file_path(flags, env).map(|path| parse::known_and_unknown(&path)) {
        None => BTreeMap::new(),
        Some(Ok((values, unknown))) => {
            unknown.into_iter().for_each(problem);
            values
        }
        Some(Err(error)) => {
            problem(format!("{error:#}"));
            BTreeMap::new()
        }
    }
}

impl<E: Env> SettingSources<'_, E> {
    /// True if a flag, a variable or the file gives a value.
    pub(super) fn is_set(&self, key: &str) -> bool {
        let name = keys::env_name(key);
        let in_file = warnings::is_secret(key) && self.env.var(&format!("{name}_FILE")).is_some();
        in_file
            || self.flags.contains_key(key)
            || self.env.var(&name).is_some()
            || self.file.contains_key(key)
    }
}

/// True if `word` stands alone in the text, or with `_FILE`.
fn has_word(text: &str, word: &str) -> bool {
    let continues = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let rest = &text[at + word.len()..];
        let rest = rest.strip_prefix("_FILE").unwrap_or(rest);
        !before.is_some_and(continues) && !rest.chars().next().is_some_and(continues)
    })
}

/// An environment without some variables.
pub struct RemainingEnv<'a, E> {
    pub env: &'a E,
    pub hidden: &'a BTreeSet<String>,
}

impl<E: Env> Env for RemainingEnv<'_, E> {
    fn var(&self, name: &str) -> Option<String> {
        if self.hidden.contains(name) { None } else { self.env.var(name) }
    }

    fn starting_with(&self, prefix: &str) -> Vec<(String, String)> {
        let mut all = self.env.starting_with(prefix);
        all.retain(|(name, _)| !self.hidden.contains(name));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_variables(vars: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Vec<Vec<String>> {
        let env: BTreeMap<String, String> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let flags = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        let found = problems(&flags, &env).map(drop).unwrap_err();
        found.into_iter().map(|problem| problem.variables).collect()
    }

    #[test]
    fn every_wrong_setting_is_named_and_not_only_the_first() {
        let found = named_variables(
            &[
                ("PX_BASE_URL", "http://example.com"),
                ("PX_LOG_JSON", "perhaps"),
                ("PX_APPROVAL_TIMEOUT_SECS", "0"),
                ("PX_DATABASE_URL_FILE", "/missing"),
                ("PX_LOG", "info"),
                (OTLP, "collector:4318"),
            ],
            &[("listen", "0.0.0.0")],
        );
        let mut found: Vec<String> = found.into_iter().flatten().collect();
        found.sort_unstable();
        let expected =
            [OTLP, "PX_APPROVAL_TIMEOUT_SECS", "PX_BASE_URL", "PX_DATABASE_URL", "PX_LISTEN", "PX_LOG_JSON"];
        assert_eq!(found, expected);
    }

    #[test]
    fn unknown_keys_of_the_file_are_all_named_next_to_wrong_values() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("px.toml");
        std::fs::write(&path, "lisen = \"x\"\nbase-url = \"y\"\nmcp_wait_secs = 99\n").unwrap();
        let flags = Flags::from([("config", path.to_str().unwrap().to_owned())]);
        let found = problems(&flags, &BTreeMap::new()).map(drop).unwrap_err();
        let all: Vec<_> = found.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all.iter().any(|told| told.contains("lisen (did you mean listen?)")), "{all:?}");
        assert!(all.iter().any(|told| told.contains("base-url (did you mean base_url?)")), "{all:?}");
        assert_eq!(found[2].variables, ["PX_MCP_WAIT_SECS"]);
    }

    #[test]
    fn right_settings_have_no_problem() {
        assert!(problems(&Flags::new(), &BTreeMap::new()).is_ok());
    }

    #[test]
    fn a_name_is_not_found_within_a_longer_one() {
        assert!(has_word("PX_LOG is \"x\"", "PX_LOG") && has_word("PX_KEY_FILE: missing", "PX_KEY"));
        assert!(!has_word("PX_LOG_JSON is \"x\"", "PX_LOG") && !has_word("MY_PX_LOG", "PX_LOG"));
    }
}
