//! A stand-in for an indexer with the Etherscan-compatible API. Covers account lists, pages, the window of 10,000
//! entries, keys, and errors with status 200 as real indexers return them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyxis_core::address::EvmAddress;
use serde_json::{Value, json};
use url::Url;

use crate::upstream::{Received, Reply, Upstream};

/// Maximum number of entries reachable through pages.
const WINDOW: usize = 10_000;

/// Misbehavior of the indexer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexerFault {
    /// Status 200 and "Max rate limit reached".
    RateLimit,
    /// Status 429 with `Retry-After` of this many seconds.
    Wait(u64),
    /// Status 503.
    Down,
    /// A response that is not JSON.
    Gibberish,
    /// The whole list with this status, and a notice that some entries are not processed yet.
    Unprocessed(u8),
    /// An empty list with this status and the notice.
    UnprocessedEmpty(u8),
    /// The list's JSON, truncated.
    CutOff,
}

#[derive(Default)]
struct IndexerData {
    /// Entries by list and account.
    lists: HashMap<(String, EvmAddress), Vec<Value>>,
    key: Option<String>,
    /// Misbehavior for the next requests, one each.
    troubles: Vec<IndexerFault>,
}

/// A running indexer. Stops when dropped.
pub struct IndexerServer {
    upstream: Upstream,
    db: Arc<Mutex<IndexerData>>,
}

impl IndexerServer {
    /// Starts an indexer without data.
    pub async fn start() -> Self {
        let upstream = Upstream::http().await;
        let db = Arc::new(Mutex::new(IndexerData::default()));
        let shared = Arc::clone(&db);
        upstream.reply_with(move |request| answer(&mut lock(&shared), request));
        Self { upstream, db }
    }

    /// URL of the API.
    pub fn url(&self) -> Url {
        self.upstream.url("/api").parse().expect("a URL")
    }

    /// The underlying HTTP server.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Adds a transfer to a list (`txlist`, `txlistinternal`, `tokentx`, `tokennfttx`) of both addresses.
    pub fn add(&self, list: &str, from: EvmAddress, to: EvmAddress, time: u64, value: &str) {
        let entry = json!({
            "blockNumber": "1", "timeStamp": time.to_string(), "hash": "0x00", "from": from, "to": to,
            "value": value, "isError": "0", "input": "0x", "gasUsed": "21000",
        });
        let mut db = lock(&self.db);
        for end in [from, to] {
            db.lists.entry((list.to_owned(), end)).or_default().push(entry.clone());
        }
    }

    /// Adds an unmodified entry to a list of an account.
    pub fn add_raw(&self, list: &str, of: EvmAddress, entry: Value) {
        lock(&self.db).lists.entry((list.to_owned(), of)).or_default().push(entry);
    }

    /// Requires this key from now on.
    pub fn wants_key(&self, key: &str) {
        lock(&self.db).key = Some(key.to_owned());
    }

    /// Queues misbehavior for the next requests, one each.
    pub fn meets(&self, troubles: &[IndexerFault]) {
        lock(&self.db).troubles = troubles.iter().rev().copied().collect();
    }
}

fn lock(db: &Mutex<IndexerData>) -> MutexGuard<'_, IndexerData> {
    db.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blockscout's message for an incomplete list.
const NOTICE: &str = "Some internal transactions within this block range have not yet been processed";

fn answer(db: &mut IndexerData, request: &Received) -> Reply {
    let error = db.troubles.pop();
    match error {
        Some(IndexerFault::Down) => return Reply::new(503).body("down"),
        Some(IndexerFault::Gibberish) => return Reply::ok("<html>"),
        Some(IndexerFault::Wait(seconds)) => {
            return Reply::new(429).header("retry-after", &seconds.to_string()).body("slow down");
        }
        Some(IndexerFault::RateLimit) => return refusal("Max rate limit reached"),
        Some(IndexerFault::UnprocessedEmpty(status)) => return unprocessed(status, &[]),
        Some(IndexerFault::Unprocessed(_) | IndexerFault::CutOff) | None => {}
    }
    let url: Url = format!("http://indexer{}", request.target).parse().expect("a target");
    let of: HashMap<String, String> = url.query_pairs().into_owned().collect();
    let get = |name: &str| of.get(name).map(String::as_str);
    if db.key.as_deref().is_some_and(|key| get("apikey") != Some(key)) {
        return refusal("Invalid API Key");
    }
    let known = ["txlist", "txlistinternal", "tokentx", "tokennfttx"];
    let list = get("action").filter(|action| known.contains(action));
    let (Some(list), Some("account"), "/api") = (list, get("module"), url.path()) else {
        return refusal("Error! Missing Or invalid Action name");
    };
    let Some(address) = get("address").and_then(|text| text.parse().ok()) else {
        return refusal("Error! Invalid address format");
    };
    let number =
        |name: &str| get(name).and_then(|text| text.parse::<usize>().ok()).filter(|number| *number > 0);
    let (page, offset) = (number("page").unwrap_or(1), number("offset").unwrap_or(WINDOW));
    if page * offset > WINDOW {
        let words = "Result window is too large, PageNo x Offset size must be less than or equal to 10000";
        return reply(&json!({ "status": "0", "message": words, "result": null }));
    }
    let all = db.lists.get(&(list.to_owned(), address)).map_or(&[][..], Vec::as_slice);
    let entries: Vec<&Value> = all.iter().skip((page - 1) * offset).take(offset).collect();
    match error {
        Some(IndexerFault::Unprocessed(status)) => return unprocessed(status, &entries),
        Some(IndexerFault::CutOff) => {
            return Reply::json(r#"{"status":"1","message":"OK","result":[{"from":"0x"#);
        }
        _ => {}
    }
    if entries.is_empty() {
        return reply(&json!({ "status": "0", "message": "No transactions found", "result": [] }));
    }
    reply(&json!({ "status": "1", "message": "OK", "result": entries }))
}

fn unprocessed(status: u8, entries: &[&Value]) -> Reply {
    reply(&json!({ "status": status.to_string(), "message": NOTICE, "result": entries }))
}

fn refusal(words: &str) -> Reply {
    reply(&json!({ "status": "0", "message": "NOTOK", "result": words }))
}

fn reply(body: &Value) -> Reply {
    Reply::json(&body.to_string())
}
