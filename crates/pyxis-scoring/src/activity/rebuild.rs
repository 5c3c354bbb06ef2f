//! Recomputes wallet features from all transfers, but only for wallets that an activity change can affect. Only changed
//! rows are written.

use std::collections::HashMap;
use std::sync::Arc;

use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_models::bundle::Bundle;
use pyxis_models::clusters::{Group, GroupExtent};
use pyxis_models::features::{self, Features};
use pyxis_models::fingerprints::{self, Fingerprint};
use pyxis_models::graph::{Graph, Node};
use pyxis_models::peers::PeerIndex;
use pyxis_models::scope::Model;
use pyxis_models::{Error, clusters};
use pyxis_store::activity::{self, PartyRow, Run, WalletRow};
use pyxis_store::models::NewGroup;
use pyxis_store::{Store, Tx, models};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::{ActivityError, graph_of};
use crate::models::read;

/// Wallets computed and stored together.
const CHUNK: usize = 16_384;
/// Maximum number of groups stored, and their smallest size.
const GROUPS: usize = 200;
const LEAST_MEMBERS: usize = 5;

/// Result of a rebuild.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Transfers read.
    pub transfers: usize,
    /// Addresses in the transfers.
    pub addresses: usize,
    /// Wallets with enough activity.
    pub wallets: usize,
    /// Wallets examined, because a change since the last rebuild can affect them.
    pub computed: usize,
    /// Examined wallets that are new or changed.
    pub changed: usize,
    /// Wallets that no longer exist.
    pub removed: usize,
    /// Suspected groups.
    pub groups: usize,
}

/// Recomputes what a change since the last rebuild can affect, and writes what changed. The result equals a full
/// recomputation. `report` receives the number of wallets done and the total.
pub async fn rebuild(
    store: &Store,
    bundle: &Bundle,
    report: impl FnMut(usize, usize),
) -> Result<Rebuilt, ActivityError> {
    compute(store, bundle, false, report).await
}

/// Recomputes everything and writes every row, which repairs damaged rows.
pub async fn renew_claim(
    store: &Store,
    bundle: &Bundle,
    report: impl FnMut(usize, usize),
) -> Result<Rebuilt, ActivityError> {
    compute(store, bundle, true, report).await
}

/// True if the stored features or suspected groups come from other activity, other features or other models than the
/// current ones. A rebuild then did not finish or never started.
pub async fn lags(store: &Store, bundle: &Bundle) -> Result<bool, ActivityError> {
    let chunks = activity::chunks(store).await?;
    match activity::read_run_state(store).await? {
        Some(found) => Ok(found != input_fingerprint(&chunks, bundle)),
        // Nothing was ever imported: nothing to compute.
        None => Ok(!chunks.is_empty() || !activity::digests(store).await?.is_empty()),
    }
}

/// A fingerprint of all inputs of a rebuild: the activity, the features, the grouping rule and the models. Sources are
/// named by their content, so names and chunk numbers suffice.
fn input_fingerprint(chunks: &[(String, i64)], bundle: &Bundle) -> String {
    let mut sum = Sha256::new();
    for (source, number) in chunks {
        sum.update(format!("{source} {number}\n"));
    }
    sum.update(format!("{} {} {} ", features::COMPUTED, features::names_digest(), clusters::RULE));
    sum.update(bundle.fingerprint());
    hex::encode(&sum.finalize())
}

/// All imported activity.
struct ActivitySnapshot {
    graph: Graph,
    peers: PeerIndex,
    /// Fingerprints of each address and of the input that all wallets share.
    fingerprints: Vec<Fingerprint>,
    global_fingerprint: i64,
    /// True for the addresses, by number, that must be recomputed.
    affected: Vec<bool>,
}

impl ActivitySnapshot {
    /// `known` is what the last rebuild stored about addresses; `before` is the fingerprint that it left.
    fn new(graph: Graph, known: &HashMap<EvmAddress, PartyRow>, before: Option<i64>) -> Self {
        let peers = PeerIndex::build(&graph);
        let global_fingerprint = fingerprints::global_fingerprint(&graph, &peers);
        let each = fingerprints::compute(&graph, &peers);
        let stored = |address| known.get(&address).map(|row| Fingerprint { own: row.own, seen: row.seen });
        let affected = match before {
            Some(before) if before == global_fingerprint => {
                fingerprints::affected(&graph, &peers, &each, stored)
            }
            _ => vec![true; graph.len()],
        };
        Self { graph, peers, fingerprints: each, global_fingerprint, affected }
    }
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
    let stored: HashMap<EvmAddress, PartyRow> =
        activity::all_parties(store).await?.into_iter().map(|row| (row.address, row)).collect();
    let before = (!every).then_some(run.global_fingerprint);
    let looked = tokio::task::spawn_blocking(move || (ActivitySnapshot::new(graph, &stored, before), stored));
    let (snapshot, stored) = looked.await.map_err(|_| ActivityError::Stopped)?;
    let ActivitySnapshot { graph, .. } = &snapshot;
    let mut nodes: Vec<Node> = graph.nodes().filter(|node| is_wallet(graph, *node)).collect();
    // In table order, so that the table grows at its end.
    nodes.sort_unstable_by_key(|node| graph.address(*node));
    let mut known: HashMap<EvmAddress, i64> = activity::digests(store).await?.into_iter().collect();
    let mut done =
        Rebuilt { transfers: graph.transfer_count(), addresses: graph.len(), ..Rebuilt::default() };
    nodes.retain(|node| {
        let affected = snapshot.affected[*node as usize];
        done.wallets += usize::from(!affected && known.remove(&graph.address(*node)).is_some());
        affected
    });
    let snapshot = Arc::new(snapshot);
    for (index, some) in nodes.chunks(CHUNK).enumerate() {
        report(index * CHUNK, nodes.len());
        let (snapshot, some) = (Arc::clone(&snapshot), some.to_vec());
        let rows = tokio::task::spawn_blocking(move || rows(&snapshot.graph, &snapshot.peers, &some));
        let rows = rows.await.map_err(|_| ActivityError::Stopped)?;
        done.computed += rows.len();
        let changed: Vec<WalletRow> =
            rows.into_iter().filter(|row| known.remove(&row.address) != Some(row.digest) || every).collect();
        done.changed += changed.len();
        put(store, run, changed).await?;
    }
    done.wallets += done.computed;
    let removed: Vec<EvmAddress> = known.into_keys().collect();
    done.removed = removed.len();
    let mut tx = begin_exclusive(store, run).await?;
    activity::remove_wallets(&mut tx, &removed).await?;
    tx.commit().await?;
    let unknown_parties = put_parties(store, run, &snapshot, stored, every).await?;
    let groups = groups(store, &snapshot, bundle).await?;
    done.groups = groups.len();
    let mut tx = begin_exclusive(store, run).await?;
    activity::remove_parties(&mut tx, &unknown_parties).await?;
    models::replace_groups(&mut tx, groups).await?;
    activity::end_run(&mut tx, run, &input_fingerprint(&chunks, bundle), snapshot.global_fingerprint).await?;
    tx.commit().await?;
    Ok(done)
}

async fn put(store: &Store, run: Run, changed: Vec<WalletRow>) -> Result<(), ActivityError> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut tx = begin_exclusive(store, run).await?;
    activity::put_wallets(&mut tx, changed).await?;
    Ok(tx.commit().await?)
}

/// Stores changed data of addresses and removes addresses that no longer exist.
async fn put_parties(
    store: &Store,
    run: Run,
    snapshot: &ActivitySnapshot,
    mut known: HashMap<EvmAddress, PartyRow>,
    every: bool,
) -> Result<Vec<EvmAddress>, ActivityError> {
    let graph = &snapshot.graph;
    let row = |(node, fingerprint): (Node, &Fingerprint)| PartyRow {
        address: graph.address(node),
        parties: i64::from(graph.popularity(node)),
        own: fingerprint.own,
        seen: fingerprint.seen,
    };
    let now = graph.nodes().zip(&snapshot.fingerprints).map(row);
    let mut changed: Vec<PartyRow> =
        now.filter(|row| known.remove(&row.address).as_ref() != Some(row) || every).collect();
    // In table order, so that the table grows at its end.
    changed.sort_unstable_by_key(|row| row.address);
    for some in changed.chunks(CHUNK) {
        let mut tx = begin_exclusive(store, run).await?;
        activity::put_parties(&mut tx, some).await?;
        tx.commit().await?;
    }
    Ok(known.into_keys().collect())
}

/// A transaction that excludes other rebuilds.
async fn begin_exclusive(store: &Store, run: Run) -> Result<Tx, ActivityError> {
    let mut tx = store.begin().await?;
    if activity::hold_run(&mut tx, run).await? { Ok(tx) } else { Err(ActivityError::Elsewhere) }
}

/// An address that never sent anything may be anything. A first bridging counts as an act of its own.
fn is_wallet(graph: &Graph, node: Node) -> bool {
    graph.facts(node).is_some() || graph.transfers_of(node).any(|transfer| transfer.from == node)
}

fn rows(graph: &Graph, peers: &PeerIndex, nodes: &[Node]) -> Vec<WalletRow> {
    nodes.par_iter().filter_map(|node| row(graph, peers, *node)).collect()
}

fn row(graph: &Graph, peers: &PeerIndex, node: Node) -> Option<WalletRow> {
    let features = Features::compute(graph, peers, node)?.to_bytes();
    let digest = fingerprints::start_of(&Sha256::digest(&features));
    Some(WalletRow { address: graph.address(node), digest, features })
}

/// Suspected groups. The features of their members, and of no one else, are stored by now.
async fn groups(
    store: &Store,
    snapshot: &ActivitySnapshot,
    bundle: &Bundle,
) -> Result<Vec<NewGroup>, ActivityError> {
    let sets = clusters::candidates(&snapshot.graph, &snapshot.peers, LEAST_MEMBERS);
    let members: Vec<EvmAddress> = sets.iter().flatten().map(|node| snapshot.graph.address(*node)).collect();
    let mut scores: HashMap<EvmAddress, Option<f64>> = HashMap::new();
    for some in members.chunks(CHUNK) {
        let rows = activity::wallets(store, some).await?;
        let judge = |row: &WalletRow| {
            let found = bundle.scores(&read(row.address, &row.features)?)?;
            Ok((row.address, found.get(Model::Aggregate)))
        };
        scores.extend(rows.par_iter().map(judge).collect::<Result<Vec<_>, Error>>()?);
    }
    let mut found =
        clusters::suspected(&snapshot.graph, &sets, |address| scores.get(&address).copied().flatten());
    found.truncate(GROUPS);
    let stored = |(group, extent): &(Group, GroupExtent)| {
        let document = serde_json::to_string(group).ok()?;
        Some(NewGroup { document, members: extent.members_to_bytes(), links: extent.links_to_bytes() })
    };
    Ok(found.iter().filter_map(stored).collect())
}
