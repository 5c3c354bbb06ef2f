//! Presets: settings for common APIs. Data in `data/presets.json` and `data/starter_policies.json`, facts only.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::auth::Auth;
use crate::hosts::AllowedHosts;
use crate::policy::Policy;
use crate::secret::SecretString;
use crate::target::Target;

/// Settings for an API.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Default name of a credential.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Allowed hosts of its credential. Empty if each account has its own host under a public suffix.
    pub hosts: Vec<String>,
    /// Method of attaching the secret. Parts that differ by account are empty.
    pub auth: Auth,
    /// A GET that succeeds with a good credential, fails with a bad one, and changes nothing.
    pub probe: Option<String>,
    /// Headers that this GET requires, whatever the credential.
    #[serde(default)]
    pub probe_headers: BTreeMap<String, String>,
    /// True if the API answers a bad credential like a good one, with 200 and an error in the body: no GET tells them
    /// apart.
    #[serde(default)]
    pub blind: bool,
    /// Environment variables that usually hold the whole secret.
    #[serde(default)]
    pub env: Vec<String>,
    /// Templates if more than one value is needed: for the `secret`, for each part of it (`secret.username`), and for
    /// each part of the kind (`auth.app_id`).
    #[serde(default)]
    pub env_fields: BTreeMap<String, Template>,
    /// The same for optional parts.
    #[serde(default)]
    pub env_optional: BTreeMap<String, Template>,
}

impl Preset {
    /// Starter policy: reads and model calls pass; the rest needs approval or is denied.
    pub fn starter_policy(&self) -> &'static Policy {
        // A test finds one for every preset.
        &STARTER_POLICIES[&self.id]
    }

    /// Every environment variable that usually holds the secret or a related value.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let templates = self.env_fields.values().chain(self.env_optional.values());
        self.env.iter().map(String::as_str).chain(templates.flat_map(Template::variables))
    }
}

/// A text with names of environment variables in braces, replaced by the first one that is set:
/// `{ZENDESK_EMAIL|ZENDESK_USERNAME}/token`.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Template(String);

impl Template {
    /// Every variable in its braces.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.split(['{', '}']).skip(1).step_by(2).flat_map(|names| names.split('|'))
    }

    /// Replaces names by values. Without a value, the error is the variable's usual name.
    pub fn fill<'v>(&self, mut value: impl FnMut(&str) -> Option<&'v str>) -> Result<SecretString, &str> {
        let mut text = Zeroizing::new(String::new());
        for (place, piece) in self.0.split(['{', '}']).enumerate() {
            if place % 2 == 0 {
                text.push_str(piece);
                continue;
            }
            let mut names = piece.split('|');
            let usual = names.clone().next().unwrap_or_default();
            text.push_str(names.find_map(&mut value).ok_or(usual)?);
        }
        Ok(SecretString::new(std::mem::take(&mut *text)))
    }
}

static ALL: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/presets.json")).expect("the presets are checked by a test")
});

static STARTER_POLICIES: LazyLock<BTreeMap<String, Policy>> = LazyLock::new(|| {
    let documents: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(include_str!("../data/starter_policies.json")).expect("checked by a test");
    let read = |document: &RawValue| Policy::from_json(document.get().as_bytes());
    documents.into_iter().map(|(id, document)| (id, read(&document).expect("checked by a test"))).collect()
});

/// Every preset, in file order.
pub fn all() -> &'static [Preset] {
    &ALL
}

/// The preset with this id, in any case.
pub fn find(id: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.id.eq_ignore_ascii_case(id))
}

/// Presets whose id, name or hosts contain every word of `text`, in any case.
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

/// The preset whose secret, or a part of it, this environment variable usually holds.
pub fn of_variable(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.variables().any(|known| known == name))
}

/// The GET that tests a credential of this kind within these hosts, if a preset has one. A preset with exactly this
/// configuration takes precedence.
pub fn probe(auth: &Auth, hosts: &AllowedHosts) -> Option<&'static str> {
    let known = |preset: &'static Preset| {
        let probe = preset.probe.as_deref()?;
        Target::parse(probe).is_ok_and(|target| hosts.admits(&target)).then_some(probe)
    };
    of_kind(auth, known)
}

/// The headers that a GET to `target` needs besides a credential of this kind, if a preset lists any.
pub fn probe_headers(auth: &Auth, target: &Target) -> Option<&'static BTreeMap<String, String>> {
    of_kind(auth, |preset| reaches(preset, target).then_some(&preset.probe_headers))
}

/// True if no GET to `target` tells whether a credential of this kind is good.
pub fn has_no_probe(auth: &Auth, target: &Target) -> bool {
    of_kind(auth, |preset| reaches(preset, target).then_some(preset.blind)).unwrap_or(false)
}

fn reaches(preset: &Preset, target: &Target) -> bool {
    AllowedHosts::parse(&preset.hosts).is_ok_and(|hosts| hosts.admits(target))
}

/// The first value among presets of this kind; one with exactly this configuration takes precedence.
fn of_kind<T>(auth: &Auth, known: impl Fn(&'static Preset) -> Option<T>) -> Option<T> {
    let kind = auth.kind();
    let alike = |preset: &&Preset| kind.shares_probes && preset.auth.kind().name == kind.name;
    let mut same = ALL.iter().filter(|preset| preset.auth == *auth);
    same.find_map(&known).or_else(|| ALL.iter().filter(alike).find_map(&known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval_mode::ApprovalMode;
    use crate::auth::{BasicPair, BearerToken};
    use crate::policy::{self, Method, PolicyVerdict, RequestContent};

    #[test]
    fn at_least_forty_can_be_tried_and_each_is_sound() {
        let probed = all().iter().filter(|preset| preset.probe.is_some()).count();
        assert!(probed >= 40, "{probed} of {} can be tried", all().len());
        let mut ids: Vec<&str> = all().iter().map(|preset| preset.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all().len(), "an id twice");
        for preset in all() {
            let hosts = AllowedHosts::parse_new(&preset.hosts).unwrap();
            if let Some(probe) = &preset.probe {
                assert!(hosts.admits(&Target::parse(probe).unwrap()), "{}", preset.id);
            }
            assert!(preset.probe.is_some() || preset.probe_headers.is_empty(), "{}", preset.id);
            assert!(!(preset.blind && preset.probe.is_some()), "{}", preset.id);
        }
    }

    #[test]
    fn every_preset_has_a_starter_policy_that_stays_within_its_hosts() {
        let without = all().iter().filter(|preset| !STARTER_POLICIES.contains_key(&preset.id));
        assert_eq!(without.map(|preset| preset.id.as_str()).collect::<Vec<_>>(), Vec::<&str>::new());
        for (id, policy) in STARTER_POLICIES.iter() {
            let preset = find(id).unwrap_or_else(|| panic!("{id} is no preset"));
            let lists = [&policy.auto_approve_urls, &policy.require_approval_urls, &policy.deny_urls];
            for pattern in lists.into_iter().flatten().filter(|pattern| !pattern.starts_with('/')) {
                let target = Target::parse(&format!("https://{}", pattern.replace('*', "x"))).unwrap();
                assert!(reaches(preset, &target), "{id}: {pattern}");
            }
        }
    }

    /// Preset, method, URL and JSON body of a request, and its verdict.
    const STARTER_DECISIONS: &[(&str, Method, &str, &str, PolicyVerdict)] = &[
        ("github", Method::Get, "https://api.github.com/repos/a/b/issues", "", PolicyVerdict::AutoApprove),
        (
            "github",
            Method::Post,
            "https://api.github.com/repos/a/b/issues",
            "{}",
            PolicyVerdict::RequireApproval,
        ),
        ("github", Method::Get, "https://api.github.com/repos/a/b/hooks", "", PolicyVerdict::RequireApproval),
        (
            "github",
            Method::Post,
            "https://api.github.com/graphql",
            r#"{"query":"{viewer{login}}"}"#,
            PolicyVerdict::AutoApprove,
        ),
        (
            "github",
            Method::Post,
            "https://api.github.com/graphql",
            r#"{"query":"mutation{a}"}"#,
            PolicyVerdict::RequireApproval,
        ),
        (
            "slack",
            Method::Get,
            "https://slack.com/api/conversations.history?channel=C1",
            "",
            PolicyVerdict::AutoApprove,
        ),
        ("slack", Method::Post, "https://slack.com/api/conversations.list", "", PolicyVerdict::AutoApprove),
        (
            "slack",
            Method::Get,
            "https://slack.com/api/chat.postMessage?channel=C1&text=x",
            "",
            PolicyVerdict::RequireApproval,
        ),
        (
            "slack",
            Method::Get,
            "https://slack.com/api/conversations.archive?channel=C1",
            "",
            PolicyVerdict::RequireApproval,
        ),
        ("stripe", Method::Get, "https://api.stripe.com/v1/customers", "", PolicyVerdict::AutoApprove),
        ("stripe", Method::Post, "https://api.stripe.com/v1/refunds", "", PolicyVerdict::RequireApproval),
        (
            "linear",
            Method::Post,
            "https://api.linear.app/graphql",
            r#"{"query":"{issues{id}}"}"#,
            PolicyVerdict::AutoApprove,
        ),
        (
            "linear",
            Method::Post,
            "https://api.linear.app/graphql",
            r#"{"query":"mutation{a}"}"#,
            PolicyVerdict::RequireApproval,
        ),
        (
            "notion",
            Method::Post,
            "https://api.notion.com/v1/databases/7/query",
            "{}",
            PolicyVerdict::AutoApprove,
        ),
        ("notion", Method::Post, "https://api.notion.com/v1/pages", "{}", PolicyVerdict::RequireApproval),
        (
            "notion",
            Method::Patch,
            "https://api.notion.com/v1/databases/7",
            "{}",
            PolicyVerdict::RequireApproval,
        ),
        (
            "google",
            Method::Get,
            "https://gmail.googleapis.com/gmail/v1/users/me/messages",
            "",
            PolicyVerdict::AutoApprove,
        ),
        (
            "google",
            Method::Post,
            "https://gmail.googleapis.com/gmail/v1/users/me/messages/send",
            "{}",
            PolicyVerdict::RequireApproval,
        ),
        (
            "openai",
            Method::Post,
            "https://api.openai.com/v1/chat/completions",
            "{}",
            PolicyVerdict::AutoApprove,
        ),
        ("openai", Method::Post, "https://api.openai.com/v1/files", "", PolicyVerdict::RequireApproval),
        ("openai", Method::Get, "https://api.openai.com/v1/organization/users", "", PolicyVerdict::Deny),
        (
            "anthropic",
            Method::Post,
            "https://api.anthropic.com/v1/messages",
            "{}",
            PolicyVerdict::AutoApprove,
        ),
        (
            "anthropic",
            Method::Get,
            "https://api.anthropic.com/v1/organizations/api_keys",
            "",
            PolicyVerdict::Deny,
        ),
        (
            "jira",
            Method::Post,
            "https://a.atlassian.net/rest/api/3/search/jql",
            "{}",
            PolicyVerdict::AutoApprove,
        ),
        (
            "jira",
            Method::Post,
            "https://a.atlassian.net/rest/api/3/issue",
            "{}",
            PolicyVerdict::RequireApproval,
        ),
        (
            "aws",
            Method::Get,
            "https://ec2.eu-west-1.amazonaws.com/?Action=TerminateInstances",
            "",
            PolicyVerdict::RequireApproval,
        ),
        ("aws-s3", Method::Get, "https://b.s3.amazonaws.com/key", "", PolicyVerdict::AutoApprove),
        ("aws-s3", Method::Put, "https://b.s3.amazonaws.com/key", "", PolicyVerdict::RequireApproval),
        (
            "etherscan",
            Method::Get,
            "https://api.etherscan.io/v2/api?module=account&action=balance",
            "",
            PolicyVerdict::AutoApprove,
        ),
        (
            "etherscan",
            Method::Get,
            "https://api.etherscan.io/v2/api?module=proxy&action=eth_sendRawTransaction",
            "",
            PolicyVerdict::RequireApproval,
        ),
        (
            "huggingface",
            Method::Post,
            "https://router.huggingface.co/v1/chat/completions",
            "{}",
            PolicyVerdict::AutoApprove,
        ),
        (
            "replicate",
            Method::Get,
            "https://api.replicate.com/v1/webhooks/default/secret",
            "",
            PolicyVerdict::RequireApproval,
        ),
        ("fly", Method::Get, "https://api.machines.dev/v1/apps/a/machines", "", PolicyVerdict::AutoApprove),
        (
            "fly",
            Method::Get,
            "https://api.machines.dev/v1/apps/a/secrets?show_secrets=true",
            "",
            PolicyVerdict::RequireApproval,
        ),
    ];

    #[test]
    fn a_starter_policy_passes_what_reads_and_asks_about_what_writes() {
        let decided = |id: &str, method: Method, url: &str, body: &str| {
            let policy = find(id).unwrap().starter_policy().compile();
            let target = Target::parse(url).unwrap();
            let decision = policy::evaluate(Some(&policy), ApprovalMode::Autonomous, method, &target);
            let content_type = Some("application/json");
            let content = RequestContent {
                content_type,
                is_encoded: false,
                query: target.query(),
                body: body.as_bytes(),
            };
            let found = policy::evaluate_content(Some(&policy), &decision, method, &target, &content);
            found.map_or(decision.verdict, |found| found.verdict)
        };
        for &(id, method, url, body, expected) in STARTER_DECISIONS {
            assert_eq!(decided(id, method, url, body), expected, "{id}: {method} {url} {body}");
        }
        for (id, policy) in STARTER_POLICIES.iter() {
            let host =
                find(id).unwrap().hosts.first().map_or("a.example", |host| host.trim_start_matches("*."));
            let target = Target::parse(&format!("https://{host}/somewhere/else")).unwrap();
            for method in [Method::Post, Method::Put, Method::Patch, Method::Delete] {
                let decision =
                    policy::evaluate(Some(&policy.compile()), ApprovalMode::Autonomous, method, &target)
                        .verdict;
                assert_eq!(decision, PolicyVerdict::RequireApproval, "{id}: {method}");
            }
        }
    }

    #[test]
    fn no_variable_belongs_to_two() {
        let mut names: Vec<&str> = all().iter().flat_map(Preset::variables).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(of_variable("OPENAI_API_KEY").unwrap().id, "openai");
        assert_eq!(of_variable("AWS_SESSION_TOKEN").unwrap().id, "aws");
        assert!(of_variable("PATH").is_none());
    }

    #[test]
    fn every_preset_has_variables_but_the_second_of_the_same_keys() {
        let without = all().iter().filter(|preset| preset.variables().next().is_none());
        assert_eq!(without.map(|preset| preset.id.as_str()).collect::<Vec<_>>(), ["aws-s3"]);
        for preset in all().iter().filter(|preset| !preset.env_fields.is_empty()) {
            assert!(preset.env.is_empty(), "{}: one variable or several", preset.id);
        }
    }

    #[test]
    fn the_first_variable_that_there_is_goes_into_a_template() {
        let template = Template("{MAIL|USER}/token{END}".to_owned());
        assert_eq!(template.variables().collect::<Vec<_>>(), ["MAIL", "USER", "END"]);
        let fill = |values: &'static [(&str, &str)]| {
            let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            template.fill(value).map(|text| text.expose().clone())
        };
        assert_eq!(fill(&[("USER", "{b}"), ("MAIL", "a"), ("END", "!")]), Ok("a/token!".to_owned()));
        assert_eq!(fill(&[("USER", "{b}"), ("END", "")]), Ok("{b}/token".to_owned()));
        assert_eq!(fill(&[("END", "!")]), Err("MAIL"));
        assert_eq!(fill(&[("MAIL", "a")]), Err("END"));
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
        let openai = probe(&Auth::Bearer(BearerToken {}), &hosts(&["other.example.com", "api.openai.com"]));
        assert_eq!(openai, find("openai").unwrap().probe.as_deref());
        assert_eq!(probe(&Auth::Bearer(BearerToken {}), &hosts(&["api.example.com"])), None);
        assert_eq!(probe(&Auth::Basic(BasicPair {}), &hosts(&["api.openai.com"])), None);
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
        assert!(has_no_probe(&Auth::Bearer(BearerToken {}), &target("https://slack.com/api/auth.test")));
        assert!(!has_no_probe(&Auth::Bearer(BearerToken {}), &target("https://api.openai.com/")));
    }
}
