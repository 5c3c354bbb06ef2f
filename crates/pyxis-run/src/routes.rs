//! Credentials by host.

use pyxis_core::hosts::AllowedHosts;
use pyxis_core::nearest;
use pyxis_core::target::{Host, Target};
use serde::Deserialize;

/// The response of `GET /agent/services`, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(crate) struct ServiceList {
    /// Name of the agent.
    pub(crate) agent: String,
    /// Its credentials.
    pub(crate) services: Vec<ServiceEntry>,
}

/// One credential.
#[derive(Debug, Deserialize)]
pub(crate) struct ServiceEntry {
    /// Its name.
    pub(crate) credential: String,
    pub(crate) allowed_hosts: Vec<String>,
}

/// A choice of the person who runs the command: the credential of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteChoice {
    hosts: AllowedHosts,
    host: String,
    credential: String,
}

/// Reason that a choice cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    /// Not of the form HOST=CREDENTIAL.
    #[error("`{0}` is not HOST=CREDENTIAL; write for example api.github.com=github")]
    Malformed(String),
    /// No such credential.
    #[error("unknown credential `{name}`, or this agent may not use it{suggestion}")]
    Unknown {
        /// The name given.
        name: String,
        /// The nearest known name, as text to append.
        suggestion: String,
    },
    /// The server would refuse it.
    #[error("the credential {credential} does not allow the host {host}")]
    NotAllowed {
        /// The credential chosen.
        credential: String,
        /// The host it was chosen for.
        host: String,
    },
    /// Two credentials for one host.
    #[error("{host} is given twice, with {first} and with {second}; give each host once")]
    Contradictory {
        /// The host.
        host: String,
        /// The credential named first.
        first: String,
        /// The credential named after it.
        second: String,
    },
}

impl std::str::FromStr for RouteChoice {
    type Err = RoutesError;

    fn from_str(text: &str) -> Result<Self, RoutesError> {
        let malformed = || RoutesError::Malformed(text.to_owned());
        let (host, credential) = text.rsplit_once('=').ok_or_else(malformed)?;
        let hosts = AllowedHosts::parse(&[host.to_owned()]).map_err(|_| malformed())?;
        if credential.is_empty() {
            return Err(malformed());
        }
        Ok(Self { hosts, host: host.to_owned(), credential: credential.to_owned() })
    }
}

/// The hosts of one credential.
#[derive(Clone, Debug)]
struct CredentialHosts {
    name: String,
    hosts: AllowedHosts,
}

/// Credentials of an agent by the hosts that they allow, as of the start of the run.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    agent: String,
    credentials: Vec<CredentialHosts>,
    choices: Vec<RouteChoice>,
}

/// Credential of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// Exactly one, or the chosen one.
    Credential(&'a str),
    /// Several, and none is chosen.
    Ambiguous(Vec<&'a str>),
    /// None.
    Unknown,
}

impl Routes {
    /// The credentials of a list, with choices among them.
    pub(crate) fn new(list: ServiceList, choices: Vec<RouteChoice>) -> Result<Self, RoutesError> {
        let credentials: Vec<CredentialHosts> = list
            .services
            .into_iter()
            // A host that a newer server writes in a way that is not known here is no host of this run.
            .filter_map(|entry| {
                let hosts = AllowedHosts::parse(&entry.allowed_hosts).ok()?;
                Some(CredentialHosts { name: entry.credential, hosts })
            })
            .collect();
        refuse_contradictions(&choices)?;
        for choice in &choices {
            let names = || credentials.iter().map(|credential| credential.name.as_str());
            let chosen = credentials.iter().find(|credential| credential.name == choice.credential);
            let chosen = chosen.ok_or_else(|| RoutesError::Unknown {
                name: choice.credential.clone(),
                suggestion: nearest::suggestion(&choice.credential, names()),
            })?;
            // A wildcard may cover more than the credential; the server refuses what it does not allow.
            if !chosen.hosts.shares_a_target_with(&choice.hosts) {
                return Err(RoutesError::NotAllowed {
                    credential: choice.credential.clone(),
                    host: choice.host.clone(),
                });
            }
        }
        Ok(Self { agent: list.agent, credentials, choices })
    }

    /// Name of the agent whose key is used.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Number of credentials that the agent may use.
    pub fn len(&self) -> usize {
        self.credentials.len()
    }

    /// True if the agent may use no credential.
    pub fn is_empty(&self) -> bool {
        self.credentials.is_empty()
    }

    /// The credential of a target's host and port.
    pub(crate) fn route(&self, target: &Target) -> Route<'_> {
        if let Some(choice) = self.choices.iter().find(|choice| choice.hosts.admits(target)) {
            return Route::Credential(&choice.credential);
        }
        let admitting = self.credentials.iter().filter(|credential| credential.hosts.admits(target));
        let names: Vec<&str> = admitting.map(|credential| credential.name.as_str()).collect();
        match names.as_slice() {
            [] => Route::Unknown,
            [name] => Route::Credential(name),
            _ => Route::Ambiguous(names),
        }
    }

    /// Every host of every credential; a wildcard as the name above it.
    pub(crate) fn domains(&self) -> Vec<Host> {
        let all = self.credentials.iter().flat_map(|credential| credential.hosts.domains());
        let mut domains = Vec::new();
        for domain in all {
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        }
        domains
    }

    /// True if some credential may be sent to one of `hosts`.
    pub(crate) fn shares_host(&self, hosts: &AllowedHosts) -> bool {
        let mut domains = hosts.domains();
        domains.any(|domain| {
            let target = Target::parse(&format!("https://{domain}/"));
            let is_allowed =
                |target: &Target| self.credentials.iter().any(|credential| credential.hosts.admits(target));
            target.is_ok_and(|target| is_allowed(&target)) || self.domains().contains(&domain)
        })
    }
}

/// Refuses two credentials for one host, of which one would have no effect.
fn refuse_contradictions(choices: &[RouteChoice]) -> Result<(), RoutesError> {
    for (index, second) in choices.iter().enumerate() {
        let mut earlier = choices[..index].iter();
        let same =
            |first: &&RouteChoice| first.hosts == second.hosts && first.credential != second.credential;
        if let Some(first) = earlier.find(same) {
            return Err(RoutesError::Contradictory {
                host: second.host.clone(),
                first: first.credential.clone(),
                second: second.credential.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(credentials: &[(&str, &[&str])]) -> ServiceList {
        let entry = |(name, hosts): &(&str, &[&str])| ServiceEntry {
            credential: (*name).to_owned(),
            allowed_hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        };
        ServiceList { agent: "a".to_owned(), services: credentials.iter().map(entry).collect() }
    }

    fn target(host: &str) -> Target {
        Target::parse(&format!("https://{host}/")).unwrap()
    }

    #[test]
    fn a_host_belongs_to_the_only_credential_that_allows_it() {
        let hosts: &[(&str, &[&str])] = &[("one", &["api.example.com"]), ("two", &["*.example.org:8443"])];
        let routes = Routes::new(list(hosts), Vec::new()).unwrap();
        assert_eq!(routes.route(&target("API.example.com")), Route::Credential("one"));
        assert_eq!(routes.route(&target("a.example.org:8443")), Route::Credential("two"));
        assert_eq!(routes.route(&target("a.example.org")), Route::Unknown);
    }

    #[test]
    fn several_credentials_for_one_host_need_a_choice() {
        let hosts: &[(&str, &[&str])] = &[("one", &["api.example.com"]), ("two", &["api.example.com"])];
        let routes = Routes::new(list(hosts), Vec::new()).unwrap();
        assert_eq!(routes.route(&target("api.example.com")), Route::Ambiguous(vec!["one", "two"]));
        let choice = "api.example.com=two".parse().unwrap();
        let routes = Routes::new(list(hosts), vec![choice]).unwrap();
        assert_eq!(routes.route(&target("api.example.com")), Route::Credential("two"));
    }

    #[test]
    fn a_choice_of_an_unknown_credential_or_a_foreign_host_is_refused() {
        let hosts: &[(&str, &[&str])] = &[("github", &["api.github.com"])];
        let refused = |text: &str| {
            let choice = text.parse()?;
            Routes::new(list(hosts), vec![choice]).map(drop)
        };
        assert!(refused("api.github.com=githab").unwrap_err().to_string().contains("github"));
        assert!(matches!(refused("example.com=github"), Err(RoutesError::NotAllowed { .. })));
        assert!(matches!(refused("api.github.com"), Err(RoutesError::Malformed(_))));
        assert!(refused("api.github.com=github").is_ok());
        assert!(matches!(refused("*.evil.example=github"), Err(RoutesError::NotAllowed { .. })));
        assert!(refused("*.github.com=github").is_ok());
    }

    #[test]
    fn two_credentials_for_one_host_are_refused_and_one_given_twice_is_not() {
        let hosts: &[(&str, &[&str])] = &[("a", &["api.example.com"]), ("b", &["api.example.com"])];
        let routes = |choices: [&str; 2]| {
            Routes::new(list(hosts), choices.iter().map(|choice| choice.parse().unwrap()).collect())
        };
        let refused = routes(["api.example.com=a", "API.example.com=b"]).unwrap_err().to_string();
        assert!(refused.contains("with a and with b"), "{refused}");
        assert!(routes(["api.example.com=a", "api.example.com=a"]).is_ok());
        assert!(routes(["api.example.com=a", "*.example.com=b"]).is_ok());
    }
}
