//! Presets: how to reach common APIs. Data in `data/presets.json`, facts only.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::auth::Auth;
use crate::hosts::AllowedHosts;
use crate::target::Target;

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
    /// A GET that succeeds with a good credential, fails with a bad one, and changes nothing.
    pub probe: Option<String>,
    /// Headers without which that GET is refused, whatever the credential.
    #[serde(default)]
    pub probe_headers: BTreeMap<String, String>,
    /// The API answers a bad credential like a good one, with 200 and a word in the body: no GET tells them
    /// apart.
    #[serde(default)]
    pub blind: bool,
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

/// The GET that tries a credential of this kind within these hosts, where a preset knows one. A preset of
/// exactly this configuration goes first.
pub fn probe(auth: &Auth, hosts: &AllowedHosts) -> Option<&'static str> {
    let known = |preset: &'static Preset| {
        let probe = preset.probe.as_deref()?;
        Target::parse(probe).is_ok_and(|target| hosts.admits(&target)).then_some(probe)
    };
    of_kind(auth, known)
}

/// The headers that a GET to `target` needs besides a credential of this kind, where a preset knows of any.
pub fn probe_headers(auth: &Auth, target: &Target) -> Option<&'static BTreeMap<String, String>> {
    of_kind(auth, |preset| reaches(preset, target).then_some(&preset.probe_headers))
}

/// Whether no GET to `target` tells whether a credential of this kind is good.
pub fn is_blind(auth: &Auth, target: &Target) -> bool {
    of_kind(auth, |preset| reaches(preset, target).then_some(preset.blind)).unwrap_or(false)
}

fn reaches(preset: &Preset, target: &Target) -> bool {
    AllowedHosts::parse(&preset.hosts).is_ok_and(|hosts| hosts.admits(target))
}

/// The first that is known among presets of this kind; one of exactly this configuration goes first.
fn of_kind<T>(auth: &Auth, known: impl Fn(&'static Preset) -> Option<T>) -> Option<T> {
    // A signature for one service or region is none for another.
    let scoped = matches!(auth, Auth::AwsSigv4(_));
    let alike = |preset: &&Preset| !scoped && discriminant(&preset.auth) == discriminant(auth);
    let mut same = ALL.iter().filter(|preset| preset.auth == *auth);
    same.find_map(&known).or_else(|| ALL.iter().filter(alike).find_map(&known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_forty_and_each_is_sound() {
        let probed = all().iter().filter(|preset| preset.probe.is_some()).count();
        assert!(probed >= 40, "{probed} of {} can be tried", all().len());
        let mut ids: Vec<&str> = all().iter().map(|preset| preset.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all().len(), "an id twice");
        for preset in all() {
            let hosts = AllowedHosts::parse(&preset.hosts).unwrap();
            if let Some(probe) = &preset.probe {
                assert!(hosts.admits(&Target::parse(probe).unwrap()), "{}", preset.id);
            }
            assert!(preset.probe.is_some() || preset.probe_headers.is_empty(), "{}", preset.id);
            assert!(!(preset.blind && preset.probe.is_some()), "{}", preset.id);
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
    fn a_credential_is_tried_where_a_preset_of_its_kind_says() {
        let hosts = |names: &[&str]| {
            AllowedHosts::parse(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
        };
        let openai = probe(&Auth::Bearer {}, &hosts(&["other.example.com", "api.openai.com"]));
        assert_eq!(openai, find("openai").unwrap().probe.as_deref());
        assert_eq!(probe(&Auth::Bearer {}, &hosts(&["api.example.com"])), None);
        assert_eq!(probe(&Auth::Basic {}, &hosts(&["api.openai.com"])), None);
        let app = find("github-app").unwrap();
        let mut own = app.auth.clone();
        if let Auth::GithubApp(app) = &mut own {
            app.app_id = "12".to_owned();
        }
        assert_eq!(probe(&own, &hosts(&["api.github.com"])), app.probe.as_deref());
        let (sts, s3) = (find("aws").unwrap(), find("aws-s3").unwrap());
        assert_eq!(probe(&sts.auth, &hosts(&["*.amazonaws.com"])), sts.probe.as_deref());
        assert_eq!(probe(&s3.auth, &hosts(&["*.amazonaws.com"])), s3.probe.as_deref());
        let mut elsewhere = s3.auth.clone();
        if let Auth::AwsSigv4(scope) = &mut elsewhere {
            scope.region = "eu-central-1".to_owned();
        }
        assert_eq!(probe(&elsewhere, &hosts(&["*.amazonaws.com"])), None);
    }

    #[test]
    fn what_a_get_needs_besides_the_credential_is_known_by_host_and_kind() {
        let target = |url: &str| Target::parse(url).unwrap();
        let anthropic = &find("anthropic").unwrap().auth;
        let headers = probe_headers(anthropic, &target("https://api.anthropic.com/v1/x")).unwrap();
        assert!(headers.contains_key("anthropic-version"), "{headers:?}");
        assert_eq!(probe_headers(anthropic, &target("https://api.example.com/")), None);
        assert!(is_blind(&Auth::Bearer {}, &target("https://slack.com/api/auth.test")));
        assert!(!is_blind(&Auth::Bearer {}, &target("https://api.openai.com/")));
    }
}
