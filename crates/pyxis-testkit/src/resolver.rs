//! A resolver with scripted answers that can change between calls.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyxis_net::resolve::{Resolve, Resolving};

/// Scripted answers. A name without a script does not exist.
#[derive(Debug, Default)]
pub struct ScriptedResolver(Mutex<HashMap<String, Script>>);

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<LookupResult>,
    queries: usize,
}

#[derive(Clone, Debug)]
enum LookupResult {
    Addresses(Vec<IpAddr>),
    Failure,
    Silence,
}

impl ScriptedResolver {
    /// Creates a resolver that knows no names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next answer for `name`. The last answer of a script is repeated. An empty list is an answer without
    /// addresses. Panics on text that is not an address.
    #[must_use]
    pub fn answer(self, name: &str, addresses: &[&str]) -> Self {
        let parse = |text: &&str| text.parse().expect("an IP address");
        self.push(name, LookupResult::Addresses(addresses.iter().map(parse).collect()))
    }

    /// Makes the next query for `name` fail.
    #[must_use]
    pub fn fail(self, name: &str) -> Self {
        self.push(name, LookupResult::Failure)
    }

    /// Leaves the next query for `name` unanswered forever.
    #[must_use]
    pub fn silence(self, name: &str) -> Self {
        self.push(name, LookupResult::Silence)
    }

    /// Number of queries for `name`.
    pub fn queries(&self, name: &str) -> usize {
        self.scripts().get(name).map_or(0, |script| script.queries)
    }

    fn push(self, name: &str, answer: LookupResult) -> Self {
        self.scripts().entry(name.to_owned()).or_default().answers.push_back(answer);
        self
    }

    fn next(&self, name: &str) -> LookupResult {
        let mut scripts = self.scripts();
        let script = scripts.entry(name.to_owned()).or_default();
        script.queries += 1;
        let next = if script.answers.len() > 1 {
            script.answers.pop_front()
        } else {
            script.answers.front().cloned()
        };
        next.unwrap_or(LookupResult::Failure)
    }

    fn scripts(&self) -> MutexGuard<'_, HashMap<String, Script>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resolve for ScriptedResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        let answer = self.next(host);
        Box::pin(async move {
            match answer {
                LookupResult::Addresses(addresses) => Ok(addresses),
                LookupResult::Failure => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
                LookupResult::Silence => std::future::pending().await,
            }
        })
    }
}
