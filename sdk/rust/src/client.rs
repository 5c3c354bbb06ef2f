//! The client of scores and checks.

use std::fmt;

use reqwest::header::HeaderName;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::endpoint;
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::model::catalogue::Platform;
use crate::model::day_or_time::DayOrTime;
use crate::model::score::{FailedScore, Score, ScoreEntries, ScoreEntry, Scores};
use crate::model::stamp::{RemovedStamps, StampOutcome, StampOutcomes, StampPage};
use crate::model::verification::{CleanHands, ProofKind, Verification};
use crate::model::wallet::{Model, ModelScore, ModelScoreResponse};
use crate::options::Options;
use crate::secret::Secret;
use crate::stamps::Stamps;
use crate::transport::Transport;

/// The action that stands for uniqueness across all applications.
pub const UNIVERSAL_ACTION: &str = "123456789";

/// Scores, Stamps and checks. It has a connection pool; share it by reference or in an `Arc`.
pub struct Client {
    pub(crate) exchange: Exchange,
}

impl Client {
    /// Largest number of addresses in one request.
    pub const BATCH: usize = 1000;
    /// Largest page of Stamps.
    pub const PAGE: u16 = 1000;

    /// A client with the default options. Checks need no key, unless the server requires one.
    pub fn new(base_url: &str, api_key: Option<&str>) -> Result<Self> {
        Self::with_options(base_url, api_key, Options::default())
    }

    /// A client with options of your own.
    pub fn with_options(base_url: &str, api_key: Option<&str>, options: Options) -> Result<Self> {
        let name = HeaderName::from_static("x-api-key");
        let key = api_key.map(|key| Secret::new("api_key", key)).transpose()?.map(|key| (name, key));
        let transport = Transport::new(base_url, key, &options)?;
        Ok(Self { exchange: Exchange { transport, options } })
    }

    /// Read the latest score of an address.
    pub async fn score(&self, scorer_id: u64, address: &str) -> Result<Score> {
        self.read_score(scorer_id, address, None).await
    }

    /// Read the latest score of an address with its arithmetic.
    pub async fn explained_score(&self, scorer_id: u64, address: &str) -> Result<Score> {
        self.read_score(scorer_id, address, Some("true")).await
    }

    async fn read_score(&self, scorer_id: u64, address: &str, explain: Option<&str>) -> Result<Score> {
        let path = [("scorer_id", &*scorer_id.to_string()), ("address", address)];
        self.exchange.call(&endpoint::SCORE.request(&path, &[("explain", explain)])?).await
    }

    /// Read the scores of any number of addresses, in their order. Each 1,000 count as one request. One entry that is
    /// not an address refuses all; see [`Self::score_entries`].
    pub async fn scores<A: AsRef<str>>(&self, scorer_id: u64, addresses: &[A]) -> Result<Vec<Score>> {
        let mut found = Vec::with_capacity(addresses.len());
        for (number, part) in addresses.chunks(Self::BATCH).enumerate() {
            let shift = |error| shift_entries(error, number * Self::BATCH);
            let scores: Scores = self.read_batch(scorer_id, part, Some("true")).await.map_err(shift)?;
            check_length(scores.items.len(), part.len())?;
            found.extend(scores.items);
        }
        Ok(found)
    }

    /// Read the scores of any number of addresses, in their order. An entry that is not an address has its error, with
    /// its position in `addresses`, and the others have their scores. Each 1,000 count as one request.
    pub async fn score_entries<A: AsRef<str>>(
        &self,
        scorer_id: u64,
        addresses: &[A],
    ) -> Result<Vec<std::result::Result<Score, FailedScore>>> {
        let mut found = Vec::with_capacity(addresses.len());
        for (number, part) in addresses.chunks(Self::BATCH).enumerate() {
            let entries: ScoreEntries = self.read_batch(scorer_id, part, None).await?;
            check_length(entries.items.len(), part.len())?;
            found.extend(entries.items.into_iter().map(|entry| match entry {
                ScoreEntry::Failed(mut failed) => {
                    failed.error.index += number * Self::BATCH;
                    Err(failed)
                }
                ScoreEntry::Score(score) => Ok(*score),
            }));
        }
        Ok(found)
    }

    async fn read_batch<A: AsRef<str>, T: DeserializeOwned>(
        &self,
        scorer_id: u64,
        part: &[A],
        strict: Option<&str>,
    ) -> Result<T> {
        let part: Vec<_> = part.iter().map(AsRef::as_ref).collect();
        let path = [("scorer_id", &*scorer_id.to_string())];
        let request = endpoint::SCORES.request(&path, &[("strict", strict)])?;
        self.exchange.call(&request.json(&json!({ "addresses": part }))?).await
    }

    /// Read the latest score that was answered before a day or time; `None` if there is none.
    pub async fn history(
        &self,
        scorer_id: u64,
        address: &str,
        before: impl Into<DayOrTime>,
    ) -> Result<Option<Score>> {
        let path = [("scorer_id", &*scorer_id.to_string()), ("address", address)];
        let query = [("created_at", Some(&*before.into().0))];
        let scores: Scores = self.exchange.call(&endpoint::HISTORY.request(&path, &query)?).await?;
        Ok(scores.items.into_iter().next())
    }

    /// Read the Stamps of an address, newest first.
    pub fn stamps(&self, address: &str) -> Stamps<'_> {
        Stamps::new(self, address)
    }

    /// Read one page of Stamps. `token` is `next` or `prev` of another page.
    pub async fn stamp_page(
        &self,
        address: &str,
        include_metadata: bool,
        page_size: u16,
        token: Option<&str>,
    ) -> Result<StampPage> {
        if !(1..=Self::PAGE).contains(&page_size) {
            let message = format!("page_size must be 1 to {}, not {page_size}", Self::PAGE);
            return Err(Error::InvalidArgument(message));
        }
        let metadata = include_metadata.then_some("true");
        let limit = page_size.to_string();
        let query = [("include_metadata", metadata), ("limit", Some(&*limit)), ("token", token)];
        self.exchange.call(&endpoint::STAMPS.request(&[("address", address)], &query)?).await
    }

    /// Store up to 200 verifiable credentials of an address. The key must be allowed to write.
    pub async fn add_stamps(
        &self,
        address: &str,
        credentials: &[Map<String, Value>],
    ) -> Result<Vec<StampOutcome>> {
        let request = endpoint::ADD_STAMPS.request(&[("address", address)], &[])?.json(&credentials)?;
        let outcomes: StampOutcomes = self.exchange.call(&request).await?;
        Ok(outcomes.items)
    }

    /// Remove a Stamp of an address. 0 means that there was none, or that an earlier attempt removed it.
    pub async fn remove_stamp(&self, address: &str, provider: &str) -> Result<u64> {
        let query = [("provider", Some(provider))];
        let request = endpoint::REMOVE_STAMP.request(&[("address", address)], &query)?;
        let removed: RemovedStamps = self.exchange.call(&request).await?;
        Ok(removed.removed)
    }

    /// Read the catalogue of all Stamps, by platform.
    pub async fn catalogue(&self) -> Result<Vec<Platform>> {
        self.exchange.call(&endpoint::CATALOGUE.request(&[], &[])?).await
    }

    /// Read a model's score of a wallet.
    pub async fn model_score(&self, address: &str, model: Model) -> Result<ModelScore> {
        let query = [("model", Some(model.name()))];
        let request = endpoint::MODEL_SCORE.request(&[("address", address)], &query)?;
        let response: ModelScoreResponse = self.exchange.call(&request).await?;
        response.score_of(model)
    }

    /// Check for a valid proof of this kind that is unique for an action, and say why.
    pub async fn check_unique(
        &self,
        address: &str,
        kind: ProofKind,
        network: &str,
        action_id: &str,
    ) -> Result<Verification> {
        let path = [("credential_type", kind.name()), ("network", network)];
        let query = [("user", Some(address)), ("action-id", Some(action_id)), ("explain", Some("true"))];
        self.exchange.call(&endpoint::UNIQUE.request(&path, &query)?).await
    }

    /// Check for a valid proof of residence, and say why. `us` is the one country.
    pub async fn check_residence(&self, address: &str, country: &str, network: &str) -> Result<Verification> {
        let path = [("country", country), ("network", network)];
        let query = [("user", Some(address)), ("explain", Some("true"))];
        self.exchange.call(&endpoint::RESIDENCE.request(&path, &query)?).await
    }

    /// Check for a valid clean-hands attestation on the external index, and say why.
    pub async fn check_clean_hands(&self, address: &str) -> Result<CleanHands> {
        let query = [("explain", Some("true"))];
        self.exchange.call(&endpoint::CLEAN_HANDS.request(&[("address", address)], &query)?).await
    }
}

fn check_length(found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::InvalidResponse(format!("{found} scores for {wanted} addresses")))
}

/// Counts bad entries from the start of the caller's list.
fn shift_entries(mut error: Error, by: usize) -> Error {
    if let Error::Api(api) = &mut error {
        for entry in &mut api.invalid {
            entry.index += by;
        }
    }
    error
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Client").field(&self.exchange.transport.base_url()).finish()
    }
}
