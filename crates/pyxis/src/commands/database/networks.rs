//! Networks of the verification checks, and every node that is configured for them.

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_evm::{Chain, NodeConfig};
use pyxis_store::block_clocks::{self, ClockRow};
use pyxis_store::{Store, StoreError};
use pyxis_verify::block_height;
use pyxis_verify::network::Network;

use super::Finding;
use crate::app;
use crate::config::Config;

/// One finding for each network, and one more for each of its nodes. Starts no block clock.
pub(super) async fn examine(config: &Config, store: &Store) -> Vec<Finding> {
    let clocks = block_clocks::list(store).await;
    let mut findings = Vec::new();
    for network in config.verify().networks.iter() {
        match &network.rpc {
            None => findings.push(counted_here(network, &clocks)),
            Some(settings) => match app::client(config) {
                Ok(net) => findings.extend(nodes(network, Chain::new(&net, settings)).await),
                Err(error) => findings.push(bad(network, format!("{error:#}"), "check PX_EGRESS_CA_FILE")),
            },
        }
    }
    findings
}

fn bad(network: &Network, wrong: impl std::fmt::Display, fix: &'static str) -> Finding {
    Finding::bad(format!("network {}", network.name), wrong, fix)
}

/// A network whose blocks this installation counts.
fn counted_here(network: &Network, clocks: &Result<Vec<ClockRow>, StoreError>) -> Finding {
    let clocks = match clocks {
        Ok(clocks) => clocks,
        Err(error) => return bad(network, error, "check the database"),
    };
    let sources = network.sources().join(" and ");
    let clock = clocks.iter().find(|clock| clock.network == network.name);
    let told = match clock.map(|clock| block_height::newest_block(clock, SystemClock.now())) {
        Some(block) => format!("{sources}, block {} counted here", block.height),
        None => format!("{sources}, no block requested yet"),
    };
    Finding::good(format!("network {}", network.name)).detail(told)
}

async fn nodes(network: &Network, chain: Chain) -> Vec<Finding> {
    let all = chain.nodes().await;
    // A node of another chain is ignored.
    let own = all.iter().filter_map(|node| node.standing.as_ref().ok());
    let own = own.filter(|(_, id)| network.chain_id.is_none_or(|wanted| wanted == *id));
    let newest = own.map(|(block, _)| block.number).max();
    let sources = network.sources().join(" and ");
    let whole = match newest {
        Some(newest) => {
            Finding::good(format!("network {}", network.name)).detail(format!("{sources}, block {newest}"))
        }
        None => bad(
            network,
            "no node responds",
            "its checks return 503 until one does; check the URLs in rpc of the networks setting",
        ),
    };
    let each = all.iter().map(|node| of_node(network, node));
    std::iter::once(whole).chain(each).collect()
}

fn of_node(network: &Network, node: &NodeConfig) -> Finding {
    let part = format!("network {}, node {}", network.name, node.origin);
    match &node.standing {
        Ok((_, id)) if network.chain_id.is_some_and(|wanted| wanted != *id) => {
            let wanted = network.chain_id.unwrap_or_default();
            Finding::bad(
                part,
                format!("it is on chain {id}, not {wanted}"),
                "set rpc in the networks setting to a node of this chain",
            )
        }
        Ok((block, _)) => {
            let batch = node.batch.map(|most| match most {
                1 => ", refuses batches".to_owned(),
                most => format!(", refuses batches of more than {most} calls"),
            });
            let told =
                format!("block {}, {} ms{}", block.number, node.took.as_millis(), batch.unwrap_or_default());
            Finding::good(part).detail(told)
        }
        Err(error) => Finding::bad(
            part,
            reason(error),
            "check that it is running and that its URL in the networks setting is right",
        ),
    }
}

/// The node's error, or the reason that it did not answer, with the cause behind it.
fn reason(error: &pyxis_evm::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
