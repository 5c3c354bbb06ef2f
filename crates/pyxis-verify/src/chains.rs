//! The networks that have nodes, and a cache of contract answers about blocks that can no longer change.

use std::collections::BTreeMap;
use std::sync::Arc;

use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_core::proof::{Kind, NetworkName};
use pyxis_evm::{AbiWord, Chain};
use pyxis_net::Client;

use crate::contracts::{self, ContractAnswers, Contracts};
use crate::error::{Result, Unanswered};
use crate::network::{Network, Networks};
use crate::verdict::CheckVerdict;

/// Maximum number of cached answers.
const REMEMBERED: u64 = 200_000;

#[derive(PartialEq, Eq, Hash)]
struct CacheKey {
    network: NetworkName,
    block: u64,
    kind: Kind,
    action: Option<AbiWord>,
    user: EvmAddress,
}

/// The networks with nodes.
pub(crate) struct Chains {
    chains: BTreeMap<NetworkName, Arc<Chain>>,
    answers: Cache<CacheKey, CheckVerdict>,
}

impl Chains {
    pub(crate) fn new(net: &Client, networks: &Networks) -> Self {
        let chain = |network: &Network| {
            let settings = network.rpc.as_ref()?;
            Some((network.name.clone(), Arc::new(Chain::new(net, settings))))
        };
        Self { chains: networks.iter().filter_map(chain).collect(), answers: Cache::new(REMEMBERED) }
    }

    /// The nodes of a network.
    pub(crate) fn get(&self, network: &NetworkName) -> Option<&Arc<Chain>> {
        self.chains.get(network)
    }

    /// The contracts' answers about addresses, in their order. If a contract gives no answer about one of them, the
    /// error names it and all are refused. The answers about the others are cached if they are final.
    pub(crate) async fn query_contracts(
        &self,
        network: &Network,
        contracts: &Contracts,
        asked: &ContractAnswers,
        users: &[EvmAddress],
    ) -> Result<Vec<CheckVerdict>> {
        let Some(chain) = self.get(&network.name) else {
            return Err(crate::Error::Unavailable("the network has no node".into()));
        };
        let key = |user: EvmAddress| CacheKey {
            network: network.name.clone(),
            block: asked.block,
            kind: asked.kind,
            action: asked.action,
            user,
        };
        let head = chain.known_head().map_or(0, |head| head.number);
        let settled = asked.block.saturating_add(network.confirmations) <= head;
        let known = |user: &EvmAddress| if settled { self.answers.get(&key(*user)) } else { None };
        let known: Vec<Option<CheckVerdict>> = users.iter().map(known).collect();
        let missing = users.iter().zip(&known).filter(|(_, known)| known.is_none());
        let missing: Vec<EvmAddress> = missing.map(|(user, _)| *user).collect();
        let fresh = contracts::query(chain, contracts, asked, &missing).await?;
        if settled {
            for (user, verdict) in missing.iter().zip(&fresh) {
                if let Ok(verdict) = verdict {
                    self.answers.insert(key(*user), *verdict);
                }
            }
        }
        let silent = missing
            .iter()
            .zip(&fresh)
            .filter_map(|(user, verdict)| Some((*user, verdict.as_ref().err()?.clone())));
        if let Some(unanswered) = Unanswered::summarize(silent, users.len()) {
            return Err(crate::Error::Unanswered(unanswered));
        }
        let mut fresh = fresh.into_iter().filter_map(std::result::Result::ok);
        let verdicts = known.into_iter().map(|known| known.or_else(|| fresh.next()));
        verdicts
            .collect::<Option<_>>()
            .ok_or_else(|| crate::Error::Unavailable("an answer is missing".into()))
    }
}
