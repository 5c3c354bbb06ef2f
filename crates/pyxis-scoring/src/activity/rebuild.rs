//! What models see of each wallet, computed from every transfer; only what changed is written.

use std::collections::HashMap;
use std::sync::Arc;

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_models::bundle::Bundle;
use pyxis_models::clusters;
use pyxis_models::features::{self, Features};
use pyxis_models::graph::{Graph, Node};
use pyxis_models::peers::Peers;
use pyxis_store::activity::{self, WalletRow};
use pyxis_store::{Store, Tx, models};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::{ActivityError, graph_of};

/// Wallets that are computed and stored together.
const TOGETHER: usize = 16_384;
/// Groups that are kept, and their smallest size.
const GROUPS: usize = 200;
const LEAST_MEMBERS: usize = 5;

/// What a rebuild did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Transfers looked at.
    pub transfers: usize,
    /// Addresses in them.
    pub addresses: usize,
    /// Wallets with enough activity.
    pub wallets: usize,
    /// Of those, new or changed.
    pub changed: usize,
    /// Wallets that are no more.
    pub removed: usize,
    /// Suspected groups.
    pub groups: usize,
}

/// Computes everything anew and writes what changed. `report` is told of wallets done and how many there
/// are.
pub async fn rebuild(
    store: &Store,
    bundle: &Bundle,
    report: impl FnMut(usize, usize),
) -> Result<Rebuilt, ActivityError> {
    compute(store, bundle, false, report).await
}

/// The same, and writes every row: what was damaged is whole again.
pub async fn renew(
    store: &Store,
    bundle: &Bundle,
    report: impl FnMut(usize, usize),
) -> Result<Rebuilt, ActivityError> {
    compute(store, bundle, true, report).await
}

/// Whether what models see of wallets, or the suspected groups, are of other activity, other features or other
/// models than those that are there now: a rebuild did not come to its end, or was not begun.
pub async fn lags(store: &Store, bundle: &Bundle) -> Result<bool, ActivityError> {
    let chunks = activity::chunks(store).await?;
    match activity::mark(store).await? {
        Some(found) => Ok(found != mark(&chunks, bundle)),
        // Where nothing was ever taken in there is nothing to compute.
        None => Ok(!chunks.is_empty() || !activity::digests(store).await?.is_empty()),
    }
}

/// What names all that a rebuild computes from: the activity, the features, the rule of groups, the models.
/// Sources are named by their content, so that names and numbers of chunks are enough.
fn mark(chunks: &[(String, i64)], bundle: &Bundle) -> String {
    let mut sum = Sha256::new();
    for (source, number) in chunks {
        sum.update(format!("{source} {number}\n"));
    }
    sum.update(format!("{} {} {} ", features::COMPUTED, features::names_digest(), clusters::RULE));
    sum.update(bundle.fingerprint());
    hex::encode(&sum.finalize())
}

async fn compute(
    store: &Store,
    bundle: &Bundle,
    every: bool,
    mut report: impl FnMut(usize, usize),
) -> Result<Rebuilt, ActivityError> {
    let run = activity::begin_run(store).await?;
    let chunks = activity::chunks(store).await?;
    let graph = graph_of(store, &chunks).await?;
    let looked = tokio::task::spawn_blocking(move || {
        let peers = Peers::of(&graph);
        (graph, peers)
    });
    let world = Arc::new(looked.await.map_err(|_| ActivityError::Stopped)?);
    let mut nodes: Vec<Node> = world.0.nodes().filter(|node| is_wallet(&world.0, *node)).collect();
    // In the order of the table, which then grows at its end.
    nodes.sort_unstable_by_key(|node| world.0.address(*node));
    let mut known: HashMap<EvmAddress, i64> = activity::digests(store).await?.into_iter().collect();
    let mut done =
        Rebuilt { transfers: world.0.transfer_count(), addresses: world.0.len(), ..Rebuilt::default() };
    for (index, some) in nodes.chunks(TOGETHER).enumerate() {
        report(index * TOGETHER, nodes.len());
        let (world, some) = (Arc::clone(&world), some.to_vec());
        let rows = tokio::task::spawn_blocking(move || rows(&world.0, &world.1, &some));
        let rows = rows.await.map_err(|_| ActivityError::Stopped)?;
        done.wallets += rows.len();
        let changed: Vec<WalletRow> =
            rows.into_iter().filter(|row| known.remove(&row.address) != Some(row.digest) || every).collect();
        done.changed += changed.len();
        put(store, run, changed).await?;
    }
    let gone: Vec<EvmAddress> = known.into_keys().collect();
    done.removed = gone.len();
    let strangers = put_parties(store, run, &world.0, every).await?;
    let groups = groups(&world.0, &world.1, bundle)?;
    done.groups = groups.len();
    let mut tx = held(store, run).await?;
    activity::remove_wallets(&mut tx, &gone).await?;
    activity::remove_parties(&mut tx, &strangers).await?;
    models::replace_groups(&mut tx, groups).await?;
    activity::end_run(&mut tx, run, &mark(&chunks, bundle)).await?;
    tx.commit().await?;
    Ok(done)
}

async fn put(store: &Store, run: i64, changed: Vec<WalletRow>) -> Result<(), ActivityError> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut tx = held(store, run).await?;
    activity::put_wallets(&mut tx, changed).await?;
    Ok(tx.commit().await?)
}

/// Stores how popular every address is, where that changed; the addresses that are no more.
async fn put_parties(
    store: &Store,
    run: i64,
    graph: &Graph,
    every: bool,
) -> Result<Vec<EvmAddress>, ActivityError> {
    let mut known: HashMap<EvmAddress, i64> = activity::all_parties(store).await?.into_iter().collect();
    let now = graph.nodes().map(|node| (graph.address(node), i64::from(graph.popularity(node))));
    let mut changed: Vec<(EvmAddress, i64)> =
        now.filter(|(address, parties)| known.remove(address) != Some(*parties) || every).collect();
    // In the order of the table, which then grows at its end.
    changed.sort_unstable();
    for some in changed.chunks(TOGETHER) {
        let mut tx = held(store, run).await?;
        activity::put_parties(&mut tx, some).await?;
        tx.commit().await?;
    }
    Ok(known.into_keys().collect())
}

/// A transaction in which nobody else computes.
async fn held(store: &Store, run: i64) -> Result<Tx, ActivityError> {
    let mut tx = store.begin().await?;
    if activity::hold_run(&mut tx, run).await? { Ok(tx) } else { Err(ActivityError::Elsewhere) }
}

/// Whoever never sent anything may be anything; a first bridging is an act of its own.
fn is_wallet(graph: &Graph, node: Node) -> bool {
    graph.facts(node).is_some() || graph.transfers_of(node).any(|transfer| transfer.from == node)
}

fn rows(graph: &Graph, peers: &Peers, nodes: &[Node]) -> Vec<WalletRow> {
    nodes.par_iter().filter_map(|node| row(graph, peers, *node)).collect()
}

fn row(graph: &Graph, peers: &Peers, node: Node) -> Option<WalletRow> {
    let features = Features::of(graph, peers, node)?.to_bytes();
    let mut start = [0; 8];
    start.copy_from_slice(&Sha256::digest(&features)[..8]);
    Some(WalletRow { address: graph.address(node), digest: i64::from_le_bytes(start), features })
}

/// Suspected groups, as JSON.
fn groups(graph: &Graph, peers: &Peers, bundle: &Bundle) -> Result<Vec<String>, ActivityError> {
    let mut found = clusters::find(graph, peers, bundle, LEAST_MEMBERS)?;
    found.truncate(GROUPS);
    Ok(found.iter().filter_map(|group| serde_json::to_string(group).ok()).collect())
}
