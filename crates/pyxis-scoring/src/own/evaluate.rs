//! Asks a condition about addresses, in the state of one block.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_evm::{AbiWord, CallResult};

use super::conditions::{About, Cause, Condition, Holding, Step};
use crate::networks::EvmNetwork;

/// Maximum number of rounds of calls; no condition needs as many.
const ROUNDS: usize = 4;

/// An address with the items that it named.
pub(crate) struct ConditionSubject {
    pub(crate) address: EvmAddress,
    pub(crate) items: Vec<AbiWord>,
}

/// Answer of a condition.
#[derive(Debug)]
pub(crate) enum ConditionResult {
    Holds(Holding),
    /// It does not hold, for this reason.
    Fails(String),
}

/// The verdicts about all subjects, in order. A node that does not answer is an error of all. A contract that
/// gives no usable answer about one of them is an error of this one.
pub(crate) async fn evaluate(
    network: &EvmNetwork,
    condition: &dyn Condition,
    subjects: &[ConditionSubject],
    now: UnixMillis,
) -> Result<Vec<Result<ConditionResult, Cause>>, pyxis_evm::Error> {
    let block = network.chain.head(now).await?;
    let at = UnixMillis(i64::try_from(block.timestamp).unwrap_or(i64::MAX / 1000).saturating_mul(1000));
    let mut answers: Vec<Vec<CallResult>> = subjects.iter().map(|_| Vec::new()).collect();
    let mut verdicts: Vec<Option<Result<ConditionResult, Cause>>> = subjects.iter().map(|_| None).collect();
    for _ in 0..ROUNDS {
        let (mut calls, mut counts) = (Vec::new(), Vec::new());
        for (index, (subject, verdict)) in subjects.iter().zip(&mut verdicts).enumerate() {
            if verdict.is_some() {
                continue;
            }
            let ConditionSubject { address, items } = subject;
            let about = About { address: *address, items, chain_id: network.chain_id, at };
            match condition.step(&about, &answers[index]) {
                Ok(Step::Ask(further)) => {
                    counts.push((index, further.len()));
                    calls.extend(further);
                }
                Ok(Step::Holds(holding)) => *verdict = Some(Ok(ConditionResult::Holds(holding))),
                Ok(Step::Fails(reason)) => *verdict = Some(Ok(ConditionResult::Fails(reason))),
                Err(cause) => *verdict = Some(Err(cause)),
            }
        }
        if calls.is_empty() {
            break;
        }
        let mut results = network.chain.call_many(block.number, &calls).await?.into_iter();
        for (index, count) in counts {
            answers[index].extend(results.by_ref().take(count));
        }
    }
    // A condition that asks on and on, or for nothing, has no answer.
    Ok(verdicts.into_iter().map(|verdict| verdict.unwrap_or(Err(Cause::Unreadable))).collect())
}
