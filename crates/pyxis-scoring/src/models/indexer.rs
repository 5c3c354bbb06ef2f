//! Activity from indexers with the Etherscan-compatible API (`module=account`), one for each chain.

mod answer;

use std::collections::HashMap;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Method, Request, StatusCode};
use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::secret::SecretString;
use pyxis_models::cast;
use pyxis_models::features::Features;
use pyxis_models::features::scope::ScopedTransfer;
use pyxis_models::graph::Node;
use pyxis_models::scope::{Chain, Kind};
use pyxis_net::Client;
use pyxis_net::body::{empty, read_capped};
use pyxis_store::{Store, activity};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::indexer_error::IndexerError;
use super::read;
use super::source::{ActivitySource, FeaturesFuture, SourceError};
use answer::{IndexerPage, PageVerdict, Transfer};

/// Entries per page, which is also the most that an indexer shows of one list.
const PAGE: usize = 1000;
const MOST: usize = 10_000;
/// Largest response, in bytes.
const BODY: usize = 8 << 20;
/// Longest silence.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts for one page; the wait before the next doubles.
const TRIES: u32 = 4;
/// An indexer that asks for a longer wait (`Retry-After`) counts as unavailable.
const LONGEST: Duration = Duration::from_secs(20);
/// Maximum number of wallets in the cache, and their lifetime.
const KEPT: u64 = 10_000;
const FRESH: Duration = Duration::from_mins(10);

/// The lists of an account, with the kind of asset that moves in each.
const LISTS: [(&str, Kind); 4] = [
    ("txlist", Kind::Native),
    ("txlistinternal", Kind::Internal),
    ("tokentx", Kind::Erc20),
    ("tokennfttx", Kind::Nft),
];

/// Settings for one chain's indexer.
#[derive(Debug)]
pub struct IndexerChain {
    pub chain: Chain,
    /// The URL of its API, for example `https://eth.blockscout.com/api`. The query is kept.
    pub url: Url,
    /// A key, if the indexer requires one.
    pub api_key: Option<SecretString>,
    /// Requests per second.
    pub per_second: u32,
    /// Wait before a page is requested again; each wait is twice the one before.
    pub first_wait: Duration,
}

/// Queries indexers for the chains that have one. Imported activity answers for the others and supplies the popularity
/// of counterparties.
pub struct Indexer {
    net: Client,
    store: Store,
    chains: Vec<(IndexerChain, Pace)>,
    kept: Cache<EvmAddress, Option<Features>>,
}

/// Earliest time of the next request to an indexer.
#[derive(Default)]
struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// Waits for this request's turn.
    async fn wait_for_turn(&self, per_second: u32) {
        let gap = Duration::from_secs(1) / per_second.max(1);
        let turn = {
            let mut next = self.0.lock().await;
            let turn = next.unwrap_or_else(Instant::now).max(Instant::now());
            *next = Some(turn + gap);
            turn
        };
        tokio::time::sleep_until(turn).await;
    }
}

impl Indexer {
    /// Requests go through the egress guard of `net`.
    pub fn new(net: Client, store: Store, chains: Vec<IndexerChain>) -> Self {
        let chains = chains.into_iter().map(|chain| (chain, Pace::default())).collect();
        let kept = Cache::builder().max_capacity(KEPT).time_to_live(FRESH).build();
        Self { net, store, chains, kept }
    }

    async fn features(&self, address: EvmAddress, now: UnixMillis) -> Result<Option<Features>, SourceError> {
        if let Some(kept) = self.kept.get(&address) {
            return Ok(kept);
        }
        let mut entries = Vec::new();
        for (chain, pace) in &self.chains {
            let found = account(&self.net, chain, pace, address).await;
            let found = found.map_err(|error| SourceError::Indexer { chain: chain.chain.as_str(), error })?;
            entries.extend(found);
        }
        let local = activity::wallet(&self.store, address).await?;
        let local = local.map(|bytes| read(address, &bytes)).transpose()?;
        let (events, parties) = numbered(address, &entries);
        let popularity = self.popularity(&parties).await?;
        let popular = |node: Node| popularity.get(&node).copied().unwrap_or(f32::NAN);
        let seconds = u32::try_from(now.seconds()).ok();
        let is_asked = |chain: Chain| self.chains.iter().any(|(asked, _)| asked.chain == chain);
        let found = match local {
            Some(local) => local.with_imported_context(&events, &popular, seconds, &is_asked),
            None => Features::of_alone(&events, &popular, seconds),
        };
        self.kept.insert(address, found.clone());
        Ok(found)
    }

    /// Number of counterparties of each imported address.
    async fn popularity(&self, parties: &[EvmAddress]) -> Result<HashMap<Node, f32>, SourceError> {
        let mut popularity = HashMap::new();
        let places: HashMap<EvmAddress, Node> = parties.iter().copied().zip(0..).collect();
        for some in parties.chunks(PAGE) {
            for (address, known) in activity::parties(&self.store, some).await? {
                if let Some(place) = places.get(&address) {
                    popularity.insert(*place, cast::to_float(u32::try_from(known).unwrap_or(u32::MAX)));
                }
            }
        }
        Ok(popularity)
    }
}

impl ActivitySource for Indexer {
    fn fetch_features(&self, address: EvmAddress, now: UnixMillis) -> FeaturesFuture<'_> {
        Box::pin(self.features(address, now))
    }
}

/// The transfers of an account with its counterparties numbered.
fn numbered(own: EvmAddress, entries: &[(Chain, Transfer)]) -> (Vec<ScopedTransfer>, Vec<EvmAddress>) {
    let mut parties: Vec<EvmAddress> = Vec::new();
    let mut places: HashMap<EvmAddress, Node> = HashMap::new();
    let mut events = Vec::with_capacity(entries.len());
    for (chain, entry) in entries {
        let outgoing = entry.from == Some(own);
        let other = if outgoing { entry.to } else { entry.from };
        let party = other.filter(|other| *other != own).map(|other| {
            *places.entry(other).or_insert_with(|| {
                parties.push(other);
                Node::try_from(parties.len() - 1).unwrap_or(Node::MAX)
            })
        });
        let (kind, time, round) = (entry.kind, entry.time, entry.round);
        events.push(ScopedTransfer { chain: *chain, kind, party, outgoing, time, round });
    }
    (events, parties)
}

/// Every list of an account on a chain.
async fn account(
    net: &Client,
    chain: &IndexerChain,
    pace: &Pace,
    address: EvmAddress,
) -> Result<Vec<(Chain, Transfer)>, IndexerError> {
    let mut all = Vec::new();
    for (list, kind) in LISTS {
        let mut before = IndexerPage::new();
        for page in 1..=MOST / PAGE {
            let url = page_url(chain, list, address, page);
            let entries = patiently(net, chain, pace, &url, kind).await?;
            let last = entries.len() < PAGE;
            if !last && entries == before {
                // It ignores page numbers: the rest of the list is unavailable.
                return Err(IndexerError::Strange);
            }
            all.extend(entries.iter().flatten().map(|entry| (chain.chain, *entry)));
            before = entries;
            if last {
                break;
            }
        }
    }
    Ok(all)
}

fn page_url(chain: &IndexerChain, list: &str, address: EvmAddress, page: usize) -> Url {
    let mut url = chain.url.clone();
    url.query_pairs_mut()
        .append_pair("module", "account")
        .append_pair("action", list)
        .append_pair("address", &address.to_string())
        .append_pair("page", &page.to_string())
        .append_pair("offset", &PAGE.to_string())
        .append_pair("sort", "asc");
    if let Some(key) = &chain.api_key {
        url.query_pairs_mut().append_pair("apikey", key.expose());
    }
    url
}

/// Fetches a page; retries if the indexer asks for a little time.
async fn patiently(
    net: &Client,
    chain: &IndexerChain,
    pace: &Pace,
    url: &Url,
    kind: Kind,
) -> Result<IndexerPage, IndexerError> {
    let mut wait = chain.first_wait;
    for attempt in 1.. {
        pace.wait_for_turn(chain.per_second).await;
        let error = match fetch_page(net, url).await {
            Ok(body) => match answer::read(&body, kind) {
                PageVerdict::Page(entries) => return Ok(entries),
                PageVerdict::Later(words) => IndexerError::Refused(words),
                PageVerdict::Never(words) => return Err(IndexerError::Refused(words)),
                // Truncated, or a proxy's page: the next response may be complete.
                PageVerdict::Strange => IndexerError::Strange,
            },
            Err(error @ IndexerError::Status(status, _))
                if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() =>
            {
                return Err(error);
            }
            Err(error @ IndexerError::Net(pyxis_net::Error::Blocked(_))) => return Err(error),
            Err(error) => error,
        };
        let asked = if let IndexerError::Status(_, Some(after)) = &error { *after } else { Duration::ZERO };
        if attempt >= TRIES || asked > LONGEST {
            return Err(error);
        }
        tokio::time::sleep(wait.max(asked)).await;
        wait *= 2;
    }
    Err(IndexerError::Strange)
}

async fn fetch_page(net: &Client, url: &Url) -> Result<bytes::Bytes, IndexerError> {
    let request = Request::builder()
        .method(Method::GET)
        .uri(url.as_str())
        .header(http::header::ACCEPT, "application/json")
        .body(empty())
        .map_err(|_| IndexerError::Strange)?;
    let answer = net.send(request, TIMEOUT).await?;
    if !answer.status().is_success() {
        let after =
            answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        return Err(IndexerError::Status(answer.status(), after.map(Duration::from_secs)));
    }
    Ok(tokio::time::timeout(TIMEOUT, read_capped(answer.into_body(), BODY))
        .await
        .map_err(|_| IndexerError::Status(StatusCode::GATEWAY_TIMEOUT, None))??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_to_an_indexer_keep_their_distance_whoever_asks() {
        let (pace, began) = (Pace::default(), Instant::now());
        tokio::join!(pace.wait_for_turn(4), pace.wait_for_turn(4), pace.wait_for_turn(4));
        assert_eq!(began.elapsed().as_millis(), 500);
        pace.wait_for_turn(4).await;
        assert_eq!(began.elapsed().as_millis(), 750);
        // An idle period does not accumulate.
        tokio::time::advance(Duration::from_secs(10)).await;
        let later = Instant::now();
        tokio::join!(pace.wait_for_turn(4), pace.wait_for_turn(4));
        assert_eq!(later.elapsed().as_millis(), 250);
    }
}
