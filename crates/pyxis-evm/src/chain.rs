//! A network as its nodes show it: the newest block, older blocks, and calls pinned to a block.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_net::Client;
use serde_json::Value;
use tokio::time::Instant;

use crate::rpc::{Json, Nodes, Outcome, Request1};
use crate::{Error, abi};

/// Calls of one request without Multicall3, and with it.
const BATCH: usize = 100;
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
pub struct Node {
    /// Scheme, host and port of its URL; the rest may hold a key.
    pub origin: String,
    /// Its newest block and the id of its chain, or why they are not known.
    pub standing: Result<(Block, u64), Error>,
    /// How long it took.
    pub took: Duration,
}

/// A call of a contract.
#[derive(Clone, Debug)]
pub struct Call {
    /// The contract.
    pub to: EvmAddress,
    /// Selector and arguments.
    pub data: Vec<u8>,
}

/// What a contract answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Data, perhaps none.
    Data(Bytes),
    /// It reverted, with this reason if it gave one.
    Reverted(Option<String>),
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
    pub fn new(net: &Client, settings: Settings) -> Self {
        let Settings { urls, timeout, multicall } = settings;
        Self {
            nodes: Nodes::new(net.private(), urls, timeout),
            multicall,
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
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = head.map_or(block, |(old, _)| if old.number > block.number { old } else { block });
        *head = Some((newest, now));
        Ok(newest)
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
        let call = get_block(which);
        let [Outcome::Result(block)] = &self.nodes.batch(&[call]).await?[..] else {
            return Err(Error::Malformed("no block"));
        };
        read_block(block)
    }

    /// How each node is, asked apart from the others.
    pub async fn nodes(&self) -> Vec<Node> {
        let mut all = Vec::new();
        for index in 0..self.nodes.count() {
            let begun = Instant::now();
            let standing = self.standing(index).await;
            all.push(Node { origin: self.nodes.origin(index), standing, took: begun.elapsed() });
        }
        all
    }

    async fn standing(&self, index: usize) -> Result<(Block, u64), Error> {
        let id = Request1::new("eth_chainId", "[]".to_owned());
        let answers = self.nodes.ask_one(index, &[id, get_block(LATEST)]).await?;
        let [Outcome::Result(id), Outcome::Result(block)] = &answers[..] else {
            return Err(Error::Malformed("no chain id or no block"));
        };
        Ok((read_block(block)?, quantity(&id.value()).ok_or(Error::Malformed("no chain id"))?))
    }

    /// Calls contracts in the state after a block, all in one state; the answers in the same order. An error
    /// of any of them that is not the contract's own revert is an error of all.
    pub async fn call_many(&self, block: u64, calls: &[Call]) -> Result<Vec<Returned>, Error> {
        if let Some(multicall) = self.multicall
            && calls.len() > 1
            && let Some(answers) = self.aggregate(multicall, block, calls).await?
        {
            return Ok(answers);
        }
        let mut answers = Vec::with_capacity(calls.len());
        for chunk in calls.chunks(BATCH) {
            let requests: Vec<Request1> =
                chunk.iter().map(|call| eth_call(call.to, &call.data, block)).collect();
            for outcome in self.nodes.batch(&requests).await? {
                answers.push(returned(outcome)?);
            }
        }
        Ok(answers)
    }

    /// The same in few calls; `None` where there was no Multicall3 at that block yet.
    async fn aggregate(
        &self,
        multicall: EvmAddress,
        block: u64,
        calls: &[Call],
    ) -> Result<Option<Vec<Returned>>, Error> {
        let chunks: Vec<&[Call]> = calls.chunks(AGGREGATED).collect();
        let request = |chunk: &&[Call]| {
            let calls: Vec<_> = chunk.iter().map(|call| (call.to, &call.data[..])).collect();
            eth_call(multicall, &abi::aggregate3(&calls), block)
        };
        let requests: Vec<Request1> = chunks.iter().map(request).collect();
        let mut answers = Vec::with_capacity(calls.len());
        for (outcome, chunk) in self.nodes.batch(&requests).await?.into_iter().zip(chunks) {
            let Returned::Data(data) = returned(outcome)? else {
                return Err(Error::Malformed("Multicall3 reverted"));
            };
            if data.is_empty() {
                return Ok(None);
            }
            let all = abi::aggregated(&data, chunk.len()).ok_or(Error::Malformed("not of Multicall3"))?;
            answers.extend(all.into_iter().map(|(success, told)| {
                if success {
                    Returned::Data(data.slice_ref(told))
                } else {
                    Returned::Reverted(abi::revert_reason(told))
                }
            }));
        }
        Ok(Some(answers))
    }
}

fn get_block(which: &str) -> Request1 {
    Request1::new("eth_getBlockByNumber", format!(r#"["{which}",false]"#))
}

fn read_block(block: &Json) -> Result<Block, Error> {
    let block = block.value();
    let field = |name: &str| quantity(&block[name]).ok_or(Error::Malformed("no block of that number"));
    Ok(Block { number: field("number")?, timestamp: field("timestamp")? })
}

fn eth_call(to: EvmAddress, data: &[u8], block: u64) -> Request1 {
    let data = hex::encode(data);
    let params = [r#"[{"to":""#, &to.to_string(), r#"","data":"0x"#, &data, &format!(r#""}},"{block:#x}"]"#)];
    Request1::new("eth_call", params.concat())
}

fn returned(outcome: Outcome) -> Result<Returned, Error> {
    match outcome {
        Outcome::Result(told) => {
            told.data().map(|data| Returned::Data(data.into())).ok_or(Error::Malformed("not hexadecimal"))
        }
        Outcome::Reverted { data, message } => {
            let told =
                data.as_deref().and_then(hex::decode_prefixed).and_then(|data| abi::revert_reason(&data));
            // Some nodes only say it in words.
            let said = || message.split_once("execution reverted: ").map(|(_, said)| said.to_owned());
            Ok(Returned::Reverted(told.or_else(said)))
        }
    }
}

fn quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_revert_comes_from_its_data_or_from_the_nodes_words() {
        let reverted = |data: Option<&str>, message: &str| {
            returned(Outcome::Reverted { data: data.map(str::to_owned), message: message.to_owned() })
                .unwrap()
        };
        let said = "execution reverted: SBT has been revoked";
        assert_eq!(reverted(None, said), Returned::Reverted(Some("SBT has been revoked".to_owned())));
        assert_eq!(reverted(Some("0x"), "execution reverted"), Returned::Reverted(None));
    }
}
