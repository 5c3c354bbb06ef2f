//! Contract calls at one block. They go through Multicall3 where it exists, in pieces that fit the node's gas limit.
//! Calls that it cannot answer are sent one by one.

use std::collections::BTreeMap;

use bytes::Bytes;
use pyxis_core::address::EvmAddress;
use pyxis_core::hex;

use super::{Call, CallResult};
use crate::rpc::{CallOutcome, Endpoint, NodeQuery, RpcCall};
use crate::{Error, abi};

/// Largest piece that falls back to single calls when Multicall3 does not answer.
const SMALL: usize = 16;

/// Calls and their results so far.
pub(super) struct Calls<'c> {
    multicall: Option<EvmAddress>,
    block: u64,
    all: &'c [Call],
    answers: Vec<Option<CallResult>>,
    /// Calls for which a node ran out of gas or time.
    unfinished: Vec<bool>,
}

impl<'c> Calls<'c> {
    pub(super) fn new(multicall: Option<EvmAddress>, block: u64, calls: &'c [Call]) -> Self {
        let answers = vec![None; calls.len()];
        Self { multicall, block, all: calls, answers, unfinished: vec![false; calls.len()] }
    }

    /// The answers, once every call has one. A call that exceeded a node's limits and that no node answered is
    /// [`CallResult::Unfinished`].
    pub(super) fn finish(self) -> Option<Vec<CallResult>> {
        let unfinished =
            self.unfinished.into_iter().map(|unfinished| unfinished.then_some(CallResult::Unfinished));
        self.answers.into_iter().zip(unfinished).map(|(answer, unfinished)| answer.or(unfinished)).collect()
    }

    fn open(&self) -> Vec<usize> {
        (0..self.all.len()).filter(|index| self.answers[*index].is_none()).collect()
    }

    /// Answers as many calls as possible through Multicall3. Halves a piece that exceeds the limits.
    async fn aggregate(
        &mut self,
        node: &Endpoint,
        multicall: EvmAddress,
        open: &[usize],
    ) -> Result<(), Error> {
        let size = node.aggregated.now();
        let mut pieces: Vec<&[usize]> = open.chunks(size).rev().collect();
        let (mut passed, mut refused) = (0, false);
        while let Some(piece) = pieces.pop() {
            let error = match self.piece(node, multicall, piece).await {
                Ok(()) => {
                    passed = passed.max(piece.len());
                    continue;
                }
                Err(error) if error.eases_with_fewer() => error,
                Err(error) => return Err(error),
            };
            tracing::debug!(%error, calls = piece.len(), "a node refused a multicall");
            refused = true;
            if piece.len() > SMALL {
                let (first, second) = piece.split_at(piece.len() / 2);
                pieces.extend([second, first]);
                continue;
            }
            self.each(node, piece).await?;
            if passed == 0 {
                // The node answers single calls, but not a combined one.
                break;
            }
        }
        if refused && passed > 0 && passed < size {
            node.aggregated.record_limit(passed);
        }
        Ok(())
    }

    /// Sends one piece through Multicall3. A call without data in its answer stays open: either earlier calls left it
    /// no gas, or the address has no code. Only a separate call can tell.
    async fn piece(&mut self, node: &Endpoint, multicall: EvmAddress, piece: &[usize]) -> Result<(), Error> {
        let calls = piece.iter().map(|index| (self.all[*index].to, &self.all[*index].data[..]));
        let data = abi::aggregate3(&calls.collect::<Vec<_>>());
        let told = match node.call_batch(&[self.eth_call(multicall, &data)]).await?.pop() {
            Some(CallOutcome::Result(told)) => told.data().ok_or(Error::Malformed("not hexadecimal"))?,
            Some(CallOutcome::Unfinished) => return Err(Error::Unfinished),
            Some(CallOutcome::Reverted(_)) => return Err(Error::OtherContract),
            None => return Err(Error::Malformed("a call without a response")),
        };
        if told.is_empty() {
            // Multicall3 did not exist yet at this block.
            return Ok(());
        }
        let told = Bytes::from(told);
        let all = abi::aggregated(&told, piece.len()).ok_or(Error::OtherContract)?;
        for (index, (success, data)) in piece.iter().zip(all) {
            if !data.is_empty() {
                self.answers[*index] = Some(if success {
                    CallResult::Data(told.slice_ref(data))
                } else {
                    CallResult::Reverted(abi::revert_reason(data))
                });
            }
        }
        Ok(())
    }

    /// Sends calls one by one, in batches. A call without data in its answer stays open.
    async fn each(&mut self, node: &Endpoint, open: &[usize]) -> Result<(), Error> {
        let request = |index: &usize| self.eth_call(self.all[*index].to, &self.all[*index].data);
        let requests: Vec<RpcCall> = open.iter().map(request).collect();
        for (index, outcome) in open.iter().zip(node.call_batch(&requests).await?) {
            match outcome {
                CallOutcome::Result(told) => {
                    let data = told.data().ok_or(Error::Malformed("not hexadecimal"))?;
                    if !data.is_empty() {
                        self.answers[*index] = Some(returned(data));
                    }
                }
                CallOutcome::Reverted(reason) => self.answers[*index] = Some(CallResult::Reverted(reason)),
                CallOutcome::Unfinished => self.unfinished[*index] = true,
            }
        }
        Ok(())
    }

    /// Distinguishes a contract that returns nothing from an address without code. A lagging node reports every address
    /// as having no code.
    async fn settle_empty(&mut self, node: &Endpoint, empty: &[usize]) -> Result<(), Error> {
        let mut contracts: BTreeMap<EvmAddress, Vec<usize>> = BTreeMap::new();
        for index in empty {
            contracts.entry(self.all[*index].to).or_default().push(*index);
        }
        for (address, calls) in contracts {
            let params = format!(r#"["{address}","{:#x}"]"#, self.block);
            let code = node.call_batch(&[RpcCall::new("eth_getCode", params)]).await?.pop();
            let Some(CallOutcome::Result(code)) = code else {
                return Err(Error::Malformed("no code of a contract"));
            };
            if code.data().ok_or(Error::Malformed("not hexadecimal"))?.is_empty() {
                return Err(Error::NoContract { address, block: self.block });
            }
            for index in calls {
                self.answers[index] = Some(CallResult::Data(Bytes::new()));
            }
        }
        Ok(())
    }

    fn eth_call(&self, to: EvmAddress, data: &[u8]) -> RpcCall {
        let (data, block) = (hex::encode(data), self.block);
        let (to, block) = (to.to_string(), format!(r#""}},"{block:#x}"]"#));
        RpcCall::new("eth_call", [r#"[{"to":""#, &to, r#"","data":"0x"#, &data, &block].concat())
    }
}

impl NodeQuery for Calls<'_> {
    async fn put_to(&mut self, node: &Endpoint, last: bool) -> Result<(), Error> {
        // A call that exceeded the limits would only take gas from the others.
        let fresh: Vec<usize> = self.open().into_iter().filter(|index| !self.unfinished[*index]).collect();
        if let Some(multicall) = self.multicall
            && fresh.len() > 1
        {
            self.aggregate(node, multicall, &fresh).await?;
        }
        let open = self.open();
        self.each(node, &open).await?;
        let (unfinished, empty): (Vec<usize>, Vec<usize>) =
            self.open().into_iter().partition(|index| self.unfinished[*index]);
        if !empty.is_empty() {
            if !last {
                return Err(Error::Behind("an answer without data".to_owned()));
            }
            self.settle_empty(node, &empty).await?;
        }
        if unfinished.is_empty() { Ok(()) } else { Err(Error::Unfinished) }
    }
}

/// Interprets returned data. Older nodes answer a revert as if it were a result; no call made here has a result of that
/// length.
fn returned(data: Vec<u8>) -> CallResult {
    match abi::revert_reason(&data) {
        Some(reason) if data.len() % 32 == 4 => CallResult::Reverted(Some(reason)),
        _ => CallResult::Data(data.into()),
    }
}

#[cfg(test)]
mod tests {
    use pyxis_signing::eip712::abi_words::number;

    use super::*;

    #[test]
    fn a_revert_that_an_older_node_gives_as_a_result_is_a_revert() {
        let reason = b"SBT has been revoked";
        let mut data = vec![0x08, 0xc3, 0x79, 0xa0];
        data.extend_from_slice(&number(32));
        data.extend_from_slice(&number(reason.len() as u64));
        data.extend_from_slice(reason);
        data.resize(4 + 96, 0);
        assert_eq!(returned(data.clone()), CallResult::Reverted(Some("SBT has been revoked".to_owned())));
        data.resize(4 + 96 + 28, 0);
        assert_eq!(returned(data.clone()), CallResult::Data(data.into()));
        assert_eq!(returned(vec![0; 32]), CallResult::Data(vec![0; 32].into()));
    }
}
