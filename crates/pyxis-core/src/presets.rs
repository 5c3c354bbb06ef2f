//! Presets: how to reach common APIs. Data in `data/presets.json`, facts only.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::auth::Auth;

/// What is known of an API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// A name for a credential.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Where its credential may go.
    pub hosts: Vec<String>,
    /// How the secret is attached. Parts that differ for everybody are empty.
    pub auth: Auth,
    /// A GET that succeeds with a good credential and changes nothing.
    pub probe: Option<String>,
    /// Environment variables that usually hold the whole secret.
    #[serde(default)]
    pub env: Vec<String>,
}

static ALL: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/presets.json")).expect("the presets are checked by a test")
});

/// Every preset, in the order of the file.
pub fn all() -> &'static [Preset] {
    &ALL
}

/// The preset of that id, whatever its case.
pub fn find(id: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.id.eq_ignore_ascii_case(id))
}

/// Those whose id, name or hosts contain every word of `text`, whatever its case.
pub fn search(text: &str) -> Vec<&'static Preset> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let says =
        |preset: &Preset| format!("{} {} {}", preset.id, preset.name, preset.hosts.join(" ")).to_lowercase();
    ALL.iter()
        .filter(|preset| {
            let said = says(preset);
            words.iter().all(|word| said.contains(word))
        })
        .collect()
}

/// The preset whose secret usually stands in this environment variable.
pub fn of_variable(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.env.iter().any(|known| known == name))
}

/// The lines `NAME=value` of a `.env` file: comments and `export` are skipped, quotes taken off.
pub fn read_env(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='))
        .map(|(name, value)| (name.trim(), unquoted(value.trim())))
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .collect()
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inner.0;
        }
    }
    // Without quotes, a comment may follow.
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::AllowedHosts;
    use crate::target::Target;

    #[test]
    fn there_are_forty_and_each_is_sound() {
        assert!(all().len() >= 40, "{}", all().len());
        let mut ids: Vec<&str> = all().iter().map(|preset| preset.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all().len(), "an id twice");
        for preset in all() {
            let hosts = AllowedHosts::parse(&preset.hosts).unwrap();
            if let Some(probe) = &preset.probe {
                assert!(hosts.admits(&Target::parse(probe).unwrap()), "{}", preset.id);
            }
        }
    }

    #[test]
    fn no_variable_belongs_to_two() {
        let mut names: Vec<&str> = all().iter().flat_map(|preset| &preset.env).map(String::as_str).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(of_variable("OPENAI_API_KEY").unwrap().id, "openai");
        assert!(of_variable("PATH").is_none());
    }

    #[test]
    fn every_word_of_a_search_must_be_found() {
        assert_eq!(search("API.github").len(), 2);
        assert_eq!(search("github app")[0].id, "github-app");
        assert_eq!(search("").len(), all().len());
        assert!(search("github nonsense").is_empty());
    }

    #[test]
    fn a_dotenv_file_is_read_as_people_write_it() {
        let text =
            "# keys\nexport OPENAI_API_KEY=\"sk-1\" # mine\nA='x=y'\n\nB = plain # note\nC=\nbroken\nD=a#b";
        let expected = [("OPENAI_API_KEY", "sk-1"), ("A", "x=y"), ("B", "plain"), ("D", "a#b")];
        assert_eq!(read_env(text), expected);
    }
}
