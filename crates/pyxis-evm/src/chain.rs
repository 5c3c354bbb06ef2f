//! A network as seen through its nodes: the newest block, older blocks, and calls pinned to a block.

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
use crate::rpc::{CallOutcome, Endpoint, Limits, Nodes, RawJson, RpcCall};

/// Maximum calls per Multicall3 call.
const AGGREGATED: usize = 500;
/// Block tag of the newest block.
const LATEST: &str = "latest";
/// Time for which the newest block is cached.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum number of cached timestamps.
const TIMESTAMPS: u64 = 10_000;

/// Connection settings of a network.
#[derive(Clone, Debug)]
pub struct Settings {
    /// JSON-RPC URLs, in order of preference.
    pub urls: Vec<String>,
    /// Timeout of each request.
    pub timeout: Duration,
    /// Pause before a lagging node is asked again.
    pub pause: Duration,
    /// Address of Multicall3. Without it, calls are sent as JSON-RPC batches.
    pub multicall: Option<EvmAddress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub number: u64,
    /// Unix seconds.
    pub timestamp: u64,
}

/// Status of one node of a network.
#[derive(Debug)]
pub struct NodeConfig {
    /// Scheme, host and port of the URL. The rest is left out because it may contain a key.
    pub origin: String,
    /// The node's newest block and chain id, or the reason that they are unknown.
    pub standing: Result<(Block, u64), Error>,
    /// Time that the check took.
    pub took: Duration,
    /// Maximum calls that the node accepts in one request, if fewer than Pyxis sends.
    pub batch: Option<usize>,
}

/// A contract call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Contract address.
    pub to: EvmAddress,
    /// Selector and arguments.
    pub data: Vec<u8>,
}

/// Result of a contract call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// Returned data, possibly empty.
    Data(Bytes),
    /// The contract reverted, with its reason if it gave one.
    Reverted(Option<String>),
    /// The call needs more gas or time than any node allows, so the contract gave no answer.
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
    /// Creates the network without sending any request. Private addresses are allowed.
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

    /// The newest block, at most one second old. Never goes backward.
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

    /// The newest block, fetched now.
    pub async fn newest(&self, now: UnixMillis) -> Result<Block, Error> {
        let block = self.ask_block(LATEST).await?;
        Ok(self.note_head(block, now))
    }

    /// The newest block known to any node, fetched now. A single node may lag behind the others.
    pub async fn highest(&self, now: UnixMillis) -> Result<Block, Error> {
        let mut highest = self.newest(now).await?;
        if self.nodes.all().len() > 1 {
            for node in self.nodes.all() {
                // One answer is enough; failures of other nodes do not matter.
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

    /// The newest block seen so far, without a request.
    pub fn known_head(&self) -> Option<Block> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).map(|(block, _)| block)
    }

    /// An existing block. Its timestamp is cached once it can no longer change, that is, once `confirmations` blocks
    /// follow it.
    pub async fn block(&self, number: u64, confirmations: u64) -> Result<Block, Error> {
        if let Some(timestamp) = self.timestamps.get(&number) {
            return Ok(Block { number, timestamp });
        }
        let block = self.ask_block(&format!("{number:#x}")).await?;
        if block.number != number {
            return Err(Error::Malformed("another block than the requested one"));
        }
        let head = self.known_head().map_or(0, |head| head.number);
        if number.saturating_add(confirmations) <= head {
            self.timestamps.insert(number, block.timestamp);
        }
        Ok(block)
    }

    async fn ask_block(&self, which: &str) -> Result<Block, Error> {
        match self.nodes.call_one(get_block(which)).await? {
            CallOutcome::Result(block) => read_block(&block),
            CallOutcome::Reverted(_) | CallOutcome::Unfinished => Err(Error::Malformed("no block")),
        }
    }

    /// Status of each node, checked separately.
    pub async fn nodes(&self) -> Vec<NodeConfig> {
        let mut all = Vec::new();
        for node in self.nodes.all() {
            let begun = Instant::now();
            let standing = read_head(node).await;
            let took = begun.elapsed();
            let batch = if standing.is_ok() { node.largest_batch(&chain_id()).await } else { None };
            all.push(NodeConfig { origin: node.origin(), standing, took, batch });
        }
        all
    }

    /// Calls contracts in the state after one block and returns the answers in order. A failure of the node fails all
    /// calls. A revert, or a call that exceeds the limits even on its own, affects only that call.
    pub async fn call_many(&self, block: u64, calls: &[Call]) -> Result<Vec<CallResult>, Error> {
        let mut asked = calls::Calls::new(self.multicall, block, calls);
        match self.nodes.answer(&mut asked).await {
            Ok(()) => asked.finish().ok_or(Error::Malformed("a call without a response")),
            Err(error) => asked.finish().ok_or(error),
        }
    }
}

async fn read_head(node: &Endpoint) -> Result<(Block, u64), Error> {
    let answers = node.call_batch(&[chain_id(), get_block(LATEST)]).await?;
    let [CallOutcome::Result(id), CallOutcome::Result(block)] = &answers[..] else {
        return Err(Error::Malformed("no chain id or no block"));
    };
    Ok((read_block(block)?, quantity(&id.value()).ok_or(Error::Malformed("no chain id"))?))
}

async fn newest_of(node: &Endpoint) -> Result<Block, Error> {
    match &node.call_batch(&[get_block(LATEST)]).await?[..] {
        [CallOutcome::Result(block)] => read_block(block),
        _ => Err(Error::Malformed("no block")),
    }
}

fn chain_id() -> RpcCall {
    RpcCall::new("eth_chainId", "[]".to_owned())
}

fn get_block(which: &str) -> RpcCall {
    RpcCall::new("eth_getBlockByNumber", format!(r#"["{which}",false]"#))
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
