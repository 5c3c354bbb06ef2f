//! A network as its nodes show it: the newest block, older blocks, and calls pinned to a block.

mod calls;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_net::Client;
use serde_json::Value;
use tokio::time::Instant;

use crate::Error;
use crate::rpc::{CallOutcome, Endpoint, Limits, Nodes, RawJson, Request1};

/// Calls of one call of Multicall3.
const AGGREGATED: usize = 500;
/// The newest block, as nodes are asked for it.
const LATEST: &str = "latest";
/// How long the newest block is not asked for again.
const FRESH: Duration = Duration::from_secs(1);
/// Timestamps that are kept.
const TIMESTAMPS: u64 = 10_000;

/// How to reach a network.
#[derive(Clone, Debug)]
pub struct Settings {
    /// JSON-RPC URLs, in the order of preference.
    pub urls: Vec<String>,
    /// For each request.
    pub timeout: Duration,
    /// How long a node that is behind is left alone before it is asked again.
    pub pause: Duration,
    /// Where Multicall3 is; without it calls go out as JSON-RPC batches.
    pub multicall: Option<EvmAddress>,
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub number: u64,
    /// Its timestamp, Unix seconds.
    pub timestamp: u64,
}

/// How one node of a network is.
#[derive(Debug)]
pub struct NodeConfig {
    /// Scheme, host and port of its URL; the rest may hold a key.
    pub origin: String,
    /// Its newest block and the id of its chain, or why they are not known.
    pub standing: Result<(Block, u64), Error>,
    /// How long it took.
    pub took: Duration,
    /// The most calls that it takes in one request, if that is less than Pyxis sends.
    pub batch: Option<usize>,
}

/// A call of a contract.
#[derive(Clone, Debug)]
pub struct Call {
    /// The contract.
    pub to: EvmAddress,
    /// Selector and arguments.
    pub data: Vec<u8>,
}

/// What a call of a contract came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// Data, perhaps none.
    Data(Bytes),
    /// It reverted, with this reason if it gave one.
    Reverted(Option<String>),
    /// It needs more gas or time than any node allows: the contract gave no answer.
    Unfinished,
}

/// A network.
pub struct Chain {
    nodes: Nodes,
    multicall: Option<EvmAddress>,
    head: Mutex<Option<(Block, UnixMillis)>>,
    timestamps: Cache<u64, u64>,
}

impl Chain {
    /// Asks nobody yet. Addresses of the operator's own network are allowed.
    pub fn new(net: &Client, settings: &Settings) -> Self {
        let (timeout, pause) = (settings.timeout, settings.pause);
        let limits = Limits { timeout, pause, aggregated: AGGREGATED };
        Self {
            nodes: Nodes::new(net, &settings.urls, limits),
            multicall: settings.multicall,
            head: Mutex::new(None),
            timestamps: Cache::new(TIMESTAMPS),
        }
    }

    /// The newest block, at most a second old. It never goes back.
    pub async fn head(&self, now: UnixMillis) -> Result<Block, Error> {
        let known = *self.head.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((block, at)) = known
            && now >= at
            && now.since(at) < FRESH
        {
            return Ok(block);
        }
        self.newest(now).await
    }

    /// The newest block, asked for now.
    pub async fn newest(&self, now: UnixMillis) -> Result<Block, Error> {
        let block = self.ask_block(LATEST).await?;
        Ok(self.note_head(block, now))
    }

    /// The newest block that any node knows, asked for now. One node may be behind the others.
    pub async fn highest(&self, now: UnixMillis) -> Result<Block, Error> {
        let mut highest = self.newest(now).await?;
        if self.nodes.all().len() > 1 {
            for node in self.nodes.all() {
                // One answered: what another lacks is no failure.
                if let Ok(block) = newest_of(node).await {
                    highest = self.note_head(block, now);
                }
            }
        }
        Ok(highest)
    }

    fn note_head(&self, block: Block, now: UnixMillis) -> Block {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = head.map_or(block, |(old, _)| if old.number > block.number { old } else { block });
        *head = Some((newest, now));
        newest
    }

    /// The newest block that is known to exist, without asking.
    pub fn known_head(&self) -> Option<Block> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).map(|(block, _)| block)
    }

    /// A block that exists. Its timestamp is kept once it can no longer change: when that many blocks are known
    /// to stand behind it.
    pub async fn block(&self, number: u64, confirmations: u64) -> Result<Block, Error> {
        if let Some(timestamp) = self.timestamps.get(&number) {
            return Ok(Block { number, timestamp });
        }
        let block = self.ask_block(&format!("{number:#x}")).await?;
        if block.number != number {
            return Err(Error::Malformed("another block than was asked for"));
        }
        let head = self.known_head().map_or(0, |head| head.number);
        if number.saturating_add(confirmations) <= head {
            self.timestamps.insert(number, block.timestamp);
        }
        Ok(block)
    }

    async fn ask_block(&self, which: &str) -> Result<Block, Error> {
        match self.nodes.ask(get_block(which)).await? {
            CallOutcome::Result(block) => read_block(&block),
            CallOutcome::Reverted(_) | CallOutcome::Unfinished => Err(Error::Malformed("no block")),
        }
    }

    /// How each node is, asked apart from the others.
    pub async fn nodes(&self) -> Vec<NodeConfig> {
        let mut all = Vec::new();
        for node in self.nodes.all() {
            let begun = Instant::now();
            let standing = standing(node).await;
            let took = begun.elapsed();
            let batch = if standing.is_ok() { node.largest_batch(&chain_id()).await } else { None };
            all.push(NodeConfig { origin: node.origin(), standing, took, batch });
        }
        all
    }

    /// Calls contracts in the state after a block, all in one state; the answers in the same order. A failure
    /// that is of the node is an error of all; what a contract did, or what only one call needs too much for,
    /// is that call's own.
    pub async fn call_many(&self, block: u64, calls: &[Call]) -> Result<Vec<CallResult>, Error> {
        let mut asked = calls::Calls::new(self.multicall, block, calls);
        match self.nodes.answer(&mut asked).await {
            Ok(()) => asked.finish().ok_or(Error::Malformed("a call without an answer")),
            Err(error) => asked.finish().ok_or(error),
        }
    }
}

async fn standing(node: &Endpoint) -> Result<(Block, u64), Error> {
    let answers = node.ask(&[chain_id(), get_block(LATEST)]).await?;
    let [CallOutcome::Result(id), CallOutcome::Result(block)] = &answers[..] else {
        return Err(Error::Malformed("no chain id or no block"));
    };
    Ok((read_block(block)?, quantity(&id.value()).ok_or(Error::Malformed("no chain id"))?))
}

async fn newest_of(node: &Endpoint) -> Result<Block, Error> {
    match &node.ask(&[get_block(LATEST)]).await?[..] {
        [CallOutcome::Result(block)] => read_block(block),
        _ => Err(Error::Malformed("no block")),
    }
}

fn chain_id() -> Request1 {
    Request1::new("eth_chainId", "[]".to_owned())
}

fn get_block(which: &str) -> Request1 {
    Request1::new("eth_getBlockByNumber", format!(r#"["{which}",false]"#))
}

fn read_block(block: &RawJson) -> Result<Block, Error> {
    let block = block.value();
    let field = |name: &str| quantity(&block[name]).ok_or(Error::Malformed("no block of that number"));
    Ok(Block { number: field("number")?, timestamp: field("timestamp")? })
}

fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests;
