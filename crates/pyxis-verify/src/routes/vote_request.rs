//! Requests and responses that all voting strategies share: addresses, one result for each, and their errors
//! (`docs/reference/behavior/verification.md#voting-strategies`).

use std::borrow::Cow;

use pyxis_core::address::EvmAddress;
use pyxis_core::entries::{self, BadEntries, BadEntry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::parameters::QueryPairs;
use crate::error::{Error, Result};
use crate::values::{EntryErrorCode, INVALID_ADDRESS, TextOrInteger};

/// The body that the voting tool posts. Its other members are for the tool alone.
#[derive(Default, Deserialize, ToSchema)]
#[schema(as = StrategyRequest)]
pub(super) struct ApiPostBody {
    #[serde(default)]
    #[schema(nullable = false)]
    options: Option<Options>,
    /// Chain id.
    #[serde(default)]
    #[schema(value_type = TextOrInteger, required)]
    network: Option<Value>,
    /// Block number, or `latest`.
    #[serde(default)]
    #[schema(value_type = TextOrInteger, required)]
    snapshot: Option<Value>,
    #[serde(default)]
    #[schema(value_type = Vec<String>, required)]
    addresses: Option<Vec<Value>>,
}

#[derive(Default, Deserialize, ToSchema)]
#[schema(as = StrategyOptions)]
struct Options {
    /// As in a query: `action-id=123456789`.
    #[serde(default, rename = "additionalParameters")]
    #[schema(nullable = false)]
    additional_parameters: Option<String>,
}

/// A body with its numbers as texts.
pub(super) struct PostedVote {
    network: Option<String>,
    snapshot: Option<String>,
    addresses: Vec<String>,
    additional: Option<String>,
}

impl PostedVote {
    pub(super) fn read(body: &[u8]) -> Result<Self> {
        let posted: ApiPostBody =
            serde_json::from_slice(body).map_err(|error| Error::InvalidBody(plain(&error)))?;
        let given = |address: Value| match address {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Self {
            network: text(posted.network),
            snapshot: text(posted.snapshot),
            addresses: posted.addresses.unwrap_or_default().into_iter().map(given).collect(),
            additional: posted.options.and_then(|options| options.additional_parameters),
        })
    }

    /// The parameters that the tool adds to its own.
    pub(super) fn additional(&self) -> QueryPairs<'_> {
        QueryPairs::read(self.additional.as_deref())
    }

    pub(super) fn request<'a>(
        &'a self,
        query: &'a QueryPairs<'a>,
        additional: &'a QueryPairs<'a>,
    ) -> VoteRequest<'a> {
        VoteRequest {
            network: self.network.as_deref(),
            snapshot: self.snapshot.as_deref(),
            addresses: self.addresses.iter().map(|address| address.as_str().into()).collect(),
            parameters: [additional, query],
        }
    }
}

/// The fault of a body, without names of the parser.
fn plain(error: &serde_json::Error) -> String {
    if error.is_data() {
        return pyxis_http::json::explanation(error);
    }
    format!("not JSON: {}", pyxis_http::json::syntax(error))
}

/// A number as the tool writes it, or as text.
fn text(value: Option<Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

/// A request, wherever its parameters were given.
pub(super) struct VoteRequest<'a> {
    network: Option<&'a str>,
    snapshot: Option<&'a str>,
    /// As given: an entry that is not a text is written as JSON.
    addresses: Vec<Cow<'a, str>>,
    /// The first that has a parameter counts.
    parameters: [&'a QueryPairs<'a>; 2],
}

impl<'a> VoteRequest<'a> {
    pub(super) fn of_query(query: &'a QueryPairs<'a>) -> Self {
        let addresses = query.find("addresses");
        Self {
            network: query.find("network"),
            snapshot: query.find("snapshot"),
            addresses: addresses.map(|list| list.split(',').map(Cow::from).collect()).unwrap_or_default(),
            parameters: [query, query],
        }
    }

    /// A parameter of the strategy.
    pub(super) fn find(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find_map(|pairs| pairs.find(name))
    }

    /// True if the reason is requested.
    pub(super) fn explain(&self) -> Result<bool> {
        self.is_on("explain")
    }

    fn strict(&self) -> Result<bool> {
        self.is_on("strict")
    }

    fn is_on(&self, name: &'static str) -> Result<bool> {
        self.parameters.iter().try_fold(false, |on, pairs| Ok(pairs.switch(name)? || on))
    }

    /// Refuses parameters that would be ignored.
    pub(super) fn check_spelling(&self, known: &[&str]) -> Result<()> {
        self.parameters.iter().try_for_each(|pairs| pairs.check_spelling(known))?;
        let [first, second] = self.parameters;
        let differs = |name: &&&str| {
            let values = first.find(name).zip(second.find(name));
            values.is_some_and(|(one, other)| one != other)
        };
        match known.iter().find(differs) {
            None => Ok(()),
            Some(name) => Err(Error::InvalidStrategy(
                format!("{name} is given twice, in additionalParameters and in the URL; give it once").into(),
            )),
        }
    }

    /// Network and snapshot, as given.
    pub(super) fn network_and_snapshot(&self) -> Result<(&'a str, &'a str)> {
        let network = self.network.ok_or(Error::Missing("network"))?;
        let snapshot = self.snapshot.ok_or(Error::Missing("snapshot"))?;
        if self.addresses.is_empty() { Err(Error::Missing("addresses")) } else { Ok((network, snapshot)) }
    }

    /// Each entry as an address. Invalid entries alone, or one of them in a strict request, refuse the request.
    pub(super) fn voters(&self, most: usize) -> Result<Voters<'_>> {
        if self.addresses.len() > most {
            return Err(Error::TooManyAddresses(most));
        }
        let strict = self.strict()?;
        let texts = self.addresses.iter().map(|text| &**text);
        let entries = entries::read_each(texts, str::parse::<EvmAddress>);
        let valid = entries.iter().filter(|entry| entry.is_ok()).count();
        if valid == 0 || (strict && valid < entries.len()) {
            let mut bad = BadEntries::default();
            for BadEntry { index, value, reason } in entries.iter().filter_map(|entry| entry.as_ref().err()) {
                bad.add(*index, value, reason);
            }
            return Err(Error::InvalidUsers(bad));
        }
        Ok(Voters { given: &self.addresses, entries })
    }
}

/// The entries of a request.
pub(super) struct Voters<'a> {
    given: &'a [Cow<'a, str>],
    entries: Vec<Result<EvmAddress, BadEntry>>,
}

impl Voters<'_> {
    /// The valid addresses, in order, repeated ones included.
    pub(super) fn addresses(&self) -> impl Iterator<Item = EvmAddress> {
        self.entries.iter().filter_map(|entry| entry.as_ref().ok().copied())
    }

    /// The entries whose address has a reason.
    pub(super) fn entries_with(&self, reason: impl Fn(EvmAddress) -> Option<&'static str>) -> BadEntries {
        let mut bad = BadEntries::default();
        for (index, (given, entry)) in self.given.iter().zip(&self.entries).enumerate() {
            if let Some(reason) = entry.as_ref().ok().and_then(|address| reason(*address)) {
                bad.add(index, given, reason);
            }
        }
        bad
    }

    /// The response from the result of each valid address. An entry that is not an address holds nothing: its score is
    /// `nothing`, next to its error.
    pub(super) fn render<S: Serialize>(
        self,
        results: impl IntoIterator<Item = (S, Option<&'static str>)>,
        nothing: impl Fn() -> S,
    ) -> Result<String> {
        let mut results = results.into_iter();
        let mut score = Vec::with_capacity(self.entries.len());
        for (address, entry) in self.given.iter().zip(self.entries) {
            let (result, error) = match entry {
                Ok(_) => (results.next(), None),
                Err(bad) => (Some((nothing(), None)), Some(EntryError::from(bad))),
            };
            let (found, reason) = result.ok_or_else(|| Error::Internal("a result is missing".into()))?;
            score.push(AddressScore { address, score: found, reason, error });
        }
        serde_json::to_string(&Scored { score }).map_err(|error| Error::Internal(error.into()))
    }
}

#[derive(Serialize)]
struct Scored<'a, S> {
    score: Vec<AddressScore<'a, S>>,
}

#[derive(Serialize)]
struct AddressScore<'a, S> {
    address: &'a str,
    score: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<EntryError>,
}

/// Reason that an entry is not an address. Its score is 0.
#[derive(Serialize, ToSchema)]
#[schema(as = StrategyEntryError)]
pub(super) struct EntryError {
    /// Position in `addresses`, from 0.
    #[schema(minimum = 0)]
    index: usize,
    #[schema(value_type = EntryErrorCode)]
    code: &'static str,
    detail: String,
}

impl From<BadEntry> for EntryError {
    fn from(bad: BadEntry) -> Self {
        Self { index: bad.index, code: INVALID_ADDRESS, detail: bad.reason }
    }
}
